"""`tpuctl slice create`, `recreate`, `restart`, `adopt`, `installer`, `show` and `ls --all`."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pytest_mock import MockerFixture

from cli.commands import slice_orders
from cli.installation import Installation
from shared.core.slices import Kind, Slice
from tests.fakes import FakeSliceApi
from tests.unit.cli.stage import (
    Installed,
    Launch,
    Tpuctl,
    make_job,
    make_slice,
    now,
    refuse,
)

ZONE = "us-central2-b"


def warm(**changes: Any) -> Slice:
    """Make a slice that no job uses."""
    return replace(make_slice(make_job(4)), **{"name": "warm", "job": "", **changes})


def adopted(**changes: Any) -> Slice:
    """Make a slice of what somebody else made."""
    slice_ = warm(name="theirs", kind=Kind.ADOPTED, **changes)
    (generation,) = slice_.generations
    bid = replace(generation.bids[0], name="theirs", foreign=True)
    return slice_.with_generation(replace(generation, bids=(bid,), claimed=""))


def test_slice_is_ordered_as_its_flags_say(tpuctl: Tpuctl, launch: Launch) -> None:
    """Zones are separated or repeated."""
    result = tpuctl(
        "slice", "create", "mine", "--type", "v4-16", "--zone", "a-b,c-d", "--zone", "e-f",
        "--on-demand", "--keep", "--i-pay",
    )  # fmt: skip

    assert 0 == result.code, result.err
    args = dict(launch.args)
    assert 8 == len(args.pop("slice_uid"))
    assert {
        "slice": "mine",
        "accelerator_type": "v4-16",
        "zones": ["a-b", "c-d", "e-f"],
        "tier": "on-demand",
        "runtime_version": None,
        "keep": True,
        "i_pay": True,
    } == args
    assert "slice mine (v4-16, on-demand) is asked for" in result.out
    assert "next: tpuctl run --on mine" in result.out


def test_two_tiers_are_refused(tpuctl: Tpuctl, launch: Launch) -> None:
    """Which of them?"""
    result = tpuctl("slice", "create", "mine", "--type", "v4-16", "--spot", "--reserved")

    assert (2, "invalid value: --spot and --reserved contradict each other") == (
        result.code,
        result.error,
    )
    assert [] == launch.commands


def test_name_of_a_new_slice_is_checked(tpuctl: Tpuctl, launch: Launch) -> None:
    """Before anybody is asked."""
    result = tpuctl("slice", "create", "My_Slice", "--type", "v4-16")

    assert result.error.startswith("NAME: expected a name of at most 40")
    assert [] == launch.commands


@pytest.mark.usefixtures("launch")
def test_wait_tells_why_a_slice_is_not_made(tpuctl: Tpuctl, installed: Installed) -> None:
    """And exits with an error."""
    installed.put_slice(warm(wanted=False, reason="no such type there"))

    result = tpuctl("slice", "create", "warm", "--type", "v4-16", "--wait")

    assert (1, "slice warm is not made: no such type there") == (result.code, result.error)


@pytest.mark.usefixtures("launch")
def test_whoever_stops_waiting_hears_that_the_slice_is_still_made(
    tpuctl: Tpuctl, installed: Installed, mocker: MockerFixture
) -> None:
    """It costs money."""
    installed.put_slice(warm(generations=()))
    mocker.patch.object(slice_orders, "_tell_until_up", side_effect=KeyboardInterrupt)

    result = tpuctl("slice", "create", "warm", "--type", "v4-16", "--wait")

    assert (130, "interrupted: slice warm is still being made") == (result.code, result.error)
    assert "tpuctl slice show warm, or tpuctl slice rm warm" == result.next_step


@pytest.mark.usefixtures("launch")
def test_wait_ends_when_a_slice_serves(tpuctl: Tpuctl, installed: Installed) -> None:
    """With where it is."""
    installed.put_slice(warm(summary="v4-16 in us-central2-b"))

    result = tpuctl("slice", "create", "warm", "--type", "v4-16", "--wait")

    assert "slice warm is there: v4-16 in us-central2-b" in result.out


@pytest.mark.parametrize("verb", ["recreate", "restart"])
def test_slice_is_changed_by_its_name_or_as_the_last_one(
    tpuctl: Tpuctl, launch: Launch, installed: Installed, verb: str
) -> None:
    """The slice of the newest job."""
    installed.put_slice(warm(name="digits-4-s"))
    installed.put_job(make_job(4))

    for name in ("digits-4-s", "@last"):
        assert 0 == tpuctl("slice", verb, name).code
    assert [f"slice-{verb}"] * 2 == [command["kind"] for command in launch.commands]
    assert [{"slice": "digits-4-s"}] * 2 == [command["args"] for command in launch.commands]


@pytest.mark.usefixtures("launch")
def test_slice_of_the_last_job_that_is_gone_is_said(tpuctl: Tpuctl, installed: Installed) -> None:
    """Rather than another one of its name."""
    installed.put_job(make_job(4))
    installed.put_slice(warm(name="digits-4-s", uid="another1"))

    result = tpuctl("slice", "restart", "@last")

    assert (3, "the slice of job 4, the last one, is gone") == (result.code, result.error)


def test_adoption_prints_the_command_that_installs(tpuctl: Tpuctl, launch: Launch) -> None:
    """One line, for all hosts."""
    result = tpuctl("slice", "adopt", "their-tpu-7", "--zone", ZONE, "--as", "theirs")

    assert 0 == result.code, result.err
    args = dict(launch.args)
    del args["slice_uid"]
    assert {"slice": "theirs", "node": "their-tpu-7", "zone": ZONE, "disposable": False} == args
    assert (
        f"gcloud compute tpus tpu-vm ssh their-tpu-7 --zone={ZONE} --worker=all"
        ' --command="$(tpuctl slice installer theirs)"'
    ) in result.out


def test_refused_adoption_says_where_to_look(tpuctl: Tpuctl, launch: Launch) -> None:
    """At what there is."""
    launch.answer = refuse("there is no TPU nobody in us-central2-b")

    result = tpuctl("slice", "adopt", "nobody", "--zone", ZONE)

    assert "refused: there is no TPU nobody in us-central2-b" == result.error
    assert "tpuctl slice ls --all" == result.next_step


def test_installer_brings_everything_and_no_secret(tpuctl: Tpuctl, installed: Installed) -> None:
    """The agent, and which slice it serves."""
    installed.put_slice(adopted())

    line = tpuctl("slice", "installer", "theirs").out

    assert 1 == line.count("\n")
    assert len(line) < 120_000
    script = unpacked(line.split()[1])
    agent, config, startup = re.findall(r"<<<'([\w+/=]+)'", script)
    assert "tpuctl-agent.service" in unpacked(startup)
    assert "def run_agent" in unpacked(agent)
    told = json.loads(unpacked(config))
    assert ("theirs", "0", "theirs") == (told["slice"], told["bid"], told["node"])
    assert installed.settings.secret.decode() not in unpacked(config)


def unpacked(text: str) -> str:
    """Undo the packing."""
    return gzip.decompress(base64.b64decode(text)).decode()


def test_slice_of_our_own_has_no_installer(tpuctl: Tpuctl, installed: Installed) -> None:
    """It comes with its agent."""
    installed.put_slice(warm())

    result = tpuctl("slice", "installer", "warm")

    assert (1, "slice warm needs no installer: it was not adopted") == (result.code, result.error)


def test_slice_is_shown_with_its_hosts_and_what_to_do(tpuctl: Tpuctl, installed: Installed) -> None:
    """For people and for programs."""
    held = warm(kind=Kind.TEMPORARY, held_until=now() + timedelta(minutes=20), summary="held")
    installed.put_slice(held)
    installed.put("slices/warm/timeline/1", {"at": now(), "text": "asked for", "event": "X"})

    out = tpuctl("slice", "show", "warm").out
    stored = json.loads(tpuctl("slice", "show", "warm", "--json").out)

    assert "slice warm  v4-16 spot  temporary" in out
    assert re.search(r"held +for (20m00s|19m\d\ds) more", out)
    assert "asked for" in out
    assert "next: tpuctl run --on warm" in out
    assert ("warm", []) == (stored["slice"]["name"], stored["hosts"])


@pytest.mark.parametrize(
    "slice_, step",
    [
        (adopted(), "on each host, once: tpuctl slice installer theirs"),
        (
            warm(kind=Kind.NAMED, generations=()),
            "tpuctl slice recreate warm, tpuctl slice rm warm",
        ),
        (warm(wanted=False), "tpuctl slice ls"),
    ],
    ids=["watched", "lost", "going"],
)
def test_next_step_is_what_one_does_with_such_a_slice(
    tpuctl: Tpuctl, installed: Installed, slice_: Slice, step: str
) -> None:
    """Always one that can be typed."""
    installed.put_slice(slice_)

    assert f"next: {step}" == tpuctl("slice", "show", slice_.name).out.splitlines()[-1]


@pytest.fixture
def sky(mocker: MockerFixture) -> FakeSliceApi:
    """Take the place of the cloud."""
    fake = FakeSliceApi()
    mocker.patch.object(Installation, "slices", fake)
    return fake


def test_tpus_of_others_are_listed(tpuctl: Tpuctl, installed: Installed, sky: FakeSliceApi) -> None:
    """Without those that were adopted, with how to."""
    installed.put_slice(adopted())
    sky.plant("theirs", ZONE)
    sky.plant("another", ZONE)

    out = tpuctl("slice", "ls", "--all", "--zone", ZONE).out
    listed = json.loads(tpuctl("slice", "ls", "--all", "--zone", ZONE, "--json").out)

    assert ["another"] == [each["name"] for each in listed["unmanaged"]]
    assert f"next: tpuctl slice adopt another --zone {ZONE}" in out


def test_zone_that_cannot_be_listed_is_said(tpuctl: Tpuctl, sky: FakeSliceApi) -> None:
    """Nothing there is not the same."""
    sky.unreachable.add(ZONE)

    result = tpuctl("slice", "ls", "--all", "--zone", ZONE)

    assert (1, f"no zone was listed: {ZONE}: unreachable") == (result.code, result.error)
