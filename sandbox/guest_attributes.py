"""Guest attributes: the few words by which a host may answer its API (Compute Engine's rules).

A host writes ``instance/guest-attributes/NAMESPACE/KEY`` on its metadata server, if its metadata
says ``enable-guest-attributes=TRUE``; whoever may read the node reads them through the API.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.metadata import Tree

ROOT = "/instance/guest-attributes/"
SWITCH = "enable-guest-attributes"
VALUE_BYTES_MAX = 32 * 1024
# Under the directory that only this module looks at; it is not part of ``instance/``.
PLACE = "guest-attributes"

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}/[A-Za-z0-9_.-]{1,128}")
_BAD_REQUEST, _FORBIDDEN, _NOT_ALLOWED, _TOO_LARGE = 400, 403, 405, 413


class RefusedError(SandboxError):
    """What the metadata server does not do; ``code`` is the HTTP status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: its HTTP method, the path below the root, and its body."""

    method: str
    path: str
    body: bytes


def judge(tree: Tree, asked: Asked) -> tuple[str, str | None] | None:
    """Return the attribute and its new value; None to only read.  Raises RefusedError."""
    if not _is_on(tree):
        raise RefusedError(_FORBIDDEN, "Guest attributes endpoint access is disabled.")
    if asked.method in {"GET", "HEAD"}:
        return None
    if asked.method not in {"PUT", "DELETE"}:
        raise RefusedError(_NOT_ALLOWED, f"Method {asked.method} is not allowed.")
    if not _NAME.fullmatch(asked.path):
        raise RefusedError(_BAD_REQUEST, "Expected guest-attributes/NAMESPACE/KEY.")
    if asked.method == "DELETE":
        return asked.path, None
    if len(asked.body) > VALUE_BYTES_MAX:
        raise RefusedError(_TOO_LARGE, f"Value is larger than {VALUE_BYTES_MAX} bytes.")
    try:
        return asked.path, asked.body.decode("utf-8")
    except UnicodeDecodeError:
        raise RefusedError(_BAD_REQUEST, "Value is not valid UTF-8.") from None


def find(tree: Tree, path: str) -> Tree | str | None:
    """Return a namespace, a value, or all of them."""
    place: Tree | str | None = tree.get(PLACE, {})
    for part in filter(None, path.split("/")):
        place = place.get(part) if not isinstance(place, str | None) else None
    return place


def tree_of(attributes: Mapping[str, str]) -> Tree:
    """Turn ``namespace/key`` names to directories."""
    found: dict[str, dict[str, str]] = {}
    for name, value in attributes.items():
        namespace, _, key = name.partition("/")
        found.setdefault(namespace, {})[key] = value
    return dict(found)


def _is_on(tree: Tree) -> bool:
    instance = tree.get("instance", {})
    attributes = {} if isinstance(instance, str) else instance.get("attributes", {})
    switch = "" if isinstance(attributes, str) else attributes.get(SWITCH, "")
    return isinstance(switch, str) and switch.upper() == "TRUE"
