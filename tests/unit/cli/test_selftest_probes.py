"""Each probe of a self test, on a cloud that is not as it is assumed to be."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest

from cli.selftest.assumptions import ASSUMPTIONS
from cli.selftest.model import Phase, Verdict
from tests.unit.cli.selftest_scene import ZONE, Scene

DOES_NOT, NOT_TRIED, HOLDS = Verdict.DOES_NOT, Verdict.NOT_TRIED, Verdict.HOLDS
REFUSED: Final = (400, {"error": {"status": "FAILED_PRECONDITION", "message": "not now"}})
OK: Final[tuple[int, object]] = (200, {"name": "operations/1", "done": True})
FACTS: Final[Mapping[str, Any]] = {
    "run": "first",
    "name": "t1v-n-0a1b2c3d-w-0",
    "attributes": [
        "accelerator-type",
        "agent-worker-number",
        "startup-script",
        "tpu-env",
        "worker-network-endpoints",
    ],
    "worker": "0",
    "endpoints": "t1v-n-0a1b2c3d-w-0:8470:10.0.0.2",
    "tpu_env": "",
    "preempted": "FALSE",
    "maintenance_event": "NONE",
    "upcoming_status": 503,
}


@pytest.fixture
def scene() -> Iterator[Scene]:
    """Set the scene; whatever a test does, nothing may be left in the cloud."""
    made = Scene()
    yield made
    assert () == made.cloud.names


def tell(scene: Scene, **told: str) -> None:
    """Let the host tell something by guest attributes."""
    items = [{"key": key, "value": value} for key, value in told.items()]
    body = {"guestAttributes": [{"queryValue": {"items": items}}]}
    scene.wire.answers[":getGuestAttributes"] = (200, body)


def tell_facts(scene: Scene, **changes: object) -> None:
    """Let the host tell what it saw."""
    facts = {**FACTS, "tpu_env": f"ZONE: 'z'\nNODE_ID: '{scene.name}'\n", **changes}
    tell(scene, facts=json.dumps(facts))


@dataclass(frozen=True, slots=True)
class Case:
    """A probe, a way in which the cloud is, and what is held of the assumption then."""

    id: str
    verdict: Verdict
    arrange: Callable[[Scene], object] = lambda _: None
    said: str = ""


def answer(end: str, told: tuple[int, object]) -> Callable[[Scene], object]:
    """Make the API answer so, where a path ends so."""
    return lambda scene: scene.wire.answers.update({end: told})


def facts(**changes: object) -> Callable[[Scene], object]:
    """Make the host tell its facts."""
    return lambda scene: tell_facts(scene, **changes)


def event_without_end(scene: Scene) -> None:
    """Let the host see a notice, and nothing happen then."""
    tell_facts(scene)
    tell(scene, facts=json.dumps(FACTS), **{"maintenance-event": "TERMINATE 1"})


def two_hosts(scene: Scene) -> None:
    """Let every node have a host too many."""
    scene.cloud._hosts = 2


def stuck(scene: Scene) -> None:
    """Let deletes need a second order."""
    scene.cloud.slow_deletes = True

    def free() -> None:
        if scene.cloud.calls["delete"] >= 2 and scene.name in scene.cloud.names:
            scene.cloud.slow_deletes = False
            scene.cloud.finish_delete(scene.name)

    scene.on_pause = free


def strange_state(scene: Scene) -> None:
    """Let the request be in a state that nobody knows, and then be granted."""
    scene.is_granting = False

    def go_on() -> None:
        if "THINKING" in scene.rig.seen:
            scene.on_pause = lambda: None
            scene.grant()
        else:
            scene.cloud.set_state(scene.name, "THINKING")

    scene.on_pause = go_on


def comes_back(scene: Scene) -> None:
    """Let the request be there again after it was 404."""

    def again() -> None:
        if scene.rig.gone_after_s and not scene.cloud.names:
            scene.on_pause = lambda: None
            scene.cloud.create(replace(scene.rig.request, request_id="theirs"))

    scene.on_pause = again


CASES: Final = (
    Case("type-offered", HOLDS),
    Case("type-offered", DOES_NOT, answer("/v5litepod-1", REFUSED), "not now"),
    Case("runtime-offered", DOES_NOT, answer("/v2-alpha-tpuv5-lite", REFUSED), "not now"),
    Case("missing-404", DOES_NOT, answer("-b0", (403, {})), "HTTP 403"),
    Case("missing-404", HOLDS, answer("-b0", (404, {}))),
    Case("create-operation", HOLDS),
    Case(
        "create-operation",
        DOES_NOT,
        answer("operations/1", (200, {"done": True, "error": {"code": 8}})),
        "with an error",
    ),
    Case("request-id", HOLDS),
    Case("name-taken", HOLDS),
    Case("listing", HOLDS),
    Case("listing", DOES_NOT, lambda scene: scene.cloud.unreachable.add(ZONE), "unreachable"),
    Case(
        "listing-all", DOES_NOT, answer("-/queuedResources", (200, {"unreachable": ["z"]})), "1 u"
    ),
    Case("active-ready", HOLDS),
    Case("labels", DOES_NOT, said="tier on-demand"),
    Case("workers", HOLDS),
    Case("workers", DOES_NOT, two_hosts, "2 of 1"),
    Case("guest-attributes", HOLDS, facts()),
    Case("guest-attributes", NOT_TRIED, said="the host told nothing"),
    Case("attributes", HOLDS, facts()),
    Case("attributes", DOES_NOT, facts(attributes=["tpu-env"]), "missing: accelerator-type"),
    Case("tpu-env", HOLDS, facts()),
    Case("tpu-env", DOES_NOT, facts(tpu_env="NODE_ID: 'another'"), "another"),
    Case("tpu-env", DOES_NOT, facts(tpu_env="WORKER_ID: '0'"), "no line"),
    Case("endpoints", HOLDS, facts()),
    Case("endpoints", DOES_NOT, facts(endpoints="10.0.0.2"), "10.0.0.2"),
    Case("endpoints", DOES_NOT, facts(worker=""), "not said"),
    Case("host-name", HOLDS, facts()),
    Case("host-name", DOES_NOT, facts(name="my-node-0"), "my-node-0"),
    Case("notices", HOLDS, facts()),
    Case("notices", DOES_NOT, facts(preempted=""), "preempted -"),
    Case("no-window", HOLDS, facts()),
    Case("no-window", DOES_NOT, facts(upcoming_status=200), "HTTP 200"),
    Case("bell", DOES_NOT, facts(), "not heard after 1.0 min"),
    Case("patch-time", HOLDS, answer("-b0", OK)),
    Case("patch-time", NOT_TRIED, answer("-b0", REFUSED), "not now"),
    Case("reset", DOES_NOT, facts(), "no new boot"),
    Case("event", DOES_NOT, facts(), "nothing seen"),
    Case("event", HOLDS, event_without_end, "maintenance-event TERMINATE"),
    Case("event-takes", NOT_TRIED, said="no maintenance event was accepted"),
    Case("preempted-flips", NOT_TRIED, said="no maintenance event was accepted"),
    Case("suspended-name", NOT_TRIED, said="was not taken away"),
    Case("suspended-reset", NOT_TRIED, said="was not taken away"),
    Case("states", HOLDS),
    Case("states", DOES_NOT, strange_state, "THINKING"),
    Case("delete", HOLDS, said="one order"),
    Case("delete", DOES_NOT, stuck, "2 orders"),
    Case("node-gone", DOES_NOT, said="HTTP 200"),
    Case("absence", HOLDS, said="404 and 404"),
    Case("absence", DOES_NOT, comes_back, "404 and WAITING_FOR_RESOURCES"),
    Case("name-free", HOLDS, said="accepted"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.id}-{case.verdict}-{case.said}")
def test_a_probe_finds_what_is(scene: Scene, case: Case) -> None:
    """And says it."""
    (assumption,) = [each for each in ASSUMPTIONS if each.id == case.id]
    if assumption.phase in {Phase.READY, Phase.GONE}:
        scene.grant()
    case.arrange(scene)

    result = scene.try_(assumption)[case.id]

    assert (case.verdict, True) == (result.verdict, case.said in result.found), result.found


def test_what_follows_a_loss_is_tried_in_turn(scene: Scene) -> None:
    """A notice, the loss, a request that is SUSPENDED and holds its name."""
    wanted = ("event", "event-takes", "preempted-flips", "suspended-name", "suspended-reset")
    scene.grant()
    tell(scene, facts=json.dumps(FACTS), preempted="TRUE 1")
    scene.wire.answers[":reset"] = REFUSED

    def go_on() -> None:
        states = scene.rig.seen
        if scene.rig.is_taken and "SUSPENDED" not in states:
            scene.cloud.suspend(scene.name)
        elif scene.rig.event_at is not None and "SUSPENDING" not in states:
            scene.cloud.preempt(scene.name)

    scene.on_pause = go_on

    results = scene.try_(*[each for each in ASSUMPTIONS if each.id in wanted])

    assert dict.fromkeys(wanted, HOLDS) == {key: each.verdict for key, each in results.items()}
    assert "SUSPENDING" in results["event-takes"].found
    assert "not now" in results["suspended-reset"].found
