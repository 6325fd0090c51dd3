"""Lines say which message they belong to and what it is about, and nothing secret."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from shared.app import push
from shared.core.mandates import bid_token
from shared.ports import Delivery, Message
from tests.log_lines import Lines, captured
from tests.unit.app.world import World


@pytest.fixture
def lines() -> Iterator[Lines]:
    """Log as a deployed function does."""
    with captured() as found:
        yield found


def test_lines_about_a_delivery_say_which_and_what_about(lines: Lines, world: World) -> None:
    """The message, and the job as soon as it is known."""
    world.run_job()
    name, job = world.job().slice, world.job().id
    lines.clear()
    world.slices.preempt(world.bid.name)
    world.tick()
    at = datetime(2030, 1, 1, tzinfo=UTC)
    push.receive(world.app, Delivery("m-1", "launch", "launches", Message(b"["), at, 2))

    told = [line for line in lines.all if line["logger"] == "tpuctl.commit"]
    assert {(name, job)} == {(line.get("slice"), line.get("job")) for line in told}
    (parked,) = (line for line in lines.all if line.get("message_id") == "m-1")
    assert ("launch", 2, "ERROR") == (
        parked["subscription"],
        parked["delivery_attempt"],
        parked["severity"],
    )


def test_a_failed_job_is_one_line_that_can_be_counted(lines: Lines, world: World) -> None:
    """By its logger and its event, whatever the kind of the failure."""
    world.run_job()
    world.farm.each(lambda host: host.checkpoint(5))
    world.finish_job(1)
    world.finish_job(1)
    world.tick()

    (told,) = [line for line in lines.all if line.get("event") == "JobFailed"]
    assert ("tpuctl.alert", "crash_loop", world.job().id, world.job().slice) == (
        told["logger"],
        told["kind"],
        told["job"],
        told["slice"],
    )


def test_no_line_of_a_whole_life_shows_a_secret(lines: Lines, world: World) -> None:
    """Tokens are in mandates, reports and configs, and nowhere else."""
    canary = "env-value-Canary"
    world.run_job(env={"CANARY": canary}, budgets={"preemptions": 5})
    token = bid_token(world.app.secret, world.job().slice_uid, 1, "0")
    world.slices.preempt(world.bid.name)
    world.tick_until(world.runs_attempt(1))
    world.publish("reports", Message(json.dumps({"token": token, "version": 9}).encode()))
    world.finish_job()
    world.tick_until_quiet()

    assert len(lines.all) > 10
    assert canary not in lines.text
    assert token not in lines.text
    assert "a secret" not in lines.text
