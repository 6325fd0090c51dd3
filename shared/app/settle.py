"""Load, decide, commit, perform: the same lines for every function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableSet, Sequence
from functools import reduce

from shared.app.commit import LAUNCH, RECOVERY, commit
from shared.app.context import App
from shared.app.listening import load_and_listen
from shared.app.load import Loaded, load
from shared.app.perform import Mark, perform_launch, perform_recovery
from shared.core.decide import decide
from shared.core.situation import Situation
from shared.errors import Conflict, OutOfTime
from shared.log import add
from shared.ports import Write

# Each round either loses a race or performs something; more means that the world runs away.
ROUNDS_MAX = 20
_PERFORMERS: dict[str, Callable[[App, Situation, MutableSet[str]], Iterator[Mark]]] = {
    LAUNCH: perform_launch,
    RECOVERY: perform_recovery,
}

# Who may read what hosts left in storage does so before silence is judged; no other judges it.
_LOADERS: dict[str, Callable[[App, str], Loaded | None]] = {LAUNCH: load_and_listen}


def settle(app: App, name: str, *, who: str, change: Mark | None = None) -> Situation | None:
    """Decide what follows for a slice, and perform what ``who`` owns; None for an unknown slice.

    ``change`` is what was learnt; it is applied to what is loaded, again after a lost race.
    Raises Conflict when too many others are at work, Unavailable when the Store is not there,
    OutOfTime when an effect is due and the time is up.
    """
    add(slice=name)
    tried: set[str] = set()
    for _ in range(ROUNDS_MAX):
        loaded = _LOADERS.get(who, load)(app, name)
        if loaded is None:
            return None
        add(**_fields(loaded.situation))
        try:
            now = settle_once(app, loaded, who=who, change=change)
        except Conflict:
            continue
        marks = _perform(app, now, who, tried)
        if not marks:
            return now
        change = _all(marks, now.slice.uid)
    raise Conflict(f"{name} does not come to rest", after_s=1.0)


def settle_once(
    app: App, loaded: Loaded, *, who: str, change: Mark | None = None, beside: Sequence[Write] = ()
) -> Situation:
    """Decide and commit once; return what stands in the Store now."""
    now = change(loaded.situation) if change else loaded.situation
    decided = decide(now)
    return commit(app, loaded, decided, who=who, beside=beside) or decided


def _perform(app: App, now: Situation, who: str, tried: MutableSet[str]) -> list[Mark]:
    """Perform what there is time for: what was done is marked before the time is said to be up."""
    marks: list[Mark] = []
    try:
        for mark in _PERFORMERS[who](app, now, tried) if who in _PERFORMERS else ():
            marks.append(mark)  # noqa: PERF402 - they are kept when the next one raises
    except OutOfTime:
        if not marks:
            raise
    return marks


def _fields(now: Situation) -> dict[str, object]:
    """Say in the log what it is about."""
    about: dict[str, object] = {"generation": now.slice.generation}
    if now.job is not None:
        about |= {"job": now.job.id, "attempt": now.job.attempt}
    return about


def _all(marks: list[Mark], uid: str) -> Mark:
    """Apply marks to the slice that they are about, and not to a later one of its name."""

    def mark(now: Situation) -> Situation:
        is_same = now.slice.uid == uid
        return reduce(lambda so_far, each: each(so_far), marks, now) if is_same else now

    return mark
