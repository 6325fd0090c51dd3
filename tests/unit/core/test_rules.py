"""Presets, bounds and budgets say what follows from a cause."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.core.causes import Cause
from shared.core.model import Spent
from shared.core.rules import (
    GROUP_OF,
    OTHERS_MAX,
    PRESETS,
    TRIES_MAX,
    Action,
    Decision,
    Ended,
    Group,
    Rules,
    decide_action,
)

RESUME, RERUN, RECREATE, STOP = Action.RESUME, Action.RERUN, Action.RECREATE, Action.STOP
# The table that users are promised: gone, echo, hang, error.
TABLE = {
    "pre": (RECREATE, RESUME, RESUME, RESUME),
    "reapply": (RECREATE, RECREATE, RECREATE, RESUME),
    "rerun": (RECREATE, RERUN, RERUN, RERUN),
    "resume": (STOP, RESUME, RESUME, RESUME),
    "pass": (STOP, STOP, STOP, STOP),
}
COLUMNS = {
    Group.GONE: (Cause.PREEMPTED, Cause.MAINTENANCE, Cause.DELETED, Cause.HOST_LOST),
    Group.ECHO: (Cause.TRANSPORT, Cause.REBOOTED, Cause.CUT_OFF, Cause.DRAINED),
    Group.HANG: (Cause.HANG,),
    Group.ERROR: (Cause.ERROR, Cause.OOM),
}
CELLS = [
    pytest.param(preset, cause, action, id=f"{preset}, {cause}")
    for preset, actions in TABLE.items()
    for causes, action in zip(COLUMNS.values(), actions, strict=True)
    for cause in causes
]


def rules(preset: str = "pre", **overrides: str) -> Rules:
    """Make the rules of a job with small budgets."""
    return Rules(preset, overrides, preemptions_max=5, failures_max=3)


def often(rules: Rules, cause: Cause, *, advanced: bool = True, times: int = 200) -> list[Action]:
    """Return what is done each time, until the job is stopped."""
    spent, actions = Spent(), []
    for _ in range(times):
        decision = decide_action(rules, cause, spent, advanced=advanced)
        actions.append(decision.action)
        spent = decision.spent
        if decision.action is STOP:
            break
    return actions


@pytest.mark.parametrize("preset, cause, action", CELLS)
def test_each_cell_of_each_preset_is_what_was_promised(
    preset: str, cause: Cause, action: Action
) -> None:
    """The first time something happens, nothing is spent yet."""
    assert action is decide_action(rules(preset), cause, Spent(), advanced=True).action


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "pass"])
@pytest.mark.parametrize(
    "cause, action, times",
    [
        (Cause.SETUP, RESUME, TRIES_MAX - 1),
        (Cause.DEVICE_LOCKED, RESUME, TRIES_MAX),
        (Cause.BAD_NODE, RECREATE, TRIES_MAX),
    ],
)
def test_what_is_nobodys_program_is_treated_alike_in_every_preset(
    preset: str, cause: Cause, action: Action, times: int
) -> None:
    """Setups are tried again, bad nodes replaced: a few times, at no user's expense."""
    assert [action] * times + [STOP] == often(rules(preset), cause)
    assert Spent() == replace(
        decide_action(rules(preset), cause, Spent(), advanced=True).spent,
        setups=0,
        bad_nodes=0,
        locks=0,
    )


@pytest.mark.parametrize("cause", [cause for cause in Cause if cause is not Cause.SUCCEEDED])
def test_pass_leaves_everything_to_its_owner(cause: Cause) -> None:
    """Nothing is done, nothing is spent."""
    decision = decide_action(rules("pass"), cause, Spent(), advanced=True)

    assert Decision(STOP, f"the rule for {cause} says stop", Spent(), Ended.RULE) == decision


def test_every_cause_but_success_belongs_to_a_group() -> None:
    """No cause finds the rules without an answer."""
    assert set(Cause) - {Cause.SUCCEEDED} == set(GROUP_OF)


@pytest.mark.parametrize(
    "cause, limit",
    [(Cause.PREEMPTED, 5), (Cause.ERROR, 3), (Cause.TRANSPORT, OTHERS_MAX)],
)
def test_a_budget_is_used_up_and_then_the_job_stops(cause: Cause, limit: int) -> None:
    """Exactly as often as the limit says, whatever the cause."""
    actions = often(rules(), cause)

    assert limit + 1 == len(actions)
    assert STOP is actions[-1]


@pytest.mark.parametrize("cause", [Cause.ERROR, Cause.OOM])
def test_a_failure_without_a_newer_checkpoint_is_a_crash_loop(cause: Cause) -> None:
    """Resuming would meet the same end again."""
    assert [STOP] == often(rules(), cause, advanced=False)


@pytest.mark.parametrize("preset, cause", [("rerun", Cause.ERROR), ("pre", Cause.TRANSPORT)])
def test_only_a_program_that_is_resumed_can_be_in_a_crash_loop(preset: str, cause: Cause) -> None:
    """A rerun begins anew, and an echo is not the program's fault."""
    assert STOP is not often(rules(preset), cause, advanced=False)[0]


@pytest.mark.parametrize(
    "written, actions",
    [
        pytest.param("stop", [STOP], id="stop"),
        pytest.param("recreate:2", [RECREATE, RECREATE, STOP], id="bounded"),
        pytest.param("rerun", [RERUN] * 3 + [STOP], id="unbounded, within the budget"),
        pytest.param("resume:4", [RESUME] * 4 + [STOP], id="a bound above the budget"),
    ],
)
@pytest.mark.parametrize("key", ["error", "oom"])
def test_a_cell_can_be_replaced_with_a_bound_of_its_own(
    key: str, written: str, actions: list[Action]
) -> None:
    """By the cause or by the group; who sets a bound accepts attempts without a checkpoint."""
    advanced = ":" not in written
    cause = Cause(key)

    assert actions == often(rules(**{key: written}), cause, advanced=advanced)


def test_a_cause_goes_before_its_group() -> None:
    """The finer word counts."""
    both = rules(gone="stop", deleted="recreate")

    assert RECREATE is often(both, Cause.DELETED)[0]
    assert STOP is often(both, Cause.PREEMPTED)[0]


@pytest.mark.parametrize("cause", list(GROUP_OF))
@pytest.mark.parametrize("before", list(GROUP_OF))
def test_what_happened_for_other_reasons_uses_up_no_bound(before: Cause, cause: Cause) -> None:
    """Groups have counters of their own: three lost links leave a locked device its tries."""
    if GROUP_OF[before] is GROUP_OF[cause]:
        return
    spent = Spent()
    for _ in range(3):
        spent = decide_action(rules(), before, spent, advanced=True).spent

    first = decide_action(rules(), cause, Spent(), advanced=True)

    assert first.action is decide_action(rules(), cause, spent, advanced=True).action
    assert first.why == decide_action(rules(), cause, spent, advanced=True).why
