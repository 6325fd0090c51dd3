"""How the demo looks: a live screen, plain lines for pipes, and the tables at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from cli.demo.told import Recovery, Told
from shared.core.model import Attempt, Job
from shared.core.stages import Stage

_LINES_SHOWN: Final = 12
_STYLES: Final = {
    Stage.RUNNING: "green",
    Stage.SUCCEEDED: "bold green",
    Stage.RECOVERING: "bold red",
    Stage.FAILED: "bold red",
}


@contextmanager
def live(console: Console) -> Iterator[Callable[[Told], None]]:
    """Show what happens: on a terminal as a screen that is kept, elsewhere line by line."""
    if not console.is_terminal:
        yield _Lines(console).show
        return
    with Live(console=console, refresh_per_second=8) as screen:
        yield lambda told: screen.update(_screen(told))


class _Lines:
    """Prints each sentence of the timeline once."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._count = 0

    def show(self, told: Told) -> None:
        """Print what is new."""
        lines = _story(told)
        for line in lines[self._count :]:
            self._console.print(line.plain, soft_wrap=True)
        self._count = len(lines)


def _screen(told: Told) -> Group:
    table = Table.grid(padding=(0, 2))
    for name, job in told.jobs.items():
        stage = Text(str(job.stage), style=_STYLES.get(job.stage, "yellow"))
        table.add_row(Text(name, style="bold"), stage, _bar(job), _step(job), _place(told, name))
    return Group(table, Text(""), *_story(told)[-_LINES_SHOWN:])


def _bar(job: Job) -> ProgressBar:
    step = job.progress.step if job.progress else 0
    total = job.progress.total if job.progress and job.progress.total else 1
    return ProgressBar(total=total, completed=min(step, total), width=14)


def _step(job: Job) -> str:
    return f"{job.progress.step}/{job.progress.total}" if job.progress else ""


def _place(told: Told, name: str) -> str:
    job, slice_ = told.jobs[name], told.slices.get(name)
    attempt = f"attempt {job.attempt}" if job.attempt >= 0 else ""
    generation = f"generation {slice_.generation}" if slice_ else ""
    return ", ".join(word for word in (attempt, generation) if word)


def _story(told: Told) -> list[Text]:
    """Everything that happened, in order: what the demo did, and what the timeline says."""
    found: list[tuple[float, str, str, str]] = [
        (
            (each.at - told.began_at).total_seconds(),
            each.job,
            "the demo preempts the slice " + ("with notice" if each.notice else "silently"),
            "bold magenta",
        )
        for each in told.preemptions
    ]
    for name, fields in told.timeline:
        seconds = (fields["at"] - told.began_at).total_seconds()
        found.append((seconds, name, str(fields["text"]), ""))
    return [_line(*each) for each in sorted(found, key=lambda line: line[0])]


def _line(seconds: float, name: str, text: str, style: str) -> Text:
    return Text.assemble(
        (f"{seconds:6.1f} s  ", "dim"),
        f"{name:<12}  ",
        (text, style),
        no_wrap=True,
        overflow="ellipsis",
    )


# --- The end ------------------------------------------------------------------------------------


def summary(told: Told) -> Group:
    """Show attempts, recoveries, cost, and whether the parameters are the same."""
    hours, usd = told.cost()
    chips = Text(
        f"{hours:.3f} chip-hours of spot capacity, {usd:.4f} USD at Google's list price",
        style="dim",
    )
    return Group(
        Text(""),
        _attempts(told),
        Text(""),
        _recoveries(told),
        Text(""),
        *_results(told),
        chips,
        _verdict(told),
    )


def _attempts(told: Told) -> Table:
    table = Table(title="attempts", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in ("job", "attempt", "steps", "ended by"):
        table.add_column(column)
    for column in ("redone", "seconds"):
        table.add_column(column, justify="right")
    lost = {(each.preemption.job, each.preemption.attempt): each for each in told.recoveries}
    for name, attempts in told.attempts.items():
        for attempt in attempts:
            recovery = lost.get((name, attempt.number))
            redone = str(recovery.redone) if recovery else ""
            cause, seconds = str(attempt.cause or ""), f"{_ran_s(attempt):.1f}"
            table.add_row(name, str(attempt.number), _steps(attempt), cause, redone, seconds)
    return table


def _steps(attempt: Attempt) -> str:
    last = attempt.last_step if attempt.last_step is not None else ""
    return f"{attempt.start_step or 0}..{last}"


def _ran_s(attempt: Attempt) -> float:
    ended = attempt.ended_at or attempt.ordered_at
    return (ended - attempt.ordered_at).total_seconds()


def _recoveries(told: Told) -> Table:
    """Show marks as seconds since the preemption, then who took how much of them."""
    title = "seconds from each preemption, and who took them"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("preemption")
    for column in ("request", "slice", "process", "step"):
        table.add_column(column, justify="right")
    for column in ("control plane", "cloud", "program"):
        table.add_column(column, justify="right", style="dim")
    for each in told.recoveries:
        kind = "with notice" if each.preemption.notice else "silent"
        marks = (each.request, each.slice, each.process, each.step)
        shares = (each.control_plane, each.cloud, each.program)
        table.add_row(kind, *(_seconds(mark) for mark in (*marks, *shares)))
    return table


def _results(told: Told) -> Iterator[Text]:
    for name, result in told.results.items():
        digest = str(result.get("parameters_sha256", "none"))[:16]
        accuracy = result.get("accuracy")
        shown = f"{accuracy:.4f}" if isinstance(accuracy, float) else "none"
        yield Text(f"{name:<12}  accuracy {shown}  parameters {digest}")


def _verdict(told: Told) -> Text:
    if told.ok:
        count = len(told.preemptions)
        text = f"ok: preempted {count} times, and the parameters are bit for bit the same"
        return Text(f"{text} ({told.seconds:.0f} s)", style="bold green")
    if not told.parameters_equal:
        return Text("failed: the parameters differ", style="bold red")
    return Text("failed: not every job was preempted as planned and succeeded", style="bold red")


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.2f}"


def as_object(told: Told) -> dict[str, Any]:
    """Return the figures as one JSON object; all times are in seconds."""
    jobs = [_job_object(told, name, job) for name, job in told.jobs.items()]
    hours, usd = told.cost()
    return {
        "ok": told.ok,
        "jobs": jobs,
        "preemptions": len(told.preemptions),
        "attempts": sum(len(attempts) for attempts in told.attempts.values()),
        "parameters_equal": told.parameters_equal,
        "notice_to_request_s": told.request_s(notice=True),
        "silent_to_request_s": told.request_s(notice=False),
        "ready_to_start_s": told.ready_to_start_s,
        "steps_redone": sum(each.redone for each in told.recoveries),
        "recoveries": [_recovery_object(each) for each in told.recoveries],
        "chip_hours": hours,
        "usd": usd,
        "seconds": told.seconds,
    }


def _job_object(told: Told, name: str, job: Job) -> dict[str, Any]:
    return {
        "name": name,
        "stage": str(job.stage),
        "attempts": [
            {
                "number": attempt.number,
                "generation": attempt.generation,
                "cause": str(attempt.cause) if attempt.cause else None,
                "start_step": attempt.start_step,
                "last_step": attempt.last_step,
            }
            for attempt in told.attempts[name]
        ],
        "result": dict(told.results.get(name, {})),
    }


def _recovery_object(each: Recovery) -> dict[str, Any]:
    return {
        "notice": each.preemption.notice,
        "request_s": each.request,
        "slice_s": each.slice,
        "process_s": each.process,
        "step_s": each.step,
        "control_plane_s": each.control_plane,
        "cloud_s": each.cloud,
        "program_s": each.program,
        "steps_redone": each.redone,
    }
