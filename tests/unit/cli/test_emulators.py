"""`tpuctl emulators`: what is found, started, told and stopped; java is a pretended one."""

import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from cli import emulator_jars, emulators
from cli.emulator_jars import Kind
from cli.errors import CliError
from sandbox import background
from sandbox.processes import start_time
from tests.unit.cli.stage import Tpuctl, write

Pretend = Callable[..., None]

pytestmark = pytest.mark.usefixtures("jars")


@pytest.fixture
def folder(home: Path) -> Iterator[Path]:
    """Give the emulators' folder; nothing stays up in it."""
    yield home / "emulators"
    emulators.down(home / "emulators")


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> Pretend:
    """Let what is started misbehave."""

    def call(*what: tuple[str, str, str]) -> None:
        monkeypatch.setenv("PRETEND", json.dumps(what))

    return call


def ever_started(folder: Path) -> list[int]:
    """Return the processes that were ever started."""
    said = "".join(path.read_text() for path in folder.glob("*.log"))
    return [int(line.split()[1]) for line in said.splitlines() if line.startswith("process ")]


@pytest.mark.usefixtures("folder")
def test_up_starts_both_and_env_tells_their_addresses(tpuctl: Tpuctl) -> None:
    """By the names that Google's libraries look for."""
    up = tpuctl("emulators", "up")
    env = tpuctl("emulators", "env")
    found = json.loads(tpuctl("emulators", "env", "--json").out)

    assert 0 == up.code, up.err
    assert ["FIRESTORE_EMULATOR_HOST", "PUBSUB_EMULATOR_HOST"] == list(found)
    assert "".join(f"export {name}={value}\n" for name, value in found.items()) == env.out
    assert f"firestore emulator up: {found['FIRESTORE_EMULATOR_HOST']}\n" in up.out
    assert 'next: eval "$(tpuctl emulators env)"\n' in up.out


def test_up_twice_starts_nothing_twice(tpuctl: Tpuctl, folder: Path) -> None:
    """And says so."""
    tpuctl("emulators", "up")
    before = emulators.find(folder)

    again = tpuctl("emulators", "up")

    assert before == emulators.find(folder)
    address = before[Kind.PUBSUB].address
    assert (0, f"pubsub emulator up already: {address}") == (again.code, again.out.splitlines()[1])


def test_down_ends_both(tpuctl: Tpuctl, folder: Path) -> None:
    """And a second one finds nothing."""
    tpuctl("emulators", "up")
    pids = [emulator.pid for emulator in emulators.find(folder).values()]

    first, second = tpuctl("emulators", "down"), tpuctl("emulators", "down")

    assert [None, None] == [start_time(pid) for pid in pids]
    assert 2 == first.out.count(" emulator down: 127.0.0.1:")
    assert (0, "no emulator was up\n") == (second.code, second.out)


def test_status_before_and_after(tpuctl: Tpuctl, folder: Path) -> None:
    """Exit 1 unless both are well."""
    before = tpuctl("emulators", "status")
    tpuctl("emulators", "up")
    after = tpuctl("emulators", "status")
    parsed = json.loads(tpuctl("emulators", "status", "--json").out)

    up = emulators.find(folder)[Kind.FIRESTORE]
    assert (1, 0) == (before.code, after.code)
    expected = "firestore  not up\npubsub     not up\nnext: tpuctl emulators up\n"
    assert expected == before.out
    assert f"firestore  up, {up.address}, process {up.pid}\n" in after.out
    assert {"address": up.address, "pid": up.pid, "problem": None} == parsed["firestore"]


def test_one_that_died_is_told_and_started_again(tpuctl: Tpuctl, folder: Path) -> None:
    """Where it was: whoever has its address finds it."""
    tpuctl("emulators", "up")
    before = emulators.find(folder)
    background.stop(before[Kind.PUBSUB], 5)

    status, env = tpuctl("emulators", "status"), tpuctl("emulators", "env")
    up = tpuctl("emulators", "up")

    pid = before[Kind.PUBSUB].pid
    assert f"pubsub     dead: process {pid} is gone, and what it held\n" in status.out
    assert (1, "next: tpuctl emulators up") == (status.code, status.out.splitlines()[-1])
    assert f"the Pub/Sub emulator is dead: process {pid}" in env.error
    assert (1, "", "tpuctl emulators up") == (env.code, env.out, env.next_step)
    after = emulators.find(folder)
    assert (0, before[Kind.FIRESTORE]) == (up.code, after[Kind.FIRESTORE])
    assert before[Kind.PUBSUB].address == after[Kind.PUBSUB].address


def test_one_that_does_not_answer_is_told(tpuctl: Tpuctl, folder: Path) -> None:
    """It lives, so only down helps."""
    tpuctl("emulators", "up")
    pid = emulators.find(folder)[Kind.FIRESTORE].pid
    os.kill(pid, signal.SIGSTOP)

    status = tpuctl("emulators", "status")
    os.kill(pid, signal.SIGCONT)

    assert f"firestore  deaf: process {pid} lives but does not answer\n" in status.out
    assert (1, "next: tpuctl emulators down, then up") == (
        status.code,
        status.out.splitlines()[-1],
    )


@pytest.mark.parametrize(
    "said, words, step",
    [
        pytest.param(
            ("crash", "starting\nError: no memory\n\tat java.base/x\n"),
            "the Pub/Sub emulator could not start: Error: no memory",
            "pubsub.log",
            id="crash",
        ),
        pytest.param(
            ("deaf", 'Exception in thread "main" java.net.BindException: Address in use\n\tat x\n'),
            "java.net.BindException: Address in use",
            "pubsub.log",
            id="port taken meanwhile",
        ),
        pytest.param(
            ("crash", "Error: LinkageError\n\tjava.lang.UnsupportedClassVersionError: x\n"),
            "the Pub/Sub emulator needs a newer Java than this one",
            "install Java 17 or newer",
            id="old java",
        ),
    ],
)
def test_one_that_cannot_start_says_why(
    tpuctl: Tpuctl,
    folder: Path,
    pretend: Pretend,
    said: tuple[str, str],
    words: str,
    step: str,
) -> None:
    """In one line; the other one does not stay up alone."""
    pretend(("cloud-pubsub", *said))

    result = tpuctl("emulators", "up")

    assert 1 == result.code
    assert words in result.error
    assert step in result.next_step
    assert {} == emulators.find(folder)
    assert {Kind.FIRESTORE: "not up", Kind.PUBSUB: "not up"} == emulators.problems(folder)
    assert {None} == {start_time(pid) for pid in ever_started(folder)}


def test_port_that_is_taken_is_named(tpuctl: Tpuctl, folder: Path) -> None:
    """Before anything is started."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = tpuctl("emulators", "up", "--pubsub-port", str(port))

    assert (1, f"port {port} is in use") == (result.code, result.error)
    assert [] == ever_started(folder)


def test_port_is_the_one_that_was_asked_for(tpuctl: Tpuctl, folder: Path) -> None:
    """It is free, so it is taken."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    tpuctl("emulators", "up", "--firestore-port", str(port))

    assert f"127.0.0.1:{port}" == emulators.find(folder)[Kind.FIRESTORE].address


def test_rules_are_handed_over_and_kept_to(tpuctl: Tpuctl, folder: Path, tmp_path: Path) -> None:
    """Others need another emulator."""
    write(tmp_path / "a.rules", "")
    write(tmp_path / "b.rules", "")

    missing = tpuctl("emulators", "up", "--rules", str(tmp_path / "none"))
    first = tpuctl("emulators", "up", "--rules", str(tmp_path / "a.rules"))
    none, other = (
        tpuctl("emulators", "up"),
        tpuctl("emulators", "up", "--rules", str(tmp_path / "b.rules")),
    )

    assert (1, f"{tmp_path / 'none'} is no file with rules") == (missing.code, missing.error)
    assert (0, 0) == (first.code, none.code)
    assert str(tmp_path / "a.rules") == emulators.find(folder)[Kind.FIRESTORE].rules
    assert (1, "tpuctl emulators down") == (other.code, other.next_step)


def test_two_ups_at_once_give_one_pair(folder: Path, mocker: MockerFixture) -> None:
    """Whoever is second finds it, however long the first one takes."""
    found: list[object] = []
    both, real = threading.Barrier(2), emulator_jars.command

    def meet(kind: Kind) -> list[str]:
        with suppress(threading.BrokenBarrierError):
            both.wait(0.5)
        return real(kind)

    mocker.patch.object(emulators, "command", side_effect=meet)
    threads = [
        threading.Thread(target=lambda: found.append(emulators.up(folder))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 2 == len(found)
    assert found[0] == found[1]
    assert 2 == len(ever_started(folder))


@pytest.mark.parametrize("note", ["", "{", '{"pid": 1}', '{"pid": 1, "started": "never"}'])
def test_note_that_cannot_be_believed_is_no_emulator(folder: Path, note: str) -> None:
    """It may have been cut off."""
    write(folder / "pubsub.json", note)

    with pytest.raises(CliError, match="the Firestore emulator is not up"):
        emulators.environment(folder)
    assert {} == emulators.down(folder)
    assert not (folder / "pubsub.json").exists()
