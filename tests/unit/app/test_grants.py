"""Grants in an installation: kept, and asked whenever a job is submitted or goes on."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.app.grants import GRANTS_MAX
from shared.core.grants import Grant
from shared.core.orders import Outcome, Verdict
from tests.unit.app.records import JOB
from tests.unit.app.world import OTHER_JOB, World, grant_of

FIVE: dict[str, Any] = {"accelerator_type": "v5p-16"}
COSTS = "no grant covers v4-16 spot in us-central2-b, which costs $7.37 an hour"


def add(world: World, **changes: Any) -> Outcome:
    """Add a grant of 16 chips of v4."""
    return world.outcome(world.order("grant-add", grant_of(**changes)))


def remove(world: World, name: str = "trc") -> Outcome:
    """Remove a grant."""
    return world.outcome(world.order("grant-remove", {"name": name}))


def end_grant(world: World) -> None:
    """Add a grant that has ended half a minute after today."""
    add(world, until=f"{world.clock.now():%Y-%m-%d}")
    world.clock.advance(timedelta(days=1).total_seconds() - 30.0)


# --- Kept ---------------------------------------------------------------------------------------


def test_a_grant_is_kept_as_people_read_it(world: World) -> None:
    """With one sentence that says all."""
    outcome = add(world, types=["v5e", "v4-16"], note="TRC")

    assert (Verdict.ACCEPTED, "", 0) == (outcome.outcome, outcome.job, outcome.number)
    fields = world.fields("grants/trc")
    assert (
        "16 chips of v5e or v4-16, spot, in us-central2-b until 2035-01-31 (TRC)"
        == (fields["summary"])
    )
    assert set(Grant.__dataclass_fields__) == set(fields)
    assert "ada" == fields["added_by"]


def test_a_name_is_taken_once(world: World) -> None:
    """The first one stays as it is."""
    add(world)

    outcome = add(world, chips=99)

    assert "there is a grant trc already; remove it first, or take another name" == outcome.reason
    assert 16 == world.fields("grants/trc")["chips"]


def test_the_same_order_twice_adds_one_grant(world: World) -> None:
    """The second time its outcome is only read again."""
    first = world.order("grant-add", grant_of(), order_id="twice")
    world.order("grant-add", grant_of(), order_id="twice")

    assert Verdict.ACCEPTED is world.outcome(first).outcome


def test_a_removed_grant_is_gone(world: World) -> None:
    """Once."""
    add(world)

    assert Verdict.ACCEPTED is remove(world).outcome
    assert [] == world.all("grants")
    assert "there is no grant trc" == remove(world).reason


@pytest.mark.parametrize(
    "changes, reason",
    [
        pytest.param({"zones": ["moon"]}, "zone: 'moon' is not known", id="zone"),
        pytest.param({"types": ["v4-17"]}, "type: 'v4-17' is not known", id="type"),
        pytest.param({"until": "2001-01-01"}, "until: 2001-01-01 is over", id="day"),
        pytest.param({"chips": 0}, "chips: expected 1 to", id="chips"),
    ],
)
def test_a_wrong_grant_is_refused(world: World, changes: dict[str, Any], reason: str) -> None:
    """Whoever sent it: the program that checks first may be an old one."""
    assert reason in add(world, **changes).reason
    assert [] == world.all("grants")


@pytest.mark.parametrize(
    "changes",
    [{"chips": "many"}, {"zones": []}, {"zones": "us-central2-b"}, {"name": "../x"}],
)
def test_an_order_of_the_wrong_shape_is_parked(world: World, changes: dict[str, Any]) -> None:
    """It came from no client of ours."""
    world.order("grant-add", grant_of(**changes))

    assert 1 == len(world.all("parked"))
    assert [] == world.all("grants")


def test_grants_are_bounded(world: World) -> None:
    """All of them are read before each create."""
    for index in range(GRANTS_MAX):
        add(world, name=f"g{index}")

    assert "there are 100 grants already" in add(world).reason


# --- Asked at submit ----------------------------------------------------------------------------


def test_a_job_within_a_grant_runs(world: World) -> None:
    """Nothing is told of it."""
    add(world)
    world.run_job()

    assert "JobPlaced" not in world.events()


def test_a_job_outside_is_refused_with_the_price(world: World) -> None:
    """No slice, no job, no number."""
    add(world, tiers=["on-demand"])

    outcome = world.submit()

    assert outcome.reason.startswith(COSTS)
    assert outcome.reason.endswith("; --i-pay goes ahead")
    assert [] == world.all("jobs") + world.all("slices")


def test_a_job_outside_runs_when_its_owner_pays(world: World) -> None:
    """That stands in its timeline."""
    add(world, tiers=["on-demand"])
    world.run_job(i_pay=True)

    (told,) = [
        entry for entry in world.all(f"jobs/{JOB}/timeline") if "JobPlaced" == entry["event"]
    ]
    assert str(told["text"]).startswith(f"its owner pays: {COSTS}")


def test_a_full_grant_refuses_the_next_job(world: World) -> None:
    """Until a slice under it goes."""
    add(world, chips=8)
    world.run_job()
    expected = "grant trc has 0 of 8 chips left (digits-1 uses 8), v4-16 needs 8"

    assert world.submit(OTHER_JOB).reason.startswith(expected)
    world.finish_job()
    assert Verdict.ACCEPTED is world.submit(OTHER_JOB).outcome


def test_a_slice_that_is_paid_for_uses_no_grant(world: World) -> None:
    """Chips that others pay for are not taken from anybody."""
    add(world, chips=8)
    world.run_job(accelerator_type="v4-32", i_pay=True)

    assert Verdict.ACCEPTED is world.submit(OTHER_JOB).outcome


def test_zones_are_chosen_among_the_granted_ones(world: World) -> None:
    """When the job names none; and that is told."""
    add(world, zones=["us-east5-a"], types=["v5p"])
    world.submit(zones=[], **FIVE)

    assert ("us-east5-a",) == world.slice().zones
    texts = [str(entry["text"]) for entry in world.all(f"jobs/{JOB}/timeline")]
    assert "zones without cost: us-east5-a; 10 more would cost" in texts


def test_ended_grants_do_not_count_and_do_not_open_all(world: World) -> None:
    """Whoever had a grant does not begin to pay by its end."""
    end_grant(world)
    world.clock.advance(60.0)

    assert "; grant trc ended with 2030-01-01; --i-pay goes ahead" in world.submit().reason


def test_a_slice_that_is_there_is_asked_about_too(world: World) -> None:
    """A job on it would keep it longer."""
    world.run_job(name="mine", hold_s=600.0)
    world.finish_job(1)
    add(world, tiers=["on-demand"])

    assert COSTS in world.submit(OTHER_JOB, place="mine").reason
    assert COSTS in world.again().reason
    assert COSTS in world.again(on="mine").reason
    spec = {**world.job().spec, "i_pay": True}
    assert Verdict.ACCEPTED is world.again(on="mine", spec=spec).outcome


def test_of_a_slice_that_is_held_only_its_own_zone_counts(world: World) -> None:
    """A grant elsewhere does not pay for it."""
    world.run_job(name="mine", hold_s=600.0, zones=["us-east5-a", "us-central1-a"], **FIVE)
    world.finish_job(1)
    add(world, zones=["us-central1-a"], types=["v5p"])

    outcome = world.submit(OTHER_JOB, place="mine", zones=["us-east5-a"], **FIVE)

    assert "no grant covers v5p-16 spot in us-east5-a" in outcome.reason


def test_a_job_that_goes_on_on_its_own_slice_needs_no_second_share(world: World) -> None:
    """Its slice has the chips already."""
    add(world, chips=8)
    world.run_job(hold_s=600.0)
    world.finish_job(1)

    assert Verdict.ACCEPTED is world.again().outcome


def test_a_job_that_goes_on_on_a_new_slice_is_asked_again(world: World) -> None:
    """Its grant may have ended."""
    world.run_job()
    world.finish_job()
    world.tick_until_quiet()
    add(world, tiers=["on-demand"])

    assert COSTS in world.again().reason


# --- The data's region --------------------------------------------------------------------------


def test_a_zone_away_from_the_data_is_refused(world: World) -> None:
    """Without any grant."""
    world.app = replace(world.app, region="us-central1")
    expected = "the data is in us-central1: reading it from us-central2-b costs $0.02 to 0.14 per"

    assert expected in world.submit().reason
    assert Verdict.ACCEPTED is world.submit(i_pay=True).outcome


def test_zones_are_chosen_near_the_data(world: World) -> None:
    """When the job names none."""
    world.app = replace(world.app, region="us-east5")
    world.submit(zones=[], **FIVE)

    assert {"us-east5"} == {zone.rpartition("-")[0] for zone in world.slice().zones}
