"""`tpuctl pause` and `unpause`, and where everybody sees it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from shared.app.pause import PAUSE
from shared.core.pausing import Pause
from shared.core.stages import Stage
from tests.unit.cli.stage import Installed, Launch, Tpuctl, make_job, refuse

SINCE = datetime(2030, 1, 1, 12, tzinfo=UTC)
SENTENCE = "paused by root since 2030-01-01 12:00 UTC: the bill; nothing is created"


@pytest.fixture
def paused(installed: Installed) -> Installed:
    """An installation in which nothing is created, and one job waits."""
    installed.put(PAUSE, Pause("root", SINCE, "the bill", SENTENCE))
    installed.put_job(make_job(1, stage=Stage.PROVISIONING))
    return installed


def test_a_pause_is_ordered_with_its_reason(tpuctl: Tpuctl, launch: Launch) -> None:
    """And what it means is said."""
    result = tpuctl("pause", "--reason", "the bill")

    assert 0 == result.code, result.err
    assert "pause" == launch.commands[0]["kind"]
    assert {"reason": "the bill"} == launch.args
    assert (
        "paused: nothing is created; what runs goes on, and what shall go is deleted\n"
        "next: tpuctl ps, later: tpuctl unpause\n" == result.out
    )


def test_a_pause_needs_no_reason(tpuctl: Tpuctl, launch: Launch) -> None:
    """In a hurry."""
    assert 0 == tpuctl("pause").code
    assert {"reason": ""} == launch.args


def test_an_unpause_is_ordered(tpuctl: Tpuctl, launch: Launch) -> None:
    """Nothing else is needed."""
    result = tpuctl("unpause")

    assert ("unpause", {}) == (launch.commands[0]["kind"], launch.args)
    assert (
        "not paused any more: what waits is asked for within a minute\nnext: tpuctl ps\n"
        == result.out
    )


@pytest.mark.parametrize("command", ["pause", "unpause"])
def test_a_refusal_is_told(tpuctl: Tpuctl, launch: Launch, command: str) -> None:
    """With where to look."""
    launch.answer = refuse("only an admin may pause the installation")

    result = tpuctl(command)

    assert 1 == result.code
    assert "refused: only an admin may pause the installation" in result.error
    assert "tpuctl ps" == result.next_step


@pytest.mark.parametrize("words", [("ps",), ("show", "1")], ids=["ps", "show"])
def test_everybody_sees_that_it_is_paused(
    tpuctl: Tpuctl, paused: Installed, words: tuple[str, ...]
) -> None:
    """In one line, beside the jobs."""
    paused.pretend_up()

    result = tpuctl(*words)

    assert 0 == result.code, result.err
    assert [SENTENCE] == [line for line in result.err.splitlines() if "paused" in line]


def test_an_installation_that_is_not_paused_says_nothing(
    tpuctl: Tpuctl, installed: Installed
) -> None:
    """Most of the time."""
    installed.put_job(make_job(1))

    assert "paused" not in tpuctl("ps").err


@pytest.mark.usefixtures("paused")
def test_json_stays_json(tpuctl: Tpuctl) -> None:
    """Programs read the document themselves."""
    assert "paused" not in tpuctl("ps", "--json").err


def test_status_says_it(tpuctl: Tpuctl, paused: Installed) -> None:
    """Beside what is up."""
    paused.pretend_up()

    assert SENTENCE in tpuctl("local", "status").err
