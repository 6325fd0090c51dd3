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


def test_zone_chooses_slices(tpuctl: Tpuctl, installed: Installed) -> None:
    """One that nobody has is an error, with near ones."""
    installed.put_slice(make_slice(make_job(4), name="here"))
    there = make_slice(make_job(5), name="there", generations=(), zones=("us-central1-a",))
    installed.put_slice(there)

    for zone, name in (("us-central2-b", "here"), ("us-central1-a", "there")):
        (_, line) = tpuctl("slice", "ls", "--zone", zone).out.splitlines()
        assert name == line.split()[0]
    refused = tpuctl("slice", "ls", "--zone", "us-central2-x")
    assert 2 == refused.code
    assert "no zone with TPUs is called 'us-central2-x'; near: us-central2-b" in refused.error


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_columns_are_left_out_where_a_terminal_is_narrow(
    tpuctl: Tpuctl, installed: Installed, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """None of those that stay is cut."""
    monkeypatch.setenv("COLUMNS", str(columns))
    installed.pretend_up()
    job = installed.put_job(make_job(4))
    installed.put_slice(make_slice(job, name="a-name-of-24-characters-"))

    out = tpuctl("slice", "ls").out

    head, row = out.splitlines()
    assert max(len(head), len(row)) <= columns
    assert {"SLICE", "STATE", "JOB", "AGE"} <= set(head.split())
    assert ["active", "4", "15m00s"] == row.split()[-3:]
    assert ("ZONE" in head, "HOSTS" in head) == (columns >= 60, columns >= 80)


def test_slices_of_an_installation_that_is_down_say_so(
    tpuctl: Tpuctl, installed: Installed
) -> None:
    """They look as if they were alive."""
    installed.put_slice(make_slice(make_job(4), name="a"))

    for words in (("ls",), ("show", "a")):
        assert "the local runner is not up" in tpuctl("slice", *words).err


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


def test_refused_create_names_the_flag_that_was_wrong(tpuctl: Tpuctl, launch: Launch) -> None:
    """Not the field, and not where else to look."""
    launch.answer = refuse("accelerator_type: 'v4-17' is not known; near: v4-16")

    result = tpuctl("slice", "create", "a", "--type", "v4-17", "--zone", "us-central2-b")

    assert (1, "refused: --type: 'v4-17' is not known; near: v4-16") == (result.code, result.error)
    assert result.next_step.startswith("give another value")


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
