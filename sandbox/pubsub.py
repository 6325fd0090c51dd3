"""Pub/Sub's publish call: hands messages to whatever stands behind the topics."""

from __future__ import annotations

import base64
import binascii
import itertools
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from flask import Blueprint, Response, jsonify, request

from sandbox.errors import ApiError, invalid

if TYPE_CHECKING:
    from sandbox.world import World

# (topic, data, attributes) → message id.
Publish: TypeAlias = Callable[[str, bytes, Mapping[str, str]], str]

MESSAGES_MAX = 1000


@dataclass(frozen=True, slots=True)
class Published:
    """A message that was published while no bus was attached."""

    topic: str
    data: bytes
    attributes: Mapping[str, str]


class Memory:
    """Keeps what is published, for when there is no bus."""

    def __init__(self) -> None:
        self.messages: list[Published] = []
        self._ids = itertools.count(1)
        self._lock = threading.Lock()

    def __call__(self, topic: str, data: bytes, attributes: Mapping[str, str]) -> str:
        """Keep one message."""
        with self._lock:
            self.messages.append(Published(topic, data, attributes))
            return str(next(self._ids))


def blueprint(world: World) -> Blueprint:
    """Make the route."""
    routes = Blueprint("pubsub", __name__)

    @routes.post("/v1/projects/<project>/topics/<topic>:publish")
    def publish(project: str, topic: str) -> Response:
        world.require_service(request, "pubsub")
        settings = world.settings()
        if project != settings.project or topic not in settings.topics:
            raise ApiError("NOT_FOUND", f"Resource not found (resource={topic}).")
        messages = [_parse(item) for item in _messages(request.get_json(silent=True))]
        ids = [world.publish(topic, data, attributes) for data, attributes in messages]
        return jsonify(messageIds=ids)

    return routes


def _messages(body: object) -> list[object]:
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list) or not 0 < len(messages) <= MESSAGES_MAX:
        raise invalid("The value for message_count is invalid.")
    return messages


def _parse(message: object) -> tuple[bytes, dict[str, str]]:
    """Read one message; the whole request is refused if any is wrong."""
    if not isinstance(message, dict):
        raise invalid("Invalid JSON payload received. Expected a message.")
    attributes = message.get("attributes", {})
    if not isinstance(attributes, dict):
        raise invalid("Invalid value at 'messages.attributes'.")
    try:
        data = base64.b64decode(message.get("data", ""), validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise invalid("Invalid value at 'messages.data' (TYPE_BYTES).") from None
    if not data and not attributes:
        raise invalid("Some messages are empty: they have neither data nor attributes.")
    return data, {str(key): str(value) for key, value in attributes.items()}
