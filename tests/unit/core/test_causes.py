"""Ends are classified by what hosts say, and the best explanation of a gang's end wins."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from shared.core.causes import _TEXTS, RANK, Cause, Start, classify, failed, has_begun, judge
from shared.core.hosts import Host, HostAttempt, HostSetup
from tests.unit.core.situations import START, host_of, running

JOB, BOOTS, SPEC = "job", {"0": "boot-0", "1": "boot-1"}, "a" * 64
ORDER = Start(JOB, 3, SPEC, 7, BOOTS)
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

    verdict = judge(gang, ORDER)

    assert best is verdict.cause
    assert causes[verdict.host if verdict.host is not None else -1] is best


def test_of_two_like_ends_the_first_host_speaks() -> None:
    """So that the evidence does not change with the order of documents."""
    gang = [host(1, end(exit_code=7)), host(0, end(exit_code=5))]

    verdict = judge(gang, ORDER)

    assert (0, 5) == (verdict.host, verdict.exit_code)


def test_a_gang_of_which_one_was_told_is_drained_though_all_exited_with_0() -> None:
    """It may have stopped in the middle."""
    told = replace(end(exit_code=None), ended_at=None, told=True)
    gang = [host(0, end(exit_code=0)), host(1, told)]

    assert Cause.DRAINED is judge(gang, ORDER).cause


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

    assert Cause.SUCCEEDED is judge(gang, ORDER).cause


def test_a_gang_of_which_nobody_says_anything_lost_its_hosts() -> None:
    """There is nothing else to say."""
    verdict = judge([host(0, HostAttempt())], ORDER)

    assert (Cause.HOST_LOST, None) == (verdict.cause, verdict.host)


UNSTARTED = HostAttempt("job", 2, ended_at=START, exit_code=0)
FAILED = {
    "seen_sequence": 7,
    "phase": "booted",
    "prepared": None,
    "setup": HostSetup(SPEC, exit_code=3, evidence="no such package"),
}


def test_a_host_that_had_to_prepare_again_and_could_not_is_why() -> None:
    """What stopped the others is its echo."""
    gang = [host(0, end(signal=15, killed_by="mandate")), host(1, UNSTARTED, **FAILED)]

    verdict = judge(gang, ORDER)

    assert (Cause.SETUP, 1, 3, "no such package") == (
        verdict.cause,
        verdict.host,
        verdict.exit_code,
        verdict.evidence,
    )


@pytest.mark.parametrize(
    "changes, has_failed",
    [
        pytest.param({}, True, id="it gave up"),
        pytest.param({"seen_sequence": 6}, False, id="it tries again with the start"),
        pytest.param({"phase": "preparing"}, False, id="it tries again"),
        pytest.param({"prepared": SPEC}, False, id="it is prepared by now"),
        pytest.param({"setup": HostSetup("b" * 64, 3)}, False, id="another setup"),
        pytest.param({"setup": None}, False, id="none"),
        pytest.param({"attempt": end(exit_code=0)}, False, id="it ran"),
        pytest.param({"alive": True}, False, id="it runs"),
    ],
)
def test_a_host_has_failed_when_it_will_not_try_again(
    changes: dict[str, object], *, has_failed: bool
) -> None:
    """Each newer order is one more try."""
    there = replace(host(1, UNSTARTED, **FAILED), **changes)  # type: ignore[arg-type]

    assert has_failed == failed(there, ORDER)


@pytest.mark.parametrize(
    "changes, expected",
    [
        pytest.param({"phase": "prepared"}, False, id="it waits"),
        pytest.param({"phase": "booted"}, False, id="it will not"),
        pytest.param({"phase": "preparing"}, True, id="it prepares again"),
        pytest.param({"alive": True}, True, id="it runs"),
        pytest.param({"attempt": end(exit_code=0)}, True, id="it ran"),
        pytest.param({"alive": True, "seen_sequence": 6}, False, id="something else runs"),
    ],
)
def test_a_host_has_begun_when_it_obeys_the_start(
    changes: dict[str, object], *, expected: bool
) -> None:
    """Having read it is not enough."""
    there = replace(host(1, UNSTARTED, seen_sequence=7), **changes)  # type: ignore[arg-type]

    assert expected == has_begun(there, ORDER)
