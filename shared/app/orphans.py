"""Find and delete what is ours in the cloud and wanted by nobody.

The order is the safety: first the cloud was listed, then the Store is read, and both are read
again before a delete (design: sweep in this order).
"""

from __future__ import annotations

from collections.abc import Iterable

from shared.app.context import App
from shared.app.messages import MessageKind, message
from shared.core.cloud import CloudRequest
from shared.core.codec import from_fields
from shared.core.names import LABEL_INSTALLATION, LABEL_SLICE, parse_cloud_name
from shared.core.slices import Slice
from shared.log import get
from shared.ports import Query, Where
from shared.topology import Topic

_log = get("sweep")


def report_orphans(app: App, requests: Iterable[CloudRequest], known: frozenset[str]) -> None:
    """Tell recovery of requests that are ours and that no slice knows."""
    orphans = [
        message(MessageKind.ORPHAN_FOUND, {"zone": request.zone, "name": request.name})
        for request in requests
        if request.name not in known and _is_ours(app, request.name)
    ]
    if orphans:
        app.bus.publish(Topic.PREEMPTIONS, orphans)


def delete_orphan(app: App, zone: str, name: str) -> None:
    """Delete a request, if it is still there, still ours, and still nobody wants it."""
    parsed = parse_cloud_name(name)
    request = app.slices.get(zone, name)
    if parsed is None or request is None or not _is_ours(app, name):
        return
    _, uid, number, _ = parsed
    labels = (request.labels.get(LABEL_INSTALLATION), request.labels.get(LABEL_SLICE))
    if labels != (app.installation, uid):
        _log.warning("%s has our name and not our labels: left alone", name)
        return
    if _is_known(app, uid, number, name):
        return
    app.deadline.check()
    _log.warning("%s in %s is an orphan: deleting it", name, zone)
    app.slices.delete(zone, name)


def _is_ours(app: App, name: str) -> bool:
    parsed = parse_cloud_name(name)
    return parsed is not None and parsed[0] == app.installation


def _is_known(app: App, uid: str, number: int, name: str) -> bool:
    """A slice has this bid, or had it: then its own intents deal with it, unless it is buried."""
    query = Query("slices", (Where("uid", "==", uid),), limit=2)
    for document in app.store.query(query):
        slice_ = from_fields(Slice, document.fields)
        bids = [bid for each in slice_.generations for bid in each.bids if bid.name == name]
        if any(bid.gone_at is None for bid in bids) or number > slice_.generation:
            return True
    return False
