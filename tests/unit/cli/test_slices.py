"""`tpuctl slice`: what there is, and giving it back."""

import json
from dataclasses import replace

import pytest

from shared.core.slices import Kind
from tests.unit.cli.stage import Installed, Launch, Tpuctl, make_job, make_slice, refuse


def test_no_slices_is_said_with_the_next_step(tpuctl: Tpuctl) -> None:
    """It is no error."""
    assert (
        "no slices\nnext: tpuctl run --help, tpuctl slice create --help\n"
        == tpuctl("slice", "ls").out
    )


def test_slices_are_a_table_or_json(tpuctl: Tpuctl, installed: Installed) -> None:
    """Those that are gone are neither."""
    job = installed.put_job(make_job(4))
    installed.put_slice(make_slice(job, summary="v4-16 in us-central2-b"))
    installed.put_slice(make_slice(job, name="gone", live=False))

    lines = tpuctl("slice", "ls").out.splitlines()
    (found,) = json.loads(tpuctl("slice", "ls", "--json").out)["slices"]

    assert 2 == len(lines)
    assert [
        "digits-4-s",
        "temporary",
        "v4-16",
        "spot",
        "2",
        "0",
        "us-central2-b",
        "active",
        "4",
        "15m00s",
    ] == (lines[1].split()[:10])
    assert "digits-4-s" == found["name"]


def test_slice_without_a_generation_is_shown(tpuctl: Tpuctl, installed: Installed) -> None:
    """Nothing was asked for yet."""
    empty = make_slice(make_job(4), generations=(), kind=Kind.NAMED)
    installed.put_slice(replace(empty, name="n", job=""))

    assert ["n", "named", "v4-16", "spot", "2", "0", "-", "-", "-", "15m00s"] == (
        tpuctl("slice", "ls").out.splitlines()[1].split()
    )


def test_slice_is_given_back(tpuctl: Tpuctl, launch: Launch, installed: Installed) -> None:
    """By its name."""
    installed.put_slice(make_slice(make_job(4), name="warm"))

    result = tpuctl("slice", "rm", "warm")

    assert 0 == result.code, result.err
    assert ("release", {"slice": "warm"}) == (launch.commands[0]["kind"], launch.args)


def test_busy_slice_is_refused(tpuctl: Tpuctl, launch: Launch, installed: Installed) -> None:
    """By the control plane."""
    installed.put_slice(make_slice(make_job(4), name="warm"))
    launch.answer = refuse("slice warm runs job 4")

    result = tpuctl("slice", "rm", "warm")

    assert (1, "refused: slice warm runs job 4") == (result.code, result.error)
    assert "tpuctl slice ls" == result.next_step


@pytest.mark.parametrize("name", ["wam", "../x", "", "gone"])
def test_unknown_slice_exits_with_3(
    tpuctl: Tpuctl, launch: Launch, installed: Installed, name: str
) -> None:
    """Also one that is gone."""
    installed.put_slice(make_slice(make_job(4), name="warm"))
    installed.put_slice(make_slice(make_job(4), name="gone", live=False))

    result = tpuctl("slice", "rm", name)

    assert 3 == result.code
    assert f"there is no slice {name!r}" in result.error
    assert [] == launch.commands
