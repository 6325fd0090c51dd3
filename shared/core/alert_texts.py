"""How an alert is said: one headline a kind, and the body that a webhook is sent.

Texts come from jobs and clouds: nothing in them may become a mention, a link or markup.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime

from shared.core.alert_kinds import FINAL_KINDS, AlertKind, Severity
from shared.core.alert_limits import Held
from shared.core.alert_routes import WebhookKind
from shared.core.alerts import Alert, fields_of
from shared.core.durations import spoken

# A chat message is read, not searched; Slack cuts at 40,000 characters.
DETAIL_CHARS_MAX = 600
NUMBERS_CHARS_MAX = 2_000
# An alert that is told later than this says when it happened.
LATE_S = 300.0

HEADLINES: Mapping[str, str] = {
    AlertKind.PREEMPTED: "{what} was preempted",
    AlertKind.SLICE_LOST: "{what} lost its slice ({reason})",
    AlertKind.RETRYING: "{what} is tried again ({reason})",
    AlertKind.RECOVERED: "{what} is back after {downtime}",
    AlertKind.STUCK: "{what} is stuck",
    AlertKind.UNKNOWN: "{what} cannot be looked at",
    AlertKind.SEEN_AGAIN: "{what} is seen again",
    AlertKind.CRASH_LOOP: "{what} failed in a crash loop",
    AlertKind.BAD_CHECKPOINT: "{what} cannot restore its checkpoint",
    AlertKind.BUDGET_SPENT: "{what} failed: a budget is used up",
    AlertKind.FAILED: "{what} failed",
    AlertKind.SUCCEEDED: "{what} succeeded",
    AlertKind.CONTROL_PLANE_DEGRADED: "the control plane needs attention",
    AlertKind.CONTROL_PLANE_RESTORED: "the control plane is well again",
    AlertKind.WAITING: "{what} waits for its slice",
    AlertKind.SLICE_READY: "{what} has a slice",
    AlertKind.STARTED: "{what} started",
    AlertKind.ATTEMPT_ENDED: "an attempt of {what} ended",
    AlertKind.STOPPING: "{what} is being stopped",
    AlertKind.CANCELLED: "{what} was stopped",
    AlertKind.RESUMED: "{what} goes on",
    AlertKind.OTHER: "{what}: {event}",
}
_MARKS: Mapping[str, str] = {
    Severity.INFO: ":large_blue_circle:",
    Severity.WARNING: ":warning:",
    Severity.ERROR: ":red_circle:",
}


def headline(alert: Alert) -> str:
    """Say in a few words what happened to whom."""
    form = HEADLINES.get(alert.kind, HEADLINES[AlertKind.OTHER])
    return form.format(
        what=_what(alert),
        reason=alert.reason or "no reason given",
        downtime=spoken(alert.downtime_s or 0.0),
        event=alert.event,
    )


def body(kind: WebhookKind, alert: Alert, more: Held, now: datetime) -> bytes:
    """Write what a webhook is sent: an alert, and what was held back before it."""
    if kind is WebhookKind.SLACK:
        return json.dumps({"text": _chat(alert, more, now)}).encode()
    sent = {"alert": fields_of(alert), "more": {name: list(held) for name, held in more.items()}}
    return json.dumps(sent).encode()


def summed_up(more: Held) -> str:
    """Count what was held back by kind; how jobs ended names each of them."""
    count = sum(len(numbers) for numbers in more.values())
    return f"and {count} more: " + ", ".join(_counted(kind, more[kind]) for kind in sorted(more))


def _counted(kind: str, numbers: tuple[int, ...]) -> str:
    counted = f"{len(numbers)} {kind.replace('_', ' ')}"
    if kind not in FINAL_KINDS:
        return counted
    named = _ranges(numbers)
    cut = named if len(named) <= NUMBERS_CHARS_MAX else f"{named[:NUMBERS_CHARS_MAX]} …"
    return f"{counted} (job {cut})"


def _ranges(numbers: Iterable[int]) -> str:
    """Write 4, 5, 6, 9 as 4-6 9."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _chat(alert: Alert, more: Held, now: datetime) -> str:
    mark = _MARKS.get(alert.severity, _MARKS[Severity.INFO])
    is_late = (now - alert.at).total_seconds() > LATE_S
    when = f" (at {alert.at:%Y-%m-%d %H:%M} UTC)" if is_late else ""
    lines = [f"{mark} *{_plain(headline(alert))}*{when}", _plain(alert.text)]
    if more:
        lines.append(summed_up(more))
    if alert.link:
        lines.append(f"<{alert.link}>")
    return "\n".join(line for line in lines if line)


def _plain(text: str) -> str:
    """Take the markup out of a text: no mention, no link, no second line."""
    line = " ".join(text.split())
    short = line if len(line) <= DETAIL_CHARS_MAX else f"{line[:DETAIL_CHARS_MAX]} …"
    for char, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("@", "@\u200b")):
        short = short.replace(char, written)
    return short.replace("*", "∗").replace("`", "'")  # noqa: RUF001 - looks like it, is no markup


def _what(alert: Alert) -> str:
    if alert.job is None:
        return f"slice {alert.slice}" if alert.slice else "the installation"
    return f"job {alert.job.number} {alert.job.name} of {alert.owner}"
