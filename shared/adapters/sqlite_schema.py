"""The tables of the state file, and the indexes that follow from ``shared.topology``.

Documents are JSON text; the fields that are searched have expression indexes of their own, each
over the documents of one collection only, so that other writes do not pay for it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shared.topology import Index

APPLICATION_ID: Final = 0x7470_7563  # "tpuc", in the header of every state file of ours
VERSION: Final = 1  # raised by a change that an older program could not read

# `mark` has one row: the last token given out, and the highest time the store ever saw.
TABLES: Final = """
CREATE TABLE mark (
  token INTEGER NOT NULL,
  clock_us INTEGER NOT NULL
);
INSERT INTO mark VALUES (0, 0);

CREATE TABLE documents (
  path TEXT PRIMARY KEY,
  collection TEXT NOT NULL,
  fields TEXT NOT NULL,
  token INTEGER NOT NULL,
  updated_us INTEGER NOT NULL
);
CREATE INDEX by_collection ON documents (collection, path);

CREATE TABLE deliveries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  subscription TEXT NOT NULL,
  due_us INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  topic TEXT NOT NULL,
  published_us INTEGER NOT NULL,
  attributes TEXT NOT NULL,
  data BLOB NOT NULL
);
CREATE INDEX by_due ON deliveries (subscription, due_us);
"""
HEADER: Final = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};"

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COLLECTION: Final = re.compile(r"[A-Za-z0-9_/-]+")


def key_of(field: str) -> str:
    """Return the SQL expression for a top-level field; indexes and queries must agree on it."""
    assert _NAME.fullmatch(field), f"{field!r} is no name of a field to search by"
    return f"json_extract(fields, '$.{field}')"


def type_of(field: str) -> str:
    """Return the SQL expression for the JSON type of a top-level field."""
    assert _NAME.fullmatch(field), f"{field!r} is no name of a field to search by"
    return f"json_type(fields, '$.{field}')"


def index_name(index: Index) -> str:
    """Name an index after what it is, so that another definition is another index."""
    return "__".join(["by", index.collection.replace("/", "_"), *index.names])


def index_ddl(index: Index) -> str:
    """Return the statement that creates an index."""
    assert _COLLECTION.fullmatch(index.collection), f"{index.collection!r} is no collection"
    keys = ", ".join([*(key_of(field) for field in index.names), "path"])
    return (
        f"CREATE INDEX IF NOT EXISTS {index_name(index)}"
        f" ON documents ({keys}) WHERE collection = '{index.collection}'"
    )
