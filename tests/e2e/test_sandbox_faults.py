"""Faults and scenarios from the command line, as programs on hosts and clients outside see them."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from google.api_core import exceptions

from sandbox import control
from shared.adapters.sqlite_bus import SqliteBus
from shared.core.audit import Meaning, classify, parse
from shared.topology import EMBEDDED_SUBSCRIPTIONS
from tests import installations
from tests.installations import TPUCTL
from tests.sandboxes import PARENT, Box, eventually, running

# Says when it booted by its own clock, and something to whoever may read the node.
SCRIPT = """
cd "$HOME"
python - <<'END'
import datetime, os, time, urllib.request
server = "http://" + os.environ["GCE_METADATA_HOST"] + "/computeMetadata/v1/instance/"
url = server + "guest-attributes/bench/step"
request = urllib.request.Request(url, b"140", {"Metadata-Flavor": "Google"}, method="PUT")
urllib.request.urlopen(request)
now = datetime.datetime.now(datetime.timezone.utc).timestamp()
with open("clock", "a") as file:
    file.write(f"{time.time()} {now} {time.monotonic()}\\n")
END
echo ready
exec sleep 600
"""
STORM = """\
title: storm
speed: 20
capacity:
  us-central2-b/v4-16: [{at_s: 0, nodes: 9}, {at_s: 20, nodes: 0}]
faults:
  - {at_s: 10, fault: preempt, node: s-*, silent: true}
  - {at_s: 15, fault: reboot, node: nobody}
"""
EVENING = """\
settings: {audit_copies: 2, audit_lag_s: 0.1}
faults:
  - {fault: stockout, zone: us-central2-b, for_s: 1}
  - {fault: lost-reply, method: CreateQueuedResource}
  - {fault: slow-create, delay_s: 1}
  - {fault: preempt, silent: true}
"""


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """Give the sandbox that the tests of this file share, where the command line looks for it."""
    with running(tmp_path_factory.mktemp("faults") / "sandbox") as box:
        yield box


def tpuctl(box: Box, *words: str) -> str:
    """Run a command that must succeed."""
    environ = {**os.environ, "TPUCTL_HOME": str(box.home.parent)}
    done = subprocess.run(
        [TPUCTL, "sandbox", *words], env=environ, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def lines_of(box: Box, count: int) -> list[str] | None:
    """Return what the first host wrote of its clock, once it has booted so often."""
    found = (box.host_file("c-w-0", "clock") or "").splitlines()
    return found if len(found) == count else None


def guest_attributes(box: Box) -> list[str]:
    """Return what the hosts told the API."""
    request = urllib.request.Request(
        f"{box.url}/v2/{PARENT}/nodes/c:getGuestAttributes",
        data=json.dumps({"queryPath": "bench/step"}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        hosts = json.load(answer)["guestAttributes"]
    return [host["queryValue"]["items"][0]["value"] for host in hosts]


def test_host_with_a_wrong_clock_and_a_word_for_its_api(box: Box) -> None:
    """Python on it sees another date; lengths of time are right; its words reach the API."""
    metadata = {"startup-script": SCRIPT, "enable-guest-attributes": "TRUE"}
    box.tpu.create_queued_resource(box.request("c", metadata=metadata)).result(timeout=20)
    eventually(lambda: lines_of(box, 1))

    assert "clock-skew: c-w-0" in tpuctl(box, "inject", "clock-skew", "c-w-0", "--skew-s", "90000")
    wall, date, steady = (float(each) for each in eventually(lambda: lines_of(box, 2))[1].split())

    assert pytest.approx(time.time() + 90000, abs=300) == wall
    assert pytest.approx(wall, abs=60) == date
    assert pytest.approx(time.monotonic(), abs=300) == steady
    assert {"140"} == set(guest_attributes(box))
    assert "[1] ready\n" in tpuctl(box, "logs", "c")


def test_reply_that_is_lost_leaves_its_effect(box: Box) -> None:
    """The client sees a broken connection; the request is there; the call is in the log."""
    tpuctl(box, "inject", "lost-reply", "CreateQueuedResource")

    with pytest.raises((exceptions.GoogleAPICallError, OSError)):
        box.tpu.create_queued_resource(box.request("lost"), timeout=30)

    eventually(lambda: box.ready_node("lost"))
    calls = json.loads(tpuctl(box, "calls", "--json", "--method", "Create*", "--since", "10m"))
    assert "CreateQueuedResource" in {call["method"] for call in calls["calls"]}


def test_scenario_from_a_file_is_played_to_its_end(box: Box, tmp_path: Path) -> None:
    """Twenty times as fast; whoever is hit is told, and who waits then finds no capacity."""
    box.create_slice("s-1", "")
    file = tmp_path / "storm.yaml"
    file.write_text(STORM, encoding="utf-8")

    assert "on: storm: 3 things happen" in tpuctl(box, "scenario", "play", str(file))
    eventually(lambda: box.admin.get("scenario")["scenario"]["ahead"] == [])  # type: ignore[index]  # JSON
    shown = tpuctl(box, "scenario", "status")
    box.tpu.create_queued_resource(box.request("s-2")).result(timeout=20)
    eventually(lambda: box.queued_state("s-2") == "WAITING_FOR_RESOURCES")
    tpuctl(box, "scenario", "stop")

    assert "preempt       s-1" in shown
    assert "no node that is READY is named nobody" in shown
    eventually(lambda: box.ready_node("s-2"))


def test_audit_log_speaks_twice_of_a_silent_preemption(tmp_path: Path) -> None:
    """On its topic, as Google's sink forwards it to those who listen there."""
    state = tmp_path / "state.db"
    with (
        running(tmp_path / "sandbox", bus=state, audit_copies=2, audit_lag_s=0) as box,
        closing(SqliteBus(state, EMBEDDED_SUBSCRIPTIONS)) as bus,
    ):
        box.create_slice("a", "")
        hostname = str((box.host("a-w-1") or {})["hostname"])
        control.preempt(box.home, "a", notice=False)
        heard: list[str] = []

        def has_heard_twice() -> bool:
            for delivery in bus.pull("report-audit", limit=50):
                word = classify(parse(delivery.message.data), "sandbox")
                bus.ack(delivery)
                if word is not None and word.meaning is Meaning.LOST:
                    heard.append(word.name)
            return heard.count(hostname) == 2

        assert eventually(has_heard_twice)


@pytest.mark.slow
def test_job_goes_on_through_a_scenario(tmp_path: Path) -> None:
    """Its slice is gone without a word, there is no capacity, and the next create's reply is lost.

    The audit log tells of the loss, twice.
    """
    file = tmp_path / "evening.yaml"
    file.write_text(EVENING, encoding="utf-8")
    with installations.running(tmp_path / "home") as installation:
        work = installation.run("evening")
        work.until_saved(0)

        installation.tpuctl("sandbox", "scenario", "play", str(file))
        work.until_saved(1)
        job = work.finish()
        found = installation.admin.get("scenario")["scenario"]

        assert 1 == job.spent.preemptions
        assert ["preempted"] == [attempt.cause for attempt in work.attempts[:-1]]
        assert 2 == len(work.attempts)
        installations.assert_never_two(work)
        assert isinstance(found, dict)
        assert [""] * 4 == [moment["trouble"] for moment in found["done"]]
