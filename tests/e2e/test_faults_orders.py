"""Users stop, resume and rerun; what the workload sees of it, and what it may rely on."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.core.causes import Cause
from tests.installations import Installation, alive, assert_never_two, running, until

pytestmark = pytest.mark.slow

EXIT_SIGTERM = 143


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Give the installation that the tests of this file share; each uses jobs of its own."""
    with running(tmp_path_factory.mktemp("orders") / "home") as installation:
        yield installation


def test_stopped_job_is_told_and_goes_on_later(installation: Installation) -> None:
    """SIGTERM first, cancelled only once both hosts said so; resume uses the same folder."""
    work = installation.run("paused", "--hold-s", "60")
    work.until_saved(0)
    victims = work.pids(0) + work.pids(1)

    installation.tpuctl("stop", work.number)
    job = work.until("cancelled")

    assert [] == alive(victims)
    assert 2 == len(work.entries(0, what="told"))
    assert ("acknowledged", Cause.DRAINED) == (work.writer.dead, work.attempts[0].cause)
    assert 0 == job.attempt
    saved = work.entries(0, host=0, what="told")[0].step

    installation.tpuctl("resume", work.number)
    work.until_saved(1)
    job = work.finish()

    assert (1, 0) == (job.resumes, job.run)
    assert {saved} == {entry.step for entry in work.entries(1, what="start")}
    assert 1 == len({entry.checkpoints for entry in work.diary})
    assert_never_two(work)


def test_killed_job_gets_no_time(installation: Installation) -> None:
    """--kill ends a workload that would not hear SIGTERM, long before its grace is over."""
    work = installation.run("deaf", "--grace-s", "600", steer=("deaf",))
    work.until_saved(0)
    victims = work.pids(0) + work.pids(1)

    installation.tpuctl("stop", work.number)
    until(lambda: work.job.stage == "stopping")
    done = len(work.entries(0, what="step"))
    until(lambda: len(work.entries(0, what="step")) > done + 10)
    assert ("stopping", "") == (work.job.stage, work.writer.dead)
    installation.tpuctl("stop", "--kill", work.number)
    work.until("cancelled")

    assert [] == alive(victims)
    assert [] == work.entries(0, what="told")
    assert "acknowledged" == work.writer.dead


def test_rerun_uses_a_new_folder(installation: Installation) -> None:
    """What the earlier run left stays as it was."""
    work = installation.run("twice", "--hold-s", "60")
    work.until_saved(0)
    work.finish()
    (first,) = {entry.checkpoints for entry in work.entries(0)}
    left = sorted(Path(first).rglob("*"))
    (work.folder / "finish").unlink()

    installation.tpuctl("rerun", work.number)
    work.until_saved(1)
    job = work.finish()

    assert (1, 0) == (job.run, job.resumes)
    (second,) = {entry.checkpoints for entry in work.entries(1)}
    assert first != second
    # The host that is later goes on from what the other one has saved there already.
    assert 0 == min(entry.step for entry in work.entries(1, what="start"))
    assert left == sorted(Path(first).rglob("*"))


def test_second_job_starts_on_the_warm_slice(installation: Installation) -> None:
    """Without another queued resource; and a fix goes on there after a program error."""
    first = installation.run("warm", "--hold-s", "60")
    first.until_saved(0)
    first.finish()
    asked = installation.creates()
    node = first.node

    second = installation.run("guest", "--rule", "pass", "--hold-s", "60", on=first.slice.name)
    second.until_saved(0)
    second.steer("fail-1")
    job = second.until("failed")

    assert (Cause.ERROR, 3, 1) == (job.cause, job.exit_code, second.attempts[0].cause_host)
    (second.folder / "fail-1").unlink()
    installation.tpuctl("resume", second.number)
    second.until_saved(1)
    second.finish()
    assert asked == installation.creates()
    assert node == second.node
    assert [1, 1] == [attempt.generation for attempt in second.attempts]
    assert_never_two(second)


NASTY = (
    "$(touch {0}) `touch {0}`; touch {0} && touch {0} | touch {0} > {0}",
    "'; touch {0}; echo '",
    '"; touch {0}; echo "',
    "two\nlines\n\ttouch {0}\r\n",
    "*?[a-z]~!#%^&(){{}}<>\\",
    "--name",
    "",
    " ",
    "ünïcödé \u202e\U0001f4a3",
)
# Writes what it was given, and a mark at the end: a file with the mark is complete.
TELL = (
    "import json, os, sys\n"
    "with open(sys.argv[1] + os.environ['TPUCTL_HOST'], 'w') as out:\n"
    "    json.dump([sys.argv[2:], dict(os.environ)], out)\n"
)


def test_text_arrives_as_it_was_written(installation: Installation) -> None:
    """Metacharacters, newlines and 100 kB: all of it is data, on every way from here to there."""
    folder = installation.home / "told"
    folder.mkdir()
    trap = folder / "executed"
    words = [text.replace("{0}", str(trap)) for text in NASTY]
    env = {f"NASTY_{index}": word for index, word in enumerate(words)}
    env["LONG"] = "x$(touch)\n" * 10_000
    flags = [f"--env={name}={value}" for name, value in env.items()]
    command = (sys.executable, "-c", TELL, f"{folder}/", *words)

    work = installation.run("text", *flags, "--note", words[0], "--tag", "a", command=command)
    work.until("succeeded")

    for host in range(2):
        given, seen = json.loads((folder / str(host)).read_text("utf-8"))
        assert words == given
        assert env == {name: seen.get(name) for name in env}
    assert ["0", "1"] == sorted(path.name for path in folder.iterdir())
    shown = json.loads(installation.tpuctl("show", "--json", work.number))
    assert words[0] == shown["job"]["spec"]["note"]
