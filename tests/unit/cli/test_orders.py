"""An order has one outcome, however often it is given."""

import pytest
from pytest_mock import MockerFixture

from cli import orders
from cli.errors import CliError
from cli.installation import Installation
from cli.orders import derived_id, give, new_order
from shared.core.orders import OrderKind
from tests.unit.cli.stage import Installed, Launch, accept


@pytest.fixture
def here(installed: Installed) -> Installation:
    """Return what commands see."""
    return Installation(installed.settings)


def test_ids_follow_from_the_order() -> None:
    """So that asking again makes nothing twice."""
    order = new_order(OrderKind.SUBMIT)
    again = new_order(OrderKind.SUBMIT, order.id)

    assert (order.job_id, order.slice_uid) == (again.job_id, again.slice_uid)
    assert (16, 12, 8) == (len(order.id), len(order.job_id), len(order.slice_uid))


def test_two_orders_have_nothing_in_common() -> None:
    """Neither id nor what follows from it."""
    first, second = new_order(OrderKind.SUBMIT), new_order(OrderKind.SUBMIT)

    assert {first.id, first.job_id}.isdisjoint({second.id, second.job_id})


def test_derived_id_begins_with_a_letter() -> None:
    """A job's id is never taken for a number."""
    ids = [derived_id(str(seed), "job", 12) for seed in range(200)]

    assert all(text[0].isalpha() and text.isalnum() and text == text.lower() for text in ids)
    assert 200 == len(set(ids))


def test_outcome_that_is_known_is_not_ordered_again(here: Installation, launch: Launch) -> None:
    """Asked again under its id, an order only tells what became of it."""
    order = new_order(OrderKind.STOP)

    first = give(here, order, {"job": "abcdefghijkl"})
    second = give(here, order, {"job": "abcdefghijkl"})

    assert first == second
    assert 1 == len(launch.commands)


def test_no_answer_says_how_to_ask_again(
    here: Installation, installed: Installed, mocker: MockerFixture
) -> None:
    """Under the same id; the order stays where it is."""
    mocker.patch.object(orders, "ANSWER_S", 0.0)
    order = new_order(OrderKind.STOP)

    with pytest.raises(CliError) as caught:
        give(here, order, {"job": "abcdefghijkl"})

    assert "no answer within" in str(caught.value)
    assert f"--command-id {order.id}" in caught.value.next_step
    assert 1 == installed.bus.backlog()["launch-commands"]


def test_command_id_that_is_none_is_refused() -> None:
    """It becomes part of a document's path."""
    with pytest.raises(CliError, match="--command-id"):
        new_order(OrderKind.STOP, "../x")


def test_answer_is_what_the_document_says(here: Installation, launch: Launch) -> None:
    """Job and number."""
    launch.answer = accept

    accepted = give(here, new_order(OrderKind.STOP), {"job": "abcdefghijkl"})

    assert ("abcdefghijkl", 7) == (accepted.job, accepted.number)


def test_interrupt_before_the_answer_says_how_to_ask_again(
    here: Installation, mocker: MockerFixture
) -> None:
    """The order is on its way already."""
    mocker.patch.object(orders, "_outcome", side_effect=[None, KeyboardInterrupt])
    order = new_order(OrderKind.STOP)

    with pytest.raises(CliError) as caught:
        give(here, order, {"job": "abcdefghijkl"})

    assert (130, "interrupted before the answer came") == (
        caught.value.code,
        str(caught.value).partition(";")[0],
    )
    assert f"--command-id {order.id}" in caught.value.next_step


@pytest.mark.parametrize(
    "kind, args, words",
    [
        pytest.param(
            OrderKind.PAUSE,
            {"reason": "x" * 201},
            "--reason: string should have at most",
            id="long",
        ),
        pytest.param(
            OrderKind.PAUSE, {"reason": "a\nb"}, "--reason: string should match", id="lines"
        ),
        pytest.param(
            OrderKind.SLICE_CREATE,
            {"slice": "a", "slice_uid": "abcdefgh", "accelerator_type": "v" * 65},
            "--type: string should have",
            id="a flag of another name",
        ),
    ],
)
def test_order_that_nobody_could_read_is_not_given(
    here: Installation, launch: Launch, kind: OrderKind, args: dict[str, object], words: str
) -> None:
    """It would be put aside, and its sender would wait for nothing."""
    with pytest.raises(CliError, match=words):
        give(here, new_order(kind), args)

    assert [] == launch.commands
