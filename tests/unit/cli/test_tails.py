"""The last line of a program, from its newest chunk."""

from cli.installation import Installation
from cli.jobs import JobRow, find_job
from cli.tails import Tails
from shared.errors import Unavailable
from tests.fakes import FakeBlobs
from tests.unit.cli.stage import Installed, Tpuctl, make_job


def row(installed: Installed, **changes: object) -> tuple[Installation, JobRow]:
    """Have one job at work."""
    installed.pretend_up()
    installed.put_job(make_job(4, **changes))
    here = Installation(installed.settings)
    return here, find_job(here, "4")


def test_only_the_newest_chunk_is_read(installed: Installed, blobs: FakeBlobs) -> None:
    """And nothing a second time."""
    here, job = row(installed)
    for number in range(3):
        blobs.put(f"logs/{job.id}/0/0/{number:06d}.log", f"a{number}\nb{number}\n\n".encode())
    tails = Tails(here)

    assert {job.id: "b2"} == tails.read([job])
    blobs.plan.fail_next("get", Unavailable("a second read"))
    assert {job.id: ["a2", "b2"]} == tails.lines([job], 5)


def test_a_new_attempt_has_lines_of_its_own(installed: Installed, blobs: FakeBlobs) -> None:
    """None before it wrote any."""
    here, job = row(installed)
    blobs.put(f"logs/{job.id}/0/0/000000.log", b"old\n")
    tails = Tails(here)
    tails.read([job])

    _, job = row(installed, attempt=1)

    assert {} == tails.read([job])


def test_what_a_terminal_would_obey_is_not_printed(installed: Installed, blobs: FakeBlobs) -> None:
    """Progress bars write such things."""
    here, job = row(installed)
    blobs.put(f"logs/{job.id}/0/0/000000.log", b"\x1b[2Jstep 1\xff\n")

    assert {job.id: "?[2Jstep 1\ufffd"} == Tails(here).read([job])


def test_without_logs_everything_else_is_shown(
    tpuctl: Tpuctl, installed: Installed, blobs: FakeBlobs
) -> None:
    """A bucket that does not answer hides no job."""
    row(installed)
    blobs.plan.fail_next("list", Unavailable("no answer"))

    result = tpuctl("ps", "-c", "job,name,output")

    assert (0, ["4", "digits-4"]) == (result.code, result.out.splitlines()[1].split())
