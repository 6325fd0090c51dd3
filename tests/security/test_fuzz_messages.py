"""Whatever is pushed to a function is handled or parked, once: never again and again, no traceback.

Each message is pushed twice, as Pub/Sub may, to the function as it is deployed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pytest_mock import MockerFixture

from functions import serving
from shared.app.messages import alert_message
from shared.core.alert_kinds import AlertKind
from shared.core.alerts import installation_alert
from shared.core.names import parse_cloud_name
from shared.topology import DEAD_LETTER_SUBSCRIPTION, FUNCTIONS, SUBSCRIPTIONS
from tests.audit_entries import PREEMPTED, tpu_entry, vm_entry
from tests.log_lines import Lines, captured
from tests.security.odd import DEEP, HUGE, JSON, NASTY, as_bytes, mutated
from tests.unit.app.records import JOB
from tests.unit.app.world import OTHER_JOB, World, grant_of, spec_of
from tests.unit.functions.pushes import body_of, client_of, envelope

AT = datetime(2030, 1, 1, tzinfo=UTC)
FUNCTION_OF = {each.name: each.function for each in SUBSCRIPTIONS}
ENOUGH = settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
# Documents and objects have these names, whatever is in a message.
PATH = re.compile(r"[a-z]+(/[A-Za-z0-9_.=-]+)+")
OBJECT = re.compile(r"(teams/[a-z-]+/)?control/mandates/[a-z0-9]{8}/g\d+\.json")


@dataclass
class Deployed:
    """The functions of one world, and what they log."""

    world: World
    clients: Mapping[str, FlaskClient]
    lines: Lines

    def push(self, subscription: str, body: bytes) -> list[int]:
        """Push a body twice; return what is answered."""
        client = self.clients[FUNCTION_OF[subscription]]
        return [client.post("/", data=body).status_code for _ in range(2)]

    def check(self) -> None:
        """Nothing failed, nothing has a name that a message chose, nothing is parked twice."""
        failed = [line for line in self.lines.all if "stack_trace" in line]
        paths = [path for (path,) in self._select("SELECT path FROM documents")]
        assert [] == failed, failed[0]["stack_trace"]
        assert [] == [path for path in paths if not is_safe(path)]
        assert [] == [name for name in self.world.blobs._objects if not OBJECT.fullmatch(name)]
        assert [] == [name for name in self.world.slices.names if parse_cloud_name(name) is None]
        self.lines.clear()

    def parked(self) -> int:
        """Count what was put aside."""
        return len(self._select("SELECT path FROM documents WHERE collection = 'parked'"))

    def _select(self, sql: str) -> list[Any]:
        with self.world.store._file.reading() as connection:
            return connection.execute(sql).fetchall()


def is_safe(path: str) -> bool:
    """Tell whether a path has parts that mean nothing but themselves."""
    return PATH.fullmatch(path) is not None and not {".", ".."} & set(path.split("/"))


@pytest.fixture
def deployed(tmp_path: Path, mocker: MockerFixture) -> Iterator[Deployed]:
    """Deploy the functions over a world in which a job runs."""
    world = World(tmp_path)
    world.run_job()
    mocker.patch.object(serving, "app", return_value=world.app)
    serving._prefix.cache_clear()
    with ExitStack() as stack:
        lines = stack.enter_context(captured())
        names = [name for name in FUNCTIONS if name != "health_check"]
        clients = {name: stack.enter_context(client_of(name)) for name in names}
        yield Deployed(world, clients, lines)
    serving._prefix.cache_clear()
    world.close()


def order(kind: str, **args: object) -> dict[str, object]:
    """Write an order."""
    return {"version": 1, "id": f"o-{kind}", "kind": kind, "owner": "ada", "args": args}


SPEC = {**spec_of(), "env": {"KEY": "value"}, "setup": ["true"], "tags": ["a"], "on": {}}
AGAIN: Mapping[str, Any] = {"job": JOB, "seen_attempt": 0, "slice_uid": "uid00009"}
ORDERS = [
    order("submit", job=OTHER_JOB, spec=SPEC, slice_uid="uid00008"),
    order("submit", job=OTHER_JOB, spec=SPEC, slice_uid="uid00008", on="digits-1"),
    order("stop", job=JOB, kill=False),
    order("resume", **AGAIN),
    order("rerun", **AGAIN, spec=SPEC, from_step=3, on="digits-1"),
    order("release", slice="digits-1"),
    order(
        "slice-create",
        slice="mine",
        slice_uid="uid00007",
        accelerator_type="v4-16",
        zones=["us-central2-b"],
        runtime_version="tpu-ubuntu2204-base",
    ),
    order("slice-recreate", slice="digits-1"),
    order("slice-restart", slice="digits-1"),
    order("slice-adopt", slice="a", slice_uid="uid00006", node="theirs", zone="us-central2-b"),
    order("grant-add", **grant_of()),
    order("grant-remove", name="trc"),
    order("pause", reason="a quota is cut"),
    order("unpause"),
    order("sweep", zones=["us-central2-b"]),
    order("parked-retry", key="0" * 32),
]
ALERT = installation_alert(
    AlertKind.OTHER, key="a", at=AT, event="SliceLost", text="gone", reason="preempted"
)
MESSAGES: Mapping[str, list[dict[str, Any]]] = {
    "launch-commands": ORDERS,
    "launch": [{"slice": "digits-1", "reason": "why"}],
    "recovery": [{"slice": "digits-1", "reason": "why", "look": True}],
    "report-audit": [vm_entry(PREEMPTED, "t1v-n-0-w-0", AT), tpu_entry("tpuctl-a", AT)],
    "alert": [json.loads(alert_message(ALERT).data)],
    "park": [*ORDERS[:1], {"any": "thing"}],
}


def test_every_subscription_and_every_order_is_fuzzed() -> None:
    """A new one is a new way in."""
    from shared.core.orders import OrderKind

    assert set(FUNCTION_OF) == {*MESSAGES, "report"}
    assert set(OrderKind) == {each["kind"] for each in ORDERS}


def pushed(deployed: Deployed, subscription: str, data: bytes, **message: object) -> None:
    """Push a message; it is handled or parked, whichever, once and for all."""
    before = deployed.parked()
    assert [204, 204] == deployed.push(
        subscription, body_of(envelope(subscription, data, **message))
    )
    assert deployed.parked() - before <= 1
    deployed.check()


@pytest.mark.parametrize("subscription", MESSAGES)
def test_a_broken_message_is_handled_or_parked_once(deployed: Deployed, subscription: str) -> None:
    """Good ones with something else in their place, and things that are nothing."""

    @ENOUGH
    @given(st.sampled_from(MESSAGES[subscription]).flatmap(mutated) | JSON)
    def check(found: object) -> None:
        pushed(deployed, subscription, as_bytes(found))

    check()


def test_a_broken_snapshot_is_handled_or_parked_once(deployed: Deployed) -> None:
    """By whoever has the tokens of a running attempt: a program on a slice is root there."""
    good = json.loads(deployed.world.hosts[0].snapshot().data)
    good |= {
        "progress": {"step": 3, "total": 9, "metrics": {"loss": 0.5}},
        "checkpoint": {"step": 3, "path": "/c/3"},
        "setup": {"spec": "0" * 64, "exit_code": 1, "evidence": "x", "tries": 1},
        "sequence": 10**6,
    }

    @settings(ENOUGH, max_examples=100)
    @given(mutated(good))
    @example({**good, "attempt": {**good["attempt"], "exit_code": 10**30, "ended_at": str(AT)}})
    @example({**good, "attempt": {**good["attempt"], "ended_at": "0001-01-01T00:00:00+14:00"}})
    @example({**good, "at": "0001-01-01T00:00:00+14:00"})
    @example({**good, "progress": {"step": 1, "metrics": {"loss": float("nan")}}})
    @example({**good, "progress": {"step": 1, "metrics": {"../x": 1.0, "": 2.0, "a.b": 3.0}}})
    @example({**good, "host": 9999, "boot": "../../x"})
    def check(found: object) -> None:
        pushed(deployed, "report", as_bytes(found), attributes={"kind": "snapshot"})

    check()


@pytest.mark.parametrize("subscription", [*MESSAGES, "report"])
def test_depth_and_size_are_handled_or_parked_once(deployed: Deployed, subscription: str) -> None:
    """A megabyte of one word, a hundred thousand brackets, and every nasty word alone."""
    for text in (*DEEP, HUGE, json.dumps(HUGE), *map(json.dumps, NASTY)):
        pushed(deployed, subscription, text.encode())
    for template in MESSAGES.get(subscription, [])[:2]:
        pushed(deployed, subscription, as_bytes({**template, next(iter(template)): HUGE}))


PATHS = ["..", "../../../jobs/x", "/x", "a/b", "a/../b", "$(touch pwned)", "a\0b", "a b", "\u202e"]


@pytest.mark.parametrize("found", ORDERS, ids=lambda found: str(found["kind"]))
def test_no_word_of_an_order_becomes_a_part_of_a_path(
    deployed: Deployed, found: dict[str, Any]
) -> None:
    """Each of its fields, one after the other."""
    for number, word in enumerate(PATHS):
        for name, value in found["args"].items():
            odd = [word] if isinstance(value, list) else word
            told = {**found, "id": f"o-{number}-{name}", "args": {**found["args"], name: odd}}
            pushed(deployed, "launch-commands", as_bytes(told))
        for name in ("id", "owner", "kind"):
            pushed(deployed, "launch-commands", as_bytes({**found, name: word}))


@pytest.mark.parametrize("function", [name for name in FUNCTIONS if name != "health_check"])
def test_a_body_without_end_is_parked_once(deployed: Deployed, function: str) -> None:
    """Before anything of it is understood."""
    name = next(each for each, owner in FUNCTION_OF.items() if owner == function)
    for number, text in enumerate((*DEEP, HUGE), 1):
        assert [204, 204] == deployed.push(name, text.encode())
        assert number == deployed.parked()
        deployed.check()


@pytest.mark.parametrize("function", ["launch", "report", "park"])
def test_a_broken_push_request_is_handled_or_parked_once(deployed: Deployed, function: str) -> None:
    """The envelope around the message, broken in every way."""
    name = next(each for each, owner in FUNCTION_OF.items() if owner == function)
    good = envelope(name, b'{"slice": "digits-1", "reason": ""}')
    message: Any = good["message"]
    message["attributes"][DEAD_LETTER_SUBSCRIPTION] = "launch"

    @ENOUGH
    @given(mutated(good) | JSON)
    @example({**good, "deliveryAttempt": 10**30})
    @example({**good, "deliveryAttempt": True})
    @example({**good, "message": {**message, "publishTime": "0001-01-01T00:00:00+14:00"}})
    @example({**good, "message": {**message, "messageId": "../../jobs/x"}})
    @example({**good, "message": {**message, "attributes": {DEAD_LETTER_SUBSCRIPTION: "../x"}}})
    @example({**good, "message": {**message, "attributes": {HUGE: HUGE}}})
    def check(found: object) -> None:
        before = deployed.parked()
        assert [204, 204] == deployed.push(name, as_bytes(found))
        assert deployed.parked() - before <= 1
        deployed.check()

    check()


@pytest.mark.parametrize("harm", [lambda world: world.blobs.put("teams/../x", b"")])
def test_an_escape_would_be_seen(deployed: Deployed, harm: Callable[[World], object]) -> None:
    """Else the tests above could not fail."""
    harm(deployed.world)

    with pytest.raises(AssertionError):
        deployed.check()
    assert [True, False, False, False] == [
        is_safe(path) for path in ("jobs/a", "jobs/../a", "jobs/a b", "/jobs/a")
    ]
