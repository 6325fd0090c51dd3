"""Hands what the hosts publish to a bus: this machine's state file, or a Pub/Sub emulator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

from sandbox.errors import ApiError
from shared.adapters.sqlite_bus import SqliteBus
from shared.errors import InvalidRequest, Retryable
from shared.ports import Bus, Message
from shared.topology import EMBEDDED_SUBSCRIPTIONS, Topic


class BusSink:
    """Publishes into a state file, made when it is missing.

    Raises StateFileError when the file is not ours to use.
    """

    def __init__(self, path: Path) -> None:
        self._bus = SqliteBus(path, EMBEDDED_SUBSCRIPTIONS)

    def __call__(self, topic: str, data: bytes, attributes: Mapping[str, str]) -> str:
        """Publish one message and return an id for it."""
        return _publish(self._bus, topic, data, attributes)


class PubSubSink:
    """Publishes to a Pub/Sub emulator (``host:port``); topics have their names in Google."""

    def __init__(self, emulator: str, project: str) -> None:
        self._emulator, self._project = emulator, project
        self._buses: dict[str, Bus] = {}

    def __call__(self, topic: str, data: bytes, attributes: Mapping[str, str]) -> str:
        """Publish one message and return an id for it."""
        found = next((each for each in Topic if topic.endswith(f"-{each}")), None)
        if found is None:
            raise ApiError("NOT_FOUND", f"Resource not found (resource={topic}).")
        bus = self._of(topic.removesuffix(f"-{found}"))
        return _publish(bus, found, data, attributes)

    def _of(self, prefix: str) -> Bus:
        # Google's library takes a moment to load: not before it is needed.
        from shared.adapters import pubsub

        if prefix not in self._buses:
            self._buses[prefix] = pubsub.connect(self._project, prefix, emulator=self._emulator)
        return self._buses[prefix]


def _publish(bus: Bus, topic: str, data: bytes, attributes: Mapping[str, str]) -> str:
    try:
        bus.publish(topic, [Message(data, attributes)])
    except InvalidRequest as error:
        raise ApiError("INVALID_ARGUMENT", str(error)) from None
    except Retryable as error:
        raise ApiError("UNAVAILABLE", str(error)) from None
    return str(uuid4().int >> 64)
