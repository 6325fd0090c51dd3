"""A day with slices of one's own: real processes, a real runner, a simulated cloud."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from shared import settings as home_settings
from shared import wiring
from tests.installations import PATIENCE_S, until
from tests.sandboxes import ZONE
from tests.terminals import Terminal, environment_in, local

PLACE = ("--type", "v4-16", "--zone", ZONE)
# Saves a checkpoint every step, and goes on from the one that it is given.
TRAIN = r"""
import json, os, pathlib, sys, time
options = dict(word.lstrip("-").split("=", 1) for word in sys.argv[1:])
root = pathlib.Path(os.environ["TPUCTL_CHECKPOINT_DIR"])
saved = sorted(int(path.parent.name) for path in root.glob("*/commit_success.txt"))
chosen = os.environ.get("TPUCTL_FROM_STEP")
first = int(chosen) if chosen else (saved[-1] if saved else 0)
print("begins at step", first, "with", json.dumps(options, sort_keys=True), flush=True)
if "fails" in options:
    sys.exit("ImportError: no module named jaxx")
for step in range(first + 1, int(options.get("steps", "100000")) + 1):
    print(f"step {step}", flush=True)
    if os.environ["TPUCTL_HOST"] == "0":
        (root / str(step)).mkdir(parents=True, exist_ok=True)
        (root / str(step) / "weights").write_text("w" * 1000)
        (root / str(step) / "commit_success.txt").write_text("")
    time.sleep(0.1)
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """Bring everything up once for all tests here."""
    folder = tmp_path_factory.mktemp("slices")
    shell = Terminal(environment_in(folder))
    with local(folder, shell):
        yield shell


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Have a folder with a program."""
    folder = tmp_path_factory.mktemp("code")
    (folder / "train.py").write_text(TRAIN)
    return folder


@pytest.fixture(scope="module")
def mine(terminal: Terminal) -> str:
    """Have a slice of one's own."""
    terminal.type("slice", "create", "mine", *PLACE, "--on-demand", "--wait")
    return "mine"


def fields(terminal: Terminal, path: str) -> Mapping[str, Any]:
    """Read a document: a command for each look would take most of the time."""
    store = wiring.open_local_store(home_settings.load(terminal.environment))
    found = store.get(path)
    store.close()
    return found.fields if found else {}


def slice_fields(terminal: Terminal, name: str) -> Mapping[str, Any]:
    """Read a slice's document."""
    return fields(terminal, f"slices/{name}")


def run_on(terminal: Terminal, name: str, code: Path, *words: str) -> str:
    """Run the program on a slice and return the job's number."""
    program = ("--", "python", "train.py", *words)
    flags = ("--on", name, "--code", str(code), "--rule", "pass")
    return terminal.type("run", "--name", "train", *flags, *program).split()[1]


def until_step(terminal: Terminal, number: str, attempt: int) -> None:
    """Wait until an attempt has saved something."""
    path = f"jobs/{terminal.job(number)['id']}"

    def has_saved() -> bool:
        job = fields(terminal, path)
        is_it = (job["attempt"], job["stage"]) == (attempt, "running")
        return is_it and job["checkpoint"] is not None and job["progress"] is not None

    until(has_saved)


def test_slice_of_ones_own_serves_job_after_job(terminal: Terminal, mine: str, code: Path) -> None:
    """It is there before them and after them; the second starts warm, with other arguments."""
    for steps in ("3", "4"):
        number = run_on(terminal, mine, code, f"--steps={steps}")
        terminal.type("wait", number, "--timeout", "50")

    row = terminal.type("slice", "ls").splitlines()[1].split()
    assert ["mine", "named", "v4-16", "on-demand", "2", "1", ZONE] == row[:7]
    assert 1 == slice_fields(terminal, mine)["generation"]
    assert "next: tpuctl run --on mine" in terminal.type("slice", "show", mine)


def test_error_is_mended_on_the_held_slice_with_new_code_and_arguments(
    terminal: Terminal, code: Path
) -> None:
    """The same job goes on as its next revision, on the slice that waited for that."""
    program = ("--", "python", "train.py", "--fails=1", "--lr=1")
    words = ("--name", "mend", *PLACE, "--code", str(code), "--rule", "pass", "--hold", "10m")
    number = terminal.type("run", *words, *program).split()[1]
    terminal.type("wait", number, "--timeout", "50", exit_code=1)
    held = terminal.job(number)["slice"]
    assert "held until" in slice_fields(terminal, held)["summary"]

    mended = code.parent / "mended"
    mended.mkdir(exist_ok=True)
    (mended / "train.py").write_text(TRAIN.replace('"fails" in', '"never" in'))
    terminal.type("resume", number, "lr=3e-5", "steps=3", "--code", str(mended), "--hold", "0")
    terminal.type("wait", number, "--timeout", "50")

    job = terminal.job(number)
    assert [["code", "command", "hold_s"]] == [sorted(each["changed"]) for each in job["revisions"]]
    assert (held, 1) == (job["slice"], job["attempt"])
    assert '"lr": "3e-5"' in terminal.type("logs", number)


def test_last_slice_is_run_on_again(terminal: Terminal, mine: str, code: Path) -> None:
    """Without its name."""
    run = ("--name", "again", "--on", "@last", "--code", str(code))
    first = run_on(terminal, mine, code, "--steps=1")
    terminal.type("wait", first, "--timeout", "50")

    terminal.type("run", *run, "--", "python", "train.py", "--steps=1")
    terminal.type("wait", "@last", "--timeout", "50")

    assert mine == terminal.job("@last")["slice"]


def test_job_goes_on_from_a_chosen_checkpoint(terminal: Terminal, mine: str, code: Path) -> None:
    """One that is listed as complete; any other is refused before anything happens."""
    number = run_on(terminal, mine, code)
    until_step(terminal, number, 0)
    until(lambda: terminal.job(number)["checkpoint"]["step"] >= 4)
    terminal.type("stop", number)
    terminal.type("wait", number, "--timeout", "50", exit_code=1)
    listed = json.loads(terminal.type("ckpt", "ls", number, "--json"))["checkpoints"]
    terminal.type("resume", number, "--from-step", "99999", exit_code=1)

    terminal.type("resume", number, "--from-step", "2", "steps=5")
    terminal.type("wait", number, "--timeout", "50")

    assert [(1, True, 0), (2, True, 0)] == [
        (each["step"], each["is_complete"], each["attempt"]) for each in listed[:2]
    ]
    assert listed[0]["size"] == 1000
    assert "begins at step 2" in terminal.type("logs", number, "--host", "0")


def test_hosts_reboot_and_the_job_goes_on(terminal: Terminal, mine: str, code: Path) -> None:
    """In new boots of the same node, as its next attempt."""
    number = run_on(terminal, mine, code)
    until_step(terminal, number, 0)
    before = boots(terminal, mine)

    terminal.type("slice", "restart", mine)
    until_step(terminal, number, 1)

    assert not set(before) & set(boots(terminal, mine))
    assert "rebooted" in terminal.type("show", number)
    assert 1 == slice_fields(terminal, mine)["generation"]
    terminal.type("stop", number, "--kill")
    terminal.type("wait", number, "--timeout", "50", exit_code=1)


def boots(terminal: Terminal, name: str) -> list[str]:
    """Read the boots of a slice's hosts."""
    hosts = json.loads(terminal.type("slice", "show", name, "--json"))["hosts"]
    return [host["boot"] for host in hosts]


def test_slice_is_made_again_under_its_job(terminal: Terminal, mine: str, code: Path) -> None:
    """Which goes on from where it was."""
    number = run_on(terminal, mine, code)
    until_step(terminal, number, 0)

    terminal.type("slice", "recreate", mine)
    until_step(terminal, number, 1)

    assert 2 == slice_fields(terminal, mine)["generation"]
    assert terminal.job(number)["progress"]["step"] > 1
    terminal.type("stop", number, "--kill")
    terminal.type("wait", number, "--timeout", "50", exit_code=1)


def test_tpu_of_others_is_adopted_used_and_left(
    terminal: Terminal, code: Path, request: pytest.FixtureRequest
) -> None:
    """Watched first; after its installer ran it is used; let go, it is still there."""
    marks: list[bytes] = []
    status = json.loads(terminal.type("sandbox", "status", "--json"))
    make_node(status["url"], "theirs")
    listed = json.loads(terminal.type("slice", "ls", "--all", "--zone", ZONE, "--json"))
    assert ["theirs"] == [each["name"] for each in listed["unmanaged"]]
    terminal.type("slice", "adopt", "nobody", "--zone", ZONE, exit_code=1)

    told = terminal.type("slice", "adopt", "theirs", "--zone", ZONE)
    terminal.type("slice", "adopt", "theirs", "--zone", ZONE, "--as", "other", exit_code=1)
    assert '--command="$(tpuctl slice installer theirs)"' in told
    assert "only watched" in slice_fields(terminal, "theirs")["summary"]
    terminal.type("slice", "recreate", "theirs", exit_code=1)

    request.addfinalizer(lambda: end_agents(marks))
    install(terminal, "theirs", marks)
    number = run_on(terminal, "theirs", code, "--steps=2")
    terminal.type("wait", number, "--timeout", "50")
    terminal.type("slice", "rm", "theirs")
    until(lambda: not slice_fields(terminal, "theirs")["live"])

    assert "theirs" in terminal.type("slice", "ls", "--all", "--zone", ZONE)


def make_node(url: str, name: str) -> None:
    """Make a TPU as others do, and wait until it is READY."""
    parent = f"{url}/v2/projects/sandbox/locations/{ZONE}/nodes"
    body = {"acceleratorType": "v4-16", "runtimeVersion": "tpu-ubuntu2204-base"}
    request = urllib.request.Request(
        f"{parent}?nodeId={name}",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    urllib.request.urlopen(request, timeout=30).close()

    def is_ready() -> bool:
        try:
            with urllib.request.urlopen(f"{parent}/{name}", timeout=30) as answer:
                return bool(json.load(answer)["state"] == "READY")
        except urllib.error.HTTPError:
            return False

    until(is_ready)


def install(terminal: Terminal, name: str, marks: list[bytes]) -> None:
    """Run the installer on each host as the host itself would; note what marks its processes."""
    line = terminal.type("slice", "installer", name)
    hosts = json.loads(terminal.type("sandbox", "status", "--json"))["hosts"]
    for host in (each for each in hosts if each["node"].rpartition("/")[2] == name):
        written = Path(f"/proc/{host['pid']}/environ").read_bytes().split(b"\0")
        marks += [word for word in written if word.startswith(b"TPUCTL_ROOT=")]
        environ = dict(word.decode().split("=", 1) for word in written if word)
        done = subprocess.run(
            ["bash", "-c", line],
            env=environ,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert 0 == done.returncode, done.stderr
        assert "tpuctl: the agent runs on" in done.stdout
    assert marks, f"{name} has no hosts"


def end_agents(marks: list[bytes]) -> None:
    """End what an installer started: on a real VM its service manager does."""
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if set(marks) & set(words) and b"sandbox.machine" not in (entry / "cmdline").read_bytes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(entry.name), signal.SIGKILL)
