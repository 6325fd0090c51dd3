"""What people want to hear is published under public names, once it is true."""

import json
import logging

import pytest

from shared.ports import Delivery
from tests.unit.app.records import JOB
from tests.unit.app.world import World


def test_people_hear_of_every_change_that_is_theirs(world: World) -> None:
    """In order, with the job and in words."""
    heard: list[dict[str, object]] = []

    def listens(delivery: Delivery) -> bool:
        if delivery.subscription == "alert":
            heard.append(json.loads(delivery.message.data))
        return False

    world.loses = listens
    world.run_job()
    world.slices.preempt(world.bid.name)
    world.tick_until(world.runs_attempt(1))
    world.finish_job()

    names = [str(each["event"]) for each in heard]
    expected = [
        *("SliceWanted", "BidReady", "AttemptStarted"),
        *("AttemptEnded", "SliceLost", "BidReady", "AttemptStarted"),
        *("AttemptEnded", "AttemptSucceeded"),
    ]
    assert expected == names
    job = {"id": JOB, "number": 1, "name": "digits"}
    assert all((job, "digits-1", "ada") == (e["job"], e["slice"], e["owner"]) for e in heard)


def test_an_alert_is_a_line_in_the_log(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The topic is the hook for everything else."""
    with caplog.at_level(logging.INFO, "tpuctl.alert"):
        world.run_job()

    lines = [record.getMessage() for record in caplog.records if record.name == "tpuctl.alert"]
    assert "job 1 digits: AttemptStarted: attempt 0 starts" in lines
