"""A job as text for people: facts, slice, attempts, timeline, last output, next step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from shlex import join
from typing import Any, Final

from cli import tables
from cli.job_view import JobView
from shared.core.model import Attempt, Job
from shared.core.rules import RESTORES_MAX
from shared.core.slices import Bid
from shared.core.stages import Stage

SHOWN_MAX: Final = 20
LABEL_CELLS: Final = 12
_HEADINGS: Final = ("#", "STARTED", "RAN", "ZONE", "STEPS", "CAUSE", "EXIT", "HOST")
_RIGHT: Final = frozenset({0, 2})


def text_of(view: JobView, columns: int) -> Iterator[str]:
    """Write a view, no line wider than the terminal."""
    for part in (_headline, _reasons, _facts, _slice, _attempts, _revisions, _timeline, _evidence):
        for line in part(view):
            yield tables.cut(line, columns)
    yield f"next: {next_step(view.job)}"


def next_step(job: Job) -> str:
    """Say what one does with a job in this stage."""
    number = job.number
    match job.stage:
        case Stage.SUCCEEDED:
            return f"tpuctl logs {number}"
        case Stage.FAILED if _restores_nothing(job):
            return _elsewhere(job)
        case Stage.FAILED | Stage.CANCELLED:
            return f"tpuctl logs {number}, then tpuctl resume {number} or tpuctl rerun {number}"
        case Stage.STOPPING:
            return f"tpuctl wait {number}"
        case Stage.RUNNING:
            return f"tpuctl logs -f {number}, tpuctl stop {number}"
        case _:
            return f"tpuctl wait {number}, tpuctl stop {number}"


def _restores_nothing(job: Job) -> bool:
    failed = job.failed_restore
    return failed is not None and len(failed.attempts) >= RESTORES_MAX


def _elsewhere(job: Job) -> str:
    """Say how to go on where the newest checkpoint cannot be restored."""
    number, step = job.number, job.earlier_step
    if step is None:
        return f"tpuctl logs {number}, then tpuctl rerun {number}"
    return f"tpuctl logs {number}, then tpuctl resume {number} --from-step {step}"


def _headline(view: JobView) -> Iterator[str]:
    job = view.job
    since = tables.age(job.stage_since or job.created_at, view.now)
    progress = "" if job.progress is None else f", step {job.progress.step}"
    total = job.progress.total if job.progress else None
    of_total = "" if total is None else f" of {total}"
    yield f"job {job.number}  {job.name}  {job.stage} for {since}{progress}{of_total}"


def _reasons(view: JobView) -> Iterator[str]:
    for text in dict.fromkeys((view.job.summary, view.job.reason)):
        line = f"  {tables.printable(text)}"
        yield from tables.wrapped(line, columns=tables.width(), indent=2) if text else ()


def _facts(view: JobView) -> Iterator[str]:
    job, spec = view.job, view.job.spec
    facts = {
        "id": f"{job.id}, submitted {tables.age(job.created_at, view.now)} ago",
        "command": _command(spec),
        "place": _place(job),
        "rule": _rule(job),
        "checkpoint": f"step {job.checkpoint.step}, {job.checkpoint.path}"
        if job.checkpoint
        else "",
        "code": _code(spec),
        "env": " ".join(_mapping(spec, "env")),
        "tags": " ".join(_list(spec, "tags")),
        "note": str(spec.get("note") or ""),
    }
    for label, text in facts.items():
        if text:
            yield f"  {label:<{LABEL_CELLS}}{tables.printable(text)}"


def _command(spec: Mapping[str, object]) -> str:
    shell = spec.get("shell")
    return join(_list(spec, "command")) if shell is None else str(shell)


def _place(job: Job) -> str:
    wanted = ", ".join(_list(job.spec, "zones"))
    kind = job.accelerator_type or job.spec.get("accelerator_type") or "a slice that is there"
    where = job.zone or wanted
    return f"{kind} {job.spec.get('tier', '')}{f' in {where}' if where else ''}"


def _rule(job: Job) -> str:
    budgets = _mapping(job.spec, "budgets")
    cells = ", ".join(f"{cause}={action}" for cause, action in _mapping(job.spec, "on").items())
    return (
        f"{job.spec.get('rule', '')}{f' with {cells}' if cells else ''}:"
        f" {job.spent.preemptions} of {budgets.get('preemptions', '?')} preemptions,"
        f" {job.spent.failures} of {budgets.get('failures', '?')} failures spent"
    )


def _code(spec: Mapping[str, object]) -> str:
    code = _mapping(spec, "code")
    if not code:
        return ""
    commit = code.get("git_commit")
    dirty = " and changes" if code.get("git_dirty") else ""
    based = f", commit {commit[:10]}{dirty}" if commit else ""
    return f"{code['sha256'][:10]}, {code['bytes']} bytes{based}"


def _slice(view: JobView) -> Iterator[str]:
    found = view.slice
    if found is None:
        return
    yield ""
    yield f"slice {found.name}  {found.kind}, {found.hosts} hosts"
    for generation in found.generations:
        for bid in generation.bids:
            yield f"  {_bid(bid)}"


def _bid(bid: Bid) -> str:
    state = (bid.state or bid.stage).lower()
    words = [state, str(bid.verdict)] if bid.verdict != state else [state]
    if bid.condemned_at:
        words.append(f"goes: {bid.condemned_for}")
    if bid.unknown_since:
        words.append(f"not seen since {bid.unknown_since:%Y-%m-%d %H:%M} UTC")
    if bid.detail:
        words.append(bid.detail)
    return tables.printable(f"{bid.name} {bid.zone}: {', '.join(words)}")


def _attempts(view: JobView) -> Iterator[str]:
    if not view.attempts:
        return
    yield ""
    yield _title("attempts", len(view.attempts))
    rows = [_HEADINGS, *(_attempt_row(view, found) for found in view.attempts[-SHOWN_MAX:])]
    for line in tables.table(rows, columns=tables.width() - len(tables.GAP), right=_RIGHT):
        yield f"  {line}"


def _attempt_row(view: JobView, attempt: Attempt) -> tuple[str, ...]:
    started, ended = attempt.process_at or attempt.ordered_at, attempt.ended_at
    return (
        str(attempt.number),
        tables.clock(started, view.now),
        tables.age(started, ended or view.now),
        attempt.zone,
        _steps(attempt),
        attempt.cause or ("-" if ended else "not over"),
        _exit(attempt),
        "" if attempt.cause_host is None else str(attempt.cause_host),
    )


def _steps(attempt: Attempt) -> str:
    """Write from which step to which an attempt came."""
    if attempt.last_step is None:
        return "" if attempt.start_step is None else f"{attempt.start_step}.."
    return f"{attempt.start_step or 0}..{attempt.last_step}"


def _exit(attempt: Attempt) -> str:
    if attempt.signal is not None:
        return f"signal {attempt.signal}"
    return "" if attempt.exit_code is None else str(attempt.exit_code)


def _revisions(view: JobView) -> Iterator[str]:
    """Say when the job was given another spec, what of it was new, and which attempts ran it."""
    revisions = view.job.revisions
    if not revisions:
        return
    yield ""
    yield _title("revisions", len(revisions))
    for revision in revisions[-SHOWN_MAX:]:
        ran = [each.number for each in view.attempts if each.spec_sha256 == revision.spec_sha256]
        attempts = f"; attempts {ran[0]} to {ran[-1]}" if ran else ""
        what = f"{', '.join(revision.changed)}, by {revision.by}{attempts}"
        at = tables.clock(revision.at, view.now)
        yield f"  {revision.number}  {at}  {tables.printable(what)}"


def _timeline(view: JobView) -> Iterator[str]:
    if not view.timeline:
        return
    yield ""
    yield _title("timeline", len(view.timeline))
    entries = view.timeline[-SHOWN_MAX:]
    times = [tables.clock(entry.at, view.now) for entry in entries]
    heads = tables.table(
        [
            ("", time, tables.printable(entry.who))
            for time, entry in zip(times, entries, strict=True)
        ],
        columns=tables.width(),
    )
    indent = max(map(len, heads)) + 2 * len(tables.GAP)
    for head, entry in zip(heads, entries, strict=True):
        line = f"{tables.GAP}{head}".ljust(indent) + tables.printable(entry.text or entry.event)
        yield from tables.wrapped(line, columns=tables.width(), indent=indent)


def _title(what: str, count: int) -> str:
    hidden = count - SHOWN_MAX
    return what if hidden <= 0 else f"{what}, the last {SHOWN_MAX} of {count} (--json has all)"


def _evidence(view: JobView) -> Iterator[str]:
    """Show the last output of the attempt that made the job fail."""
    last = view.attempts[-1] if view.attempts else None
    if view.job.stage is not Stage.FAILED or last is None or not last.evidence:
        return
    yield ""
    yield f"last output of attempt {last.number}"
    for line in last.evidence.splitlines()[-SHOWN_MAX:]:
        yield f"  {tables.printable(line)}"


def _mapping(spec: Mapping[str, object], key: str) -> Mapping[str, Any]:
    found = spec.get(key)
    return found if isinstance(found, Mapping) else {}


def _list(spec: Mapping[str, object], key: str) -> list[str]:
    found = spec.get(key)
    return [str(item) for item in found] if isinstance(found, list) else []
