"""Jobs as rows of columns that people choose: what `ps` and `watch` show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import typer

from cli import tables
from cli.jobs import JobRow
from cli.near import near_names

# What a job's document does not say, by column and by the job's id.
Known: TypeAlias = Mapping[str, Mapping[str, str]]
# What a text at the end of a row needs to be worth its place.
TEXT_CELLS: Final = 24


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its text of a job, and what the help says of it."""

    text: Callable[[JobRow], str]
    help: str
    right: bool = False
    # A sentence: it takes what the others leave.
    is_text: bool = False


def _fields(key: str) -> Callable[[JobRow], str]:
    return lambda job: str(job.fields.get(key) or "-")


def _tries(job: JobRow) -> str:
    return str(job.attempt + 1) if job.attempt >= 0 else "-"


def _lost(job: JobRow) -> str:
    return str(_mapping(job, "spent").get("preemptions", 0))


def _age(job: JobRow) -> str:
    return tables.age(job.fields["created_at"], job.read_at)


def _stage_age(job: JobRow) -> str:
    return tables.age(job.fields.get("stage_since") or job.fields["created_at"], job.read_at)


def _done(job: JobRow) -> str:
    progress = _mapping(job, "progress")
    step, total = progress.get("step"), progress.get("total")
    return f"{100 * step // total}%" if step is not None and total else "-"


def _saved(job: JobRow) -> str:
    return str(_mapping(job, "checkpoint").get("step", "-"))


def _tags(job: JobRow) -> str:
    return " ".join(_mapping(job, "spec").get("tags") or ()) or "-"


def _mapping(job: JobRow, key: str) -> Mapping[str, Any]:
    found = job.fields.get(key)
    return found if isinstance(found, Mapping) else {}


COLUMNS: Final[Mapping[str, Column]] = {
    "job": Column(lambda job: str(job.number), "its number", right=True),
    "name": Column(lambda job: job.name, "its name"),
    "stage": Column(lambda job: job.stage, "where it is"),
    "for": Column(_stage_age, "how long it is there", right=True),
    "step": Column(lambda job: job.step, "how far its program says it is", right=True),
    "done": Column(_done, "the same in percent", right=True),
    "saved": Column(_saved, "the newest complete checkpoint", right=True),
    "type": Column(_fields("accelerator_type"), "its accelerator"),
    "zone": Column(_fields("zone"), "where it runs, or ran last"),
    "slice": Column(_fields("slice"), "what it runs on"),
    "try": Column(_tries, "attempts so far", right=True),
    "lost": Column(_lost, "preemptions since the last order of a user", right=True),
    "age": Column(_age, "since it was submitted", right=True),
    "held": Column(lambda _: "", "how long its slice is still kept for a fix", right=True),
    "owner": Column(_fields("owner"), "whose it is"),
    "tags": Column(_tags, "its tags"),
    "status": Column(
        lambda job: job.summary, "what happens now, or why nothing does", is_text=True
    ),
    "output": Column(lambda _: "", "the last line of its program", is_text=True),
}
USUAL: Final = (
    "job", "name", "stage", "step", "type", "zone", "try", "lost", "age", "held", "status",
)  # fmt: skip
# What goes first where the terminal is too narrow; the others say what nothing else does.
DISPENSABLE: Final = ("LOST", "TRY", "AGE", "TYPE", "ZONE")


def chosen_columns(written: str | None) -> tuple[str, ...]:
    """Read ``-c job,name,step``; ``+slice`` adds to the usual ones.  Raises BadParameter."""
    if written is None:
        return USUAL
    adds = written.startswith("+")
    names = [name.strip().lower() for name in written.removeprefix("+").split(",")]
    for name in names:
        if name not in COLUMNS:
            near = near_names(name, COLUMNS)
            hint = f"near: {', '.join(near)}" if near else f"known: {', '.join(COLUMNS)}"
            raise typer.BadParameter(f"--columns: there is no column {name!r}; {hint}")
    usual = [name for name in USUAL if not COLUMNS[name].is_text or not adds] if adds else []
    return tuple(dict.fromkeys([*usual, *names, *(["status"] if adds else [])]))


def lines_of(
    jobs: Sequence[JobRow], columns: Sequence[str], cells: int, known: Known | None = None
) -> list[str]:
    """Make the table, the headings first; no line is wider than so many cells.

    What is only usual is left out where there is no room or nothing to say, what was chosen is
    cut.
    """
    known = known or {}
    plain = [name for name in columns if not COLUMNS[name].is_text]
    texts = [name for name in columns if COLUMNS[name].is_text]
    if tuple(columns) == USUAL:
        plain = [name for name in plain if name != "held" or known.get(name)]
        kept = tables.fitting(_rows(jobs, plain, known), DISPENSABLE, columns=cells, elastic="NAME")
        plain = [plain[index] for index in kept]
    right = frozenset(index for index, name in enumerate(plain) if COLUMNS[name].right)
    elastic = plain.index("name") if "name" in plain else -1
    lines = tables.table(_rows(jobs, plain, known), columns=cells, right=right, elastic=elastic)
    for name in texts:
        heading = "" if name == "status" and len(texts) == 1 else name.upper()
        shown = [heading, *(_text(job, name, known) for job in jobs)]
        lines = _beside(lines, shown, cells, is_last=name == texts[-1])
    return lines


def _text(job: JobRow, name: str, known: Known) -> str:
    return known.get(name, {}).get(job.id) or COLUMNS[name].text(job)


def _rows(jobs: Sequence[JobRow], names: Sequence[str], known: Known) -> list[tuple[str, ...]]:
    headings = tuple(name.upper() for name in names)
    return [headings, *(tuple(_text(job, name, known) for name in names) for job in jobs)]


def _beside(lines: Sequence[str], texts: Sequence[str], cells: int, *, is_last: bool) -> list[str]:
    """Put a text behind each line, where there is room for more than a word."""
    used = max(map(tables.cells, lines)) + len(tables.GAP)
    room = cells - used if is_last else max(0, (cells - used) // 2)
    if room < TEXT_CELLS:
        return list(lines)
    padded = [line + " " * (used - tables.cells(line)) for line in lines]
    pairs = zip(padded, texts, strict=True)
    return [(line + tables.cut(text, room)).rstrip() for line, text in pairs]
