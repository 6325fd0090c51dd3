"""Webhooks that keep what they are told, and fail as planned."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from shared.core.alert_routes import Target, WebhookKind
from tests.fake_world import FailurePlan

LAB = Target("lab", WebhookKind.SLACK)


@dataclass(frozen=True, slots=True)
class Posted:
    """One post that arrived."""

    webhook: str
    alert: str
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """What a chat shows."""
        return str(self.body["text"])


class FakeWebhooks:
    """Webhooks without a network.  ``plan`` fails posts by the name of their webhook.

    ``during`` is called while a post is under way.
    """

    def __init__(self, *targets: Target) -> None:
        self.targets: Sequence[Target] = targets or (LAB,)
        self.plan = FailurePlan()
        self.posted: list[Posted] = []
        self.tried = 0
        self.during: Callable[[], None] = lambda: None

    def post(self, name: str, body: bytes, *, alert: str) -> None:
        """Keep what is posted."""
        self.tried += 1
        self.during()
        with self.plan.around(name):
            self.posted.append(Posted(name, alert, json.loads(body)))

    def texts(self, webhook: str = "lab") -> list[str]:
        """What one webhook was told, in order."""
        return [post.text for post in self.posted if post.webhook == webhook]

    def headlines(self, webhook: str = "lab") -> list[str]:
        """The first line of each post, without its mark and stars."""
        return [text.splitlines()[0].split(" ", 1)[1].strip("*") for text in self.texts(webhook)]
