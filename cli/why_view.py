"""What `why` needs to know of a job beside what `show` reads: hosts, the gate, what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from cli.installation import PAUSE, Installation
from cli.job_view import JobView
from cli.tables import printable
from shared.core.codec import from_fields
from shared.core.gate import Gate
from shared.core.hosts import Host
from shared.core.names import ledger_line
from shared.core.policy import Policy
from shared.core.slices import Bid, Generation
from shared.errors import Unreadable
from shared.ports import Document, Fields, Query, Store, Where

# The document of whose turn it is to ask the cloud for something.
_GATE: Final = "control/creates"
HOSTS_MAX: Final = 1000
LEDGER_MAX: Final = 2000
_HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Bill:
    """What a job's slices cost so far; ``usd`` is at list prices, as far as they are known."""

    chip_hours: float = 0.0
    usd: float = 0.0
    is_complete: bool = True

    def plus(self, chips: int, held: timedelta, usd_per_chip_hour: float | None) -> Bill:
        """Add chips that were held for some time."""
        hours = chips * max(held, timedelta()) / _HOUR
        usd = hours * (usd_per_chip_hour or 0.0)
        is_known = usd_per_chip_hour is not None
        return Bill(self.chip_hours + hours, self.usd + usd, self.is_complete and is_known)


@dataclass(frozen=True, slots=True)
class WhyView:
    """All that is known of why a job is where it is."""

    view: JobView
    policy: Policy
    hosts: Sequence[Host] = ()
    gate: Gate = field(default_factory=Gate)
    paused: str = ""
    bill: Bill = field(default_factory=Bill)

    @property
    def current(self) -> Generation | None:
        """The generation that serves the job's slice, or will."""
        return self.view.slice.current if self.view.slice else None

    @property
    def bid(self) -> Bid | None:
        """What serves the slice now, else what is asked for."""
        if self.current is None:
            return None
        asked = [bid for bid in self.current.bids if not bid.is_condemned]
        return self.current.claimed_bid or (asked[-1] if asked else None)

    @property
    def bids_hosts(self) -> Sequence[Host]:
        """The hosts that speak for what serves the slice, or will."""
        current, bid = self.current, self.bid
        if current is None or bid is None:
            return ()
        wanted = (current.number, bid.id)
        return [host for host in self.hosts if (host.generation, host.bid) == wanted]


def read_why(installation: Installation, view: JobView) -> WhyView:
    """Read the rest."""
    store = installation.store
    return WhyView(
        view=view,
        policy=installation.settings.policy,
        hosts=_hosts(store, view),
        gate=_gate(store.get(_GATE)),
        paused=_summary(store.get(PAUSE)),
        bill=_bill(store, view),
    )


def _hosts(store: Store, view: JobView) -> Sequence[Host]:
    if view.slice is None:
        return ()
    found = store.query(Query(f"slices/{view.slice.name}/hosts", limit=HOSTS_MAX))
    hosts = []
    for document in found:
        try:
            hosts.append(from_fields(Host, document.fields))
        except Unreadable:
            continue
    return [host for host in hosts if host.slice_uid == view.slice.uid]


def _gate(document: Document | None) -> Gate:
    return from_fields(Gate, document.fields) if document else Gate()


def _summary(document: Document | None) -> str:
    return printable(str(document.fields["summary"])) if document else ""


def _bill(store: Store, view: JobView) -> Bill:
    """Add up what was made for this job, all of its time, and its own time on other slices."""
    where = (Where("job", "==", view.job.id),)
    bill, lines = Bill(), set[str]()
    for document in store.query(Query("ledger", where, limit=LEDGER_MAX)):
        bill = _with_line(bill, document.fields)
        lines.add(document.path.rpartition("/")[2])
    held = _held(view)
    own = {line: bid for line, bid in held.items() if bid.job == view.job.id}
    for bid in own.values():
        assert bid.ready_at is not None, "only what is ready was kept"
        time = (bid.stopped_at or view.now) - bid.ready_at
        bill = bill.plus(_chips(bid.accelerator_type), time, _price(bid))
    for attempt in view.attempts:
        line = ledger_line(attempt.slice_uid, attempt.generation, attempt.bid)
        if line not in lines and line not in own:
            time = (attempt.ended_at or view.now) - attempt.ordered_at
            usd = _price(held[line]) if line in held else _paid(store, line)
            bill = bill.plus(_chips(attempt.accelerator_type), time, usd)
    return bill


def _with_line(bill: Bill, line: Fields) -> Bill:
    begun, gone, usd = line["ready_at"], line["gone_at"], line["usd_per_chip_hour"]
    chips = line["chips"]
    if not isinstance(begun, datetime) or not isinstance(gone, datetime):
        return bill
    assert isinstance(chips, int), "a line counts chips"
    return bill.plus(chips, gone - begun, usd if isinstance(usd, float | int) else None)


def _held(view: JobView) -> Mapping[str, Bid]:
    """Return what is held for the job's slice now, by the line of the ledger that it will be."""
    if view.slice is None:
        return {}
    return {
        ledger_line(view.slice.uid, generation.number, bid.id): bid
        for generation in view.slice.generations
        for bid in generation.bids
        if bid.ready_at is not None and bid.gone_at is None
    }


def _chips(accelerator_type: str) -> int:
    from shared.catalog_data import load_catalog

    return load_catalog().accelerator(accelerator_type).chips


def _price(bid: Bid) -> float | None:
    from shared.catalog_data import load_catalog
    from shared.core.catalog import Tier

    return load_catalog().usd_per_chip_hour(bid.accelerator_type, bid.zone, Tier(bid.tier))


def _paid(store: Store, line: str) -> float | None:
    """Return what a chip cost in an hour of what is gone, and was not made for this job."""
    document = store.get(f"ledger/{line}")
    usd = document.fields["usd_per_chip_hour"] if document else None
    return float(usd) if isinstance(usd, float | int) else None
