"""The log of API calls: all of them, in order, also after the sandbox was killed."""

from pathlib import Path

import pytest

from sandbox.calls import Call, CallLog
from sandbox.saved import StateError


def call(at: float, method: str = "GetNode") -> Call:
    """Make a call that differs by its time."""
    return Call(at, method, "GET", "/v2/x", "me", 200)


def test_calls_are_there_again_in_their_order(tmp_path: Path) -> None:
    """Nobody closed the first log."""
    first = CallLog(tmp_path / "calls.db")
    first.add(call(2.0))
    first.add(call(1.5, "ListNodes"))

    again = CallLog(tmp_path / "calls.db")
    again.add(call(3.0))

    assert [2.0, 1.5, 3.0] == [each.at for each in again.calls()]
    assert [call(1.5, "ListNodes")] == again.calls(method="List*")
    assert [2.0, 3.0] == [each.at for each in again.calls(since=2.0)]
    assert 0 == again.forgotten


def test_the_oldest_are_forgotten_and_counted(tmp_path: Path) -> None:
    """Whatever is asked counts what is not there, so that nobody counts wrongly."""
    log = CallLog(tmp_path / "calls.db", kept=3)
    assert ([], 0) == (log.calls(), log.forgotten)

    for number in range(10):
        log.add(call(float(number)))

    assert [7.0, 8.0, 9.0] == [each.at for each in log.calls()]
    assert 7 == log.forgotten == CallLog(tmp_path / "calls.db", kept=3).forgotten


def test_a_file_that_is_no_log_is_one_line_with_the_way_out(tmp_path: Path) -> None:
    """Like the rest of the state."""
    (tmp_path / "calls.db").write_bytes(b"no database at all" * 99)

    with pytest.raises(StateError, match=r"calls.db cannot be read: .*tpuctl sandbox forget"):
        CallLog(tmp_path / "calls.db")
