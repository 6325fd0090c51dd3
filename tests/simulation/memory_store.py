"""A Store in memory: as exact as the others (one contract suite holds all), and much faster.

Documents are kept as they were written, so a value that was read twice is decoded once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from operator import eq, ge, gt, le, lt
from threading import Lock
from typing import Any, Final

from shared.adapters.document_rules import conflict_text, prepare
from shared.errors import Conflict
from shared.ports import Clock, Create, Delete, Document, Guard, Query, Replace, Where, Write

_OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "==": eq,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}
# In Firestore's order of types; values of different types never match.
_ORDER: Final = {type(None): 0, bool: 1, int: 2, float: 2, datetime: 3, str: 4}


class Fields(dict[str, Any]):
    """The fields of one version of a document, with what they were decoded to."""

    __slots__ = ("decoded",)

    def __init__(self, fields: Any) -> None:
        super().__init__(fields)
        self.decoded: dict[type, Any] = {}


class MemoryStore:
    """Documents of one process, by collection.

    ``is_checked`` holds each write against the limits of real Stores, which costs time.
    ``moment`` lets time pass with each commit. ``heard`` says when a document was last written
    by somebody whom the world does not run in full (see ``quiet``).
    """

    def __init__(self, clock: Clock, *, is_checked: bool = True) -> None:
        self.clock = clock
        self.is_checked = is_checked
        self.commits = 0
        self.moment: Callable[[], None] = lambda: None
        self.heard: Callable[[str], datetime | None] = lambda _: None
        self.collections: dict[str, dict[str, Document]] = defaultdict(dict)
        self._tokens = 0
        self._lock = Lock()

    def get(self, path: str) -> Document | None:
        """Read one document, or None."""
        found = self.collections[_collection(path)].get(path)
        return None if found is None else self._shown(found)

    def query(self, query: Query) -> list[Document]:
        """Read the documents that match, by path or by the field that orders them."""
        found = [
            document
            for document in self.collections[query.collection].values()
            if all(_matches(document, where) for where in query.where)
        ]
        found.sort(key=lambda document: document.path)
        if query.order_by is not None:
            name = query.order_by.removeprefix("-")
            found = [document for document in found if name in document.fields]
            found.sort(
                key=lambda document: (_rank(document.fields[name]), document.path),
                reverse=query.order_by.startswith("-"),
            )
        return [self._shown(document) for document in found[: query.limit]]

    def commit(self, writes: Sequence[Write]) -> None:
        """Apply all writes or none."""
        if self.is_checked:
            prepare(writes)
        with self._lock:
            for write in writes:
                self._check(write)
            self.moment()
            at = self.clock.now()
            self.commits += 1
            for write in writes:
                self._apply(write, at)

    def close(self) -> None:
        """Nothing is open."""

    def documents(self, collection: str) -> list[Document]:
        """Return all documents of a collection, as they were written."""
        return list(self.collections[collection].values())

    def _check(self, write: Write) -> None:
        found = self.collections[_collection(write.path)].get(write.path)
        if isinstance(write, Create):
            is_met = found is None
        elif isinstance(write, Delete) and write.token is None:
            is_met = True
        else:
            is_met = found is not None and found.token == write.token
        if not is_met:
            raise Conflict(conflict_text(write, is_create=isinstance(write, Create)))

    def _apply(self, write: Write, at: datetime) -> None:
        documents = self.collections[_collection(write.path)]
        if isinstance(write, Guard):
            return
        if isinstance(write, Delete):
            documents.pop(write.path, None)
            return
        assert isinstance(write, (Create, Replace)), "there are four kinds of writes"
        self._tokens += 1
        fields = Fields(_in_utc(write.fields) if self.is_checked else write.fields)
        documents[write.path] = Document(write.path, fields, str(self._tokens), at, at)

    def _shown(self, document: Document) -> Document:
        heard = self.heard(document.path)
        at = document.updated_at if heard is None else max(heard, document.updated_at)
        return Document(document.path, document.fields, document.token, at, self.clock.now())


def _in_utc(value: Any) -> Any:
    """Return what comes back from a real Store: times in UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, Mapping):
        return {key: _in_utc(each) for key, each in value.items()}
    return [_in_utc(each) for each in value] if isinstance(value, list | tuple) else value


def _collection(path: str) -> str:
    return path.rpartition("/")[0]


def _matches(document: Document, where: Where) -> bool:
    if where.field not in document.fields:
        return False
    found: Any = document.fields[where.field]
    if _kind(found) != _kind(where.value):
        return False
    if found is None:
        return where.operator == "=="
    return bool(_OPERATORS[where.operator](found, where.value))


def _rank(value: Any) -> tuple[int, Any]:
    return _kind(value), value


def _kind(value: Any) -> int:
    return _ORDER.get(type(value), 5 if isinstance(value, str) else 6)
