"""Who is told what: the webhooks of an installation, without their addresses and secrets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from shared.core.alert_kinds import USUAL_KINDS

# A burst is read one by one; what goes on for longer is better summed up (Slack takes one a
# second, people far fewer).
BURST = 20
POSTS_PER_HOUR = 120.0


class WebhookKind(StrEnum):
    """Which form a webhook is told in."""

    SLACK = "slack"
    GENERIC = "generic"


@dataclass(frozen=True, slots=True)
class Target:
    """A webhook as far as deciding needs it.

    ``owners`` whose jobs it hears of; empty for everybody, and then of the installation as well.
    It is told ``burst`` alerts of one owner at once, then ``posts_per_hour``. ``link`` is the
    address of a job's page, with ``{job}`` for its id.
    """

    name: str
    kind: WebhookKind
    owners: tuple[str, ...] = ()
    kinds: tuple[str, ...] = USUAL_KINDS
    burst: int = BURST
    posts_per_hour: float = POSTS_PER_HOUR
    link: str = ""


def route(targets: Iterable[Target], *, kind: str, owner: str) -> list[Target]:
    """Choose the webhooks that an alert of some kind, about somebody's job, is for."""
    return [
        target
        for target in targets
        if kind in target.kinds and (not target.owners or owner in target.owners)
    ]
