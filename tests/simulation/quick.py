"""A faster ``dataclasses.replace``, with the same result: a third of the simulation's time is it.

To be imported before anything of ``shared``, in a process of its own; the product and the other
tests use the standard library's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final

_MADE: Final[dict[type, Callable[[Any, Mapping[str, Any]], Any]]] = {}


def replace(obj: Any, /, **changes: Any) -> Any:
    """Return a copy with other values of some fields."""
    kind = type(obj)
    copy = _MADE.get(kind)
    if copy is None:
        copy = _MADE[kind] = _copier(kind)
    return copy(obj, changes)


def _copier(kind: type) -> Callable[[Any, Mapping[str, Any]], Any]:
    """Write the copying of one class out, field by field."""
    names = [field.name for field in dataclasses.fields(kind)]
    values = ", ".join(f"{name}=c['{name}'] if '{name}' in c else o.{name}" for name in names)
    # Names of our own fields, and nothing else.
    copy: Callable[[Any, Mapping[str, Any]], Any] = eval(  # noqa: S307
        f"lambda o, c: kind({values})", {"kind": kind}
    )
    known = frozenset(names)

    def checked(obj: Any, changes: Mapping[str, Any]) -> Any:
        assert changes.keys() <= known, f"{kind.__name__} has no {changes.keys() - known}"
        return copy(obj, changes)

    return checked


dataclasses.replace = replace
