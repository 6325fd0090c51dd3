"""Two attempts at once are seen in the diary, whatever they did."""

from __future__ import annotations

import pytest

from tests.chaos.judge import asked_generations, overlaps
from tests.installations import Entry


def entry(attempt: int, at: float, what: str = "step", *, host: int = 0, pid: int = 0) -> Entry:
    """Make a line of a diary; every attempt is a process of its own, unless told."""
    pid = pid or 100 * (host + 1) + attempt
    return Entry(what, host, attempt, 1, pid, "/checkpoints", at)


IN_TURN = [entry(0, 1), entry(0, 2), entry(1, 3), entry(1, 3, host=1), entry(2, 5)]
WRONG = [
    pytest.param(
        [*IN_TURN, entry(0, 3.5)], "attempt 0 wrote after attempt 1 had started", id="late"
    ),
    pytest.param(
        [*IN_TURN, entry(0, 4, host=1)],
        "attempt 0 wrote after attempt 1 had started",
        id="on another host",
    ),
    pytest.param([*IN_TURN, entry(2, 6, pid=9)], "attempt 2 ran twice on host 0", id="twice"),
    pytest.param(
        [*IN_TURN, entry(2, 6, "overlap")], "attempt 2 on host 0: overlap", id="behind a lock"
    ),
    pytest.param([*IN_TURN, entry(2, 6, "torn")], "attempt 2 on host 0: torn", id="half saved"),
]


def test_attempts_in_turn_are_fine() -> None:
    """Several hosts of one attempt live at once, as they should."""
    assert [] == overlaps(IN_TURN)


@pytest.mark.parametrize("diary,complaint", WRONG)
def test_what_is_not_in_turn_is_told(diary: list[Entry], complaint: str) -> None:
    """In one sentence that says where."""
    assert [complaint] == overlaps(diary)


def test_calls_that_failed_have_asked_as_well() -> None:
    """Their effect may be there; reads and what others made ask for nothing."""
    path = "/v2alpha1/projects/p/locations/z/queuedResources"
    calls = [
        {"http_method": method, "path": f"{path}?queuedResourceId={name}", "status": status}
        for method, name, status in [
            ("POST", "tpuctl-abc123-a2345678-g1-b0", 200),
            ("POST", "tpuctl-abc123-a2345678-g1-b0", 409),
            ("POST", "tpuctl-abc123-a2345678-g2-b1", 429),
            ("GET", "tpuctl-abc123-a2345678-g3-b0", 200),
            ("POST", "somebodys-own", 200),
        ]
    ]

    assert {"a2345678": {1, 2}} == asked_generations(calls)
