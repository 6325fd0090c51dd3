"""The agent's own clients of metadata server and storage, against a tiny cloud on loopback."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.host import agent
from tests.e2e.host_cloud import BUCKET, Cloud, running_cloud


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    """Run a cloud."""
    with running_cloud() as cloud:
        yield cloud


@pytest.fixture
def google(cloud: Cloud) -> agent.Google:
    """Open it as an agent would."""
    return agent.Google(_environ(cloud))


def _environ(cloud: Cloud) -> dict[str, str]:
    return {
        "GCE_METADATA_HOST": cloud.address,
        "STORAGE_EMULATOR_HOST": f"http://{cloud.address}",
        "PUBSUB_EMULATOR_HOST": cloud.address,
        "TPUCTL_BOOT_ID": "boot-7",
    }


def test_a_host_learns_who_it_is_from_the_metadata_server(
    cloud: Cloud, google: agent.Google
) -> None:
    """Its number, its node, its boot, and where the first host of the gang is."""
    cloud.attributes["agent-worker-number"] = "3"
    cloud.attributes["worker-network-endpoints"] = "a:8470:10.0.0.9,b:8470:10.0.0.8"

    machine = agent.read_machine(google, _environ(cloud))

    assert agent.Machine("node-1", 3, "t1v-n-0-w-0", "boot-7", "10.0.0.9") == machine


def test_an_object_that_exists_is_created_already(cloud: Cloud, google: agent.Google) -> None:
    """A lost reply makes the agent upload a log chunk again."""
    google.create_object(BUCKET, "logs/a b/0.log", b"first")
    google.create_object(BUCKET, "logs/a b/0.log", b"second")

    assert {"logs/a b/0.log": b"first"} == cloud.objects
    assert b"first" == google.read_object(BUCKET, "logs/a b/0.log")


def test_a_download_is_named_by_what_came(
    cloud: Cloud, google: agent.Google, tmp_path: Path
) -> None:
    """The caller compares it with what was promised."""
    cloud.put("code/x", b"content")

    digest = google.download(BUCKET, "code/x", tmp_path / "x")

    assert hashlib.sha256(b"content").hexdigest() == digest
    assert b"content" == (tmp_path / "x").read_bytes()


def test_only_a_committed_step_is_a_remote_checkpoint(cloud: Cloud, google: agent.Google) -> None:
    """Object stores have no rename: the mark alone says that a step is complete."""
    for name in ("20/commit_success.txt", "100/commit_success.txt", "120/data", "tmp/x"):
        cloud.put(f"runs/r/{name}", b"")

    found = agent.newest_remote_checkpoint(google, "gs://any/runs/r/")

    assert agent.Checkpoint(100, "gs://any/runs/r/100") == found
    assert agent.newest_remote_checkpoint(google, "gs://any/other") is None


@pytest.mark.parametrize(
    "is_broken, status", [pytest.param(True, 503, id="server"), pytest.param(False, 404, id="none")]
)
def test_a_failed_call_says_how_it_failed(
    cloud: Cloud, google: agent.Google, status: int, *, is_broken: bool
) -> None:
    """Missing and unavailable are different facts."""
    if is_broken:
        cloud.broken.add("storage")

    with pytest.raises(agent.CallFailed) as caught:
        google.read_object(BUCKET, "x")

    assert status == caught.value.status


def test_nobody_listening_is_a_failed_call_too() -> None:
    """No exception of any library reaches the agent's loops."""
    google = agent.Google({"GCE_METADATA_HOST": "127.0.0.1:1"})

    with pytest.raises(agent.CallFailed) as caught:
        google.metadata("instance/hostname")

    assert 0 == caught.value.status
