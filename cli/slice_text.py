"""A slice as text for people: facts, bids, hosts, timeline, next step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from cli import tables
from cli.slice_view import SliceView
from shared.core.slices import Kind

SHOWN_MAX: Final = 20
LABEL_CELLS: Final = 12
_BIDS: Final = ("BID", "ZONE", "STATE", "AGE", "")
_HOSTS: Final = ("HOST", "PHASE", "JOB", "HEARD", "")
_OTHERS: Final = ("TPU", "TYPE", "TIER", "ZONE", "STATE", "AGE")


def text_of(view: SliceView, columns: int) -> Iterator[str]:
    """Write a view, no line wider than the terminal."""
    for part in (_headline, _facts, _bids, _hosts, _timeline):
        for line in part(view):
            yield tables.cut(line, columns)
    yield f"next: {next_step(view)}"


def next_step(view: SliceView) -> str:
    """Say what one does with a slice like this."""
    slice_, current = view.slice, view.slice.current
    if view.job is not None:
        return f"tpuctl show {view.job}"
    if not slice_.wanted:
        return "tpuctl slice ls"
    if current is None:
        return f"tpuctl slice recreate {slice_.name}, tpuctl slice rm {slice_.name}"
    if current.foreign_bid is not None and not current.claimed:
        return f"on each host, once: tpuctl slice installer {slice_.name}"
    return f"tpuctl run --on {slice_.name} …, tpuctl slice rm {slice_.name}"


def unmanaged_text(others: Sequence[Mapping[str, Any]], columns: int) -> Iterator[str]:
    """Write what could be adopted, or that nothing can."""
    yield ""
    if not others:
        yield "no TPU there that is not ours"
        return
    rows = [_OTHERS] + [
        (
            tables.printable(str(each["name"])),
            tables.printable(str(each["type"])),
            str(each["tier"]),
            str(each["zone"]),
            str(each["state"]).lower(),
            _since(each["created_at"]),
        )
        for each in others
    ]
    yield from tables.table(rows, columns=columns, right=frozenset({5}))
    first = others[0]
    yield f"next: tpuctl slice adopt {first['name']} --zone {first['zone']}"


def _since(created_at: Any) -> str:
    from datetime import UTC, datetime

    return tables.age(created_at, datetime.now(UTC))


def _headline(view: SliceView) -> Iterator[str]:
    slice_ = view.slice
    yield f"slice {slice_.name}  {slice_.accelerator_type} {slice_.tier}  {slice_.kind}"
    text = f"  {tables.printable(slice_.summary)}"
    yield from tables.wrapped(text, columns=tables.width(), indent=2)


def _facts(view: SliceView) -> Iterator[str]:
    slice_, current = view.slice, view.slice.current
    held = slice_.held_until
    facts = {
        "uid": f"{slice_.uid}, since {tables.age(slice_.created_at, view.now)}",
        "owner": slice_.owner,
        "zones": ", ".join(slice_.zones),
        "hosts": str(slice_.hosts),
        "job": "" if view.job is None else str(view.job),
        "generation": f"{slice_.generation}, {current.cause}" if current else "",
        "held": f"for {tables.duration(max(held - view.now, held - held))} more" if held else "",
        "if lost": _if_lost(view),
        "reason": slice_.reason,
    }
    for label, text in facts.items():
        if text:
            yield f"  {label:<{LABEL_CELLS}}{tables.printable(text)}"


def _if_lost(view: SliceView) -> str:
    slice_ = view.slice
    match slice_.kind:
        case Kind.TEMPORARY:
            return "made again while its job wants that"
        case Kind.ADOPTED if not slice_.disposable:
            return "let go: it is never deleted or made again"
        case _ if slice_.keep:
            return "made again at once"
        case _:
            return "made again when a job needs it"


def _bids(view: SliceView) -> Iterator[str]:
    bids = [bid for generation in view.slice.generations for bid in generation.bids]
    rows = [
        (
            bid.name,
            bid.zone,
            ("going, " if bid.is_condemned else "") + (bid.state or bid.stage).lower(),
            tables.age(bid.intended_at, view.now),
            tables.printable(bid.detail),
        )
        for bid in bids
    ]
    if rows:
        yield ""
        yield from tables.table([_BIDS, *rows], columns=tables.width(), right=frozenset({3}))


def _hosts(view: SliceView) -> Iterator[str]:
    rows = [
        (
            str(host.host),
            host.phase,
            f"attempt {host.attempt.number}" if host.attempt.number >= 0 else "-",
            tables.age(heard_at, view.now),
            tables.printable(host.notice or host.problem),
        )
        for host, heard_at in sorted(view.hosts, key=lambda each: each[0].host)
    ]
    if rows:
        yield ""
        yield from tables.table([_HOSTS, *rows], columns=tables.width(), right=frozenset({3}))


def _timeline(view: SliceView) -> Iterator[str]:
    entries = view.timeline[-SHOWN_MAX:]
    if entries:
        yield ""
    for entry in entries:
        line = (
            f"  {tables.clock(entry.at, view.now)}  {tables.printable(entry.text or entry.event)}"
        )
        yield from tables.wrapped(line, columns=tables.width(), indent=4)
