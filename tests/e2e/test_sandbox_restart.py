"""A sandbox that was killed is there again; two of them do not meet."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud.tpu_v2 import TpuClient
from google.cloud.tpu_v2.services.tpu.transports import TpuRestTransport

from sandbox import control, processes
from tests.sandboxes import PARENT, ZONE, Box, eventually, running

SHOP = f"{ZONE}/v4-16"
SCRIPT = """
cd "$HOME"
echo "$TPUCTL_BOOT_ID" >> boots
(setsid bash -c 'echo $$ >> pids; exec sleep 600' &)
exec sleep 600
"""


@contextmanager
def started_again(box: Box) -> Iterator[Box]:
    """Start the sandbox of a home as anybody does: without saying how it was."""
    info = control.start(box.home)
    host = info.url.removeprefix("http://")
    transport = TpuRestTransport(host=host, url_scheme="http", credentials=AnonymousCredentials())
    yield Box(
        box.home, info.url, info.pid, control.Client(info.url), TpuClient(transport=transport)
    )


def boots(box: Box, host: str, count: int) -> list[str]:
    """Return the boots of a host once there are so many."""

    def look() -> list[str] | None:
        found = (box.host_file(host, "boots") or "").split()
        return found if len(found) == count else None

    return eventually(look)


def pids(box: Box, host: str, count: int = 1) -> list[int]:
    """Return the daemons of a host once there are so many."""

    def look() -> list[int] | None:
        found = (box.host_file(host, "pids") or "").split()
        return [int(pid) for pid in found] if len(found) == count else None

    return eventually(look)


def kill(box: Box, *others: int) -> None:
    """Kill the sandbox, and whatever else, without a word."""
    for pid in (*others, box.pid):
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: processes.start_time(box.pid) is None)


def test_killed_sandbox_is_there_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The same address, nodes, disks and settings; its hosts boot anew, and nothing is left over.

    What was asked of it is remembered. A request that waits is served by the scenario that goes on.
    """
    with running(tmp_path_factory.mktemp("again"), capacity={SHOP: 1}, notice_s=33) as box:
        node = box.create_slice("a", SCRIPT)
        (first,) = boots(box, "a-w-0", 1)
        daemons = pids(box, "a-w-0") + pids(box, "a-w-1")
        box.bucket().blob("kept").upload_from_string("kept")
        box.tpu.create_queued_resource(box.request("b")).result(timeout=20)
        stock = {SHOP: [{"at_s": 0, "nodes": 1}, {"at_s": 5, "nodes": 2}]}
        box.admin.post("scenario", {"capacity": stock})
        # What lives on one host has lost its keeper, too.
        kill(box, int(str((box.host("a-w-1") or {})["pid"])))

        with started_again(box) as new:
            found = new.ready_node("a")
            assert found is not None
            assert (box.url, node.id) == (new.url, found.id)
            assert 33 == new.admin.get("settings")["notice_s"]
            assert [first] == boots(new, "a-w-0", 2)[:1]
            assert b"kept" == new.bucket().blob("kept").download_as_bytes()
            eventually(lambda: new.queued_state("b") == "ACTIVE")
            assert [] == [pid for pid in daemons if processes.start_time(pid)]
            asked = new.admin.get("calls?method=CreateQueuedResource")["calls"]
            assert isinstance(asked, list)
            assert 2 == len(asked)


def taken(port: int) -> socket.socket | None:
    """Listen on a port as soon as its former owner's last thread has let it go."""
    with suppress(OSError):
        return socket.create_server(("127.0.0.1", port))
    return None


def test_sandboxes_of_one_machine_do_not_meet(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Ports, states and hosts' addresses of their own; a taken port is not taken again."""
    with (
        running(tmp_path_factory.mktemp("one")) as one,
        running(tmp_path_factory.mktemp("two")) as two,
    ):
        one.create_slice("a", "")
        two.create_slice("a", "")
        ips = [str((box.host("a-w-0") or {})["ip"]) for box in (one, two)]
        two.tpu.delete_queued_resource(
            request={"name": f"{PARENT}/queuedResources/a", "force": True}
        )
        eventually(lambda: two.host("a-w-0") is None)

        assert one.url != two.url
        assert ips[0].split(".")[1] != ips[1].split(".")[1]
        assert "READY" == one.admin.get("status")["nodes"][0]["state"]  # type: ignore[index]  # JSON


def test_former_port_that_is_taken_by_now_is_left_to_its_owner(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Nobody asked for that very port."""
    with running(tmp_path_factory.mktemp("port")) as box:
        port = int(box.url.rpartition(":")[2])
        kill(box)
        with eventually(lambda: taken(port)), started_again(box) as new:
            assert box.url != new.url


def test_unreadable_state_is_one_line_and_is_forgotten_by_order(tmp_path: Path) -> None:
    """Nothing is thrown away unasked."""
    (tmp_path / "cloud.db").write_bytes(b"this is no database" * 100)

    with pytest.raises(
        control.StartError, match=r"cloud\.db cannot be read.*sandbox forget"
    ) as error:
        control.start(tmp_path)

    assert 1 == len(str(error.value).splitlines())
