"""Hosts as process trees: everything of a host dies with it, and nothing outlives the sandbox."""

import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import control, processes
from tests.sandboxes import Box, eventually, running

# Grandchildren in sessions of their own, as daemons make them; each names itself in a file.
# What writes "alive" must do so at once: the file is the proof that the process was there.
NEST = """
cd "$HOME"
daemon='echo $$ >> pids; exec sleep 600'
(setsid bash -c "$daemon" &) &
(setsid setsid bash -c "(bash -c '$daemon' &) ; exit 0" &)
nohup bash -c "$daemon" >/dev/null 2>&1 &
echo $$ >> pids
trap '' TERM
while true; do sleep 1; done
"""
PROCESSES = 4
# Starts a process that takes too much, and outlives it.
HUNGRY = """#!/usr/bin/env python3
import os, subprocess, sys
from pathlib import Path
eat = "import signal; held = b'x' * 2**29; signal.pause()"
child = subprocess.Popen([sys.executable, "-c", eat])
code = child.wait()
said = Path(os.environ["HOME"], "said")
cores = "+".join(str(core) for core in sorted(os.sched_getaffinity(0)))
said.with_suffix(".draft").write_text(f"{cores} {child.pid} {code}")
said.with_suffix(".draft").rename(said)
"""


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """Give the sandbox that the tests of this file share; each uses names of its own."""
    with running(tmp_path_factory.mktemp("hosts")) as box:
        yield box


def nest(box: Box, host: str, boots: int = 1) -> list[int]:
    """Return the processes of a host once all of them run."""
    wanted = PROCESSES * boots

    def all_pids() -> list[int] | None:
        pids = (box.host_file(host, "pids") or "").split()
        return [int(pid) for pid in pids] if len(pids) == wanted else None

    return eventually(all_pids)[-PROCESSES:]


def first_pid(box: Box, host: str) -> int:
    """Return the first process of a host."""
    return int(str((box.host(host) or {})["pid"]))


def what_it_said(box: Box, host: str) -> str:
    """Return what a host wrote down, once it has."""
    return eventually(lambda: box.host_file(host, "said"))


def killed_on(box: Box, host: str) -> str:
    """Return which process the console says was killed, once it does."""
    return eventually(lambda: re.search(r"Killed process ([0-9]+)", box.console(host)))[1]


def alive(pids: list[int]) -> list[int]:
    """Return which of these processes live."""
    return [pid for pid in pids if processes.start_time(pid)]


def test_killed_host_leaves_no_descendant(box: Box) -> None:
    """Double forks and new sessions do not help; the other host is not touched."""
    box.create_slice("kill", NEST)
    first, second = nest(box, "kill-w-0"), nest(box, "kill-w-1")
    assert first == alive(first)

    box.admin.kill_host("kill-w-0")

    assert [] == alive(first)
    assert second == alive(second)
    assert box.ready_node("kill") is not None


def test_silent_preemption_has_killed_everything_when_it_returns(box: Box) -> None:
    """Whoever sees SUSPENDING sees dead hosts."""
    box.create_slice("silent", NEST)
    pids = nest(box, "silent-w-0") + nest(box, "silent-w-1")

    box.admin.post("nodes/silent:preempt", {"notice": False})

    assert [] == alive(pids)


def test_gone_node_means_dead_processes(box: Box) -> None:
    """The proof of death that the control plane relies on."""
    box.create_slice("gone", NEST)
    pids = nest(box, "gone-w-0") + nest(box, "gone-w-1")

    box.tpu.delete_queued_resource(
        request={"name": "projects/sandbox/locations/us-central2-b/queuedResources/gone"}
        | {"force": True}
    )
    eventually(lambda: box.host("gone-w-0") is None)

    assert [] == alive(pids)


def test_reboot_ends_everything_and_runs_the_startup_script_again(box: Box) -> None:
    """Another boot id, an empty /tmp, the same disk."""
    script = 'echo "$TPUCTL_BOOT_ID" >> "$HOME/boots"; ls "$TMPDIR" | grep -c left >> '
    script += '"$HOME/leftovers"; touch "$TMPDIR/left"\n'
    box.create_slice("reboot", script + NEST)
    before = nest(box, "reboot-w-0")

    box.admin.reboot_host("reboot-w-0")

    assert [] == alive(before)
    after = nest(box, "reboot-w-0", boots=2)
    assert after == alive(after)
    assert 2 == len(set((box.host_file("reboot-w-0", "boots") or "").split()))
    assert "0\n0\n" == box.host_file("reboot-w-0", "leftovers")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no limits")
def test_hosts_keep_to_their_share(tmp_path: Path) -> None:
    """One core each, not the same; what takes too much memory is killed, and nothing else."""
    with running(tmp_path, host_cores=1, host_memory_mib=256) as box:
        box.create_slice("share", HUNGRY)

        said = [what_it_said(box, f"share-w-{n}") for n in (0, 1)]
        killed = [killed_on(box, f"share-w-{n}") for n in (0, 1)]

    cores, victims, codes = zip(*(each.split() for each in said), strict=True)
    assert {"-9"} == set(codes)
    assert killed == list(victims)
    assert min(2, len(os.sched_getaffinity(0))) == len(set(cores))
    assert all(each.isdecimal() for each in cores)


def test_startup_script_sees_a_vms_environment_only(box: Box) -> None:
    """Nothing of the machine that the sandbox runs on leaks in."""
    box.create_slice("env", 'env > "$HOME/env.draft"; mv "$HOME/env.draft" "$HOME/env"')

    lines = eventually(lambda: box.host_file("env-w-1", "env")).splitlines()

    names = {line.partition("=")[0] for line in lines} - {"PWD", "SHLVL", "_", "OLDPWD"}
    assert {
        "GCE_METADATA_HOST",
        "GCE_METADATA_IP",
        "HOME",
        "LANG",
        "PATH",
        "PUBSUB_EMULATOR_HOST",
        "STORAGE_EMULATOR_HOST",
        "TMPDIR",
        "TPUCTL_BOOT_ID",
        "TPUCTL_REBOOT",
        "TPUCTL_ROOT",
    } == names


def test_host_whose_first_process_is_killed_leaves_nothing(box: Box) -> None:
    """Its orphans fall to the sandbox, which ends them."""
    box.create_slice("first", NEST)
    pids = nest(box, "first-w-0")

    os.kill(first_pid(box, "first-w-0"), signal.SIGKILL)

    eventually(lambda: not alive(pids))
    eventually(lambda: (box.host("first-w-0") or {})["power"] == "DEAD")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_the_sandbox(
    tmp_path_factory: pytest.TempPathFactory, number: signal.Signals
) -> None:
    """Whichever way it ends."""
    with running(tmp_path_factory.mktemp("end")) as box:
        box.create_slice("end", NEST)
        pids = nest(box, "end-w-0") + nest(box, "end-w-1")
        hosts = [first_pid(box, f"end-w-{index}") for index in (0, 1)]

        os.kill(box.pid, number)

        eventually(lambda: not alive([box.pid, *pids, *hosts]))
        assert control.find(box.home) is None
