"""The page on alerts is a contract: its tables, examples and code are what we do."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from datetime import timedelta
from typing import Any

import pytest
from pytest_mock import MockerFixture

from shared.adapters import webhook
from shared.app.messages import alert_message
from shared.core.alert_kinds import USUAL_KINDS, AlertKind, Severity, severity_of
from shared.core.alert_limits import GIVE_UP_S, QUIET_S_MAX, QUIET_S_MIN
from shared.core.alert_routes import BURST, POSTS_PER_HOUR, WebhookKind
from shared.core.alert_texts import HEADLINES, body, headline
from shared.core.alerts import ALERT_FIELDS, ALERT_VERSION, Alert, AlertJob, fields_of, parse_alert
from shared.core.policy import Policy
from shared.core.rules import FRUITLESS_MAX
from shared.settings_alerts import _KEYS, alert_settings
from shared.settings_cloud import CloudSettings, TeamSettings
from shared.topology import Topic
from tests.fakes import FakeClock
from tests.unit.docs.tables import fields as types_in
from tests.unit.docs.tables import matches, page, rows, words

PAGE = page("alerts.md")
KINDS = {words(row[0])[0]: row for row in rows(PAGE, "kind", "severity")}
TYPES = types_in(rows(PAGE, "field", "type"))


def blocks(language: str) -> list[str]:
    """The pieces of code in one language."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return [code for named, code in found if named == language]


def examples() -> list[dict[str, Any]]:
    """The alerts on the page, as JSON."""
    return [json.loads(line) for line in blocks("json")[0].splitlines()]


EXAMPLES = [pytest.param(each, id=each["kind"]) for each in examples()]


def test_the_version_is_the_codes() -> None:
    """Of the contract, of each example and of the messages."""
    assert f"version **{ALERT_VERSION}**" in PAGE
    assert {ALERT_VERSION} == {each["version"] for each in examples()}


def test_every_field_is_in_the_table_in_the_order_of_the_code() -> None:
    """No more, no fewer."""
    assert list(ALERT_FIELDS) == list(TYPES)


def test_a_job_has_the_fields_that_it_is_said_to_have() -> None:
    """Inside the alert."""
    (row,) = [row for row in rows(PAGE, "field", "type") if "`job`" in row[0]]

    assert [field.name for field in fields(AlertJob)] == words(row[2])


def test_every_kind_is_in_the_table_with_its_loudness() -> None:
    """In the order of the code; the usual ones are marked."""
    assert list(AlertKind) == list(KINDS)
    assert {kind: severity_of(kind) for kind in AlertKind} == {
        kind: row[1] for kind, row in KINDS.items()
    }
    assert list(USUAL_KINDS) == [kind for kind, row in KINDS.items() if row[3] == "yes"]


def test_there_is_one_example_a_kind() -> None:
    """In the same order."""
    assert list(AlertKind) == [each["kind"] for each in examples()]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_an_alert(example: dict[str, Any]) -> None:
    """It reads back as it stands, every field of the type in the table."""
    alert = parse_alert(json.dumps(example).encode())

    assert example == fields_of(alert)
    assert all(matches(TYPES[name], value) for name, value in example.items())
    assert severity_of(AlertKind(alert.kind)) == alert.severity


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_said_as_the_table_says(example: dict[str, Any]) -> None:
    """And happens at an event of the table."""
    row = KINDS[example["kind"]]

    assert row[5] == headline(parse_alert(json.dumps(example).encode()))
    assert row[2] == "any" or example["event"] in words(row[2])


def test_only_a_recovery_has_a_downtime() -> None:
    """In the examples as in the code."""
    told = {each["kind"] for each in examples() if each["downtime_s"] is not None}

    assert {"recovered"} == told
    assert {"recovered"} == {kind for kind, form in HEADLINES.items() if "{downtime}" in form}


def test_the_attributes_are_those_of_the_messages() -> None:
    """So that a filter finds something."""
    alert = parse_alert(json.dumps(examples()[0]).encode())
    told = [name for row in rows(PAGE, "attribute", "what it is") for name in words(row[0])]
    sent = alert_message(alert).attributes

    assert set(sent) == set(told)
    assert ("preempted", "warning", "ada") == (sent["alert"], sent["severity"], sent["owner"])
    assert ("alert", str(ALERT_VERSION)) == (sent["kind"], sent["version"])


def test_the_command_subscribes_to_the_topic_of_a_deployment() -> None:
    """By an attribute that is there, with a value that occurs."""
    (command,) = [each for each in blocks("") if "subscriptions create" in each]

    assert f"--topic={CloudSettings('p', 'b').prefix}-{Topic.ALERTS}" in command
    filters = dict(re.findall(r'attributes\.(\w+) = "(\w+)"', command))
    assert {"owner", "severity"} == set(filters)
    assert filters["severity"] in set(Severity)


# --- Settings -----------------------------------------------------------------------------------


def test_the_settings_on_the_page_are_accepted() -> None:
    """As they stand."""
    (written,) = blocks("toml")
    cloud = CloudSettings("my-project", "b", teams={"vision": TeamSettings("a", ("ada@x.org",))})
    tables = tomllib.loads(written.replace("https://…", "https://x.org"))

    found = alert_settings("settings.toml", tables["alerts"], cloud).webhooks

    assert ["lab", "vision", "pager"] == list(found)
    assert WebhookKind.GENERIC is found["pager"].target.kind


def test_every_key_is_explained() -> None:
    """No more, no fewer."""
    told = [name for row in rows(PAGE, "key", "what it is") for name in words(row[0])]

    assert set(_KEYS) == set(told)


def test_the_numbers_are_the_codes() -> None:
    """Bounds, times and rates stand in the text."""
    policy = Policy()
    said = [
        f"at once ({BURST}), and then an hour ({POSTS_PER_HOUR:.0f})",
        f"has {webhook.POST_S:.0f} s to answer",
        f"{QUIET_S_MIN:.0f} s, {2 * QUIET_S_MIN:.0f} s, … up to {QUIET_S_MAX / 60:.0f} min",
        f"`policy.stuck_s` ({policy.stuck_s / 3600:.0f} h)",
        f"`policy.unknown_s` ({policy.unknown_s / 60:.0f} min)",
        f"or {FRUITLESS_MAX} attempts in a row left none",
        f"`policy.degraded_s` ({policy.degraded_s / 60:.0f} min)",
        f"{webhook.SECRET_CHARS_MIN} characters or more",
    ]

    assert [] == [each for each in said if each not in PAGE]
    assert (3600.0, 3600.0) == (GIVE_UP_S, policy.degraded_again_s)


def test_the_summary_on_the_page_is_what_a_chat_is_told() -> None:
    """Word for word."""
    (told,) = [each for each in blocks("") if each.startswith(":warning:")]
    plain = parse_alert(json.dumps(examples()[0]).encode())
    assert plain.job is not None
    alert = replace(plain, job=replace(plain.job, number=31, name="sweep"))
    more = {"preempted": tuple(range(11)), "succeeded": (4, 5, 9)}

    sent = json.loads(body(WebhookKind.SLACK, alert, more, alert.at))

    assert told.rstrip() == sent["text"]


# --- A webhook of one's own ---------------------------------------------------------------------


@pytest.fixture
def is_genuine() -> Callable[..., bool]:
    """Take the code from the page."""
    (code,) = blocks("python")
    scope: dict[str, Any] = {}
    exec(code, scope)  # noqa: S102 - the page's own code is what is tested
    made: Callable[..., bool] = scope["is_genuine"]
    return made


KEY = b"a key of sixteen"
BODY = b'{"alert": {}}'


def headers_at(now: int, sent: bytes = BODY) -> dict[str, str]:
    """Sign as the code does."""
    signed = f"v1={webhook.signature(KEY, str(now), sent)}"
    return {webhook.TIMESTAMP_HEADER: str(now), webhook.SIGNATURE_HEADER: signed}


@pytest.mark.parametrize(
    "headers, sent, key, genuine",
    [
        pytest.param(headers_at(1000), BODY, KEY, True, id="ours"),
        pytest.param(headers_at(700), BODY, KEY, True, id="ours, five minutes ago"),
        pytest.param(headers_at(699), BODY, KEY, False, id="a replay"),
        pytest.param(headers_at(1301), BODY, KEY, False, id="from the future"),
        pytest.param(headers_at(1000), BODY + b" ", KEY, False, id="another body"),
        pytest.param(headers_at(1000), BODY, KEY + b"!", False, id="another key"),
        pytest.param(
            {**headers_at(1000), webhook.TIMESTAMP_HEADER: "1001"}, BODY, KEY, False, id="moved"
        ),
        pytest.param({}, BODY, KEY, False, id="unsigned"),
        pytest.param({webhook.TIMESTAMP_HEADER: "now"}, BODY, KEY, False, id="no time"),
        pytest.param(
            {**headers_at(1000), webhook.SIGNATURE_HEADER: "v1=ä"}, BODY, KEY, False, id="junk"
        ),
    ],
)
def test_the_code_on_the_page_tells_ours_from_others(
    mocker: MockerFixture,
    is_genuine: Callable[..., bool],
    headers: dict[str, str],
    sent: bytes,
    key: bytes,
    *,
    genuine: bool,
) -> None:
    """By the signature the adapter makes."""
    mocker.patch("time.time", return_value=1000.0)

    assert genuine is is_genuine(headers, sent, key)


def test_the_headers_are_those_of_the_adapter() -> None:
    """All three."""
    told = [words(row[0])[0] for row in rows(PAGE, "header", "what it is")]

    assert [webhook.ALERT_HEADER, webhook.TIMESTAMP_HEADER, webhook.SIGNATURE_HEADER] == told


def test_the_body_of_a_generic_webhook_is_as_described() -> None:
    """The alert as on the topic, and what was held."""
    alert: Alert = parse_alert(json.dumps(examples()[0]).encode())
    later = FakeClock().now() + timedelta(seconds=1)

    sent = json.loads(body(WebhookKind.GENERIC, alert, {"failed": (7,)}, later))

    assert ["alert", "more"] == re.findall(r'"(\w+)": \{…\}', PAGE)
    assert {"alert": examples()[0], "more": {"failed": [7]}} == sent
    assert asdict(alert)["job"] == sent["alert"]["job"]
