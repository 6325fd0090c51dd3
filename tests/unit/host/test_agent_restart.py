"""A boot that its mandate wants to end: once, after what runs there, and never another one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.host import agent
from tests.unit.host.states import (
    BOOT,
    after,
    exited,
    gone,
    mandate,
    names,
    prepared,
    read,
    running,
)

RESTART = {"0": BOOT, "1": "boot-of-1"}


def test_an_idle_host_reboots_at_once() -> None:
    """It has nothing to lose."""
    _, actions = agent.step(after(), read(mandate(1, "idle", restart=RESTART), 0.0))

    assert ["Reboot"] == names(actions)


def test_what_runs_is_told_first_and_its_logs_are_shipped() -> None:
    """Then the host reboots."""
    state, actions = agent.step(running(), read(mandate(3, "idle", restart=RESTART), 5.0))
    assert ["Terminate"] == names(actions)
    for event in (exited(6.0), gone(6.0)):
        state, actions = agent.step(state, event)
        assert [] == names(actions)

    _, actions = agent.step(state, agent.LogsShipped(("j", 0), 7.0))

    assert ["Reboot"] == names(actions)


def test_logs_that_cannot_be_shipped_do_not_keep_a_boot_alive() -> None:
    """They stay on the disk."""
    state, _ = agent.step(running(), read(mandate(3, "idle", restart=RESTART), 5.0))
    for event in (exited(6.0), gone(6.0), agent.Tick(24.0)):
        state, actions = agent.step(state, event)
        assert [] == names(actions)

    _, actions = agent.step(state, agent.Tick(15.0 + agent.RESTART_FLUSH_S))

    assert ["Reboot"] == names(actions)


@pytest.mark.parametrize(
    "restart", [{}, {"0": "another-boot"}, {"1": BOOT}], ids=["none", "before", "another host"]
)
def test_a_boot_that_is_not_named_goes_on(restart: dict[str, str]) -> None:
    """Whoever has rebooted reads the same mandate again."""
    state, actions = agent.step(after(), read(mandate(1, "prepare", restart=restart), 0.0))

    assert ["Prepare"] == names(actions)
    assert "preparing" == agent.phase(state)


def test_a_boot_that_shall_end_prepares_nothing() -> None:
    """And stops what it was preparing."""
    state = after(read(mandate(1, "prepare"), 0.0))
    state, actions = agent.step(state, read(mandate(2, "prepare", restart=RESTART), 1.0))
    assert ["StopPreparing"] == names(actions)

    _, actions = agent.step(state, replace(prepared(2.0), spec="", grace_s=None))

    assert ["Reboot"] == names(actions)


def test_an_ended_slice_reboots_nobody() -> None:
    """Its hosts flush and go."""
    state = after(read(mandate(1, "end", restart=RESTART), 0.0))

    assert "ended" == agent.phase(state)
    assert [] == names(agent.step(state, agent.Tick(1.0))[1])


@pytest.mark.parametrize(
    "environ, command",
    [
        ({"TPUCTL_ROOT": "/x", "TPUCTL_REBOOT": "kill -10 7"}, ["kill", "-10", "7"]),
        ({"TPUCTL_ROOT": "/x"}, []),
    ],
    ids=["a simulated host", "a host that is none"],
)
def test_only_a_host_is_rebooted(environ: dict[str, str], command: list[str]) -> None:
    """Never the machine of whoever tries the agent out."""
    assert command == agent.reboot_command(environ)
