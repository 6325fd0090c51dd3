"""What proves who gives an order is read, and then nowhere."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.core.identity import REMOVED
from shared.ports import Message
from shared.topology import DEAD_LETTER_SUBSCRIPTION
from tests.unit.app.records import JOB
from tests.unit.app.signed import Cloud
from tests.unit.app.world import OTHER_JOB, spec_of


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    """Make an installation of several teams."""
    made = Cloud(tmp_path)
    yield made
    made.close()


def test_no_document_and_no_log_line_holds_a_token(
    cloud: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever becomes of the order: accepted, refused, or parked because nobody understands it."""
    caplog.set_level(logging.DEBUG)
    token = cloud.token()
    cloud.say("submit", {"job": JOB, "spec": spec_of(), "slice_uid": "uid00001"}, token)
    cloud.say("stop", {"job": OTHER_JOB}, token)
    job = {"job": JOB}
    odd = [
        json.dumps({"version": 1, "id": "x", "kind": "explode", "id_token": token}),
        json.dumps({"version": 1, "id": "x", "kind": "stop", "owner": token, "args": {}}),
        json.dumps({"version": 1, "id": "x", "kind": "stop", "owner": "x", "args": job, token: 1}),
        f"no json {token}",
    ]
    for text in odd:
        cloud.publish("commands", Message(text.encode(), {"mistake": token}))
    cloud.tick()

    kept = dump(cloud) + caplog.text
    assert len(odd) == len(cloud.all("parked"))
    assert [] == [part for part in token.split(".") if part in kept]
    assert REMOVED in str(cloud.all("parked")[0]["data"])


def test_a_dead_letter_is_parked_without_its_token(cloud: Cloud) -> None:
    """A command that used up its attempts: the rest of it can be read."""
    token = cloud.token()
    data = json.dumps({"version": 1, "id": "dead", "kind": "stop", "id_token": token}).encode()
    source = {DEAD_LETTER_SUBSCRIPTION: "launch-commands"}
    cloud.publish("dead-letters", Message(data, source))

    (parked,) = cloud.all("parked")
    assert {"version": 1, "id": "dead", "kind": "stop", "id_token": REMOVED} == json.loads(
        str(parked["data"])
    )


def dump(cloud: Cloud) -> str:
    """Write down every document that there is."""
    paths = ("commands", "jobs", "slices", "owners", "parked", "outbox", f"jobs/{JOB}/timeline")
    return json.dumps([cloud.all(path) for path in paths], default=str)
