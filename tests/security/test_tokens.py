"""A host speaks for its own bid and attempt, and for nothing else: over HTTP, as it is deployed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from pytest_mock import MockerFixture

from functions import serving
from shared.core.mandates import attempt_token, bid_token
from shared.core.stages import Stage
from tests.agents import Host
from tests.unit.app.records import JOB
from tests.unit.app.world import OTHER_JOB, World
from tests.unit.functions.pushes import body_of, client_of, envelope

OURS, THEIRS = b"a secret", b"the secret of another installation"
UID, OTHER_UID = "uid00001", "uid00002"
Words = dict[str, Any]


@dataclass
class Reported:
    """Two jobs that run, and the function that hosts report to."""

    world: World
    client: FlaskClient

    @property
    def victim(self) -> Host:
        """The first host of the job that somebody wants to speak for."""
        return self.host_of(JOB)

    @property
    def attacker(self) -> Host:
        """The first host of the other job: a program on it is root, and knows its tokens."""
        return self.host_of(OTHER_JOB)

    def host_of(self, job: str) -> Host:
        """Find the first host on which a job runs."""
        return next(host for host in self.world.farm.living if (host.runs or ("",))[0] == job)

    def say(self, words: Mapping[str, Any]) -> list[object]:
        """Push a snapshot as the newest; return why it was parked, if it was."""
        before = {str(each["reason"]) for each in self.world.all("parked")}
        data = json.dumps({**words, "sequence": 10**6}).encode()
        pushed = envelope("report", data, attributes={"kind": "snapshot"}, messageId=f"{words}")
        assert 204 == self.client.post("/", data=body_of(pushed)).status_code
        return [
            each["reason"] for each in self.world.all("parked") if str(each["reason"]) not in before
        ]


@pytest.fixture
def reported(tmp_path: Path, mocker: MockerFixture) -> Iterator[Reported]:
    """Run two jobs on slices of their own."""
    world = World(tmp_path)
    world.run_job(JOB)
    world.run_job(OTHER_JOB, name="other")
    mocker.patch.object(serving, "app", return_value=world.app)
    serving._prefix.cache_clear()
    with client_of("report") as client:
        yield Reported(world, client)
    serving._prefix.cache_clear()
    world.close()


def words_of(host: Host) -> Words:
    """Say what a host says."""
    found: Words = json.loads(host.snapshot().data)
    return found


def as_failed(words: Words) -> Words:
    """Claim that the attempt ended badly."""
    ended = {"exit_code": 1, "ended_at": words["at"], "flushed": True, "evidence": "by another"}
    return {**words, "phase": "ended", "alive": False, "attempt": {**words["attempt"], **ended}}


def tokens(
    *, uid: str = UID, generation: int = 1, bid: str = "0", job: str = JOB, attempt: int = 0
) -> Words:
    """Sign with our secret."""
    return {
        "bid": bid_token(OURS, uid, generation, bid),
        "attempt": attempt_token(OURS, job, attempt),
    }


FORGED: dict[str, Callable[[Words, Words], Words]] = {
    "all tokens of another job": lambda mine, _: {"tokens": mine["tokens"]},
    "the attempt token of another job": lambda mine, theirs: {
        "tokens": {**theirs["tokens"], "attempt": mine["tokens"]["attempt"]}
    },
    "the bid token of another slice": lambda mine, theirs: {
        "tokens": {**theirs["tokens"], "bid": mine["tokens"]["bid"]}
    },
    "an earlier attempt's": lambda _, theirs: {
        "tokens": tokens(),
        "attempt": {**theirs["attempt"], "number": 1},
    },
    "another generation's": lambda *_: {"tokens": tokens(generation=2)},
    "another bid's": lambda *_: {"tokens": tokens(bid="1")},
    "another slice of that name": lambda *_: {"tokens": tokens(uid="uid00007")},
    "another installation's": lambda *_: {
        "tokens": {
            "bid": bid_token(THEIRS, UID, 1, "0"),
            "attempt": attempt_token(THEIRS, JOB, 0),
        }
    },
    "one for the other": lambda _, theirs: {
        "tokens": {
            "bid": theirs["tokens"]["attempt"],
            "attempt": theirs["tokens"]["bid"],
        }
    },
    "none": lambda *_: {"tokens": {}},
    "empty ones": lambda *_: {"tokens": {"bid": "", "attempt": ""}},
}


@pytest.mark.parametrize("name", FORGED)
def test_who_has_the_tokens_of_another_is_refused(reported: Reported, name: str) -> None:
    """Nothing is believed, the message is put aside once, and the job goes on."""
    mine, theirs = words_of(reported.attacker), words_of(reported.victim)
    before = reported.world.all("slices/digits-1/hosts")
    reasons = reported.say({**as_failed(theirs), **FORGED[name](mine, theirs)})
    reported.world.tick()

    assert 1 == len(reasons)
    assert str(reasons[0]).startswith("snapshot: the ")
    assert before == reported.world.all("slices/digits-1/hosts")
    assert Stage.RUNNING is reported.world.job().stage


def test_an_own_slice_is_no_way_to_another_ones_job(reported: Reported) -> None:
    """With true tokens of its own bid, about an attempt that is somebody else's."""
    mine, theirs = words_of(reported.attacker), words_of(reported.victim)
    reasons = reported.say({**mine, "attempt": as_failed(theirs)["attempt"]})
    reported.world.tick()

    assert ["snapshot: the attempt token does not match"] == reasons
    assert [Stage.RUNNING] * 2 == [reported.world.job(job).stage for job in (JOB, OTHER_JOB)]


def test_the_name_of_another_slice_over_true_tokens_changes_nothing(reported: Reported) -> None:
    """The uid is signed, the name is not: both must be of one slice."""
    mine = words_of(reported.attacker)
    before = reported.world.all("slices/digits-1/hosts")
    reported.say({**as_failed(mine), "slice": "digits-1"})
    reported.world.tick()

    assert before == reported.world.all("slices/digits-1/hosts")
    assert Stage.RUNNING is reported.world.job().stage


def test_a_host_that_says_the_truth_is_believed(reported: Reported) -> None:
    """Else the tests above could not fail."""
    assert [] == reported.say(as_failed(words_of(reported.victim)))
    assert "by another" in str(reported.world.all("slices/digits-1/hosts"))


def test_what_an_old_boot_said_is_not_believed_again(reported: Reported) -> None:
    """Its tokens are still true: it is the same bid and attempt; the time of publishing decides."""
    old = words_of(reported.victim)
    reported.world.tick()
    reported.victim.reboot()
    reported.world.tick()
    data = json.dumps({**as_failed(old), "sequence": 10**6}).encode()
    published = {"publishTime": "2029-12-31T00:00:00Z", "attributes": {"kind": "snapshot"}}
    reported.client.post("/", data=body_of(envelope("report", data, **published)))

    assert "by another" not in str(reported.world.all("slices/digits-1/hosts"))
    assert "host-0-boot-2" in str(reported.world.all("slices/digits-1/hosts"))
