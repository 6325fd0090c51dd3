"""`tpuctl sweep`: what nothing wants is shown, and deleted by whoever may."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from pytest_mock import MockerFixture

from cli import orders, sweeping
from shared.app.zones import ZONES
from shared.core.names import cloud_name, labels
from shared.core.slices import Slice
from shared.errors import NotAuthorized
from shared.ports import BidRequest, Query
from tests.fakes import FakeSliceApi
from tests.unit.cli.poked import CLOUD, FakeTicker, Woken
from tests.unit.cli.stage import (
    Installed,
    Launch,
    Tpuctl,
    accept,
    ago,
    make_job,
    make_slice,
    refuse,
    write,
)

ZONE, OTHER_ZONE = "us-central2-b", "us-central1-a"


class Sky(FakeSliceApi):
    """The cloud of one installation, with something of a slice in it."""

    def __init__(self, installation: str) -> None:
        super().__init__()
        self.installation = installation

    def put(self, uid: str, zone: str = ZONE, **tags: str) -> str:
        """Let something of ours be there; with tags it bears other labels."""
        name = cloud_name(self.installation, uid, 1, "0")
        self.put_named(name, tags or labels(self.installation, uid, 1, "0"), zone)
        return name

    def put_named(self, name: str, tags: Mapping[str, str], zone: str = ZONE) -> None:
        """Let something be there."""
        self.create(BidRequest(name, zone, "v4-16", "base", "spot", tags, {}, request_id=name))
        self.make_ready(name)


@pytest.fixture
def sky(installed: Installed, mocker: MockerFixture) -> Sky:
    """Take the place of Cloud TPU."""
    installed.pretend_up()
    made = Sky(installed.settings.installation)
    mocker.patch("shared.wiring.open_slices", return_value=made)
    return made


@pytest.fixture
def held(installed: Installed, sky: Sky) -> Slice:
    """Have a slice that serves a job, and is there."""
    made = installed.put_slice(make_slice(installed.put_job(make_job())))
    (bid,) = made.generations[-1].bids
    sky.put_named(bid.name, labels(sky.installation, made.uid, 0, "0"))
    return made


def sweeper(sky: Sky, *names: str) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """Play launch, the tick and recovery: once it is asked for, some things are deleted."""

    def answer(command: Mapping[str, Any]) -> Mapping[str, Any]:
        for name in names:
            sky.delete(OTHER_ZONE if name.endswith("x") else ZONE, name)
        return accept(command)

    return answer


# --- Looking ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("installed")
def test_a_dry_run_says_what_would_be_deleted_and_what_not(
    tpuctl: Tpuctl, sky: Sky, held: Slice
) -> None:
    """With the reason of each; and nothing is asked for or deleted."""
    orphan, odd = sky.put("deadbeef"), sky.put("cafecafe", some="label")
    sky.put_named("my-own-node", {})

    result = tpuctl("sweep", "--dry-run")

    would, _, left = result.out.partition("is left alone:")
    assert 0 == result.code, result.err
    assert f"{orphan}  {ZONE}  active" in would
    assert "no slice wants it" in would
    for name, why in (
        (odd, "it has our name and not our labels"),
        ("my-own-node", "its name is none of ours"),
        (held.generations[-1].bids[0].name, f"slice {held.name} wants it"),
    ):
        (line,) = [line for line in left.splitlines() if line.startswith(f"{name} ")]
        assert line.endswith(why)
    assert "next: tpuctl sweep\n" in result.out
    assert 0 == sky.calls["delete"]


def test_a_dry_run_needs_nobody_who_carries_orders_out(
    tpuctl: Tpuctl, sky: Sky, held: Slice, installed: Installed
) -> None:
    """The control plane may be what is broken."""
    (installed.home / "runner.json").unlink()

    assert 0 == tpuctl("sweep", "--dry-run").code
    assert [] == installed.store.query(Query("commands"))
    assert held.generations[-1].bids[0].name in sky.names


@pytest.mark.parametrize(
    "remembered, words, zones",
    [
        pytest.param(False, (), [ZONE], id="where slices are"),
        pytest.param(True, (), [OTHER_ZONE, ZONE], id="where slices were"),
        pytest.param(
            False, ("--zone", "europe-west4-b"), ["europe-west4-b", ZONE], id="where people say"
        ),
    ],
)
@pytest.mark.usefixtures("held", "sky")
def test_zones_come_from_slices_from_the_ticks_memory_and_from_people(
    tpuctl: Tpuctl,
    installed: Installed,
    remembered: bool,  # noqa: FBT001 - a row of the table
    words: tuple[str, ...],
    zones: list[str],
) -> None:
    """An orphan may be where nothing is known to be."""
    if remembered:
        installed.put(ZONES, {"summary": "", OTHER_ZONE: ago(86400.0)})

    told = json.loads(tpuctl("sweep", "--dry-run", "--json", *words).out)

    assert zones == told["zones"]


@pytest.mark.usefixtures("ticker")
def test_zones_of_the_settings_are_looked_at(
    tpuctl: Tpuctl, installed: Installed, sky: Sky
) -> None:
    """A box or a deployment names them; so a forgotten one is found."""
    text = f'wiring = "google"\ninstallation = "{sky.installation}"\n{CLOUD}zones = ["{ZONE}"]\n'
    write(installed.home / "settings.toml", text)
    orphan = sky.put("deadbeef")

    (told,) = json.loads(tpuctl("sweep", "--dry-run", "--json").out)["orphans"]

    assert orphan == told["name"]


def test_json_holds_everything(tpuctl: Tpuctl, sky: Sky, held: Slice) -> None:
    """The age as the time of creation, the zones that were not judged."""
    orphan = sky.put("deadbeef")
    sky.unreachable.add(OTHER_ZONE)

    told = json.loads(tpuctl("sweep", "--dry-run", "--json", "--zone", OTHER_ZONE).out)

    (found,) = told["orphans"]
    assert (orphan, ZONE, "ACTIVE", "no slice wants it") == (
        found["name"],
        found["zone"],
        found["state"],
        found["why"],
    )
    assert found["created_at"].startswith("2030-01-01T")
    assert [f"{OTHER_ZONE}: unreachable"] == told["not_judged"]
    assert [held.generations[-1].bids[0].name] == [each["name"] for each in told["kept"]]


@pytest.mark.usefixtures("held")
def test_a_zone_that_was_not_listed_is_named(tpuctl: Tpuctl, sky: Sky) -> None:
    """There nothing is judged."""
    sky.unreachable.add(OTHER_ZONE)

    result = tpuctl("sweep", "--dry-run", "--zone", OTHER_ZONE)

    assert f"not judged: {OTHER_ZONE}: unreachable\n" in result.out
    assert f"nothing to delete in {ZONE}\n" in result.out


@pytest.mark.usefixtures("held")
def test_whoever_may_list_nothing_is_told_which_role_is_missing(tpuctl: Tpuctl, sky: Sky) -> None:
    """It looks as the user, not as the functions."""
    sky.unreachable.add(ZONE)

    result = tpuctl("sweep", "--dry-run")

    assert (1, f"no zone was listed: {ZONE}: unreachable") == (result.code, result.error)
    assert result.next_step.startswith("roles/tpu.viewer for your own account")


@pytest.mark.usefixtures("sky")
def test_a_mistyped_zone_is_refused_with_the_near_one(tpuctl: Tpuctl) -> None:
    """Before anything is asked for."""
    result = tpuctl("sweep", "--zone", "us-central2-q")

    assert 2 == result.code
    assert (
        "--zone: no zone with TPUs is called 'us-central2-q'; near: us-central2-b" in result.error
    )


@pytest.mark.usefixtures("sky")
def test_where_nothing_ever_was_there_is_nothing_to_look_at(tpuctl: Tpuctl) -> None:
    """It says how to look anyway."""
    result = tpuctl("sweep", "--dry-run")

    assert "no slice was ever asked for here\nnext: tpuctl sweep --zone ZONE\n" == result.out


# --- Sweeping -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("held")
def test_a_sweep_says_what_became_of_each(
    tpuctl: Tpuctl, sky: Sky, launch: Launch, woken: Woken
) -> None:
    """The tick is woken, and asked to look where there is something to delete."""
    gone, going = sky.put("deadbeef"), sky.put("beefbeef")
    launch.answer = sweeper(sky, gone, going)
    sky.slow_deletes = True
    real = sky.delete

    def delete(zone: str, name: str) -> None:
        real(zone, name)
        if name == gone:
            sky.finish_delete(name)

    sky.delete = delete  # type: ignore[method-assign]

    result = tpuctl("sweep", "--zone", OTHER_ZONE)

    assert 0 == result.code, result.err
    assert ("sweep", {"zones": [ZONE]}) == (launch.commands[0]["kind"], launch.args)
    ends = {line.split()[0]: line for line in result.out.splitlines() if line.startswith("tpuctl-")}
    assert {gone, going} == set(ends)
    assert ends[gone].endswith("  deleted")
    assert ends[going].endswith("  is being deleted")
    assert 1 == woken.count


@pytest.mark.usefixtures("held", "woken")
def test_what_a_slice_wants_by_now_is_left_alone(
    tpuctl: Tpuctl, sky: Sky, launch: Launch, installed: Installed
) -> None:
    """Recovery reads once more, and so does this."""
    name = sky.put("deadbeef")

    def answer(command: Mapping[str, Any]) -> Mapping[str, Any]:
        job = installed.put_job(make_job(2, slice_uid="deadbeef"))
        made = make_slice(job)
        generation = made.generations[-1]
        (bid,) = generation.bids
        wanted = generation.with_bid(replace(bid, name=name))
        installed.put_slice(made.with_generation(wanted))
        return accept(command)

    launch.answer = answer

    result = tpuctl("sweep")

    assert "  left alone: slice digits-2-s wants it\n" in result.out


@pytest.mark.usefixtures("held", "woken", "launch")
def test_what_is_still_there_is_an_error(
    tpuctl: Tpuctl, sky: Sky, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It exits with the code of what took too long."""
    sky.put("deadbeef")
    monkeypatch.setattr(sweeping, "WAIT_S", 0.2)

    result = tpuctl("sweep")

    assert (4, "1 of 1 still there after 0.2 s") == (result.code, result.error)
    assert "  still there\n" in result.out


@pytest.mark.usefixtures("held")
def test_without_an_orphan_nothing_is_ordered(tpuctl: Tpuctl, launch: Launch) -> None:
    """The tick has nothing to do there that it would not do anyway."""
    result = tpuctl("sweep")

    assert f"nothing to delete in {ZONE}\nnext: tpuctl slice ls\n" == result.out
    assert [] == launch.commands


@pytest.mark.usefixtures("held", "woken")
def test_where_the_user_may_not_look_the_tick_does(
    tpuctl: Tpuctl, sky: Sky, launch: Launch
) -> None:
    """It has an account of its own; what it does stands in its log."""
    sky.unreachable.add(OTHER_ZONE)

    result = tpuctl("sweep", "--zone", OTHER_ZONE)

    assert {"zones": [OTHER_ZONE]} == launch.args
    assert "the checks look there with an account of their own" in result.out


@pytest.mark.usefixtures("held", "woken")
def test_a_refused_sweep_says_why(tpuctl: Tpuctl, sky: Sky, launch: Launch) -> None:
    """And where to look next."""
    sky.put("deadbeef")
    launch.answer = refuse("no zone with TPUs is called x")

    result = tpuctl("sweep")

    assert (1, "refused: no zone with TPUs is called x", "tpuctl sweep --dry-run") == (
        result.code,
        result.error,
        result.next_step,
    )


def test_without_the_right_to_wake_the_tick_it_comes_later(
    tpuctl: Tpuctl,
    sky: Sky,
    installed: Installed,
    ticker: FakeTicker,
    mocker: MockerFixture,
) -> None:
    """The order stands; the next minute does it."""
    ticker.answer = NotAuthorized("403 cloudscheduler.jobs.run")
    text = f'wiring = "google"\ninstallation = "{sky.installation}"\n{CLOUD}zones = ["{ZONE}"]\n'
    write(installed.home / "settings.toml", text)
    name = sky.put("deadbeef")
    mocker.patch.object(orders, "give", side_effect=lambda *_: sky.delete(ZONE, name))

    result = tpuctl("sweep")

    assert 0 == result.code, result.err
    assert "the checks come at their next minute: 403 cloudscheduler.jobs.run" in result.err
    assert "  deleted\n" in result.out
