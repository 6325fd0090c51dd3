"""An alert follows from what was decided: its kind, its reason, its downtime."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.core import ordering
from shared.core.alert_kinds import FINAL_KINDS, USUAL_KINDS, AlertKind, Severity, severity_of
from shared.core.alerts import (
    ALERT_FIELDS,
    Alert,
    alert_of,
    alerts_of,
    downtime_of,
    fields_of,
    installation_alert,
    kind_of,
    parse_alert,
)
from shared.core.causes import Cause
from shared.core.decide import decide
from shared.core.hosts import Progress
from shared.core.model import FailedRestore, Spent
from shared.core.situation import Note, Situation
from shared.core.slices import Kind
from shared.core.stages import Event
from shared.errors import InvalidRequest
from tests.unit.core.situations import (
    LOST_LINK,
    again,
    all_ended,
    booted,
    claimed,
    current,
    failed,
    granted,
    later,
    losing,
    obeyed,
    recovering,
    running,
    settled,
    stopping,
    submitted,
)


def about_to_start(now: Situation) -> Situation:
    """Lead a job that waits for its slice to just before its next attempt; time passes."""
    return obeyed(later(claimed(now), 30.0))


def spent(now: Situation, **used: int) -> Situation:
    """Let a job have used up some of its budgets."""
    return now.with_job(spent=replace(Spent(), **used))  # type: ignore[arg-type]


def restoring_again() -> Situation:
    """Restore a step that was not restored the last time."""
    seen = {"progress": Progress(40), "failed_restore": FailedRestore(40, (1,))}
    return running().with_attempt(start_step=40, known_step=40).with_job(**seen)


def told(now: Situation) -> list[Alert]:
    """Decide, and say what people hear of it."""
    return list(alerts_of(decide(now)))


CASES = [
    pytest.param(lambda: later(submitted()), ["waiting"], "", id="a new job"),
    pytest.param(lambda: booted(granted(settled(submitted()))), ["slice_ready"], "", id="boots"),
    pytest.param(lambda: about_to_start(submitted()), ["started"], "", id="a first attempt"),
    pytest.param(
        lambda: losing(running()), ["attempt_ended", "preempted"], "preempted", id="preempted"
    ),
    pytest.param(
        lambda: losing(running(), Cause.HOST_LOST),
        ["attempt_ended", "slice_lost"],
        "host_lost",
        id="a host is lost",
    ),
    pytest.param(
        lambda: all_ended(running(), exit_code=1, evidence=LOST_LINK),
        ["attempt_ended", "retrying"],
        "transport",
        id="an echo",
    ),
    pytest.param(
        lambda: about_to_start(obeyed(recovering(), 2)), ["recovered"], "", id="after a loss"
    ),
    pytest.param(
        lambda: all_ended(running(), exit_code=1, evidence="bug"),
        ["attempt_ended", "crash_loop"],
        "error",
        id="a crash loop",
    ),
    pytest.param(
        lambda: all_ended(restoring_again(), exit_code=1, evidence="bug"),
        ["attempt_ended", "bad_checkpoint"],
        "error",
        id="a checkpoint that cannot be restored",
    ),
    pytest.param(
        lambda: spent(losing(running()), preemptions=10_000),
        ["attempt_ended", "budget_spent"],
        "preempted",
        id="preempted too often",
    ),
    pytest.param(
        lambda: spent(all_ended(running(), exit_code=1, evidence=LOST_LINK), echoes=100),
        ["attempt_ended", "budget_spent"],
        "transport",
        id="an echo too many",
    ),
    pytest.param(
        lambda: all_ended(running(), exit_code=0),
        ["attempt_ended", "succeeded"],
        "",
        id="finished",
    ),
    pytest.param(lambda: losing(stopping()), ["preempted"], "preempted", id="while it stops"),
    pytest.param(lambda: obeyed(stopping()), ["attempt_ended", "cancelled"], "", id="stopped"),
    pytest.param(
        lambda: losing(failed(Kind.NAMED), Cause.DELETED),
        ["slice_lost"],
        "deleted",
        id="a slice without a job",
    ),
]


@pytest.mark.parametrize("make, kinds, reason", CASES)
def test_what_is_told_follows_from_what_was_decided(
    make: Callable[[], Situation], kinds: list[str], reason: str
) -> None:
    """One alert a change, with the closed word behind it."""
    alerts = told(make())

    assert kinds == [alert.kind for alert in alerts]
    assert reason in {alert.reason for alert in alerts}


@pytest.mark.parametrize("preset, kind", [("pass", "failed"), ("pre", "crash_loop")])
def test_a_rule_that_says_stop_is_a_plain_failure(preset: str, kind: str) -> None:
    """A crash loop is what resuming would not end."""
    now = all_ended(running(), exit_code=1, evidence="bug")
    assert now.job_spec is not None
    now = replace(now, job_spec=now.job_spec.model_copy(update={"rule": preset}))

    assert kind == told(now)[-1].kind


def test_an_order_is_told_as_it_is_given() -> None:
    """Stop and resume are their owner's, and no failure."""
    stopped, resumed = ordering.stop(running(), kill=False), again(failed())

    assert "stopping" == list(alerts_of(stopped))[-1].kind
    assert "resumed" == list(alerts_of(resumed))[-1].kind


def test_every_event_of_a_job_has_a_kind_of_its_own() -> None:
    """A new event is not told as something else."""
    preparing = Event.SLICE_CLAIMED  # never public: the attempt that follows is
    kinds = [kind_of(Note(event, ""), None) for event in Event if event is not preparing]

    assert AlertKind.OTHER not in kinds
    assert len(kinds) == len(set(kinds))
    assert AlertKind.OTHER is kind_of(Note("Unheard", ""), None)


# --- Downtime -----------------------------------------------------------------------------------


def test_downtime_is_from_the_loss_to_the_start_of_the_next_attempt() -> None:
    """By the Store's own times, as they stand in the attempts."""
    before = about_to_start(obeyed(recovering(), 2))
    after = decide(before)
    lost_at = before.attempts[-1].ended_at
    assert lost_at is not None

    expected_s = (after.attempts[-1].ordered_at - lost_at).total_seconds()

    assert expected_s > 30.0
    assert [expected_s] == [alert.downtime_s for alert in alerts_of(after)]


def test_downtime_begins_with_the_notice() -> None:
    """A slice that will go is lost from then on."""
    after = decide(about_to_start(obeyed(recovering(), 2)))
    last, begun = after.attempts[-2:]
    assert last.ended_at is not None
    noticed = replace(last, noticed_at=last.ended_at - timedelta(seconds=7))

    earlier_s = downtime_of(replace(after, attempts=(noticed, begun)))
    plain_s = downtime_of(replace(after, attempts=(replace(noticed, noticed_at=None), begun)))

    assert plain_s is not None
    assert plain_s + 7 == earlier_s


def test_a_retry_on_the_same_slice_has_a_downtime_too() -> None:
    """It was down, whatever for."""
    retried = settled(all_ended(running(), exit_code=1, evidence=LOST_LINK))

    (alert,) = told(obeyed(later(retried, 20.0)))

    assert "recovered" == alert.kind
    assert alert.downtime_s is not None
    assert alert.downtime_s >= 20.0


def test_an_attempt_that_its_owner_ordered_recovers_nothing() -> None:
    """Days may lie between a failure and the resume."""
    resumed = settled(again(later(failed(), 86_400.0)))
    waiting = obeyed(later(resumed, 5.0))

    (alert,) = told(waiting)

    assert ("started", None) == (alert.kind, alert.downtime_s)


def test_a_slice_lost_between_a_resume_and_its_start_does_not_count_the_days_before() -> None:
    """Nothing ran in between."""
    resumed = settled(again(later(failed(), 86_400.0)))
    lost = settled(losing(resumed))
    after = decide(about_to_start(obeyed(lost, current(resumed).number)))

    assert ["started"] == [alert.kind for alert in alerts_of(after)]


# --- Fields -------------------------------------------------------------------------------------


def test_an_alert_names_its_job_its_owner_and_its_numbers() -> None:
    """What a subscriber needs to find it again."""
    now = running()
    alert = alert_of(Note(Event.ATTEMPT_RETRIED, "text", why="oom"), now, 3)
    job = now.served

    assert f"{now.slice.uid}-{now.slice.revision:08d}-n3" == alert.id
    assert (job.owner, job.id, job.number, job.name) == (
        alert.owner,
        alert.job and alert.job.id,
        alert.job and alert.job.number,
        alert.job and alert.job.name,
    )
    assert (now.slice.name, 2, 2) == (alert.slice, alert.generation, alert.attempt)
    assert ("text", "oom", now.now) == (alert.text, alert.reason, alert.at)


def test_a_job_that_never_started_has_no_attempt() -> None:
    """Not minus one."""
    assert alert_of(Note(Event.SLICE_WANTED, ""), submitted()).attempt is None


def test_ids_differ_between_the_notes_of_one_commit() -> None:
    """Two alerts are two."""
    alerts = told(losing(running()))

    assert len(alerts) == len({alert.id for alert in alerts})


def test_an_alert_reads_back_as_it_was_written() -> None:
    """With its time, its job and its link."""
    linked = replace(told(losing(running()))[-1], link="https://example.org/1")
    plain = installation_alert(
        AlertKind.CONTROL_PLANE_DEGRADED, key="k", at=running().now, event="e", text="t", reason=""
    )

    for alert in (linked, plain):
        assert alert == parse_alert(json.dumps(fields_of(alert)).encode())
    assert ALERT_FIELDS == tuple(fields_of(linked))
    assert ALERT_FIELDS[:-1] == tuple(fields_of(plain))


def test_what_a_newer_version_adds_is_ignored() -> None:
    """Fields, kinds and severities may come."""
    alert = told(losing(running()))[-1]
    newer = {**fields_of(alert), "kind": "warp", "severity": "fatal", "colour": "red"}

    read = parse_alert(json.dumps(newer).encode())

    assert replace(alert, kind="warp", severity="fatal") == read


@pytest.mark.parametrize(
    "changes, where",
    [
        pytest.param({"version": 2}, "version 2 is not known", id="another version"),
        pytest.param({"version": "1"}, "version", id="a version in words"),
        pytest.param({"id": None}, "id", id="no id"),
        pytest.param({"at": "2030-01-01T00:00:00"}, "at", id="a time without a zone"),
        pytest.param({"job": "job1"}, "job", id="a job in one word"),
        pytest.param({"downtime_s": "long"}, "downtime_s", id="a downtime in words"),
    ],
)
def test_what_is_no_alert_is_refused_with_the_field(changes: dict[str, object], where: str) -> None:
    """It is parked, once."""
    fields = {**fields_of(told(losing(running()))[-1]), **changes}

    with pytest.raises(InvalidRequest, match=where):
        parse_alert(json.dumps(fields).encode())


@pytest.mark.parametrize("data", [b"", b"\xff", b"[]", b"null", b"{}", b"[" * 100_000])
def test_junk_is_refused(data: bytes) -> None:
    """In one line that does not repeat it."""
    with pytest.raises(InvalidRequest, match=r"^no alert: ") as caught:
        parse_alert(data)

    assert len(str(caught.value)) < 200


def test_alerts_from_before_the_contract_are_for_the_log() -> None:
    """They have no id by which they could be told once."""
    old = {
        "event": "SliceLost",
        "text": "gone",
        "who": "recovery",
        "slice": "hi-1",
        "job": "job1",
        "number": 3,
        "name": "hi",
        "at": "2030-01-01T00:00:00+00:00",
    }

    alert = parse_alert(json.dumps(old).encode())

    assert ("", 0, "SliceLost", "gone") == (alert.id, alert.version, alert.event, alert.text)
    assert ("job1", 3, "hi") == (
        alert.job and alert.job.id,
        alert.job and alert.job.number,
        alert.job and alert.job.name,
    )


# --- Kinds --------------------------------------------------------------------------------------


def test_the_usual_kinds_are_what_people_act_on_and_how_it_ended() -> None:
    """And nothing about the ordinary course of things."""
    assert set(USUAL_KINDS) >= FINAL_KINDS
    assert {
        AlertKind.WAITING,
        AlertKind.SLICE_READY,
        AlertKind.STARTED,
        AlertKind.ATTEMPT_ENDED,
        AlertKind.STOPPING,
        AlertKind.CANCELLED,
        AlertKind.RESUMED,
        AlertKind.OTHER,
    } == set(AlertKind) - set(USUAL_KINDS)


def test_what_ended_badly_is_an_error() -> None:
    """The rest is a warning, or for information."""
    bad = {kind for kind in AlertKind if severity_of(kind) is Severity.ERROR}

    assert FINAL_KINDS - {AlertKind.SUCCEEDED} | {AlertKind.CONTROL_PLANE_DEGRADED} == bad
