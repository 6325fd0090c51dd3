"""Values of the core as the fields of documents, and back.

A field that a newer version added is ignored; one that an older version did not write yet takes
its default. So two versions may read each other's documents while a deploy is under way.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import Any, TypeVar, cast

import cattrs

from shared.errors import Unreadable

Anything = TypeVar("Anything")

_converter = cattrs.Converter(forbid_extra_keys=False, detailed_validation=False)
_converter.register_structure_hook(datetime, lambda value, _: value)
_converter.register_unstructure_hook(datetime, lambda value: value)
_converter.register_unstructure_hook_func(
    lambda kind: isinstance(kind, type) and issubclass(kind, Enum), lambda value: value.value
)
_converter.register_structure_hook_func(lambda kind: kind is object, lambda value, _: value)


def to_fields(value: Any) -> dict[str, Any]:
    """Write a dataclass as plain fields: mappings, lists, texts, numbers, times."""
    return cast(dict[str, Any], _converter.unstructure(value))


def from_fields(kind: type[Anything], fields: Mapping[str, Any]) -> Anything:
    """Read what ``to_fields`` wrote.

    Raises Unreadable for fields that no version of this program wrote.
    """
    try:
        return _converter.structure(fields, kind)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise Unreadable(f"a document is no {kind.__name__}: {what}") from None
