"""When a job has waited for too long: told once a wait, and nothing else is done about it."""

from __future__ import annotations

from datetime import datetime, timedelta

from shared.core.durations import spoken
from shared.core.situation import Situation
from shared.core.stages import TERMINAL, Stage


def tell_stuck(now: Situation) -> Situation:
    """Say so of a job that stands at one stage for too long; how long it runs is its own affair."""
    stuck_at = stuck_from(now)
    if stuck_at is None or now.now < stuck_at:
        return now
    job = now.served
    lasts = spoken(now.since(_since(now)))
    text = f"{job.stage} for {lasts}: {job.summary or 'nothing is known yet'}"
    return now.with_job(stuck_since=_since(now)).note("JobStuck", text, public=True, why=job.stage)


def stuck_from(now: Situation) -> datetime | None:
    """When the present wait will be too long; None where nothing waits, or it was told already."""
    if not now.is_serving or now.stands_at(Stage.RUNNING, *TERMINAL):
        return None
    if now.served.stuck_since == _since(now):
        return None
    return _since(now) + timedelta(seconds=now.policy.stuck_s)


def _since(now: Situation) -> datetime:
    return now.served.stage_since or now.served.created_at
