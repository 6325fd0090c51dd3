"""What follows from what is known: all rules, in order, until nothing changes any more.

Whoever wakes up with a slice, for whatever reason, decides with this one function; so it does
not matter which message came, how often, or in which order.
"""

from __future__ import annotations

from collections.abc import Callable

from shared.core.capacity import (
    claim,
    hear_silence,
    lose,
    miss,
    rebid,
    see_boots,
    serve,
    take_notice,
    want,
)
from shared.core.fencing import fence
from shared.core.gangs import judge_gang
from shared.core.letting_go import bury, drop, expire, hasten, let_go, release
from shared.core.recording import record
from shared.core.restarting import see_restarts
from shared.core.schedule import schedule
from shared.core.situation import Situation
from shared.core.summaries import summarize
from shared.core.telling import tell
from shared.core.waiting import tell_stuck
from shared.core.work import check_preparation, start, stop

Rule = Callable[[Situation], Situation]

# First what is known, then what is lost, then what may go on, then what must be told.
RULES: tuple[Rule, ...] = (
    record,
    take_notice,
    see_boots,
    miss,
    hear_silence,
    fence,
    lose,
    rebid,
    claim,
    serve,
    see_restarts,
    judge_gang,
    check_preparation,
    start,
    stop,
    let_go,
    expire,
    release,
    want,
    tell,
    hasten,
    bury,
    drop,
    tell_stuck,
)
_ROUNDS_MAX = 12


def decide(now: Situation) -> Situation:
    """Apply the rules until nothing changes, then say when to look again.

    Deciding twice is deciding once: the result of ``decide`` leads to no further change.
    """
    for _ in range(_ROUNDS_MAX):
        before = now
        for rule in RULES:
            now = rule(now)
        if now == before:
            return summarize(schedule(now))
    raise AssertionError(f"the rules do not come to rest for {now.slice.name}")
