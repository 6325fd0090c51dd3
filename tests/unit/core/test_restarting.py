"""Restarts that an owner orders: which boots count, and when it is over."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.core import slice_orders
from shared.core.causes import Cause
from shared.core.decide import decide
from shared.core.model import Spent
from shared.core.ordering import Refused
from shared.core.situation import Situation
from shared.core.stages import Stage
from tests.unit.core.situations import (
    all_ended,
    claimed,
    current,
    later,
    newest,
    obeyed,
    recovering,
    restarting,
    running,
    settled,
    speaking,
    stopping,
    submitted,
)


def preparing() -> Situation:
    """A job that is being prepared while its hosts are to reboot."""
    return restarting(claimed(obeyed(recovering(), 2)))


def rebooted(now: Situation, *hosts: int) -> Situation:
    """Let hosts speak from another boot."""
    for index in hosts:
        changes = {"boot": f"new-{index}", "phase": "booted", "prepared": None}
        now = speaking(now, index, alive=False, seen_sequence=0, **changes)
    return now


def test_a_boot_that_shall_end_is_never_prepared() -> None:
    """Whatever it says: what would start there would be cut off by the reboot."""
    now = settled(obeyed(preparing()))
    assert Stage.PREPARING is now.served.stage

    after = settled(obeyed(settled(rebooted(now, 0, 1))))

    assert Stage.RUNNING is after.served.stage
    assert after.served.writer is not None
    assert {"0": "new-0", "1": "new-1"} == after.served.writer.boots


@pytest.mark.parametrize("hosts, is_over", [((0,), False), ((0, 1), True)], ids=["one", "all"])
def test_a_restart_is_over_when_all_have_rebooted(hosts: tuple[int, ...], *, is_over: bool) -> None:
    """Not before."""
    after = decide(rebooted(preparing(), *hosts))

    assert is_over == (current(after).restart_at is None)
    assert is_over == (current(after).mandate.restart == {})


def test_a_host_that_does_not_reboot_is_told_after_a_while() -> None:
    """And what it says counts again."""
    now = settled(rebooted(preparing(), 0))
    after = decide(later(now, now.policy.boot_s))

    (told,) = [note.text for note in after.notes if note.event == "RestartFailed"]
    assert "host 1 of hi-1 did not reboot" == told
    assert {} == current(after).restart


def test_a_restart_costs_no_budget_whatever_the_rule_is() -> None:
    """It is its owner's wish."""
    now = running().with_job(spent=(spent := Spent(echoes=10_000, failures=10_000)))
    after = settled(all_ended(restarting(now), told=True, killed_by="mandate", signal=15))

    assert after.attempt is not None
    assert (Stage.PREPARING, Cause.REBOOTED) == (after.served.stage, after.attempt.cause)
    assert spent == after.served.spent


def test_what_ended_well_before_it_heard_has_succeeded() -> None:
    """On all hosts: of one alone nobody knows."""
    assert Stage.SUCCEEDED is settled(all_ended(restarting(running()), exit_code=0)).served.stage


def test_a_condemned_generation_reboots_nobody() -> None:
    """It ends."""
    after = settled(slice_orders.recreate(restarting(running()), by="its owner"))

    old = after.slice.generations[-2]
    assert ("end", {}, None) == (old.mandate.action, old.mandate.restart, old.restart_at)
    assert newest(after).number == old.number + 1


@pytest.mark.parametrize(
    "now, reason",
    [
        (restarting(running()), "slice hi-1 is being restarted already"),
        (stopping(), "slice hi-1 is busy: job 1 is being stopped"),
        (settled(submitted()), "slice hi-1 is not up: asks for v4-16"),
        (replace(running(), hosts=()), "slice hi-1 is not up: "),
    ],
    ids=["twice", "stopping", "not there", "no host speaks"],
)
def test_a_restart_that_makes_no_sense_is_refused(now: Situation, reason: str) -> None:
    """With the reason."""
    with pytest.raises(Refused, match=reason):
        slice_orders.restart(now, by="its owner")
