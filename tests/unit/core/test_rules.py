"""Presets, bounds and budgets say what follows from a cause."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.core.causes import Cause
from shared.core.model import Spent
from shared.core.rules import (
    FRUITLESS_MAX,
    GROUP_OF,
    OTHERS_MAX,
    PRESETS,
    RESTORES_MAX,
    TRIES_MAX,
    Action,
    Decision,
    Ended,
    Group,
    Left,
    Rules,
    decide_action,
)

ADVANCED, NOTHING = Left(advanced=True), Left()
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


def often(rules: Rules, cause: Cause, left: Left = ADVANCED, times: int = 200) -> list[Action]:
    """Return what is done each time, until the job is stopped."""
    spent, actions = Spent(), []
    for _ in range(times):
        decision = decide_action(rules, cause, spent, left)
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
    assert action is decide_action(rules(preset), cause, Spent(), ADVANCED).action


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
    assert [action] * times + [STOP] == often(rules(preset), cause, NOTHING)
    assert Spent() == replace(
        decide_action(rules(preset), cause, Spent(), NOTHING).spent, setups=0, bad_nodes=0, locks=0
    )


@pytest.mark.parametrize("cause", [cause for cause in Cause if cause is not Cause.SUCCEEDED])
def test_pass_leaves_everything_to_its_owner(cause: Cause) -> None:
    """Nothing is done, nothing is spent."""
    decision = decide_action(rules("pass"), cause, Spent(), ADVANCED)

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
    assert [STOP] == often(rules(), cause, NOTHING)


@pytest.mark.parametrize("preset, cause", [("rerun", Cause.ERROR), ("pre", Cause.TRANSPORT)])
def test_only_a_program_that_is_resumed_can_be_in_a_crash_loop(preset: str, cause: Cause) -> None:
    """A rerun begins anew, and an echo is not the program's fault."""
    assert STOP is not often(rules(preset), cause, NOTHING)[0]


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
    left = NOTHING if ":" in written else ADVANCED
    cause = Cause(key)

    assert actions == often(rules(**{key: written}), cause, left)


def test_a_cause_goes_before_its_group() -> None:
    """The finer word counts."""
    both = rules(gone="stop", deleted="recreate")

    assert RECREATE is often(both, Cause.DELETED)[0]
    assert STOP is often(both, Cause.PREEMPTED)[0]


@pytest.mark.parametrize("cause", sorted(GROUP_OF))
@pytest.mark.parametrize("before", sorted(GROUP_OF))
def test_what_happened_for_other_reasons_uses_up_no_bound(before: Cause, cause: Cause) -> None:
    """Groups have counters of their own: three lost links leave a locked device its tries."""
    if GROUP_OF[before] is GROUP_OF[cause]:
        return
    spent = Spent()
    for _ in range(3):
        spent = decide_action(rules(), before, spent, ADVANCED).spent

    first = decide_action(rules(), cause, Spent(), ADVANCED)

    assert first.action is decide_action(rules(), cause, spent, ADVANCED).action
    assert first.why == decide_action(rules(), cause, spent, ADVANCED).why


# --- Runs of attempts that get no further -------------------------------------------------------


@pytest.mark.parametrize("cause", [Cause.HANG, Cause.TRANSPORT, Cause.REBOOTED, Cause.DRAINED])
@pytest.mark.parametrize("preset, action", [("pre", RESUME), ("reapply", RECREATE)])
def test_going_on_from_the_same_checkpoint_again_and_again_is_a_crash_loop(
    preset: str, action: Action, cause: Cause
) -> None:
    """Whatever ends it: so many in a row are no chance."""
    assert [action] * (FRUITLESS_MAX - 1) + [STOP] == often(rules(preset), cause, NOTHING)


def test_a_crash_loop_is_told_with_its_length() -> None:
    """And is not taken for a budget that is used up."""
    before = Spent(fruitless=FRUITLESS_MAX - 1)
    decision = decide_action(rules(), Cause.HANG, before, NOTHING)

    assert (Ended.CRASH_LOOP, before) == (decision.ended, decision.spent)
    assert f"{FRUITLESS_MAX} attempts in a row left no newer checkpoint" == decision.why


@pytest.mark.parametrize(
    "cause, left, fruitless",
    [
        pytest.param(Cause.HANG, NOTHING, 4, id="a hang is one more"),
        pytest.param(Cause.TRANSPORT, ADVANCED, 0, id="a newer checkpoint ends the row"),
        pytest.param(Cause.PREEMPTED, ADVANCED, 0, id="one before a preemption ends it as well"),
        pytest.param(Cause.PREEMPTED, NOTHING, 3, id="a preemption proves nothing"),
        pytest.param(Cause.SETUP, NOTHING, 3, id="a setup is no attempt"),
        pytest.param(Cause.TRANSPORT, Left(moved=True), 0, id="steps, where nothing else is seen"),
    ],
)
def test_a_row_of_fruitless_attempts_is_counted(cause: Cause, left: Left, fruitless: int) -> None:
    """What happens between them neither adds to it nor hides it."""
    spent = decide_action(rules(), cause, Spent(fruitless=3), left).spent

    assert fruitless == spent.fruitless


@pytest.mark.parametrize("cause", [Cause.HANG, Cause.TRANSPORT])
def test_a_run_that_begins_anew_each_time_is_no_crash_loop(cause: Cause) -> None:
    """It goes on from nothing, so nothing has to get newer."""
    actions = often(rules("rerun"), cause, NOTHING)

    assert [RERUN] * OTHERS_MAX + [STOP] == actions


@pytest.mark.parametrize("cause", [Cause.SETUP, Cause.DEVICE_LOCKED, Cause.BAD_NODE])
def test_a_newer_checkpoint_renews_what_is_counted_in_a_row(cause: Cause) -> None:
    """Three bad nodes in a month are not three in a row; the budgets of the owner stay spent."""
    used = Spent(preemptions=2, failures=1, setups=2, bad_nodes=3, locks=3)

    spent = decide_action(rules(), Cause.PREEMPTED, used, ADVANCED).spent

    assert Spent(preemptions=3, failures=1) == spent
    assert STOP is decide_action(rules(), cause, used, NOTHING).action
    assert STOP is not decide_action(rules(), cause, spent, NOTHING).action


# --- Checkpoints that cannot be restored --------------------------------------------------------


@pytest.mark.parametrize("cause", [Cause.ERROR, Cause.OOM, Cause.HANG])
def test_a_checkpoint_is_tried_twice(cause: Cause) -> None:
    """Reading may fail by chance, once."""
    first = decide_action(rules(), cause, Spent(), Left(failed_restores=RESTORES_MAX - 1))
    second = decide_action(rules(), cause, first.spent, Left(failed_restores=RESTORES_MAX))

    assert (RESUME, None) == (first.action, first.ended)
    assert (STOP, Ended.BAD_CHECKPOINT) == (second.action, second.ended)


@pytest.mark.parametrize(
    "rules_, cause",
    [
        pytest.param(rules(), Cause.TRANSPORT, id="a lost link is not the program's end"),
        pytest.param(rules(), Cause.PREEMPTED, id="nor is a preemption"),
        pytest.param(rules("rerun"), Cause.ERROR, id="a rerun restores nothing"),
        pytest.param(rules(error="resume:4"), Cause.ERROR, id="its owner wants four tries"),
    ],
)
def test_what_says_nothing_about_the_checkpoint_blames_it_for_nothing(
    rules_: Rules, cause: Cause
) -> None:
    """However often it happens."""
    decision = decide_action(rules_, cause, Spent(), Left(failed_restores=RESTORES_MAX))

    assert decision.ended is None


def test_a_bound_counts_on_its_own() -> None:
    """One out-of-memory is allowed, whatever failed before; and it uses up nobody's budget."""
    both = rules(oom="resume:1")
    used = Spent(failures=2)

    once = decide_action(both, Cause.OOM, used, NOTHING)
    twice = decide_action(both, Cause.OOM, once.spent, NOTHING)

    assert (RESUME, "bound for oom 1 of 1") == (once.action, once.why)
    assert (2, {"oom": 1}) == (once.spent.failures, once.spent.bounded)
    assert (STOP, "bound for oom used up (1 of 1)") == (twice.action, twice.why)
    assert RESUME is decide_action(both, Cause.ERROR, once.spent, ADVANCED).action


def test_causes_that_share_a_groups_bound_share_its_count() -> None:
    """Two links and no third, however they broke."""
    both, spent = rules(echo="resume:2"), Spent()
    actions: list[Action] = []
    for cause in (Cause.TRANSPORT, Cause.REBOOTED, Cause.CUT_OFF):
        decision = decide_action(both, cause, spent, NOTHING)
        actions, spent = [*actions, decision.action], decision.spent

    assert [RESUME, RESUME, STOP] == actions
