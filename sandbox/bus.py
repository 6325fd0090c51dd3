"""Hands what the hosts publish to the embedded bus of this machine's state file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

from sandbox.errors import ApiError
from shared.adapters.sqlite_bus import SqliteBus
from shared.errors import InvalidRequest, Unavailable
from shared.ports import Message
from shared.topology import EMBEDDED_SUBSCRIPTIONS


class BusSink:
    """Publishes into a state file, made when it is missing.

    Raises StateFileError when the file is not ours to use.
    """

    def __init__(self, path: Path) -> None:
        self._bus = SqliteBus(path, EMBEDDED_SUBSCRIPTIONS)

    def __call__(self, topic: str, data: bytes, attributes: Mapping[str, str]) -> str:
        """Publish one message and return an id for it."""
        try:
            self._bus.publish(topic, [Message(data, attributes)])
        except InvalidRequest as error:
            raise ApiError("INVALID_ARGUMENT", str(error)) from None
        except Unavailable as error:
            raise ApiError("UNAVAILABLE", str(error)) from None
        return str(uuid4().int >> 64)
