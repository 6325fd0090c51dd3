"""The checkpoints of a job as its folder shows them: steps, sizes, whether they are complete.

They are looked at as whoever is logged in; nothing here writes, moves or deletes any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cli.errors import CliError
from cli.installation import Installation
from cli.jobs import JobRow
from shared.core.names import run_folder, team_outputs
from shared.ports import Query

if TYPE_CHECKING:
    from shared.ports import Blobs

# What says that a checkpoint is whole; Orbax writes the first on storage, the second on disks.
MARKS: Final = ("commit_success.txt", "_CHECKPOINT_METADATA")
ATTEMPTS_MAX: Final = 2000
STEPS_SHOWN: Final = 5
_GS: Final = "gs://"


@dataclass(frozen=True, slots=True)
class File:
    """One file below a folder of checkpoints: its path from there."""

    path: str
    size: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One step's folder.  ``attempt`` is None where nobody knows who wrote it."""

    step: int
    path: str
    size: int
    is_complete: bool
    saved_at: datetime
    attempt: int | None = None


def folder_of(installation: Installation, job: JobRow) -> str:
    """Name the folder in which a job's present run keeps its checkpoints."""
    chosen = job.fields["spec"].get("checkpoint_dir")
    if chosen:
        return str(chosen).rstrip("/")
    from shared import wiring

    settings = installation.settings
    bucket = wiring.agent_place(settings).bucket
    root = team_outputs(settings.outputs_root, bucket, job.folder)
    return f"{run_folder(root, job.id, int(job.fields.get('run', 0)))}/checkpoints"


def read_checkpoints(installation: Installation, job: JobRow) -> list[Checkpoint]:
    """Read all checkpoints of a job's present run, the newest last.  Raises CliError."""
    folder = folder_of(installation, job)
    files = _remote(installation, folder) if folder.startswith(_GS) else _local(Path(folder))
    found = _checkpoints(folder, files)
    attempts = installation.store.query(Query(f"jobs/{job.id}/attempts", limit=ATTEMPTS_MAX))
    return _attributed(found, [attempt.fields for attempt in attempts], job)


def check_step(installation: Installation, job: JobRow, step: int) -> None:
    """Refuse a step from which a job cannot go on.  Raises CliError."""
    found = {each.step: each for each in read_checkpoints(installation, job)}
    chosen = found.get(step)
    if chosen is not None and chosen.is_complete:
        return
    whole = [each.step for each in found.values() if each.is_complete]
    if chosen is not None:
        what = f"the checkpoint of step {step} is not complete"
    else:
        what = f"job {job.number} has no checkpoint of step {step}"
    raise CliError(
        f"--from-step: {what}; {_offer(whole, step)}", next_step=f"tpuctl ckpt ls {job.number}"
    )


def _offer(whole: Sequence[int], step: int) -> str:
    """Name the steps that are nearest."""
    if not whole:
        return "none of its checkpoints is complete"
    near = sorted(sorted(whole, key=lambda each: abs(each - step))[:STEPS_SHOWN])
    return f"complete: {', '.join(map(str, near))}"


def _checkpoints(folder: str, files: Iterable[File]) -> list[Checkpoint]:
    """Sort files by the step whose folder they are in."""
    steps: dict[str, list[File]] = {}
    for file in files:
        name, slash, _ = file.path.partition("/")
        if slash and name.isascii() and name.isdecimal():
            steps.setdefault(name, []).append(file)
    found = [_checkpoint(folder, name, each) for name, each in steps.items()]
    return sorted(found, key=lambda each: each.step)


def _checkpoint(folder: str, name: str, files: Sequence[File]) -> Checkpoint:
    marks = MARKS[:1] if folder.startswith(_GS) else MARKS
    return Checkpoint(
        step=int(name),
        path=f"{folder}/{name}",
        size=sum(file.size for file in files),
        is_complete=any(file.path == f"{name}/{mark}" for file in files for mark in marks),
        saved_at=max(file.at for file in files),
    )


def _attributed(
    found: Sequence[Checkpoint], attempts: Sequence[Mapping[str, Any]], job: JobRow
) -> list[Checkpoint]:
    """Say which attempt wrote which step: the last that began before it and reached it."""
    run = job.fields.get("run", 0)
    mine = sorted((each for each in attempts if each["run"] == run), key=_number)
    return [replace(each, attempt=_writer(each.step, mine)) for each in found]


def _writer(step: int, attempts: Sequence[Mapping[str, Any]]) -> int | None:
    writers = [_number(each) for each in attempts if _begin(each) < step <= _end(each)]
    return writers[-1] if writers else None


def _number(attempt: Mapping[str, Any]) -> int:
    return int(attempt["number"])


def _begin(attempt: Mapping[str, Any]) -> int:
    step = attempt.get("start_step")
    return -1 if step is None else int(step)


def _end(attempt: Mapping[str, Any]) -> int:
    return max(int(attempt.get("checkpoint_step") or 0), int(attempt.get("last_step") or 0))


def _local(folder: Path) -> Iterator[File]:
    """Look at every file below a folder of this machine; what vanishes meanwhile is left out."""
    for path in folder.rglob("*") if folder.is_dir() else ():
        try:
            status = path.stat()
        except OSError:
            continue
        if path.is_file():
            at = datetime.fromtimestamp(status.st_mtime, UTC)
            yield File(path.relative_to(folder).as_posix(), status.st_size, at)


def _remote(installation: Installation, folder: str) -> list[File]:
    from shared.errors import ControlPlaneError

    bucket, _, prefix = folder.removeprefix(_GS).partition("/")
    prefix = f"{prefix}/" if prefix else ""
    try:
        listed = _bucket(installation, bucket).list(prefix)
    except ControlPlaneError as error:
        raise CliError(
            f"{folder} cannot be looked at: {error}", next_step=f"gcloud storage ls {folder}"
        ) from None
    return [File(each.name.removeprefix(prefix), each.size, each.updated_at) for each in listed]


def _bucket(installation: Installation, name: str) -> Blobs:
    from shared import wiring

    if name == wiring.agent_place(installation.settings).bucket:
        return installation.blobs
    return wiring.open_bucket(installation.settings, name, installation.endpoint)
