"""Ends are classified by what hosts say, and the best explanation of a gang's end wins."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from shared.core.causes import _TEXTS, RANK, Cause, classify, judge
from shared.core.hosts import Host, HostAttempt
from tests.unit.core.situations import START, host_of, running

JOB, BOOTS = "job", {"0": "boot-0", "1": "boot-1"}
TEXTS = [(cause, text) for cause, texts in _TEXTS for text in texts]


def end(**how: object) -> HostAttempt:
    """Make the end of a command."""
    return HostAttempt(JOB, 3, ended_at=START, **how)  # type: ignore[arg-type]


def host(index: int, attempt: HostAttempt, **changes: object) -> Host:
    """Make a host of the gang."""
    base = replace(host_of(running(), index), boot=BOOTS[str(index)], attempt=attempt)
    return replace(base, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("cause, text", TEXTS)
def test_each_fragment_of_output_is_recognised(cause: Cause, text: str) -> None:
    """Wherever it stands in the last lines."""
    assert cause is classify(end(exit_code=1, evidence=f"Traceback\nRuntimeError: {text} (0)\n"))


def test_no_fragment_hides_another() -> None:
    """A fragment inside another one of a different cause would never be reached."""
    hidden = [
        (inner, outer)
        for cause, inner in TEXTS
        for other, outer in TEXTS
        if inner in outer and cause is not other
    ]

    assert [] == hidden


@pytest.mark.parametrize(
    "attempt, cause",
    [
        pytest.param(end(exit_code=0), Cause.SUCCEEDED, id="0"),
        pytest.param(end(exit_code=0, told=True), Cause.DRAINED, id="0 when told"),
        pytest.param(end(exit_code=1), Cause.ERROR, id="1"),
        pytest.param(end(signal=11), Cause.ERROR, id="a signal"),
        pytest.param(end(signal=9), Cause.OOM, id="killed by the kernel"),
        pytest.param(end(exit_code=137), Cause.OOM, id="its child killed by the kernel"),
        pytest.param(end(exit_code=1, told=True), Cause.DRAINED, id="1 when told"),
        pytest.param(end(signal=15, killed_by="mandate"), Cause.DRAINED, id="ended by us"),
        pytest.param(end(signal=9, killed_by="notice"), Cause.DRAINED, id="ended by a notice"),
        pytest.param(end(signal=9, killed_by="lease", told=True), Cause.CUT_OFF, id="lease"),
        pytest.param(end(signal=9, killed_by="supervisor"), Cause.TRANSPORT, id="agent died"),
    ],
)
def test_one_host_is_judged_by_how_its_command_ended(attempt: HostAttempt, cause: Cause) -> None:
    """Who killed it, its exit code, and whether it was told."""
    assert cause is classify(attempt)


def test_every_cause_has_a_rank() -> None:
    """Exactly one each."""
    assert sorted(Cause) == sorted(RANK)


ENDS = {
    Cause.REBOOTED: HostAttempt(),
    Cause.OOM: end(exit_code=1, evidence="RESOURCE_EXHAUSTED"),
    Cause.BAD_NODE: end(exit_code=1, evidence="No accelerator found"),
    Cause.DEVICE_LOCKED: end(exit_code=1, evidence="The TPU is already in use"),
    Cause.ERROR: end(exit_code=1),
    Cause.CUT_OFF: end(signal=9, killed_by="lease"),
    Cause.TRANSPORT: end(exit_code=1, evidence="Socket closed"),
    Cause.DRAINED: end(signal=15, killed_by="mandate"),
    Cause.SUCCEEDED: end(exit_code=0),
}


@pytest.mark.parametrize("first, second", list(combinations(ENDS, 2)))
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["as named", "reversed"])
def test_of_two_ends_the_better_rank_explains_the_other(
    first: Cause, second: Cause, order: tuple[int, int]
) -> None:
    """Whichever host it was on."""
    causes = dict(zip(order, (first, second), strict=True))
    gang = [host(index, ENDS[cause]) for index, cause in sorted(causes.items())]
    gang = [
        replace(each, boot="anew") if causes[each.host] is Cause.REBOOTED else each for each in gang
    ]
    best = min((first, second), key=RANK.index)

    verdict = judge(gang, job=JOB, attempt=3, boots=BOOTS)

    assert best is verdict.cause
    assert causes[verdict.host if verdict.host is not None else -1] is best


def test_of_two_like_ends_the_first_host_speaks() -> None:
    """So that the evidence does not change with the order of documents."""
    gang = [host(1, end(exit_code=7)), host(0, end(exit_code=5))]

    verdict = judge(gang, job=JOB, attempt=3, boots=BOOTS)

    assert (0, 5) == (verdict.host, verdict.exit_code)


def test_a_gang_of_which_one_was_told_is_drained_though_all_exited_with_0() -> None:
    """It may have stopped in the middle."""
    told = replace(end(exit_code=None), ended_at=None, told=True)
    gang = [host(0, end(exit_code=0)), host(1, told)]

    assert Cause.DRAINED is judge(gang, job=JOB, attempt=3, boots=BOOTS).cause


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(end(exit_code=1), number=2), id="an older attempt"),
        pytest.param(replace(end(exit_code=1), number=4), id="a newer attempt"),
        pytest.param(replace(end(exit_code=1), job="other"), id="another job's attempt"),
    ],
)
def test_ends_of_other_attempts_count_for_nothing(other: HostAttempt) -> None:
    """Numbers repeat between jobs, so both are compared."""
    gang = [host(0, end(exit_code=0)), host(1, other)]

    assert Cause.SUCCEEDED is judge(gang, job=JOB, attempt=3, boots=BOOTS).cause


def test_a_gang_of_which_nobody_says_anything_lost_its_hosts() -> None:
    """There is nothing else to say."""
    verdict = judge([host(0, HostAttempt())], job=JOB, attempt=3, boots=BOOTS)

    assert (Cause.HOST_LOST, None) == (verdict.cause, verdict.host)
