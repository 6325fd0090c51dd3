"""Documents as people read them in the Firestore console: flat, in words, a sentence in each.

The sentence is derived from the other fields whenever they are written, and read by nobody but
people.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from shared.core.codec import to_fields
from shared.core.hosts import Host
from shared.core.model import Attempt
from shared.core.orders import Outcome
from shared.core.situation import LedgerLine

SUMMARY: Final = "summary"
# Told in every document; a reader takes what it knows and leaves what a newer version added.
DOCUMENT_VERSION: Final = 1


def readable(value: object) -> dict[str, Any]:
    """Write a value as the fields of its document, with a sentence that says what it is."""
    fields = to_fields(value)
    tell = _SENTENCES.get(type(value))
    told = {} if tell is None else {SUMMARY: tell(value)}
    return {"version": DOCUMENT_VERSION, **told, **fields}


def _of_attempt(attempt: Attempt) -> str:
    where = f"attempt {attempt.number} on {attempt.slice}, generation {attempt.generation}"
    if attempt.cause is not None:
        step = "" if attempt.last_step is None else f" at step {attempt.last_step}"
        return f"{where}: ended{step}, {_words(attempt.cause)}"
    if attempt.process_at is not None:
        return f"{where}: running" + _from_step(attempt.start_step)
    return f"{where}: ordered to start"


def _from_step(step: int | None) -> str:
    return "" if step is None else f", restored from step {step}"


def _of_host(host: Host) -> str:
    problem = f"; {host.problem}" if host.problem else ""
    notice = f"; notice: {_words(host.notice)}" if host.notice else ""
    return f"host {host.host} of {host.hosts}: {_words(host.phase)}{notice}{problem}"


def _of_outcome(outcome: Outcome) -> str:
    what = f"{_words(outcome.kind)} by {outcome.owner}: {outcome.outcome}"
    if outcome.reason:
        return f"{what}, {outcome.reason}"
    return f"{what}, job {outcome.number}" if outcome.number else what


def _of_line(line: LedgerLine) -> str:
    held = f"{line.chips} chips of {line.accelerator_type} ({line.tier}) in {line.zone}"
    if line.ready_at is None:
        return f"{held}: never ready, nothing to pay"
    hours = _hours(line.ready_at, line.gone_at)
    if line.usd_per_chip_hour is None:
        return f"{held} for {hours:.2f} h, price not known"
    return f"{held} for {hours:.2f} h, about ${hours * line.chips * line.usd_per_chip_hour:.2f}"


def _hours(begin: datetime, end: datetime) -> float:
    return max(0.0, (end - begin).total_seconds()) / 3600


def _words(name: str) -> str:
    return str(name).replace("_", " ").replace("-", " ")


# Jobs and slices carry a sentence of their own: it tells a change from none.
_SENTENCES: Final[Mapping[type, Callable[[Any], str]]] = {
    Attempt: _of_attempt,
    Host: _of_host,
    Outcome: _of_outcome,
    LedgerLine: _of_line,
}
