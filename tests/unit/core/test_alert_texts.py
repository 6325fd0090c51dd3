"""What people read: one headline a kind, nothing of a job's own text as markup."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.core.alert_kinds import AlertKind
from shared.core.alert_limits import Held
from shared.core.alert_routes import WebhookKind
from shared.core.alert_texts import DETAIL_CHARS_MAX, HEADLINES, body, headline, summed_up
from shared.core.alerts import Alert, alert_of, fields_of
from shared.core.situation import Note
from tests.unit.core.situations import running

NOW = running().now


def alert(**changes: object) -> Alert:
    """Make an alert about job 1."""
    told = alert_of(Note("SliceLost", "hi-1: preempted", public=True, why="preempted"), running())
    return replace(told, **changes)  # type: ignore[arg-type]


def chat(told: Alert, more: Held | None = None, late_s: float = 0.0) -> str:
    """Say what a chat shows."""
    now = told.at + timedelta(seconds=late_s)
    return str(json.loads(body(WebhookKind.SLACK, told, more or {}, now))["text"])


def test_every_kind_has_a_headline() -> None:
    """A new kind is said in its own words."""
    assert set(AlertKind) == set(HEADLINES)
    assert len(AlertKind) == len(set(HEADLINES.values()))


@pytest.mark.parametrize(
    "changes, said",
    [
        pytest.param({}, "job 1 hi of ada was preempted", id="preempted"),
        pytest.param(
            {"kind": "recovered", "downtime_s": 61.4}, "job 1 hi of ada is back after 61 s", id="up"
        ),
        pytest.param(
            {"kind": "slice_lost", "reason": "host_lost"},
            "job 1 hi of ada lost its slice (host_lost)",
            id="lost",
        ),
        pytest.param({"job": None}, "slice hi-1 was preempted", id="a slice alone"),
        pytest.param(
            {"kind": "control_plane_degraded", "job": None, "slice": ""},
            "the control plane needs attention",
            id="the installation",
        ),
        pytest.param(
            {"kind": "warp", "event": "WarpDone"}, "job 1 hi of ada: WarpDone", id="from the future"
        ),
    ],
)
def test_a_headline_says_what_happened_to_whom(changes: dict[str, object], said: str) -> None:
    """In one line."""
    assert said == headline(alert(**changes))


def test_a_chat_is_told_the_headline_the_text_the_rest_and_the_link() -> None:
    """A line each."""
    told = alert(link="https://example.org/jobs/1")
    more = {"preempted": (2, 3), "failed": (4, 5, 6, 9)}

    assert [
        ":warning: *job 1 hi of ada was preempted*",
        "hi-1: preempted",
        "and 6 more: 4 failed (job 4-6 9), 2 preempted",
        "<https://example.org/jobs/1>",
    ] == chat(told, more).splitlines()


def test_what_is_told_late_says_when_it_was() -> None:
    """A chat shows when it was posted."""
    assert "(at 2030-01-01 00:" in chat(alert(), late_s=3600.0)
    assert "(at" not in chat(alert(), late_s=60.0)


@pytest.mark.parametrize("kind", sorted(AlertKind))
def test_how_jobs_ended_is_counted_by_name(kind: str) -> None:
    """The others by number alone."""
    is_named = kind in {"succeeded", "failed", "crash_loop", "bad_checkpoint", "budget_spent"}
    said = summed_up({kind: (7, 9)})

    assert said == f"and 2 more: 2 {kind.replace('_', ' ')}" + (" (job 7 9)" if is_named else "")


def test_a_thousand_ends_fit_into_one_message() -> None:
    """Slack cuts at 40,000 characters."""
    said = summed_up({"failed": tuple(range(1, 4000, 2))})

    assert len(said) < 2500
    assert "2000 failed" in said


@given(st.text(max_size=2000))
def test_no_text_of_a_job_is_markup(text: str) -> None:
    """No mention, no link, no second line, no end of the emphasis."""
    told = alert(text=text, slice=text, job=None)
    lines = chat(told).split("\n")

    assert len(lines) <= 2
    inside = "".join([lines[0].removeprefix(":warning: *").removesuffix("*"), *lines[1:]])
    assert not set(inside) & {"<", ">", "*", "`"}
    assert "@" not in inside.replace("@\u200b", "")
    assert len(inside) < 12 * DETAIL_CHARS_MAX


def test_a_program_is_told_the_fields_and_what_was_held() -> None:
    """As they stand on the topic."""
    sent = json.loads(body(WebhookKind.GENERIC, alert(), {"failed": (4, 5)}, NOW))

    assert {"alert": fields_of(alert()), "more": {"failed": [4, 5]}} == sent
