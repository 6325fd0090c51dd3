"""Which of our hosts a VM is: Google's audit log speaks of VMs by their names alone.

``report`` writes one small document for each host, found by the VM's name. It is an index:
without it a loss is heard of at the next tick.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from shared.app.context import App
from shared.app.stored import written
from shared.core.codec import from_fields, to_fields
from shared.core.hosts import Host
from shared.core.instances import Instance, instance_of
from shared.ports import Document, Write

# Of VMs that are gone for so long nothing is logged any more.
KEPT = timedelta(days=30)


def instance_path(name: str) -> str:
    """Name the document of a VM."""
    return f"instances/{name}"


def find(app: App, name: str) -> Instance | None:
    """Say which host a VM is; None for one that is not ours, or has not spoken yet."""
    document = app.store.get(instance_path(name))
    return from_fields(Instance, document.fields) if document else None


def remember(app: App, host: Host, old: Host | None) -> list[Write]:
    """Return what is to be written beside a snapshot, so that its VM is found by name.

    Looked at when a host speaks for the first time, and once a day, long before it expires.
    ``host`` is authenticated. One that claims another's name costs the other the early word,
    and gets the loss itself.
    """
    name = instance_of(host.hostname)
    if not name or not _is_due(host, old):
        return []
    new = _instance(host)
    document = app.store.get(instance_path(name))
    if document is not None and _says(document, new):
        return []
    return [written(instance_path(name), to_fields(new), document)]


def _is_due(host: Host, old: Host | None) -> bool:
    if old is None or (host.boot, host.hostname) != (old.boot, old.hostname):
        return True
    return _heard_at(host).date() != _heard_at(old).date()


def _instance(host: Host) -> Instance:
    return Instance(
        slice=host.slice,
        slice_uid=host.slice_uid,
        generation=host.generation,
        bid=host.bid,
        host=host.host,
        summary=f"host {host.host} of {host.slice}, generation {host.generation}",
        expires_at=_heard_at(host) + KEPT,
    )


def _says(document: Document, new: Instance) -> bool:
    """The document says this already, and will go on to say it for a while."""
    expires_at = document.fields.get("expires_at")
    is_fresh = isinstance(expires_at, datetime) and new.expires_at - expires_at < KEPT / 2
    return is_fresh and {**document.fields, "expires_at": new.expires_at} == to_fields(new)


def _heard_at(host: Host) -> datetime:
    assert host.published_at is not None, "a snapshot that arrived was published"
    return host.published_at
