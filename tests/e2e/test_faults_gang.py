"""One part of a gang breaks: the rest ends at once, the cause is what broke, the job goes on."""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from shared.core.causes import Cause
from tests.installations import (
    AGENT,
    Installation,
    alive,
    assert_never_two,
    running,
    until,
)

pytestmark = pytest.mark.slow

# A second of grace and the way there; ten times the usual, for a machine that is busy.
STOPPED_S_MAX = 12.0


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Give the installation that the tests of this file share; each uses jobs of its own."""
    with running(tmp_path_factory.mktemp("gang") / "home") as installation:
        yield installation


@pytest.mark.parametrize(
    "steer",
    [
        pytest.param((), id="hears-sigterm"),
        pytest.param(("deaf-0",), id="stuck-in-a-collective"),
    ],
)
def test_killed_workload_ends_the_gang_long_before_jax_would(
    installation: Installation, steer: tuple[str, ...]
) -> None:
    """JAX alone needs 97 s; the cause is the host that was killed, not its echo."""
    work = installation.run(f"killed-{len(steer)}", steer=steer)
    work.until_saved(0)
    saved = work.attempts[0].checkpoint_step
    (victim,) = work.pids(1)

    killed_at = time.time()
    os.kill(victim, signal.SIGKILL)
    until(lambda: work.entries(1, what="step"))

    stopped_s = max(entry.at for entry in work.entries(0, host=0)) - killed_at
    assert stopped_s < STOPPED_S_MAX
    assert (not steer) == bool(work.entries(0, host=0, what="told"))
    first = work.attempts[0]
    assert (1, signal.SIGKILL) == (first.cause_host, first.signal)
    assert saved is not None
    assert all(entry.step >= saved for entry in work.entries(1, what="start"))
    work.finish()
    assert [1, 1] == [attempt.generation for attempt in work.attempts]
    assert Cause.SUCCEEDED is work.attempts[1].cause
    assert_never_two(work)


def test_workload_does_not_outlive_a_killed_agent(installation: Installation) -> None:
    """Not even one that prints nothing and hears nothing; and the job goes on."""
    work = installation.run("agentless", steer=("mute-1", "deaf-1"))
    work.until_saved(0)
    victims = work.pids(1)
    (agent,) = work.pids(1, AGENT)
    assert victims == alive(victims)

    os.kill(agent, signal.SIGKILL)
    killed_at = time.time()
    until(lambda: not alive(victims))
    until(lambda: work.entries(1, what="step"))

    lived_s = max(entry.at for entry in work.entries(0, host=1)) - killed_at
    assert lived_s < 1.0
    first = work.attempts[0]
    assert (Cause.TRANSPORT, 1) == (first.cause, first.cause_host)
    work.finish()
    assert_never_two(work)


def test_early_success_of_one_host_drains_nobody(installation: Installation) -> None:
    """Host 1 exits with 0 while host 0 still works: it may, and nobody is told to go."""
    work = installation.run("early")
    work.until_saved(0)

    work.steer("finish-1")
    until(lambda: work.job.finishing_since)
    done = len(work.entries(0, host=0, what="step"))
    until(lambda: len(work.entries(0, host=0, what="step")) > done + 20)
    assert "running" == work.job.stage
    job = work.finish()

    assert (Cause.SUCCEEDED, 0) == (job.cause, job.attempt)
    assert [] == work.entries(0, what="told")
    assert [] == work.told("GangEnding")


def test_rebooted_host_ends_the_attempt_and_joins_the_next(installation: Installation) -> None:
    """A boot that was not named starts nothing by itself; the same slice serves the next try."""
    work = installation.run("rebooted")
    work.until_saved(0)
    victims = work.pids(1)

    installation.admin.reboot_host(work.host_name(1))
    work.until_saved(1)
    work.finish()

    assert [] == alive(victims)
    first = work.attempts[0]
    assert (Cause.REBOOTED, 1) == (first.cause, first.cause_host)
    assert [1, 1] == [attempt.generation for attempt in work.attempts]
    assert_never_two(work)


def test_agent_killed_in_the_setup_prepares_again(installation: Installation) -> None:
    """Its next life runs the setup once more; no attempt is spent on it."""
    gate = installation.home / "gate"
    log = installation.home / "setups"
    setup = f'echo once >> "{log}"; until [ -e "{gate}" ]; do sleep 0.05; done'
    work = installation.run("setup", "--setup", setup)
    until(lambda: log.exists() and len(log.read_text("utf-8").splitlines()) == work.slice.hosts)
    (agent,) = work.pids(1, AGENT)

    os.kill(agent, signal.SIGKILL)
    until(lambda: len(log.read_text("utf-8").splitlines()) > work.slice.hosts)
    gate.touch()
    work.until_saved(0)
    job = work.finish()

    assert (0, 0) == (job.attempt, job.spent.setups)
    assert 1 == work.attempts[0].generation
