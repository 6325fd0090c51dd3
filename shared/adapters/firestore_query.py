"""Our bounded queries in Firestore's form, and the indexes that they need there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from google.cloud.firestore_v1.types import query as types

from shared.adapters.firestore_codec import value_pb
from shared.errors import InvalidRequest
from shared.ports import Document, Operator, Query, Where
from shared.topology import INDEXES

_Structured: Final[Any] = types.StructuredQuery.pb()
_Filter: Final = types.StructuredQuery.FieldFilter.Operator
_OPERATORS: Final[dict[Operator, int]] = {
    "==": _Filter.EQUAL,
    "<": _Filter.LESS_THAN,
    "<=": _Filter.LESS_THAN_OR_EQUAL,
    ">": _Filter.GREATER_THAN,
    ">=": _Filter.GREATER_THAN_OR_EQUAL,
}
_IS_NULL: Final = types.StructuredQuery.UnaryFilter.Operator.IS_NULL
_AND: Final = types.StructuredQuery.CompositeFilter.Operator.AND
_UP: Final = types.StructuredQuery.Direction.ASCENDING
_DOWN: Final = types.StructuredQuery.Direction.DESCENDING


def query_pb(query: Query) -> Any:
    """Write a query.  Raises InvalidRequest for one that no declared index serves."""
    _check_index(query)
    made = _Structured()
    made.from_.add(collection_id=query.collection.rpartition("/")[2])
    made.limit.value = query.limit
    if query.where:
        made.where.composite_filter.op = _AND
        for where in query.where:
            _add_filter(made.where.composite_filter.filters.add(), where)
    direction = _DOWN if (query.order_by or "").startswith("-") else _UP
    for field in _order(query):
        made.order_by.add(field={"field_path": field}, direction=direction)
    return types.StructuredQuery.wrap(made)


def by_path(query: Query, documents: Sequence[Document]) -> list[Document]:
    """Put what was found for a range in the order that was asked for."""
    if query.order_by is None:
        return sorted(documents, key=lambda document: document.path.encode())
    return list(documents)


def _order(query: Query) -> list[str]:
    """Order by the field, then by name; a range orders by its own field."""
    if query.order_by is not None:
        return [query.order_by.removeprefix("-"), "__name__"]
    ranged = [where.field for where in query.where if where.operator != "=="]
    return [ranged[0], "__name__"] if ranged else ["__name__"]


def _add_filter(made: Any, where: Where) -> None:
    if where.value is None and where.operator == "==":
        made.unary_filter.op = _IS_NULL
        made.unary_filter.field.field_path = where.field
        return
    made.field_filter.op = _OPERATORS[where.operator]
    made.field_filter.field.field_path = where.field
    made.field_filter.value.CopyFrom(value_pb(where.value))


def _check_index(query: Query) -> None:
    """Equalities and an order by another field need an index of their own in Firestore.

    The emulator does not say so; a deployment would, at the first query.
    """
    order = [field for field in _order(query) if field != "__name__"]
    equal = {where.field for where in query.where if where.operator == "=="} - set(order)
    if not (order and equal):
        return
    sign = "-" if (query.order_by or "").startswith("-") else ""
    for index in INDEXES:
        *first, last = index.fields
        if index.collection == query.collection and set(first) == equal and last == sign + order[0]:
            return
    raise InvalidRequest(
        f"no index of {query.collection} serves {sorted(equal)} ordered by {sign}{order[0]};"
        " declare it in data/topology.json"
    )
