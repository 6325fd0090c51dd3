"""A host that nobody reaches: the next attempt waits for a proof, and two never run at once."""

import time
from collections.abc import Iterator

import pytest

from shared.core.causes import Cause
from shared.core.model import Writer
from tests.installations import Installation, Work, alive, assert_never_two, running, until

pytestmark = pytest.mark.slow

LEASE_S, MARGIN_S, POLL_S = 14.0, 1.0, 1.0
# Silence is heard well before the lease is over, and a stuck delete is not repeated meanwhile.
POLICY = {
    "lease_s": LEASE_S,
    "lease_margin_s": MARGIN_S,
    "poll_slow_s": POLL_S,
    "snapshot_s": 0.5,
    "silent_host_s": 4.0,
    "canary_s": 4.0,
    "absence_s": 1.0,
    "intent_due_s": 60.0,
}
# From a decision of the agent to its effect, on a machine that is busy.
LATE_S = 4.0


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Give the installation that the tests of this file share; each uses jobs of its own."""
    with running(tmp_path_factory.mktemp("cut") / "home", policy=POLICY) as installation:
        yield installation


def test_host_without_storage_ends_its_workload_at_the_lease(installation: Installation) -> None:
    """It can still report, but it cannot know what it may do: it stops in time by itself."""
    work = installation.run("unread", steer=("deaf-1",))
    work.until_saved(0)
    host = work.host_name(1)

    cut_at = time.time()
    installation.admin.cut_off(host, "storage")
    work.until("preparing")

    lived_s = max(entry.at for entry in work.entries(0, host=1)) - cut_at
    assert LEASE_S - POLL_S - LATE_S < lived_s < LEASE_S + LATE_S
    assert (Cause.CUT_OFF, 1) == (work.attempts[0].cause, work.attempts[0].cause_host)
    until(lambda: work.writer.dead)
    assert (0, "lease") == (work.writer.attempt, work.writer.dead)
    installation.admin.cut_off(host)
    work.until_saved(1)
    _assert_waited(work, work.told("WriterDead")[0])


def test_attempt_waits_for_the_lease_while_a_delete_is_stuck(installation: Installation) -> None:
    """The other slice is prepared long before; only the end of the lease lets it start."""
    work = installation.run("stuck", steer=("deaf-1",))
    work.until_saved(0)
    installation.admin.change_settings(stuck_deletes=1)
    survivors = work.pids(1)

    installation.admin.cut_off(work.host_name(1), "storage", "pubsub", "metadata")
    writer = until(lambda: _ended(work))
    work.until("preparing")
    until(lambda: work.job.prepared_at)
    assert survivors == alive(survivors)
    assert ("preparing", "") == (work.job.stage, work.writer.dead)
    work.until_saved(1)

    assert [] == alive(survivors)
    first, second = work.attempts
    assert (Cause.HOST_LOST, 2) == (first.cause, second.generation)
    assert writer.end_written_at is not None
    waited_s = (second.ordered_at - writer.end_written_at).total_seconds()
    assert waited_s >= LEASE_S + MARGIN_S
    assert second.prepared_at is not None
    assert (second.ordered_at - second.prepared_at).total_seconds() > 1.0
    _assert_waited(work, "attempt 0 writes no more (lease)")


def test_attempt_starts_early_when_the_node_is_gone(installation: Installation) -> None:
    """A node that was seen to be absent twice is proof enough; the lease need not end."""
    work = installation.run("gone", steer=("deaf-1",))
    work.until_saved(0)
    lost_node = work.node

    installation.admin.cut_off(work.host_name(1), "storage", "pubsub", "metadata")
    writer = until(lambda: _ended(work))
    work.until_saved(1)

    first, second = work.attempts
    assert (Cause.HOST_LOST, 2) == (first.cause, second.generation)
    assert writer.end_written_at is not None
    assert (second.ordered_at - writer.end_written_at).total_seconds() < LEASE_S + MARGIN_S
    nodes = installation.admin.get("status")["nodes"]
    assert isinstance(nodes, list)
    assert lost_node not in [node["name"] for node in nodes]
    _assert_waited(work, "attempt 0 writes no more (absent)")


def test_host_that_dies_without_a_word_costs_its_slice(installation: Installation) -> None:
    """The cloud goes on to call its node READY: silence alone tells, and the other host ends."""
    work = installation.run("dumb")
    work.until_saved(0)

    died_at = time.time()
    installation.admin.kill_host(work.host_name(1))
    work.until_saved(1)
    work.finish()

    first, second = work.attempts
    assert (Cause.HOST_LOST, 2) == (first.cause, second.generation)
    assert second.ordered_at.timestamp() - died_at > POLICY["silent_host_s"]
    assert_never_two(work)


def test_host_that_reaches_storage_alone_keeps_its_slice(installation: Installation) -> None:
    """What it cannot publish it leaves beside its mandate, where it is looked for in time."""
    work = installation.run("unpublished")
    work.until_saved(0)

    installation.admin.cut_off(work.host_name(1), "pubsub")
    work.finish()

    assert [1] == [attempt.generation for attempt in work.attempts]
    assert [] == work.told("SliceLost")


def _ended(work: Work) -> Writer | None:
    """Return the first attempt once the end of it is known to be written, and is not proved."""
    writer = work.writer
    assert 0 == writer.attempt, "the next attempt started before anything was proved"
    return writer if writer.end_written_at is not None else None


def _assert_waited(work: Work, proof: str) -> None:
    """Prove from the timeline, and from the diary, that the proof came before the start."""
    work.finish()
    events = [
        entry.text
        for entry in work.view.timeline
        if entry.event in {"WriterDead", "AttemptStarted"}
    ]
    assert proof.startswith("attempt 0 writes no more (")
    first, dead, second = events[:3]
    assert ("attempt 0 starts", proof) == (first, dead)
    assert second.startswith("attempt 1 ")
    assert_never_two(work)
