"""Which deeds are done how often, and in which order: all that a seed decides for sure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import Final

# A bag of deeds: all of it is done, in any order, then it is filled again.
BAG: Final[Mapping[str, int]] = {
    "preempt_silently": 13,
    "preempt_with_notice": 13,
    "storm": 3,
    "vanish": 3,
    "kill_host": 2,
    "reboot_host": 2,
    "cut_host_off": 2,
    "kill_agent": 3,
    "kill_workload": 4,
    "kill_function": 10,
    "kill_all_functions": 1,
    "skip_ticks": 3,
    "tick_twice": 6,
    "cut_wire": 8,
    "hold_wire": 3,
    "refuse_wire": 3,
    "freeze_emulator": 2,
    "redeliver": 12,
    "stop_job": 2,
    "kill_job": 2,
    "pause_all": 1,
    "fail_calls": 4,
    "stick_delete": 2,
    "stock_out": 1,
}


def script(bag: Mapping[str, int], chance: Random) -> Iterator[str]:
    """Name one deed after another, for ever: which they are depends on the seed alone."""
    deeds = [name for name, count in bag.items() for _ in range(count)]
    while True:
        yield from chance.sample(deeds, len(deeds))
