"""Queries as SQL, with the meaning they have in Firestore.

A condition holds only for values of its own type: a number never equals a boolean, a range over
times never meets a text. A missing field matches nothing, null matches ``== None`` alone. What
is ordered by a field leaves out the documents that lack it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from shared.adapters.sqlite_codec import TIME_TAG, time_text
from shared.adapters.sqlite_schema import index_name, key_of, type_of
from shared.topology import INDEXES

if TYPE_CHECKING:
    from shared.ports import Query, Value, Where
    from shared.topology import Index

COLUMNS: Final = "path, fields, token, updated_us, (SELECT clock_us FROM mark)"

# A bound parameter could not use an index that is limited to one collection: these are literals.
_INDEXED_COLLECTIONS: Final = frozenset(index.collection for index in INDEXES)

_OPERATORS: Final = {"==": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}

# Every time, as the index holds it, lies between these two; no other value does.
_FIRST_TIME: Final = f'{{"{TIME_TAG}":"'
_PAST_TIMES: Final = f'{{"{TIME_TAG}":#'


@dataclass(frozen=True, slots=True)
class Statement:
    """One SELECT and its parameters."""

    sql: str
    parameters: tuple[str | int | float, ...]


def compile_query(query: Query) -> Statement:
    """Translate a query; its rows have ``COLUMNS``."""
    assert query.limit > 0, "a query reads a bounded number of documents, at least one"
    parts = [_collection(query.collection), *(_condition(where) for where in query.where)]
    field, downwards = _order(query.order_by)
    if field:
        parts.append(Statement(f"({key_of(field)} IS NOT NULL OR {type_of(field)} = 'null')", ()))
    direction = " DESC" if downwards else ""
    keys = [key_of(field), "path"] if field else ["path"]
    conditions = " AND ".join(part.sql for part in parts)
    order = ", ".join(f"{key}{direction}" for key in keys)
    # Names and operators come from tables of ours; every value is bound.
    sql = f"SELECT {COLUMNS} FROM {_table(query)} WHERE {conditions} ORDER BY {order} LIMIT ?"  # noqa: S608
    return Statement(sql, (*(value for part in parts for value in part.parameters), query.limit))


def _table(query: Query) -> str:
    """Name the table, with the declared index that serves most of the query.

    Without statistics SQLite would prefer the index over all collections, and sort.
    """
    best = max(INDEXES, key=lambda index: _served(index, query))
    return f"documents INDEXED BY {index_name(best)}" if _served(best, query) else "documents"


def _served(index: Index, query: Query) -> int:
    """Count the leading fields of an index that a query compares, the last one perhaps sorts."""
    if index.collection != query.collection:
        return 0
    equal = {where.field for where in query.where if where.operator == "=="}
    sought = {where.field for where in query.where} | {_order(query.order_by)[0]}
    prefix = len(list(takewhile(equal.__contains__, index.names)))
    return prefix + sum(field in sought for field in index.names[prefix : prefix + 1])


def _collection(name: str) -> Statement:
    if name in _INDEXED_COLLECTIONS:
        return Statement(f"collection = '{name}'", ())
    return Statement("collection = ?", (name,))


def _order(order_by: str | None) -> tuple[str, bool]:
    field = order_by or ""
    return field.removeprefix("-"), field.startswith("-")


def _condition(where: Where) -> Statement:
    """Translate one condition: the comparison, and that the value has the right type."""
    key, operator = key_of(where.field), _OPERATORS[where.operator]
    if where.value is None:
        is_null = f"{type_of(where.field)} = 'null'"
        return Statement(is_null if where.operator == "==" else f"{key} {operator} NULL", ())
    types, parameter = _comparable(where.value)
    sql = f"{key} {operator} ? AND {type_of(where.field)} IN ({types})"
    if isinstance(where.value, datetime):
        return Statement(
            f"{sql} AND {key} > ? AND {key} < ?", (parameter, _FIRST_TIME, _PAST_TIMES)
        )
    return Statement(sql, (parameter,))


def _comparable(value: Value) -> tuple[str, str | int | float]:
    """Return the JSON types a value compares with, and its form in the index."""
    if isinstance(value, bool):
        return "'true', 'false'", int(value)
    if isinstance(value, (int, float)):
        return "'integer', 'real'", value
    if isinstance(value, str):
        return "'text'", value
    assert isinstance(value, datetime), "a condition compares a text, a number, a time or a truth"
    return "'object'", f'{_FIRST_TIME}{time_text(value)}"}}'
