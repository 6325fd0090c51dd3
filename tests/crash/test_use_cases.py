"""Every use case dies at every commit and every effect, and the job survives it."""

from pathlib import Path
from random import Random

import pytest

from shared.app.push import Answer
from shared.ports import Delivery
from tests.crash.dying import DyingWorld, check_all_is_well, live_through_everything
from tests.crash.faults import ANYWHERE, Fault, Faults
from tests.unit.app.world import World

COMMIT = frozenset({"make", "replace"})
EFFECTS = frozenset({"put", "create", "delete", "ring", "publish"})
# The use cases that commit; an alert is a line in the log.
COMMITTERS = frozenset(
    {"launch-commands", "launch", "recovery", "report", "report-audit", "health_check", "park"}
)
COMES = pytest.mark.parametrize("is_losing", [False, True], ids=["comes again", "never comes"])


class TwiceWorld(World):
    """A world in which everything comes twice."""

    def handle(self, delivery: Delivery) -> Answer:
        """Deliver twice."""
        super().handle(delivery)
        return super().handle(delivery)

    def check_health(self) -> None:
        """Tick twice."""
        super().check_health()
        super().check_health()


def survive(path: Path, faults: Faults, *, is_losing: bool = False) -> set[str]:
    """Live the whole story with faults; return who met one."""
    world = DyingWorld(path, faults, is_losing=is_losing)
    live_through_everything(world)
    check_all_is_well(world)
    world.close()
    return {who for who, _ in faults.met}


@COMES
@pytest.mark.parametrize("who", sorted(COMMITTERS))
def test_what_a_use_case_committed_before_it_died_is_done_in_time(
    tmp_path: Path, who: str, *, is_losing: bool
) -> None:
    """It dies right after each kind of commit; the message comes again, or the tick alone."""
    faults = Faults(Fault.DIES_AFTER, COMMIT, only=who)

    assert {who} == survive(tmp_path, faults, is_losing=is_losing)


@COMES
@pytest.mark.parametrize("fault", ANYWHERE)
def test_no_commit_that_goes_wrong_is_one_too_many_or_missing(
    tmp_path: Path, fault: Fault, *, is_losing: bool
) -> None:
    """Each kind of commit of everybody goes wrong once."""
    assert COMMITTERS == survive(tmp_path, Faults(fault, COMMIT), is_losing=is_losing)


def test_a_race_that_is_lost_is_run_again(tmp_path: Path) -> None:
    """Somebody else changed a document first, at each kind of commit once."""
    met = survive(tmp_path, Faults(Fault.LOSES_RACE, frozenset({"replace"})))

    assert COMMITTERS - {"park"} == met


@COMES
@pytest.mark.parametrize("fault", ANYWHERE)
def test_no_effect_that_goes_wrong_is_one_too_many_or_missing(
    tmp_path: Path, fault: Fault, *, is_losing: bool
) -> None:
    """Each create, delete, write, bell and publishing goes wrong once."""
    faults = Faults(fault, EFFECTS)

    assert survive(tmp_path, faults, is_losing=is_losing)
    assert {what.partition(" ")[0] for _, what in faults.met} == EFFECTS


@pytest.mark.parametrize("fault", ANYWHERE)
def test_a_job_survives_everything_at_once(tmp_path: Path, fault: Fault) -> None:
    """Each commit and each effect goes wrong once, in one story."""
    assert COMMITTERS == survive(tmp_path, Faults(fault, COMMIT | EFFECTS))


@pytest.mark.parametrize("fault", [Fault.DIES_BEFORE, Fault.DIES_AFTER])
def test_a_function_that_dies_before_it_answers_is_called_again(
    tmp_path: Path, fault: Fault
) -> None:
    """It had done everything, or nothing: the bus cannot tell."""
    met = survive(tmp_path, Faults(fault, frozenset({"handle"})))

    assert COMMITTERS - {"health_check"} | {"alert"} == met


def test_every_message_may_come_twice(tmp_path: Path) -> None:
    """The second one finds nothing to do; and so does the second of two ticks at once."""
    world = TwiceWorld(tmp_path)
    live_through_everything(world)

    check_all_is_well(world)
    world.close()


@pytest.mark.parametrize("seed", range(8))
def test_messages_may_come_in_any_order(tmp_path: Path, seed: int) -> None:
    """What is true stands in documents, not in messages."""
    world = (TwiceWorld if seed % 2 else World)(tmp_path)
    world.chance = Random(seed)
    live_through_everything(world)

    check_all_is_well(world)
    world.close()


@pytest.mark.parametrize("seed", range(4))
def test_wakes_may_be_lost(tmp_path: Path, seed: int) -> None:
    """Two of three never come: the tick makes up for them."""
    world = World(tmp_path)
    chance = Random(seed)
    wakes = {"launch", "recovery"}
    world.loses = lambda delivery: delivery.subscription in wakes and chance.random() < 2 / 3
    live_through_everything(world)

    check_all_is_well(world)
    world.close()
