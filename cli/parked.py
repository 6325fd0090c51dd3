"""Find messages that were put aside, by the beginning of their key."""

from __future__ import annotations

import json
import re
from typing import Final

from cli.errors import NotFoundError
from cli.installation import Installation
from cli.near import near_names
from shared.core.parking import Way
from shared.errors import InvalidRequest
from shared.ports import Document, Query

KEY_CHARS: Final = 32
SHORT_CHARS: Final = 8
LOOKED_AT_MAX: Final = 500
LIST: Final = "tpuctl parked ls"


def newest(installation: Installation, limit: int) -> list[Document]:
    """Read what was parked, newest first."""
    return installation.store.query(Query("parked", order_by="-created_at", limit=limit))


def key_of(document: Document) -> str:
    """Name a parked message."""
    return document.path.rpartition("/")[2]


def find(installation: Installation, begin: str) -> Document:
    """Find the one whose key begins so.  Raises NotFoundError."""
    wanted = begin.lower()
    if re.fullmatch(rf"[0-9a-f]{{{KEY_CHARS}}}", wanted):
        document = installation.store.get(f"parked/{wanted}")
        if document is not None:
            return document
    documents = newest(installation, LOOKED_AT_MAX)
    found = [each for each in documents if wanted and key_of(each).startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        keys = ", ".join(key_of(each)[: len(wanted) + 4] for each in found[:3])
        raise NotFoundError(f"{len(found)} keys begin with {begin!r}: {keys}", next_step=LIST)
    near = near_names(wanted[:SHORT_CHARS], [key_of(each)[:SHORT_CHARS] for each in documents])
    hint = f"; near: {', '.join(near)}" if near else ""
    raise NotFoundError(f"no parked message {begin!r}{hint}", next_step=LIST)


def is_readable(document: Document, way: Way) -> bool:
    """Tell whether an order can be given again at all; of events nobody asks."""
    if way is not Way.ORDER:
        return True
    from shared.app.order_args import parse_order

    try:
        parse_order(str(document.fields["data"]).encode())
    except InvalidRequest:
        return False
    return True


def readable(data: str) -> list[str]:
    """Write what a message said in lines, JSON with indents; nothing that a terminal obeys."""
    from cli.tables import printable

    try:
        # Escapes are what makes it safe to print.
        return json.dumps(json.loads(data), indent=2, ensure_ascii=True).splitlines()
    except (ValueError, RecursionError):
        return [printable(line) for line in data.splitlines()]
