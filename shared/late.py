"""A port that is opened when it is first used: most functions use only some of theirs.

Google's libraries take a tenth of a second each to import, and a cold start should load none
that its function does not need.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar, cast

Port = TypeVar("Port")


def late(open_port: Callable[[], Port]) -> Port:
    """Return a stand-in that opens the port at its first call, and passes on every call."""
    return cast("Port", _Late(open_port))


class _Late:
    def __init__(self, open_port: Callable[[], object]) -> None:
        self._open_port = open_port

    @cached_property
    def _port(self) -> object:
        return self._open_port()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)
