"""Why a job is where it is, in a few labelled lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Final

from cli import tables
from cli.job_text import next_step
from cli.job_view import TimelineEntry
from cli.why_view import WhyView
from cli.why_waits import MEANINGS, wait_of
from shared.core.model import Attempt, FailedRestore
from shared.core.slices import Bid
from shared.core.stages import Stage

LABEL_CELLS: Final = 11
TRIED_MAX: Final = 8
EVIDENCE_MAX: Final = 8
_FAILED_BID: Final = re.compile(r"\S+ in (\S+): (.*)")
_WAITING: Final = frozenset({Stage.QUEUED, Stage.PROVISIONING, Stage.RECOVERING})
_FIXABLE: Final = frozenset({"setup", "error", "oom", "hang"})


@dataclass(frozen=True, slots=True)
class Why:
    """The answer, a label and its sentences each; empty ones are not shown."""

    headline: str
    waits_for: str
    because: tuple[str, ...]
    tried: tuple[str, ...]
    next: str
    spent: tuple[str, ...]
    evidence: tuple[str, ...]
    type: str


def why_of(found: WhyView) -> Why:
    """Answer from what was read."""
    job = found.view.job
    wait = wait_of(found)
    since = job.stage_since or job.created_at
    age, clock = tables.age(since, found.view.now), tables.clock(since, found.view.now)
    return Why(
        headline=f"job {job.number} {job.name}: {job.stage} for {age}, since {clock}",
        waits_for=tables.printable(wait.what),
        because=tuple(_because(found)),
        tried=tuple(_tried(found)) if job.stage in _WAITING else (),
        next=tables.printable(wait.next),
        spent=tuple(_spent(found)),
        evidence=tuple(_evidence(found)),
        type=_type(found),
    )


def lines_of(why: Why, columns: int) -> Iterator[str]:
    """Write the answer, no line wider than the terminal."""
    yield tables.cut(why.headline, columns)
    parts: dict[str, Sequence[str]] = {
        "waits for": (why.waits_for,),
        "because": why.because,
        "tried": why.tried,
        "then": (why.next,),
        "spent": why.spent,
    }
    for label, texts in parts.items():
        for index, text in enumerate(texts):
            line = f"  {label if index == 0 else '':<{LABEL_CELLS}}{text}"
            yield from tables.wrapped(line, columns=columns, indent=LABEL_CELLS + 2)
    for index, text in enumerate(why.evidence):
        yield tables.cut(f"  {'evidence' if index == 0 else '':<{LABEL_CELLS}}{text}", columns)
    yield from tables.wrapped(f"next: {why.type}", columns=columns, indent=len("next: "))


# --- Because ------------------------------------------------------------------------------------


def _because(found: WhyView) -> Iterator[str]:
    """Say what led here: the end of the last attempt, and what was decided then."""
    job, attempts = found.view.job, found.view.attempts
    ended = next((each for each in reversed(attempts) if each.ended_at is not None), None)
    if ended is not None and job.stage is not Stage.RUNNING:
        yield _end(found, ended)
    elif ended is not None:
        yield f"before this one, {_end(found, ended)}"
    if job.reason:
        yield tables.printable(job.reason)
    if job.stage is Stage.FAILED and job.failed_restore is not None:
        yield from _changed_since(attempts, job.failed_restore)


def _changed_since(attempts: Sequence[Attempt], failed: FailedRestore) -> Iterator[str]:
    """Say so where the program is another one than that which saved the checkpoint."""
    specs = {attempt.number: attempt.spec_sha256 for attempt in attempts}
    savers = [
        attempt
        for attempt in attempts
        if attempt.number not in failed.attempts and (attempt.checkpoint_step or -1) >= failed.step
    ]
    if savers and specs.get(failed.attempts[-1]) != savers[-1].spec_sha256:
        yield (
            f"its command or code is not that of attempt {savers[-1].number}, which saved step"
            f" {failed.step} or a later one: that may be what fails"
        )


def _end(found: WhyView, attempt: Attempt) -> str:
    cause = attempt.cause
    if cause is None:
        return f"attempt {attempt.number} was not begun"
    host = "" if attempt.cause_host is None else f", host {attempt.cause_host}"
    code = "" if attempt.exit_code is None else f", exit code {attempt.exit_code}"
    signal = "" if attempt.signal is None else f", signal {attempt.signal}"
    age = tables.age(attempt.ended_at, found.view.now)
    told = f"attempt {attempt.number} ended {age} ago: {cause}{host}{code}{signal}"
    return f"{told} ({MEANINGS[cause]})"


# --- Tried --------------------------------------------------------------------------------------


def _tried(found: WhyView) -> Iterator[str]:
    """Say where it was asked for in this wait, and what came of it."""
    job = found.view.job
    since = job.stage_since or job.created_at
    failed: dict[str, list[TimelineEntry]] = {}
    for entry in found.view.timeline:
        match = _FAILED_BID.fullmatch(entry.text) if entry.event == "BidFailed" else None
        if match is not None and entry.at >= since:
            failed.setdefault(match[1], []).append(entry)
    lines = [_refusals(found, zone, entries) for zone, entries in failed.items()]
    yield from lines[-TRIED_MAX:]
    if found.current is not None:
        for bid in found.current.bids:
            if not bid.is_condemned:
                yield _request(found, bid)


def _refusals(found: WhyView, zone: str, entries: Sequence[TimelineEntry]) -> str:
    match = _FAILED_BID.fullmatch(entries[-1].text)
    assert match is not None, "only these were collected"
    age = tables.age(entries[-1].at, found.view.now)
    times = f"{len(entries)} times, last " if len(entries) > 1 else ""
    return tables.printable(f"{zone}: {times}{age} ago: {match[2]}")


def _request(found: WhyView, bid: Bid) -> str:
    asked = bid.requested_at
    if asked is None:
        return f"{bid.zone}: not asked yet"
    state = (bid.state or str(bid.stage)).lower()
    return f"{bid.zone}: asked {tables.age(asked, found.view.now)} ago, {state}"


# --- Spent --------------------------------------------------------------------------------------


def _spent(found: WhyView) -> Iterator[str]:
    job, attempts = found.view.job, found.view.attempts
    budgets = job.spec.get("budgets")
    limits = budgets if isinstance(budgets, dict) else {}
    yield (
        f"{job.spent.preemptions} of {limits.get('preemptions', '?')} preemptions,"
        f" {job.spent.failures} of {limits.get('failures', '?')} failures"
        f" (rule {job.spec.get('rule', '?')})"
    )
    if attempts:
        ran = sum((_ran(found, each) for each in attempts), timedelta())
        redone = _redone(attempts)
        again = f", {redone} steps done twice" if redone else ""
        count = f"{len(attempts)} attempt{'' if len(attempts) == 1 else 's'}"
        yield f"{count}, {tables.duration(ran)} at work{again}"
    if found.bill.chip_hours:
        least = "" if found.bill.is_complete else "at least "
        usd = f"{least}{found.bill.usd:.2f} USD at list price"
        yield f"{found.bill.chip_hours:.2f} chip-hours, {usd}"


def _ran(found: WhyView, attempt: Attempt) -> timedelta:
    if attempt.process_at is None:
        return timedelta()
    return max(timedelta(), (attempt.ended_at or found.view.now) - attempt.process_at)


def _redone(attempts: Sequence[Attempt]) -> int:
    """Count the steps that a later attempt of the same run had to do again."""
    return sum(
        max(0, before.last_step - after.start_step)
        for before, after in pairwise(attempts)
        if before.run == after.run and before.last_step is not None and after.start_step is not None
    )


# --- The end ------------------------------------------------------------------------------------


def _evidence(found: WhyView) -> Iterator[str]:
    """Show what a failed job said last."""
    job, attempts = found.view.job, found.view.attempts
    if job.stage is not Stage.FAILED:
        return
    text = job.evidence or (attempts[-1].evidence if attempts else "")
    for line in [each for each in text.splitlines() if each.strip()][-EVIDENCE_MAX:]:
        yield tables.verbatim(line)


def _type(found: WhyView) -> str:
    """Name what one can type now; a slice that is held takes the fix at once."""
    job, slice_ = found.view.job, found.view.slice
    usual = next_step(job)
    is_held = slice_ is not None and slice_.live and slice_.held_until is not None
    if job.stage is Stage.FAILED and is_held and job.cause in _FIXABLE:
        return f"tpuctl resume {job.number} --code . (its slice is held for that), or {usual}"
    return usual
