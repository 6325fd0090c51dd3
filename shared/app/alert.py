"""alert: tell people. Here: a line in the log; the topic is the hook for everything else."""

from __future__ import annotations

from shared.app.context import App
from shared.app.messages import read
from shared.log import get
from shared.ports import Delivery

_log = get("alert")


def receive(app: App, delivery: Delivery) -> None:  # noqa: ARG001 - every use case takes the app
    """Say what happened in one line."""
    fields = read(delivery.message.data)
    _log.info(
        "job %s %s: %s: %s",
        fields.get("number"),
        fields.get("name"),
        fields.get("event"),
        fields.get("text"),
    )
