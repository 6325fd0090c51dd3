"""launch: make work match the wish. Owns mandates and bells."""

from __future__ import annotations

from shared.app.commit import LAUNCH
from shared.app.context import App
from shared.app.messages import name_in, read
from shared.app.settle import settle
from shared.ports import Delivery


def receive(app: App, delivery: Delivery) -> None:
    """Look at the slice that a ``JobDue`` names, and at its job."""
    settle(app, name_in(read(delivery.message.data), "slice"), who=LAUNCH)
