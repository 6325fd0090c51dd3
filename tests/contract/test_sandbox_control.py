"""Starting and stopping a sandbox: one a home, nothing left behind, reasons in words."""

import json
import socket
import urllib.error
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import control
from tests.sandboxes import Box, eventually, publish, running


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """Give the sandbox that most tests of this file share."""
    with running(tmp_path_factory.mktemp("control"), capacity={"us-central2-b/v4-16": 0}) as box:
        yield box


def test_second_start_of_a_home_says_that_it_is_up(box: Box) -> None:
    """And leaves the first one alone."""
    with pytest.raises(control.AlreadyUpError, match="is up already"):
        control.start(box.home)

    assert box.pid == control.require(box.home).pid


def test_home_is_taken_by_one_process_only(box: Box) -> None:
    """Two starts at the same moment: the lock decides."""
    info = box.home / "sandbox.json"
    kept = info.read_bytes()
    info.unlink()
    try:
        with pytest.raises(control.StartError, match="is up already"):
            control.start(box.home)
    finally:
        info.write_bytes(kept)


def test_busy_port_is_one_clear_line(tmp_path: Path) -> None:
    """Nothing is left behind by the attempt."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(control.StartError, match=f"port {port} is in use") as error:
            control.start(tmp_path, port=port)

    assert 1 == len(str(error.value).splitlines())
    assert control.find(tmp_path) is None


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"notice_secs": 1}, "there is no setting notice_secs; did you mean notice_s?"),
        ({"boot_s": -1}, "boot_s: expected at least 0, found -1"),
        ({"stockout": "never"}, "stockout: expected 'wait' or 'fail', found the text 'never'"),
    ],
)
def test_bad_settings_are_refused_with_their_name(
    tmp_path: Path, settings: dict[str, object], words: str
) -> None:
    """Before anything is started."""
    with pytest.raises(control.StartError) as error:
        control.start(tmp_path, settings=settings)

    assert words in str(error.value)


def test_stale_file_of_a_dead_process_is_recognised(tmp_path: Path) -> None:
    """A process number that lives again is not ours."""
    stale = {"pid": 1, "started": "not when it was", "url": "http://127.0.0.1:1"}
    (tmp_path / "sandbox.json").write_text(json.dumps(stale), encoding="utf-8")

    assert control.find(tmp_path) is None
    with pytest.raises(control.NotUpError):
        control.stop(tmp_path)


def test_unknown_names_are_told_apart_from_refusals(box: Box) -> None:
    """The CLI's exit code depends on it."""
    with pytest.raises(control.UnknownNameError):
        control.preempt(box.home, "nobody")
    with pytest.raises(control.RefusedError, match="no setting nonsense"):
        box.admin.change_settings(nonsense=1)


def test_published_message_has_an_id(box: Box) -> None:
    """An unknown topic is not found, an empty message is refused."""
    message = {"data": "aGVsbG8="}

    ids = publish(box.url, "reports", message, {"attributes": {"a": "b"}})

    assert 2 == len(set(ids))
    for topic, bad, code in (("nobody", message, 404), ("reports", {}, 400)):
        with pytest.raises(urllib.error.HTTPError) as error:
            publish(box.url, topic, bad)
        error.value.close()
        assert code == error.value.code


def test_capacity_can_be_changed_while_it_runs(box: Box) -> None:
    """A waiting request is served as soon as there is room."""
    box.tpu.create_queued_resource(box.request("w")).result(timeout=30)
    eventually(lambda: "WAITING_FOR_RESOURCES" == box.queued_state("w"))

    box.admin.change_settings(capacity={"us-central2-b/v4-16": 1})

    eventually(lambda: "ACTIVE" == box.queued_state("w"))
