"""A dead letter is put aside once, whatever the Store says of the first try."""

from pytest_mock import MockerFixture

from shared.app.park import KEPT
from shared.errors import NotAuthorized
from shared.ports import Message
from shared.topology import DEAD_LETTER_SUBSCRIPTION, Topic
from tests.unit.app.world import World


def test_a_dead_letter_that_may_not_be_written_is_delivered_again(
    world: World, mocker: MockerFixture
) -> None:
    """And not put aside as a message of its own: there is one document, of the true source."""
    commit, refused = world.store.commit, [NotAuthorized("a role is missing")]

    def refuse_once(writes: object) -> None:
        if refused:
            raise refused.pop()
        commit(writes)  # type: ignore[arg-type]  # it is passed on as it is

    mocker.patch.object(world.store, "commit", refuse_once)
    letter = Message(b"{}", {DEAD_LETTER_SUBSCRIPTION: "recovery"})
    world.publish(Topic.DEAD_LETTERS, letter)
    world.ticks(60.0, every_s=5.0)

    assert ["recovery"] == [parked["source"] for parked in world.all("parked")]


def test_what_was_put_aside_expires(world: World) -> None:
    """Nobody has to clear up after everybody else."""
    world.publish(Topic.DEAD_LETTERS, Message(b"{}", {DEAD_LETTER_SUBSCRIPTION: "recovery"}))

    (parked,) = world.all("parked")
    assert world.clock.now() + KEPT == parked["expires_at"]
