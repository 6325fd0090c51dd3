"""The google wiring, whole: served functions, real push, Google's emulators, real hosts.

What a user does is the same as in every other wiring, and so is what comes of it.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli import local_runner
from cli.emulator_jars import Kind
from sandbox import processes
from shared.app.stored import host_of
from shared.core.hosts import host_key
from shared.core.names import mandate_object
from shared.ports import Fields, Message, Query
from shared.topology import Topic
from tests.installations import (
    Installation,
    Work,
    assert_never_two,
    command_line,
    running_google,
    until,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Give the installation that the tests of this file share; each uses jobs of its own."""
    with running_google(tmp_path_factory.mktemp("google") / "home") as installation:
        yield installation


@pytest.fixture(autouse=True)
def environment(installation: Installation, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name it to the commands of every test."""
    assert home != installation.home, "what hides the user's own settings comes first"
    for name, value in installation.environ.items():
        monkeypatch.setenv(name, value)


@contextmanager
def frozen(pids: list[int]) -> Iterator[None]:
    """Stop some processes for the time of a block: they are there, and do not answer."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def functions(installation: Installation, target: str) -> list[int]:
    """Find the processes of one served function."""
    served = local_runner.find(installation.home, local_runner.SERVED)
    assert served is not None, "the functions are served"
    wanted = f"--target {target} "
    return [pid for pid in processes.descendants(served.pid) if wanted in command_line(pid)]


def parked(installation: Installation) -> list[Fields]:
    """Return what was put aside."""
    return [each.fields for each in installation.opened.store.query(Query("parked"))]


def test_a_preempted_job_goes_on_from_its_checkpoint(installation: Installation) -> None:
    """From the CLI through push and Firestore to processes on hosts, and back."""
    work = installation.run("noticed")
    work.until_saved(0)

    installation.tpuctl("sandbox", "preempt", work.node, "--notice-s", "2")
    work.until_saved(1)
    job = work.finish()

    assert 1 == job.spent.preemptions
    assert [1, 2] == [attempt.generation for attempt in work.attempts]
    assert_never_two(work)
    assert [] == parked(installation)


def test_the_owner_is_who_signed_the_order(installation: Installation) -> None:
    """A verified address, and no name that anybody can type."""
    work = installation.run("owned")
    job = work.job
    work.finish()

    assert "demo@example.com" == job.owner_email
    assert job.owner_subject


def test_functions_that_are_killed_lose_nothing(installation: Installation) -> None:
    """In the middle of a recovery; others are started in their place."""
    work = installation.run("killed")
    work.until_saved(0)
    installation.tpuctl("sandbox", "preempt", work.node, "--silent")
    for target in ("recovery", "launch", "report"):
        for pid in functions(installation, target):
            os.kill(pid, signal.SIGKILL)

    work.until_saved(1)
    work.finish()

    assert 2 == work.slice.generation
    assert_never_two(work)


@pytest.mark.parametrize("kind", Kind)
def test_a_service_that_does_not_answer_delays_and_loses_nothing(
    installation: Installation, kind: Kind
) -> None:
    """The job runs on, its slice is lost meanwhile; afterwards it recovers."""
    work = installation.run(f"without-{kind.value}")
    work.until_saved(0)
    node, log = work.node, (installation.home / "served.log").open()
    with frozen([installation.emulators[kind].pid]), log:
        log.seek(0, os.SEEK_END)
        installation.admin.post(f"nodes/{node}:preempt", {"notice": False})
        # Long enough for a function to give up waiting and to say so.
        until(lambda: re.search("WARNING|tick failed", log.read()), lambda: "a function complains")

    work.until_saved(1)
    work.finish()

    assert 2 == work.slice.generation
    assert_never_two(work)
    assert [] == parked(installation)


def test_a_worker_with_the_token_of_another_job_is_refused(installation: Installation) -> None:
    """Its word is put aside, whichever of its tokens it shows, and changes nothing."""
    worker, victim = installation.run("worker"), installation.run("victim")
    for work in (worker, victim):
        work.until_saved(0)
    its, foreign = tokens_of(worker), tokens_of(victim)
    for tokens in (its, {**foreign, "attempt": its["attempt"]}):
        installation.opened.bus.publish(Topic.REPORTS, [success_of(victim, tokens)])

    until(lambda: len(parked(installation)) == 2)
    victim.finish()

    assert {
        "snapshot: the bid token does not match",
        "snapshot: the attempt token does not match",
    } == {each["reason"] for each in parked(installation)}
    assert [0] == [attempt.number for attempt in victim.attempts]
    assert ["finish"] == [entry.what for entry in victim.entries(0, host=0)[-1:]]
    worker.finish()


def tokens_of(work: Work) -> dict[str, str]:
    """Read from its mandate, as its own hosts do, what a job's hosts show."""
    name = mandate_object(work.slice.uid, work.slice.generation)
    mandate = work.installation.opened.blobs.get(name)
    assert mandate is not None, "a job that runs has a mandate"
    tokens = json.loads(mandate.data)["tokens"]
    return {"bid": tokens["bids"]["0"], "attempt": tokens["attempt"]}


def success_of(work: Work, tokens: Mapping[str, str]) -> Message:
    """Say for the first host of a job that its command has succeeded."""
    slice_ = work.slice
    path = f"slices/{slice_.name}/hosts/{host_key(slice_.generation, '0', 0)}"
    document = work.installation.opened.store.get(path)
    assert document is not None, "a host that runs something has spoken"
    host = host_of(document)
    at = host.at.isoformat()
    attempt = {"job": work.job.id, "number": 0, "started_at": at, "ended_at": at, "exit_code": 0}
    same = ("slice", "slice_uid", "generation", "bid", "node", "host", "hosts", "hostname", "boot")
    words = {name: getattr(host, name) for name in same} | {
        "version": 1,
        "sequence": host.sequence + 10**9,
        "at": at,
        "seen_sequence": host.seen_sequence,
        "phase": "idle",
        "alive": False,
        "attempt": {**attempt, "flushed": True},
        "tokens": tokens,
    }
    return Message(json.dumps(words).encode(), {"kind": "snapshot", "version": "1"})
