"""The agent as real processes against a tiny cloud: what it runs really lives and dies."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.e2e.host_cloud import MANDATE, Cloud, Host, Json, eventually, running_cloud

STEPS = r"step (?P<step>\d+)/(?P<total>\d+)"
SLEEP = "import time; print('up'); time.sleep(600)"
OLD_PYTHONS = ("3.8", "3.9", "3.10")

Boot: TypeAlias = Callable[..., Host]


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    """Run a cloud."""
    with running_cloud() as cloud:
        yield cloud


@pytest.fixture
def host(cloud: Cloud, tmp_path: Path) -> Iterator[Host]:
    """Boot a host, and leave nothing of it behind."""
    host = Host(cloud, tmp_path)
    try:
        yield host
    finally:
        host.stop()


def _spec(cloud: Cloud, command: list[str], **fields: object) -> Json:
    """Store a spec and return what a mandate says of it."""
    spec = {"command": command, "env": {}, "progress": [STEPS], "grace_s": 5, **fields}
    return cloud.put("specs/spec.json", json.dumps(spec).encode())


def _start(cloud: Cloud, host: Host, spec: Json, **fields: object) -> None:
    """Prepare a booted host and order it to start attempt 0."""
    cloud.order("prepare", job="j", spec=spec)
    host.start()
    eventually(lambda: cloud.newest.get("phase") == "prepared")
    _order_start(cloud, host, spec, **fields)


def _order_start(cloud: Cloud, host: Host, spec: Json, **fields: object) -> None:
    run = {"number": 1, "resumes": 0, "shard": 0, "shards": 1, "from_step": None}
    places = {"checkpoint_dir": str(host.root.parent / "c"), "output_dir": "/o"}
    start = {"job": "j", "attempt": 0, "spec": spec, "boots": {"0": host.boot}, **fields}
    cloud.order("start", run={**run, **places}, **start)


def _attempt(cloud: Cloud) -> Json:
    attempt = cloud.newest.get("attempt")
    return attempt if isinstance(attempt, dict) else {}


def _flushed(cloud: Cloud) -> Json:
    """Wait for the end of the attempt and return what was said of it last."""
    eventually(lambda: _attempt(cloud).get("flushed"))
    return _attempt(cloud)


def _logs(cloud: Cloud) -> str:
    chunks = sorted(name for name in cloud.objects if name.startswith("logs/j/0/0/"))
    return b"".join(cloud.objects[name] for name in chunks).decode()


def _pid(path: Path) -> int:
    """Wait for a process to write its id."""
    return int(eventually(lambda: path.read_text().strip() if path.exists() else ""))


def _is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


@pytest.mark.parametrize(
    "version",
    [pytest.param(sys.executable, id="own"), *(pytest.param(x, id=x) for x in OLD_PYTHONS)],
)
def test_an_attempt_lives_its_life(cloud: Cloud, tmp_path: Path, version: str) -> None:
    """Prepared, started, progress, checkpoint, exit, logs: on the interpreters TPU images have."""
    python = _find_python(version)
    host = Host(cloud, tmp_path, python=python)
    (tmp_path / "c" / "20").mkdir(parents=True)
    (tmp_path / "c" / "20" / "commit_success.txt").touch()
    code = "import sys; print('step 3/9 loss=0.5'); print(sys.argv[1:])"
    argument = "$(touch owned) `x` ; & \n '\" {job} {unknown}"
    spec = _spec(cloud, ["python", "-c", code, argument])

    try:
        _start(cloud, host, spec)
        attempt = _flushed(cloud)
    finally:
        host.stop()

    assert (0, None, "", False) == tuple(
        attempt[name] for name in ("exit_code", "signal", "killed_by", "told")
    )
    assert {"step": 3, "total": 9, "metrics": {"loss": 0.5}} == cloud.newest["progress"]
    assert {"step": 20, "path": str(tmp_path / "c" / "20")} == cloud.newest["checkpoint"]
    assert repr([argument.replace("{job}", "j")]) in _logs(cloud)
    assert _logs(cloud) == attempt["evidence"]
    assert (False, "node-1", 2) == tuple(
        cloud.newest[name] for name in ("alive", "node", "seen_sequence")
    )


def test_snapshots_of_a_boot_are_in_order(cloud: Cloud, host: Host) -> None:
    """The sequence grows, over a restart of the agent as well."""
    cloud.order("idle")
    host.start()
    eventually(lambda: cloud.snapshots)
    os.kill(host.agent_pid(), signal.SIGKILL)
    said = len(cloud.snapshots)
    eventually(lambda: len(cloud.snapshots) > said)

    sequences = [int(str(words["sequence"])) for words in cloud.snapshots]

    assert sorted(set(sequences)) == sequences


def test_a_dead_agent_takes_everything_of_its_workload_with_it(
    cloud: Cloud, host: Host, tmp_path: Path
) -> None:
    """Also a child that forked twice into a session of its own; and nothing is started again."""
    spec = _spec(cloud, ["python", "-c", _double_fork(tmp_path)])
    _start(cloud, host, spec)
    main, orphan = _pid(tmp_path / "main"), _pid(tmp_path / "orphan")
    eventually(lambda: "last words" in _logs(cloud))

    os.kill(host.agent_pid(), signal.SIGKILL)
    attempt = _flushed(cloud)

    assert not _is_alive(main)
    assert not _is_alive(orphan)
    assert ("supervisor", 9) == (attempt["killed_by"], attempt["signal"])
    assert "last words" in str(attempt["evidence"])
    assert "last words" in _logs(cloud)
    _order_start(cloud, host, spec)
    eventually(lambda: cloud.newest["seen_sequence"] == 3)
    assert main == _pid(tmp_path / "main")


def _double_fork(home: Path) -> str:
    return (
        "import os, pathlib, time\n"
        f"home = pathlib.Path({str(home)!r})\n"
        "def tell(name):\n"
        "    (home / '.part').write_text(str(os.getpid())); (home / '.part').rename(home / name)\n"
        "print('last words', flush=True)\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        tell('orphan'); time.sleep(600)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "while not (home / 'orphan').exists(): time.sleep(0.01)\n"
        "tell('main')\n"
        "if (home / 'leave').exists(): raise SystemExit(0)\n"
        "time.sleep(600)\n"
    )


def test_a_silent_agent_is_a_dead_agent(tmp_path: Path) -> None:
    """An agent that does not ping in time is killed with its workload, and comes back."""
    with running_cloud(supervise_s=1) as cloud:
        host = Host(cloud, tmp_path)
        try:
            _start(cloud, host, _spec(cloud, ["python", "-c", _double_fork(tmp_path)]))
            orphan = _pid(tmp_path / "orphan")
            _pid(tmp_path / "main")

            os.kill(host.agent_pid(), signal.SIGSTOP)

            assert "supervisor" == _flushed(cloud)["killed_by"]
            assert not _is_alive(orphan)
        finally:
            host.stop()


def test_the_end_of_the_supervisor_is_the_end_of_everything(
    cloud: Cloud, host: Host, tmp_path: Path
) -> None:
    """SIGTERM to it leaves no process behind."""
    _start(cloud, host, _spec(cloud, ["python", "-c", _double_fork(tmp_path)]))
    pids = [_pid(tmp_path / "orphan"), _pid(tmp_path / "main"), host.agent_pid()]

    host.stop()

    assert [] == [pid for pid in pids if _is_alive(pid)]


def test_leftovers_of_a_command_are_gone_before_alive_turns_false(
    cloud: Cloud, host: Host, tmp_path: Path
) -> None:
    """A forgotten child may hold the device that the next attempt needs."""
    (tmp_path / "leave").touch()
    _start(cloud, host, _spec(cloud, ["python", "-c", _double_fork(tmp_path)]))
    orphan = _pid(tmp_path / "orphan")

    eventually(lambda: _attempt(cloud).get("ended_at") and cloud.newest["alive"] is False)

    assert not _is_alive(orphan)


def test_progress_may_come_from_a_file(cloud: Cloud, host: Host) -> None:
    """For programs whose output is not ours to shape."""
    code = "import os; open(os.environ['TPUCTL_PROGRESS_FILE'], 'a').write('{\"step\": 4}\\n')"
    _start(cloud, host, _spec(cloud, ["python", "-c", code], progress=[]))

    eventually(lambda: cloud.newest.get("progress"))

    assert {"step": 4, "total": None, "metrics": {}} == cloud.newest["progress"]


def test_an_end_gives_the_command_its_grace(cloud: Cloud, host: Host) -> None:
    """SIGTERM reaches it; what it does then is its own."""
    code = (
        "import signal, sys, time\n"
        "def go(*_): print('saving', flush=True); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, go); print('step 1/2', flush=True); time.sleep(600)\n"
    )
    _start(cloud, host, _spec(cloud, ["python", "-c", code]))
    eventually(lambda: cloud.newest.get("progress"))

    sequence = cloud.order("end")
    attempt = _flushed(cloud)

    assert (0, True, "") == (attempt["exit_code"], attempt["told"], attempt["killed_by"])
    assert ("ended", False, sequence) == tuple(
        cloud.newest[name] for name in ("phase", "alive", "seen_sequence")
    )
    assert "saving" in _logs(cloud)


def test_a_program_behind_a_shell_keeps_its_grace(cloud: Cloud, host: Host, tmp_path: Path) -> None:
    """The shell dies of SIGTERM at once; its child is still saving."""
    code = (
        "import pathlib, signal, sys, time\n"
        f"saved = pathlib.Path({str(tmp_path / 'saved')!r})\n"
        "def go(*_): time.sleep(0.5); saved.touch(); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, go); print('step 1/2', flush=True); time.sleep(600)\n"
    )
    (tmp_path / "train.py").write_text(code)
    shell = f"python {tmp_path / 'train.py'}; echo done"
    _start(cloud, host, _spec(cloud, [], shell=shell))
    eventually(lambda: cloud.newest.get("progress"))

    cloud.order("end")

    assert ("mandate", 15) == tuple(_flushed(cloud)[name] for name in ("killed_by", "signal"))
    assert (tmp_path / "saved").exists()


def test_a_command_that_does_not_listen_is_killed(cloud: Cloud, host: Host) -> None:
    """After the grace of the mandate that ended it."""
    code = (
        "import signal, time; signal.signal(15, signal.SIG_IGN); print('step 1/2'); time.sleep(600)"
    )
    _start(cloud, host, _spec(cloud, ["python", "-c", code]))
    eventually(lambda: cloud.newest.get("progress"))

    cloud.order("end", grace_s=0.3)

    assert ("mandate", 9) == tuple(_flushed(cloud)[name] for name in ("killed_by", "signal"))


def test_a_preemption_notice_is_passed_on_at_once(cloud: Cloud, host: Host) -> None:
    """To the workload and to the control plane."""
    _start(cloud, host, _spec(cloud, ["python", "-c", SLEEP]))
    eventually(lambda: _attempt(cloud).get("started_at"))

    cloud.change(preempted="TRUE")
    attempt = _flushed(cloud)

    assert ("notice", True) == (attempt["killed_by"], attempt["told"])
    assert "preempted" == cloud.newest["notice"]


def test_a_host_cut_off_from_storage_kills_its_workload_at_the_lease(
    cloud: Cloud, host: Host
) -> None:
    """And ships the logs when storage is back."""
    _start(cloud, host, _spec(cloud, ["python", "-c", SLEEP]), lease_s=2)
    eventually(lambda: _attempt(cloud).get("started_at"))

    cloud.broken.add("storage")
    eventually(lambda: cloud.newest.get("alive") is False)
    assert ("lease", False) == (_attempt(cloud)["killed_by"], _attempt(cloud)["flushed"])

    cloud.broken.clear()
    _flushed(cloud)
    assert "up\n" == _logs(cloud)


def test_a_host_that_cannot_publish_leaves_its_snapshot_beside_the_mandate(
    cloud: Cloud, host: Host
) -> None:
    """And publishes when it can again."""
    cloud.broken.add("pubsub")
    cloud.order("idle")
    host.start()
    name = MANDATE.replace(".json", ".host-b0-0.json")

    left = json.loads(eventually(lambda: cloud.objects.get(name)))
    assert ("idle", 1) == (left["phase"], left["seen_sequence"])

    cloud.broken.clear()
    assert eventually(lambda: cloud.newest)["phase"] == "idle"


def test_a_rebooted_host_does_not_start_what_names_its_old_boot(cloud: Cloud, host: Host) -> None:
    """The new boot says who it is and waits."""
    _start(cloud, host, _spec(cloud, ["python", "-c", SLEEP]))
    eventually(lambda: _attempt(cloud).get("started_at"))

    host.stop()
    host.start()
    eventually(lambda: cloud.newest["boot"] == host.boot)

    assert ("booted", None, False) == tuple(
        cloud.newest[name] for name in ("phase", "attempt", "alive")
    )


def test_code_is_unpacked_and_set_up_once_per_content(cloud: Cloud, host: Host) -> None:
    """A second job with the same code and setup starts at once, in the same directory."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        member = tarfile.TarInfo("train.py")
        member.size = len(source := b"print(open('made').read())")
        archive.addfile(member, io.BytesIO(source))
    code = cloud.put("code/bundle.tar.gz", data.getvalue())
    setup = ["bash", "-c", "echo set up >>made"]
    spec = _spec(cloud, ["python", "train.py"], code=code, setup=setup)
    _start(cloud, host, spec)
    _flushed(cloud)

    again = _spec(cloud, ["python", "train.py", "again"], code=code, setup=setup)
    cloud.order("prepare", job="k", spec=again)
    eventually(lambda: cloud.newest.get("prepared") == again["sha256"])
    _order_start(cloud, host, again, job="k")
    eventually(lambda: _attempt(cloud).get("job") == "k" and _attempt(cloud)["flushed"])

    assert "set up\n\n" == _logs(cloud) == _attempt(cloud)["evidence"]


def test_a_failed_setup_is_reported_with_its_evidence(cloud: Cloud, host: Host) -> None:
    """Exit code and last lines; and nothing is prepared."""
    spec = _spec(cloud, ["true"], setup=["bash", "-c", "echo no such package; exit 3"])
    cloud.order("prepare", job="j", spec=spec)
    host.start()

    setup = eventually(lambda: cloud.newest.get("setup"))

    assert {
        "spec": spec["sha256"],
        "exit_code": 3,
        "signal": None,
        "evidence": "no such package\n",
        "tries": 1,
    } == setup
    assert cloud.newest["prepared"] is None


def test_a_setup_ends_when_a_newer_mandate_wants_something_else(
    cloud: Cloud, host: Host, tmp_path: Path
) -> None:
    """Mandates are read during setup."""
    slow = [
        "bash",
        "-c",
        f"echo $$ >{tmp_path}/part; mv {tmp_path}/part {tmp_path}/main; sleep 600",
    ]
    cloud.order("prepare", job="j", spec=_spec(cloud, ["true"], setup=slow))
    host.start()
    setup = _pid(tmp_path / "main")

    sequence = cloud.order("end")
    eventually(lambda: cloud.newest.get("phase") == "ended")

    assert sequence == cloud.newest["seen_sequence"]
    assert not _is_alive(setup)


def test_a_command_that_does_not_exist_is_an_exit_with_evidence(cloud: Cloud, host: Host) -> None:
    """As a shell would say it."""
    _start(cloud, host, _spec(cloud, ["no-such-program"]))

    attempt = _flushed(cloud)

    assert 127 == attempt["exit_code"]
    assert "cannot run 'no-such-program': No such file or directory" in str(attempt["evidence"])


def _find_python(version: str) -> str:
    """Find an interpreter by version, or skip and say so."""
    if version == sys.executable:
        return version
    found = shutil.which(f"python{version}")
    pyenv = Path.home() / ".pyenv" / "versions"
    below = sorted(pyenv.glob(f"{version}.*/bin/python3"))
    if (
        found is not None
        and subprocess.run([found, "-V"], capture_output=True, check=False).returncode == 0
    ):
        return found
    if not below:
        pytest.skip(f"no Python {version} on this machine; the grammar alone is checked elsewhere")
    return str(below[-1])
