"""A self test's request: what is tried on it, what that costs, and that it is always deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from cli.selftest.model import Finding, NotTriedError, Phase, Verdict
from cli.selftest.rig import ORDER_AGAIN_S, Rig
from shared.core.names import parse_cloud_name
from shared.core.sweeping import STRANGE_LABELS, Holders, judge
from shared.errors import Retryable, Stockout, Unavailable
from tests.unit.cli.selftest_scene import INSTALLATION, PACE, ZONE, Scene, assume


@pytest.fixture
def scene() -> Iterator[Scene]:
    """Set the scene; whatever a test does, nothing may be left in the cloud."""
    made = Scene()
    yield made
    assert () == made.cloud.names


def found(*, holds: bool) -> Callable[[Rig], Finding]:
    """Make a probe that finds something."""
    return lambda _: Finding("something", holds)


def failing(error: BaseException) -> Callable[[Rig], Finding]:
    """Make a probe that fails."""

    def probe(_: Rig) -> Finding:
        raise error

    return probe


@pytest.mark.parametrize(
    "probe, verdict, text",
    [
        pytest.param(found(holds=True), Verdict.HOLDS, "something", id="so"),
        pytest.param(found(holds=False), Verdict.DOES_NOT, "something", id="not-so"),
        pytest.param(failing(NotTriedError("no")), Verdict.NOT_TRIED, "no", id="cannot"),
        pytest.param(failing(Unavailable("503")), Verdict.NOT_TRIED, "503", id="refused"),
        pytest.param(None, Verdict.NOT_TRIED, "because", id="no-probe"),
    ],
)
def test_a_verdict_is_what_the_probe_found(
    scene: Scene, probe: Callable[[Rig], Finding] | None, verdict: Verdict, text: str
) -> None:
    """What the cloud refuses on the way is no verdict."""
    scene.grant()

    result = scene.try_(assume(probe))["it"]

    assert (verdict, text) == (result.verdict, result.found)


def test_time_with_a_node_is_what_costs(scene: Scene) -> None:
    """Waiting for it does not; what is being deleted does, until it is seen gone."""
    scene.grant()

    def probe(rig: Rig) -> Finding:
        rig.pause(25.0)
        return Finding("waited", holds=True)

    result = scene.try_(assume(probe))["it"]

    assert (25.0, 25.0) == (result.seconds, result.cost_usd)
    assert 25.0 + PACE.look_s == scene.rig.paid_s
    assert scene.rig.since_s > scene.rig.paid_s


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(KeyboardInterrupt(), id="ctrl-c"),
        pytest.param(AssertionError("a bug"), id="bug"),
    ],
)
def test_whatever_ends_a_test_the_request_is_deleted(scene: Scene, error: BaseException) -> None:
    """The fixture looks into the cloud."""
    scene.grant()

    with pytest.raises(type(error)):
        scene.try_(assume(failing(error)))

    assert (1, False) == (scene.cloud.calls["delete"], scene.rig.may_exist)


def test_a_create_without_an_answer_is_deleted_too(scene: Scene) -> None:
    """It came to be all the same, and late."""
    scene.cloud.slow_creates = True
    scene.cloud.fail_next("create", Unavailable("no answer"), after_effect=True)
    scene.wire.is_running = True

    def come() -> None:
        scene.cloud.finish_create(scene.name)
        scene.wire.is_running = False
        scene.on_pause = lambda: None

    scene.on_pause = come

    with pytest.raises(Unavailable):
        scene.rig.ask()
    scene.rig.clear()

    assert (1, False) == (scene.cloud.calls["delete"], scene.rig.may_exist)


def test_a_create_that_is_still_running_is_waited_for(scene: Scene) -> None:
    """404 is no proof while its operation is not done."""
    scene.cloud.slow_creates = True
    scene.wire.is_running = True
    pauses = []

    def come() -> None:
        pauses.append(scene.cloud.calls["delete"])
        if len(pauses) == 3:
            scene.cloud.finish_create(scene.name)
            scene.wire.is_running = False

    scene.on_pause = come

    scene.rig.ask()
    scene.rig.clear()

    assert [0, 0, 0] == pauses[:3]
    assert 1 == scene.cloud.calls["delete"]


def test_a_refused_create_leaves_nothing_to_delete(scene: Scene) -> None:
    """And nothing to try."""
    scene.cloud.fail_next("create", Stockout("no more capacity", zone=ZONE))

    result = scene.try_(assume(found(holds=True)))["it"]

    assert (Verdict.NOT_TRIED, "there is no request") == (result.verdict, result.found)
    assert (0, False) == (scene.cloud.calls["delete"], scene.rig.may_exist)


def test_a_request_that_is_being_taken_is_deleted_only_then(scene: Scene) -> None:
    """Never by force while SUSPENDING."""
    scene.rig.ask()
    scene.cloud.make_ready(scene.name)
    scene.cloud.preempt(scene.name)
    orders = []

    def suspend() -> None:
        orders.append(scene.cloud.calls["delete"])
        if len(orders) == 2:
            scene.cloud.suspend(scene.name)

    scene.on_pause = suspend

    scene.rig.clear()

    assert [0, 0] == orders[:2]
    assert 1 == scene.cloud.calls["delete"]


def test_a_delete_that_is_stuck_is_ordered_again(scene: Scene) -> None:
    """Once a minute."""
    scene.cloud.slow_deletes = True
    scene.rig.ask()
    began = scene.rig.clock()

    def free() -> None:
        if scene.cloud.calls["delete"] == 2:
            scene.cloud.finish_delete(scene.name)
            scene.on_pause = lambda: None

    scene.on_pause = free

    scene.rig.clear()

    assert 2 == scene.rig.delete_orders
    assert ORDER_AGAIN_S <= scene.rig.clock() - began < 2 * ORDER_AGAIN_S


def test_a_request_that_stays_is_said_to_stay(scene: Scene) -> None:
    """After the time for it, once: not once for each place that deletes."""
    scene.cloud.slow_deletes = True
    scene.grant()

    with pytest.raises(Retryable, match=r"is not gone after 5\.0 min"):
        scene.try_(assume(found(holds=True), Phase.GONE))

    assert scene.rig.may_exist
    assert Verdict.NOT_TRIED is scene.results["it"].verdict
    assert scene.rig.since_s <= 10.0 + PACE.gone_s + 2 * PACE.look_s
    scene.cloud.finish_delete(scene.name)


def test_a_cloud_that_shows_nothing_is_told_to_delete_all_the_same(scene: Scene) -> None:
    """Money goes on while nobody can look."""
    scene.rig.ask()
    scene.cloud.fail_next("get", Unavailable("no answer"), count=3)
    orders: list[int] = []
    scene.on_pause = lambda: orders.append(scene.cloud.calls["delete"])

    scene.rig.clear()

    assert [1, 1, 1] == orders


def test_without_capacity_the_request_is_taken_back_in_time(scene: Scene) -> None:
    """Its time is that of the whole test, so that the bound holds."""
    result = scene.try_(assume(found(holds=True)))["it"]

    assert Verdict.NOT_TRIED is result.verdict
    assert "the time is up (10.0 min); last seen: WAITING_FOR_RESOURCES" == result.found
    assert 0.0 == scene.rig.paid_s


def test_a_probe_that_waits_too_long_is_no_verdict(scene: Scene) -> None:
    """When it is the test that has no time left."""
    scene.grant()

    def probe(rig: Rig) -> Finding:
        rig.pause(PACE.total_s)
        return Finding("never", holds=bool(rig.until(lambda: None, PACE.step_s)))

    result = scene.try_(assume(probe))["it"]

    assert (Verdict.NOT_TRIED, True) == (result.verdict, "the time is up" in result.found)


def test_the_request_is_ours_and_no_sweep_takes_it(scene: Scene) -> None:
    """The checks of a control plane that is up leave it alone."""
    scene.rig.ask()
    shown = scene.rig.look()
    assert shown is not None

    name = parse_cloud_name(shown.name)
    judgement = judge(shown, INSTALLATION, Holders.among([]))
    scene.rig.clear()

    assert name is not None
    assert INSTALLATION == name.installation
    assert (False, STRANGE_LABELS) == (judgement.is_orphan, judgement.why)
