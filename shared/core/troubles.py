"""What troubles the control plane itself, from tick to tick: when it is told, and when it is over.

One tick that fails is no news. What lasts is told, again while it lasts, and once when it is over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from shared.core.alert_kinds import AlertKind
from shared.core.alerts import Alert, installation_alert
from shared.core.durations import spoken
from shared.core.policy import Policy


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that does not work; ``told_at`` is when people were last told."""

    text: str
    since: datetime
    told_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Troubles:
    """All that does not work, by what it is."""

    summary: str = "all is well"
    known: Mapping[str, Trouble] = field(default_factory=dict)


def follow(
    before: Troubles, seen: Mapping[str, str], at: datetime, policy: Policy
) -> tuple[Troubles, tuple[Alert, ...]]:
    """Compare what a tick met with what is known; return what is known now, and whom to tell.

    A sentence that changes while the trouble lasts is not another trouble.
    """
    known: dict[str, Trouble] = {}
    alerts = list(_over(before, seen, at))
    for what, text in seen.items():
        trouble = before.known.get(what) or Trouble(text, at)
        if _is_due(trouble, at, policy):
            trouble = Trouble(text, trouble.since, at)
            told = f"{text} (for {_lasting(trouble, at)})"
            alerts.append(_alert(AlertKind.CONTROL_PLANE_DEGRADED, what, at, told))
        known[what] = trouble
    return Troubles(_summary(known), known), tuple(alerts)


def _is_due(trouble: Trouble, at: datetime, policy: Policy) -> bool:
    if trouble.told_at is not None:
        return (at - trouble.told_at).total_seconds() >= policy.degraded_again_s
    return (at - trouble.since).total_seconds() >= policy.degraded_s


def _over(before: Troubles, seen: Mapping[str, str], at: datetime) -> Iterator[Alert]:
    for what, trouble in before.known.items():
        if what not in seen and trouble.told_at is not None:
            text = f"{what} works again, after {_lasting(trouble, at)}"
            yield _alert(AlertKind.CONTROL_PLANE_RESTORED, what, at, text)


def _alert(kind: AlertKind, what: str, at: datetime, text: str) -> Alert:
    event = "Degraded" if kind is AlertKind.CONTROL_PLANE_DEGRADED else "Restored"
    key = f"{event.lower()}-{what}-{at:%Y%m%dT%H%M%S.%f}"
    return installation_alert(kind, key=key, at=at, event=event, text=text, reason=what)


def _lasting(trouble: Trouble, at: datetime) -> str:
    return spoken((at - trouble.since).total_seconds())


def _summary(known: Mapping[str, Trouble]) -> str:
    if not known:
        return Troubles().summary
    return "; ".join(
        f"{what} since {trouble.since:%Y-%m-%d %H:%M} UTC" for what, trouble in known.items()
    )
