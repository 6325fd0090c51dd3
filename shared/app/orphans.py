"""Find and delete what is ours in the cloud and wanted by nobody.

The order is the safety: first the cloud was listed, then the Store is read, and both are read
again before a delete (design: sweep in this order).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shared.app.context import App
from shared.app.messages import MessageKind, message
from shared.app.stored import live_slices
from shared.core.cloud import CloudRequest
from shared.core.codec import from_fields
from shared.core.names import parse_cloud_name
from shared.core.slices import Slice
from shared.core.sweeping import STRANGE_LABELS, Holders, Judgement, judge
from shared.errors import Unreadable
from shared.log import get
from shared.ports import Query, SliceApi, Store, Where
from shared.topology import Topic

_log = get("sweep")


@dataclass(frozen=True, slots=True)
class Judged:
    """A queued resource, and what is held of it."""

    request: CloudRequest
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Survey:
    """What stands in some zones.  Nothing is judged where ``complete`` names no zone."""

    judged: tuple[Judged, ...]
    complete: frozenset[str]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Surveyor:
    """Whoever judges: by which cloud and documents, for which installation."""

    slices: SliceApi
    store: Store
    installation: str

    def survey(self, zones: Sequence[str]) -> Survey:
        """List zones, then read the slices, and each orphan once more; change nothing.

        Raises Unavailable.
        """
        listing = self.slices.list(zones)
        holders = Holders.among(live_slices(self.store))
        found = []
        for request in listing.requests:
            judgement = judge(request, self.installation, holders)
            judged = Judged(request, judgement)
            if judgement.is_orphan:
                again = self.look(request.zone, request.name)
                if again is None:
                    continue
                judged = again
            found.append(judged)
        return Survey(tuple(found), listing.complete, listing.problems)

    def look(self, zone: str, name: str) -> Judged | None:
        """Read one queued resource, then its slice, and judge; None when it is gone.

        Raises Unavailable.
        """
        request = self.slices.get(zone, name)
        if request is None:
            return None
        try:
            slices = self._owners(name)
        except Unreadable as error:
            return Judged(request, Judgement(is_orphan=False, why=str(error)))
        return Judged(request, judge(request, self.installation, Holders.among(slices)))

    def _owners(self, name: str) -> list[Slice]:
        """Read the slices whose uid a name bears, those that are over among them."""
        parsed = parse_cloud_name(name)
        if parsed is None:
            return []
        query = Query("slices", (Where("uid", "==", parsed.slice_uid),), limit=2)
        return [from_fields(Slice, document.fields) for document in self.store.query(query)]


def report_orphans(app: App, requests: Iterable[CloudRequest], live: Sequence[Slice]) -> None:
    """Tell recovery of requests that are ours and that no slice wants."""
    orphans, holders = [], Holders.among(live)
    for request in requests:
        judgement = judge(request, app.installation, holders)
        if judgement.is_orphan:
            fields = {"zone": request.zone, "name": request.name}
            orphans.append(message(MessageKind.ORPHAN_FOUND, fields))
        elif judgement.why == STRANGE_LABELS:
            _log.warning("%s in %s is left alone: %s", request.name, request.zone, STRANGE_LABELS)
    if orphans:
        app.bus.publish(Topic.PREEMPTIONS, orphans)


def delete_orphan(app: App, zone: str, name: str) -> None:
    """Delete a request, if it is still there, still ours, and still nobody wants it."""
    judged = Surveyor(app.slices, app.store, app.installation).look(zone, name)
    if judged is None:
        return
    why = judged.judgement.why
    if not judged.judgement.is_orphan:
        _log.warning("%s in %s is left alone: %s", name, zone, why)
        return
    app.deadline.check()
    _log.warning("%s in %s is an orphan, %s: deleting it", name, zone, why)
    app.slices.delete(zone, name)
