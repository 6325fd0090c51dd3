"""Values with what only the Store knows of them."""

from __future__ import annotations

from dataclasses import replace

from shared.core.codec import from_fields
from shared.core.hosts import Host
from shared.ports import Document


def host_of(document: Document) -> Host:
    """Read a host; when it was heard is the Store's own time."""
    host = from_fields(Host, document.fields)
    return replace(host, received_at=document.updated_at)
