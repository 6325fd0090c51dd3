"""The self test as it is typed, against a sandbox: all that can be tried is, and nothing stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.selftest.assumptions import ASSUMPTIONS
from tests.installations import TPUCTL, until
from tests.sandboxes import Box, running

ZONE = "us-central1-a"
WORDS = (str(TPUCTL), "selftest", "--live", "--zone", ZONE, "--yes", "--json")
LIMIT_S = 60.0
# Simulated maintenance is not known to be a preemption.
NOT_SEEN = {"preempted-flips"}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """Run a sandbox, once for all tests here."""
    home = tmp_path_factory.mktemp("home")
    with running(home / "sandbox", bus=home / "state.db", notice_s=1.0) as box:
        yield box


def started(home: Path) -> subprocess.Popen[str]:
    """Start a self test."""
    environ = {**os.environ, "TPUCTL_HOME": str(home)}
    # Where the tests run in the background, a shell has switched Ctrl-C off.
    words = ["env", "--default-signal=INT", *WORDS]
    return subprocess.Popen(
        words, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_everything_that_can_be_tried_holds_in_the_sandbox(cloud: Box) -> None:
    """On one node, which is gone in the end."""
    out, err = started(cloud.home.parent).communicate(timeout=LIMIT_S)

    told = json.loads(out)
    held = {each["id"]: each["verdict"] for each in told["assumptions"]}
    tried = [each.id for each in ASSUMPTIONS if each.probe and each.id not in NOT_SEEN]
    assert dict.fromkeys(tried, "holds") == {each: held[each] for each in tried}, err
    assert {"not tried"} == {held[each.id] for each in ASSUMPTIONS if each.id not in tried}
    assert 0 < told["node_seconds"] < told["seconds"]
    assert [] == cloud.admin.get("status")["queuedResources"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "kill"])
def test_a_test_that_is_interrupted_leaves_nothing(cloud: Box, number: signal.Signals) -> None:
    """And says that it was."""
    process = started(cloud.home.parent)
    until(lambda: cloud.admin.get("status")["nodes"])

    process.send_signal(number)
    out, err = process.communicate(timeout=LIMIT_S)

    assert 130 == process.returncode, err
    assert json.loads(out)["deleted"]
    assert "only another Ctrl-C leaves it there" in err
    assert [] == cloud.admin.get("status")["queuedResources"]
