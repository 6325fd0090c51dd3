"""Rules: what to do on each cause, and the budgets that bound it.

Presets are rows of data, one action a cause; any cell can be overridden by the job, with its own
bound (``recreate:2``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from shared.core.causes import SLICE_GONE, Cause
from shared.core.model import Spent


class Action(StrEnum):
    """What a rule can order."""

    RESUME = "resume"
    RERUN = "rerun"
    RECREATE = "recreate"
    RECREATE_RERUN = "recreate-rerun"
    STOP = "stop"


NEW_SLICE = frozenset({Action.RECREATE, Action.RECREATE_RERUN})
FROM_SCRATCH = frozenset({Action.RERUN, Action.RECREATE_RERUN})

# Three is what labs' tools use for program errors; see features.md's table of presets.
TRIES_MAX = 3
# A bound for causes that are nobody's failure, so that no loop is endless.
OTHERS_MAX = 100
# So many attempts in a row that left nothing newer are a crash loop, whatever ended them; of a
# program's own failures one is enough. A link that breaks by chance does not break five times.
FRUITLESS_MAX = 5
# Reading a checkpoint may fail by chance, once.
RESTORES_MAX = 2


class Group(StrEnum):
    """Causes that one column of the preset table treats alike."""

    GONE = "gone"
    ECHO = "echo"
    HANG = "hang"
    ERROR = "error"
    LOCKED = "device_locked"
    SETUP = "setup"
    BAD_NODE = "bad_node"


GROUP_OF: Mapping[Cause, Group] = {
    **dict.fromkeys(SLICE_GONE, Group.GONE),
    Cause.TRANSPORT: Group.ECHO,
    Cause.REBOOTED: Group.ECHO,
    Cause.CUT_OFF: Group.ECHO,
    Cause.DRAINED: Group.ECHO,
    Cause.HANG: Group.HANG,
    Cause.ERROR: Group.ERROR,
    Cause.OOM: Group.ERROR,
    Cause.DEVICE_LOCKED: Group.LOCKED,
    Cause.SETUP: Group.SETUP,
    Cause.BAD_NODE: Group.BAD_NODE,
}

# What ends an attempt on a slice that is there; and what its program does itself.
_OF_WORK = frozenset({Group.ECHO, Group.HANG, Group.ERROR})
_OF_PROGRAM = frozenset({Group.HANG, Group.ERROR})
_COMMON = {
    Group.LOCKED: Action.RESUME,
    Group.SETUP: Action.RESUME,
    Group.BAD_NODE: Action.RECREATE,
}
PRESETS: Mapping[str, Mapping[Group, Action]] = {
    "pre": {
        Group.GONE: Action.RECREATE,
        Group.ECHO: Action.RESUME,
        Group.HANG: Action.RESUME,
        Group.ERROR: Action.RESUME,
        **_COMMON,
    },
    "reapply": {
        Group.GONE: Action.RECREATE,
        Group.ECHO: Action.RECREATE,
        Group.HANG: Action.RECREATE,
        Group.ERROR: Action.RESUME,
        **_COMMON,
    },
    "rerun": {
        Group.GONE: Action.RECREATE,
        Group.ECHO: Action.RERUN,
        Group.HANG: Action.RERUN,
        Group.ERROR: Action.RERUN,
        **_COMMON,
    },
    "resume": {
        Group.GONE: Action.STOP,
        Group.ECHO: Action.RESUME,
        Group.HANG: Action.RESUME,
        Group.ERROR: Action.RESUME,
        **_COMMON,
    },
    "pass": dict.fromkeys(Group, Action.STOP),
}


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one job."""

    preset: str
    overrides: Mapping[str, str]
    preemptions_max: int
    failures_max: int


class Ended(StrEnum):
    """Why a rule lets a job end, for whoever cannot read a sentence."""

    RULE = "rule"
    BUDGET = "budget"
    CRASH_LOOP = "crash_loop"
    BAD_CHECKPOINT = "bad_checkpoint"


@dataclass(frozen=True, slots=True)
class Left:
    """What an attempt leaves behind when it ends.

    ``advanced``: a newer checkpoint than it started from. ``moved``: at least steps, where nobody
    can see checkpoints. ``failed_restores`` counts the attempts in a row, this one included, that
    failed while restoring the same checkpoint; 0 when it got further.
    """

    advanced: bool = False
    moved: bool = False
    failed_restores: int = 0


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do now, why, and what will have been spent by it; ``ended`` is set by a stop."""

    action: Action
    why: str
    spent: Spent
    ended: Ended | None = None


@dataclass(frozen=True, slots=True)
class _Cell:
    """What the rules say on a cause; ``word`` is the job's own, "" where it is the preset's."""

    action: Action
    word: str = ""
    bound: int | None = None


def decide_action(rules: Rules, cause: Cause, spent: Spent, left: Left) -> Decision:
    """Choose the action for a cause that ended an attempt, or that kept one from starting.

    Going on from a checkpoint that does not get newer is a crash loop. Who sets a bound of their
    own accepts that, and it counts on its own.
    """
    group = GROUP_OF[cause]
    cell = _cell(rules, cause, group)
    if cell.action is Action.STOP:
        return Decision(cell.action, f"the rule for {cause} says stop", spent, Ended.RULE)
    kept = _renewed(group, spent, left)
    if cell.bound is not None:
        used, limit, name = kept.bounded.get(cell.word, 0), cell.bound, f"bound for {cell.word}"
        after = replace(kept, bounded={**kept.bounded, cell.word: used + 1})
    else:
        futile = _futile(group, cell.action, kept, left)
        if futile is not None:
            return Decision(Action.STOP, futile[1], spent, futile[0])
        limit, name = _limit(rules, group), _name(group)
        used, after = _spend(group, kept)
    if used >= limit:
        return Decision(Action.STOP, f"{name} used up ({used} of {limit})", spent, Ended.BUDGET)
    return Decision(cell.action, f"{name} {used + 1} of {limit}", after)


def _cell(rules: Rules, cause: Cause, group: Group) -> _Cell:
    for word in (cause, group):
        written = rules.overrides.get(word)
        if written:
            action, _, bound = written.partition(":")
            return _Cell(Action(action), str(word), int(bound) if bound else None)
    return _Cell(PRESETS[rules.preset][group])


def _renewed(group: Group, spent: Spent, left: Left) -> Spent:
    """Count a run of attempts without anything newer; something newer ends it.

    Three tries of a setup, a node or a device are three of a kind in a row: a month on spot
    capacity has more of them than that, each long after the last.
    """
    if left.advanced:
        return replace(spent, fruitless=0, setups=0, bad_nodes=0, locks=0)
    if group not in _OF_WORK:
        return spent
    return replace(spent, fruitless=0 if left.moved else spent.fruitless + 1)


def _futile(group: Group, action: Action, spent: Spent, left: Left) -> tuple[Ended, str] | None:
    """Say why going on from the same checkpoint would meet the same end again."""
    if action in FROM_SCRATCH:
        return None
    if group in _OF_PROGRAM and left.failed_restores >= RESTORES_MAX:
        return Ended.BAD_CHECKPOINT, "its newest checkpoint cannot be restored"
    is_new = left.advanced or left.failed_restores > 0
    if group is Group.ERROR and action is Action.RESUME and not is_new:
        return Ended.CRASH_LOOP, "it failed without reaching a newer checkpoint"
    if group in _OF_WORK and spent.fruitless >= FRUITLESS_MAX:
        why = f"{spent.fruitless} attempts in a row left no newer checkpoint"
        return Ended.CRASH_LOOP, why
    return None


def _spend(group: Group, spent: Spent) -> tuple[int, Spent]:
    """Count on a group's own counter: what happens for other reasons uses up no bound."""
    match group:
        case Group.GONE:
            return spent.preemptions, replace(spent, preemptions=spent.preemptions + 1)
        case Group.ERROR:
            return spent.failures, replace(spent, failures=spent.failures + 1)
        case Group.SETUP:
            return spent.setups, replace(spent, setups=spent.setups + 1)
        case Group.BAD_NODE:
            return spent.bad_nodes, replace(spent, bad_nodes=spent.bad_nodes + 1)
        case Group.ECHO:
            return spent.echoes, replace(spent, echoes=spent.echoes + 1)
        case Group.HANG:
            return spent.hangs, replace(spent, hangs=spent.hangs + 1)
        case Group.LOCKED:
            return spent.locks, replace(spent, locks=spent.locks + 1)


def _limit(rules: Rules, group: Group) -> int:
    match group:
        case Group.GONE:
            return rules.preemptions_max
        case Group.ERROR:
            return rules.failures_max
        case Group.SETUP:
            return TRIES_MAX - 1  # three tries are two more
        case Group.BAD_NODE | Group.LOCKED:
            return TRIES_MAX
        case _:
            return OTHERS_MAX


def _name(group: Group) -> str:
    match group:
        case Group.GONE:
            return "preemption budget"
        case Group.ERROR:
            return "failure budget"
        case _:
            return f"{group} budget"
