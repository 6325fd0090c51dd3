"""`tpuctl ckpt`: the checkpoints of a job."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.commands.ckpt import size
from shared.core.stages import Stage
from tests.fakes import FakeBlobs
from tests.unit.cli.stage import Installed, Tpuctl, make_attempt, make_job, write


def test_checkpoints_are_listed_with_size_completeness_and_attempt(
    tpuctl: Tpuctl, installed: Installed, tmp_path: Path
) -> None:
    """The newest last; what is no step is none."""
    folder = tmp_path / "checkpoints"
    for step in ("8", "16"):
        write(folder / step / "commit_success.txt", "")
        write(folder / step / "w" / "0", "x" * 2048)
    write(folder / "20" / "w", "x")
    write(folder / "20.tmp" / "w", "x")
    write(folder / "notes.txt", "x")
    job = installed.put_job(
        make_job(4, stage=Stage.FAILED, spec={"checkpoint_dir": str(folder)}, attempt=1)
    )
    installed.put_attempt(make_attempt(job, 0, last_step=10, checkpoint_step=8))
    installed.put_attempt(make_attempt(job, 1, start_step=8, last_step=19, checkpoint_step=16))

    lines = tpuctl("ckpt", "ls", "4").out.splitlines()
    found = json.loads(tpuctl("ckpt", "ls", "4", "--json").out)

    assert ["8", "2.0", "KiB", "yes", "0"] == lines[1].split()[:5]
    assert ["16", "2.0", "KiB", "yes", "1"] == lines[2].split()[:5]
    assert ["20", "1", "B", "no", "-"] == lines[3].split()[:5]
    assert "next: tpuctl resume 4 --from-step 16" == lines[4]
    assert (str(folder), [8, 16, 20]) == (
        found["folder"],
        [each["step"] for each in found["checkpoints"]],
    )


def test_checkpoints_in_storage_are_found_below_the_run(
    tpuctl: Tpuctl, installed: Installed, blobs: FakeBlobs
) -> None:
    """A rerun has its own; only storage's own mark counts there."""
    installed.pretend_up()
    folder = "gs://tpuctl-sandbox/outputs/run"
    job = make_job(4, spec={"checkpoint_dir": folder})
    installed.put_job(job)
    blobs.put("outputs/run/3/commit_success.txt", b"")
    blobs.put("outputs/run/5/_CHECKPOINT_METADATA", b"{}")

    found = json.loads(tpuctl("ckpt", "ls", "4", "--json").out)["checkpoints"]

    assert [(3, True), (5, False)] == [(each["step"], each["is_complete"]) for each in found]


def test_job_without_checkpoints_is_no_error(tpuctl: Tpuctl, installed: Installed) -> None:
    """With the place where they would be."""
    job = installed.put_job(make_job(4, run=2))

    out = tpuctl("ckpt", "ls", "4").out

    assert out.startswith("no checkpoints in ")
    assert f"/{job.id}/run-2/checkpoints\nnext: tpuctl show 4\n" in out


@pytest.mark.parametrize(
    "number, text",
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (5 * 1024**3, "5.0 GiB"),
        (2**52, "4096.0 TiB"),
    ],
)
def test_size_is_short(number: int, text: str) -> None:
    """Three figures, as far as there are units."""
    assert text == size(number)
