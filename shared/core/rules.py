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


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do now, why, and what will have been spent by it; ``ended`` is set by a stop."""

    action: Action
    why: str
    spent: Spent
    ended: Ended | None = None


def decide_action(rules: Rules, cause: Cause, spent: Spent, *, advanced: bool) -> Decision:
    """Choose the action for a cause.

    ``advanced`` says whether the attempt left a newer checkpoint than it started from: resuming
    a program that fails without getting further is a crash loop.
    """
    group = GROUP_OF[cause]
    action, bound = _cell(rules, cause, group)
    used, after = _spend(group, spent)
    limit = bound if bound is not None else _limit(rules, group)
    if action is Action.STOP:
        return Decision(action, f"the rule for {cause} says stop", spent, Ended.RULE)
    if used >= limit:
        why = f"{_name(group)} used up ({used} of {limit})"
        return Decision(Action.STOP, why, spent, Ended.BUDGET)
    if group is Group.ERROR and action is Action.RESUME and not advanced and bound is None:
        why = "it failed without reaching a newer checkpoint"
        return Decision(Action.STOP, why, spent, Ended.CRASH_LOOP)
    return Decision(action, f"{_name(group)} {used + 1} of {limit}", after)


def _cell(rules: Rules, cause: Cause, group: Group) -> tuple[Action, int | None]:
    written = rules.overrides.get(cause) or rules.overrides.get(group)
    if written is None:
        return PRESETS[rules.preset][group], None
    action, _, bound = written.partition(":")
    return Action(action), int(bound) if bound else None


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
