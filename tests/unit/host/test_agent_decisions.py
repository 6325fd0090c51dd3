"""The agent's decisions, one rule of docs/protocol.md at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.host import agent
from tests.unit.host.states import (
    BOOT,
    CONFIG,
    OTHER_SPEC,
    SPEC,
    after,
    exited,
    gone,
    mandate,
    names,
    prepared,
    read,
    running,
)


def _live(state: agent.State) -> agent.Attempt:
    assert state.live is not None
    return state.live


# --- preparing and starting ---


def test_a_prepare_prepares_and_reports_prepared() -> None:
    """The first mandate leads to a preparation, its success to the phase others wait for."""
    state, actions = agent.step(after(), read(mandate(1, "prepare"), 0.0))

    assert ["Prepare"] == names(actions)
    assert "preparing" == agent.phase(state)

    state, actions = agent.step(state, prepared(1.0))

    assert "prepared" == agent.phase(state)
    assert agent.Report() in actions


def test_a_start_is_persisted_before_it_is_spawned() -> None:
    """A crash between the two must cost the attempt, never start it twice."""
    state = after(read(mandate(1, "prepare"), 0.0), prepared(1.0))

    state, actions = agent.step(state, read(mandate(2, "start"), 2.0))

    kinds = [type(action) for action in actions]
    assert [agent.Persist, agent.Spawn, agent.Report] == kinds
    assert isinstance(actions[0], agent.Persist)
    assert ("j", 0) in actions[0].record.started
    assert "running" == agent.phase(state)


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(mandate(2, "start", boots={"0": "boot-0"}), id="another boot is named"),
        pytest.param(mandate(2, "start", boots={"1": BOOT}), id="only other hosts are named"),
        pytest.param(mandate(2, "start", bid="b1"), id="another bid is named"),
        pytest.param(mandate(2, "start", slice_uid="other"), id="another slice"),
        pytest.param(mandate(2, "start", generation=2), id="another generation"),
        pytest.param(mandate(0, "start"), id="an older sequence"),
        pytest.param(mandate(2, "start", spec=OTHER_SPEC), id="prepared for another spec"),
    ],
)
def test_a_start_that_is_not_for_this_boot_now_starts_nothing(start: agent.Mandate) -> None:
    """Each of the conditions of docs/protocol.md §5 is enough to refuse."""
    state = after(read(mandate(1, "prepare"), 0.0), prepared(1.0))

    state, actions = agent.step(state, read(start, 2.0))

    assert "Spawn" not in names(actions)
    assert state.attempt is None


def test_a_read_of_30_s_ago_starts_nothing_until_it_is_read_again() -> None:
    """A slow network must not start what may have been called off."""
    state = after(read(mandate(1, "prepare"), 0.0), prepared(1.0))

    state, actions = agent.step(state, read(mandate(2, "start"), 40.0, age_s=30.0))
    assert [] == names(actions)

    state, actions = agent.step(state, read(mandate(2, "start"), 41.0, age_s=29.0))
    assert ["Spawn"] == names(actions)


def test_a_read_whose_lease_is_nearly_over_starts_nothing() -> None:
    """Found by the property test: a short lease may end before a read is 30 s old."""
    start = mandate(2, "start", lease_s=8.0)
    state = after(read(mandate(1, "prepare"), 0.0), read(start, 2.0))

    state, actions = agent.step(state, prepared(6.0))
    assert [] == names(actions)

    state, actions = agent.step(state, read(start, 6.5))
    assert ["Spawn"] == names(actions)


def test_a_boot_starts_an_attempt_once() -> None:
    """The same start, or a newer one of the same attempt, starts nothing after its end."""
    state = running()
    for event in (exited(3.0, 1), gone(3.1)):
        state, _ = agent.step(state, event)

    for sequence in (2, 3):
        state, actions = agent.step(state, read(mandate(sequence, "start"), 4.0))
        assert [] == names(actions)


def test_a_boot_starts_an_attempt_once_also_after_a_restart_of_the_agent() -> None:
    """What ran when the agent died was killed by its supervisor, and is said to be."""
    record = running().record

    state = agent.initial(CONFIG, record, 10.0)
    state, actions = agent.step(state, read(mandate(2, "start"), 10.0))

    assert [] == names(actions)
    assert state.attempt is not None
    assert ("supervisor", 9, False) == (
        state.attempt.killed_by,
        state.attempt.signal,
        state.attempt.is_live,
    )


def test_a_restarted_agent_prepares_again_for_a_start_it_has_not_obeyed() -> None:
    """Otherwise a crash between prepared and start would leave the gang waiting."""
    state, actions = agent.step(after(), read(mandate(2, "start"), 0.0))
    assert ["Prepare"] == names(actions)

    state, actions = agent.step(state, prepared(1.0))
    assert ["Spawn"] == names(actions)


def test_the_next_attempt_waits_until_nothing_of_the_last_one_lives() -> None:
    """A prepare ends what runs first, and prepares second."""
    state, actions = agent.step(running(), read(mandate(3, "prepare", spec=OTHER_SPEC), 5.0))
    assert ["Terminate"] == names(actions)

    state, actions = agent.step(state, exited(6.0))
    assert [] == names(actions)

    state, actions = agent.step(state, gone(7.0))
    assert ["Prepare"] == names(actions)


# --- setup ---


def test_a_failed_setup_is_reported_and_tried_again_only_on_a_newer_order() -> None:
    """The control plane counts the tries, not the host."""
    failure = agent.SetupFailure(SPEC.sha256, 1, None, "no such package")
    ended = agent.PreparationEnded(SPEC.sha256, None, failure, 1.0)

    state, actions = agent.step(after(read(mandate(1, "prepare"), 0.0)), ended)
    assert agent.Report() in actions
    state, actions = agent.step(state, read(mandate(1, "prepare"), 2.0))
    assert [] == names(actions)
    state, actions = agent.step(state, read(mandate(2, "prepare"), 3.0))

    assert [agent.Prepare(SPEC, 2)] == [x for x in actions if isinstance(x, agent.Prepare)]


@pytest.mark.parametrize(
    "newer",
    [
        pytest.param(mandate(2, "idle"), id="idle"),
        pytest.param(mandate(2, "end"), id="end"),
        pytest.param(mandate(2, "prepare", spec=OTHER_SPEC), id="prepare for another spec"),
    ],
)
def test_a_setup_that_nobody_wants_any_more_is_killed(newer: agent.Mandate) -> None:
    """Mandates are read during setup, and obeyed."""
    state, actions = agent.step(after(read(mandate(1, "prepare"), 0.0)), read(newer, 1.0))

    assert ["StopPreparing"] == names(actions)
    assert "ending" == agent.phase(state)


# --- ending ---


@pytest.mark.parametrize(
    "order",
    [
        pytest.param(mandate(3, "idle"), id="idle"),
        pytest.param(mandate(3, "end"), id="end"),
        pytest.param(mandate(3, "prepare"), id="prepare"),
        pytest.param(mandate(3, "start", attempt=1), id="start of another attempt"),
    ],
)
def test_every_other_order_ends_the_attempt_with_that_orders_grace(order: agent.Mandate) -> None:
    """SIGTERM at once, SIGKILL when the grace of the mandate is over."""
    state, actions = agent.step(running(), read(order, 5.0))
    assert ["Terminate"] == names(actions)
    assert "ending" == agent.phase(state)

    _, actions = agent.step(state, agent.Tick(14.9))
    assert [] == names(actions)

    _, actions = agent.step(state, agent.Tick(15.0))
    assert ["Kill"] == names(actions)


def test_a_grace_of_zero_kills_at_once() -> None:
    """No SIGTERM comes before a kill that was ordered."""
    _, actions = agent.step(running(), read(mandate(3, "end", grace_s=0.0), 5.0))

    assert ["Kill"] == names(actions)


def test_the_shortest_of_several_graces_counts() -> None:
    """A kill after a stop does not wait for the stop's grace."""
    state, _ = agent.step(running(), read(mandate(3, "end"), 5.0))

    _, actions = agent.step(state, read(mandate(4, "end", grace_s=1.0), 6.0))
    assert [] == names(actions)

    _, actions = agent.step(state, read(mandate(5, "end", grace_s=0.0), 6.0))
    assert ["Kill"] == names(actions)


def test_an_end_is_final_for_the_generation() -> None:
    """Whatever is ordered after an end, nothing is prepared or started."""
    state = after(read(mandate(1, "prepare"), 0.0), prepared(1.0), read(mandate(2, "end"), 2.0))
    assert "ended" == agent.phase(state)

    for event in (
        read(mandate(3, "prepare", spec=OTHER_SPEC), 3.0),
        read(mandate(4, "start"), 4.0),
    ):
        state, actions = agent.step(state, event)
        assert [] == names(actions)
    assert 4 == state.record.seen


@pytest.mark.parametrize(
    "exit_code, killed_by",
    [pytest.param(0, "", id="clean"), pytest.param(143, "mandate", id="not clean")],
)
def test_what_was_told_before_its_exit_says_so(exit_code: int, killed_by: str) -> None:
    """``told`` makes exit 0 a drain; who told is named when the end was not clean."""
    state, _ = agent.step(running(), read(mandate(3, "end"), 5.0))

    state, _ = agent.step(state, exited(6.0, exit_code))

    assert state.attempt is not None
    assert ("mandate", killed_by) == (state.attempt.told_by, state.attempt.killed_by)


def test_what_had_exited_before_it_was_told_was_not_told() -> None:
    """An order that crosses the exit must not make a success a drain."""
    state, _ = agent.step(running(), read(mandate(3, "end"), 5.0))

    state, _ = agent.step(state, replace(exited(5.1), exited_at=4.9))

    assert state.attempt is not None
    assert "" == state.attempt.told_by


def test_alive_is_true_until_the_whole_tree_is_gone() -> None:
    """The end of the main process is not the end of the attempt."""
    state, actions = agent.step(running(), exited(3.0))
    assert agent.Report() in actions
    assert agent.snapshot(state, sequence=1, at="")["alive"] is True

    state, _ = agent.step(state, gone(4.0))
    assert agent.snapshot(state, sequence=2, at="")["alive"] is False


def test_a_process_that_survives_its_kill_for_a_minute_needs_a_reboot() -> None:
    """Uninterruptible processes hold devices; nothing else frees them."""
    state, _ = agent.step(running(), read(mandate(3, "end", grace_s=0.0), 5.0))

    _, actions = agent.step(state, agent.Tick(65.0))

    assert ["Kill", "Reboot"] == names(actions)


# --- lease ---


def test_the_lease_counts_from_the_sending_of_the_last_read() -> None:
    """SIGTERM at lease - grace, SIGKILL at the lease: 100 s and 5 s here."""
    state, _ = agent.step(running(), read(mandate(2, "start"), 12.0, age_s=2.0))

    _, actions = agent.step(state, agent.Tick(104.9))
    assert [] == names(actions)
    state, actions = agent.step(state, agent.Tick(105.0))
    assert ["Terminate"] == names(actions)
    state, actions = agent.step(state, agent.Tick(110.0))
    assert ["Kill"] == names(actions)
    state, _ = agent.step(state, exited(110.1, 137))

    assert state.attempt is not None
    assert "lease" == state.attempt.killed_by


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(agent.ReadFailed("503", is_unusable=False, now=50.0), id="server error"),
        pytest.param(agent.ReadFailed("404", is_unusable=True, now=50.0), id="missing"),
        pytest.param(read(mandate(9, "start", slice_uid="x"), 50.0), id="another slice's mandate"),
        pytest.param(read(mandate(1, "start"), 50.0), id="an older mandate"),
    ],
)
def test_what_is_no_read_of_our_mandate_renews_nothing(event: agent.Event) -> None:
    """Only a read that could be obeyed keeps a workload alive."""
    state, _ = agent.step(running(), event)

    _, actions = agent.step(state, agent.Tick(102.0))

    assert ["Kill"] == names(actions)


def test_the_supervisor_is_pinged_only_while_a_read_permits() -> None:
    """If the kill at the lease does not work, the supervisor kills everything."""
    state = running()

    assert agent.may_ping(state, 102.0 + agent.LEASE_MARGIN_S - 0.1)
    assert not agent.may_ping(state, 102.0 + agent.LEASE_MARGIN_S)
    state, _ = agent.step(state, exited(3.0))
    state, _ = agent.step(state, gone(3.0))
    assert agent.may_ping(state, 1000.0)


def test_five_minutes_without_a_read_are_a_problem_that_is_reported_once() -> None:
    """And a read ends it."""
    state, _ = agent.step(after(read(mandate(1, "idle"), 0.0)), agent.ReadFailed("503", False, 1.0))
    assert "" == state.problem

    state, actions = agent.step(state, agent.Tick(300.0))
    assert "The mandate could not be read for 5 min: 503." == state.problem
    assert [agent.Report()] == actions
    state, actions = agent.step(state, agent.ReadFailed("timeout", False, 301.0))
    assert [] == actions

    state, actions = agent.step(state, read(mandate(1, "idle"), 302.0))
    assert "" == state.problem
    assert [agent.Report()] == actions


# --- notices ---


def test_a_preemption_notice_tells_the_workload_and_others_at_once() -> None:
    """The grace is the spec's; nothing starts on a machine that will be taken away."""
    state, actions = agent.step(running(), agent.NoticeSeen("preempted", 5.0))
    assert ["Terminate"] == names(actions)
    assert agent.Report() in actions
    assert 10.0 == _live(state).kill_at

    for event in (exited(6.0, 1), gone(6.0)):
        state, _ = agent.step(state, event)
    assert state.attempt is not None
    assert "notice" == state.attempt.killed_by
    _, actions = agent.step(state, read(mandate(3, "start", attempt=1), 7.0))
    assert [] == names(actions)


def test_announced_maintenance_is_reported_and_heeded_five_minutes_before() -> None:
    """Days ahead it is only a sentence."""
    state, actions = agent.step(running(), agent.MaintenanceAnnounced(500.0, "Soon.", 3.0))
    assert ["Soon."] == [state.problem]
    assert [] == names(actions)

    state, _ = agent.step(state, read(mandate(2, "start"), 190.0))
    state, actions = agent.step(state, agent.Tick(200.0))
    assert ("maintenance", ["Terminate"]) == (state.notice, names(actions))


# --- reporting and reading ---


def test_nothing_is_reported_before_there_is_a_token_to_show() -> None:
    """A snapshot without a token would be refused."""
    _, actions = agent.step(after(), agent.Tick(1.0))

    assert [] == actions


def test_nothing_is_reported_before_the_mandate_has_the_token_of_ones_own_bid() -> None:
    """A host may boot before the mandate that names its bid is written; then it is heard."""
    early, actions = agent.step(after(), read(mandate(1, "prepare", bid_tokens={"a0": "t"}), 1.0))
    _, later = agent.step(early, read(mandate(2, "prepare"), 2.0))

    assert (False, True) == tuple(agent.Report() in each for each in (actions, later))


def test_progress_is_reported_at_its_first_step_and_then_at_its_pace() -> None:
    """Snapshots of progress come at most every progress_s, here 60 s."""
    state = running()
    seen = [
        agent.ProgressSeen(("j", 0), agent.Progress(number), "at", 3.0 + number)
        for number in range(3)
    ]

    state, first = agent.step(state, seen[0])
    state, second = agent.step(state, seen[1])
    state, third = agent.step(state, agent.Tick(63.0))

    assert [True, False, True] == [agent.Report() in x for x in (first, second, third)]
    assert "at" == _live(state).first_step_at


def test_a_quiet_host_reports_every_snapshot_interval() -> None:
    """Silence has to mean something."""
    state = after(read(mandate(1, "idle"), 0.0))

    state, early = agent.step(state, agent.Tick(299.0))
    state, due = agent.step(state, agent.Tick(300.0))

    assert ([], [agent.Report()]) == (early, due)


@pytest.mark.parametrize(
    "state, expected_s",
    [
        pytest.param(after(), 0.5, id="booted"),
        pytest.param(after(read(mandate(1, "prepare"), 0.0)), 0.5, id="preparing"),
        pytest.param(after(read(mandate(1, "prepare"), 0.0), prepared(1.0)), 0.5, id="prepared"),
        pytest.param(running(), 30.0, id="running"),
        pytest.param(agent.step(running(), read(mandate(3, "end"), 5.0))[0], 0.5, id="ending"),
        pytest.param(after(read(mandate(1, "idle"), 0.0)), 30.0, id="idle"),
        pytest.param(
            agent.step(running(), agent.ReadFailed("503", False, 3.0))[0], 5.0, id="failing"
        ),
    ],
)
def test_the_mandate_is_read_often_while_somebody_waits(
    state: agent.State, expected_s: float
) -> None:
    """And seldom while nobody does."""
    assert expected_s == agent.poll_s(state)


def test_a_stopped_agent_ends_its_workload_and_starts_nothing() -> None:
    """A shutdown of the machine gives the workload its grace."""
    state, actions = agent.step(running(), agent.StopAsked(5.0))
    assert ["Terminate"] == names(actions)

    for event in (exited(6.0), gone(6.0)):
        state, _ = agent.step(state, event)
    _, actions = agent.step(state, read(mandate(3, "start", attempt=1), 7.0))
    assert [] == names(actions)
