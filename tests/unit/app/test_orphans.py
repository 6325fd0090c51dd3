"""What is ours and wanted by nobody is deleted; everything else is left alone."""

from collections.abc import Mapping

import pytest
from pytest_mock import MockerFixture

from shared.app.messages import MessageKind, message
from shared.app.orphans import Survey, Surveyor
from shared.core.names import cloud_name, labels
from shared.core.sweeping import STRANGE_LABELS
from shared.errors import NotAuthorized
from shared.ports import BidRequest, Create
from tests.unit.app.world import ZONE, World

OURS, THEIRS = "abc123", "zzz999"


def put_in_cloud(world: World, name: str, tags: Mapping[str, str]) -> None:
    """Let something be in the zone that no document knows."""
    world.slices.create(
        BidRequest(name, ZONE, "v4-16", "tpu-ubuntu2204-base", "spot", tags, {}, request_id=name)
    )


def sweep(world: World) -> None:
    """Let some ticks pass; a request without hosts is never granted."""
    world.gives = False
    world.ticks(5.0)


def test_an_orphan_is_deleted(world: World) -> None:
    """Our name, our labels, no slice that knows it."""
    world.run_job()
    name = cloud_name(OURS, "deadbeef", 1, "0")
    put_in_cloud(world, name, labels(OURS, "deadbeef", 1, "0"))
    sweep(world)

    assert [world.bid.name] == list(world.slices.names)


@pytest.mark.parametrize("call", ["get", "delete"])
def test_an_orphan_that_may_not_be_touched_is_told_again_by_each_sweep(
    world: World, call: str
) -> None:
    """It is no message that can never succeed."""
    world.run_job()
    name = cloud_name(OURS, "deadbeef", 1, "0")
    put_in_cloud(world, name, labels(OURS, "deadbeef", 1, "0"))
    world.slices.fail_next(call, NotAuthorized("403"))
    sweep(world)

    assert [world.bid.name] == list(world.slices.names)
    assert [] == world.all("parked")


@pytest.mark.parametrize(
    "installation, tags",
    [
        pytest.param(OURS, {}, id="no labels"),
        pytest.param(OURS, labels(THEIRS, "deadbeef", 1, "0"), id="labels of another installation"),
        pytest.param(OURS, labels(OURS, "cafecafe", 1, "0"), id="labels of another slice"),
        pytest.param(THEIRS, labels(THEIRS, "deadbeef", 1, "0"), id="another installation"),
        pytest.param(THEIRS, labels(OURS, "deadbeef", 1, "0"), id="a name of another installation"),
    ],
)
def test_what_is_not_surely_ours_is_left_alone(
    world: World, installation: str, tags: Mapping[str, str]
) -> None:
    """Name and labels must both say so."""
    world.run_job()
    name = cloud_name(installation, "deadbeef", 1, "0")
    put_in_cloud(world, name, tags)
    sweep(world)

    assert name in world.slices.names


def test_somebody_elses_node_is_left_alone(world: World) -> None:
    """A name of any other form is none of our business."""
    world.run_job()
    put_in_cloud(world, "my-own-node", labels(OURS, "deadbeef", 1, "0"))
    sweep(world)

    assert "my-own-node" in world.slices.names


def test_a_bid_that_a_slice_knows_by_now_is_not_deleted(world: World) -> None:
    """It was created between the listing and the reading: the sweep reads once more."""
    world.run_job()
    name = world.bid.name
    found = message(MessageKind.ORPHAN_FOUND, {"zone": ZONE, "name": name})
    world.publish("preemptions", found)

    assert [name] == list(world.slices.names)


def test_a_bid_of_a_generation_to_come_is_not_deleted(world: World) -> None:
    """The Store that was read may be a moment older than the cloud."""
    world.run_job()
    name = cloud_name(OURS, world.slice().uid, 2, "0")
    put_in_cloud(world, name, labels(OURS, world.slice().uid, 2, "0"))
    sweep(world)

    assert name in world.slices.names


def test_a_create_that_took_effect_after_its_bid_was_buried_is_deleted(world: World) -> None:
    """The slice had it once, and nobody waits for it."""
    world.run_job()
    world.slices.preempt(world.bid.name)
    world.tick_until(world.runs_attempt(1))
    name = cloud_name(OURS, world.slice().uid, 1, "0")
    world.tick_until(lambda: name not in world.slices.names and len(world.slice().generations) == 1)
    put_in_cloud(world, name, labels(OURS, world.slice().uid, 1, "0"))
    sweep(world)

    assert [world.bid.name] == list(world.slices.names)


def test_an_orphan_is_found_where_nothing_lives_any_more(world: World) -> None:
    """The last job of a zone is over, and a create that was given up takes effect."""
    world.run_job()
    world.finish_job()
    world.tick_until(lambda: not world.slices.names)
    name = cloud_name(OURS, world.slice().uid, 1, "0")
    put_in_cloud(world, name, labels(OURS, world.slice().uid, 1, "0"))
    sweep(world)

    assert () == world.slices.names


# --- A slice that cannot be read ----------------------------------------------------------------


def test_what_a_slice_that_cannot_be_read_may_want_is_kept(world: World) -> None:
    """Whose document is broken has lost nothing yet; and nothing is parked minute by minute."""
    world.run_job()
    world.store.commit([Create("slices/aaa", {"name": "aaa", "uid": "deadbeef", "live": True})])
    name = cloud_name(OURS, "deadbeef", 1, "0")
    put_in_cloud(world, name, labels(OURS, "deadbeef", 1, "0"))
    sweep(world)

    assert name in world.slices.names
    assert [] == world.all("parked")


def test_a_slice_that_cannot_be_read_hides_no_other(world: World) -> None:
    """Its document says so in the log; the others are observed."""
    world.store.commit([Create("slices/aaa", {"name": "aaa", "uid": "deadbeef", "live": True})])
    world.run_job()
    world.slices.preempt(world.bid.name)
    world.tick_until(world.runs_attempt(1))

    assert 2 == world.slice().generation


# --- Looking before anything is deleted ---------------------------------------------------------


def test_a_survey_says_what_the_sweep_would_delete(world: World) -> None:
    """By the same judgement, and nothing is changed by it."""
    world.run_job()
    orphan, odd = (cloud_name(OURS, uid, 1, "0") for uid in ("deadbeef", "cafecafe"))
    put_in_cloud(world, orphan, labels(OURS, "deadbeef", 1, "0"))
    put_in_cloud(world, odd, {})
    before = world.slices.names

    survey = surveyor(world).survey([ZONE])

    assert {orphan: "no slice wants it"} == whys(survey, is_orphan=True)
    assert {
        world.bid.name: f"slice {world.slice().name} wants it",
        odd: STRANGE_LABELS,
    } == whys(survey, is_orphan=False)
    assert before == world.slices.names


def test_a_survey_lists_before_it_reads(world: World, mocker: MockerFixture) -> None:
    """What is asked for between the two is in the documents that are read."""
    calls = mocker.Mock()
    calls.attach_mock(mocker.patch.object(world.slices, "list", wraps=world.slices.list), "list")
    calls.attach_mock(mocker.patch.object(world.store, "query", wraps=world.store.query), "query")

    surveyor(world).survey([ZONE])

    assert ["list", "query"] == [name for name, _, _ in calls.mock_calls]


def test_a_survey_reads_the_slices_of_its_orphans_once_more(world: World) -> None:
    """As recovery does: those that are over, or that nobody can read, are not among the live."""
    world.run_job()
    world.finish_job()
    world.tick_until_quiet()
    world.store.commit([Create("slices/aaa", {"name": "aaa", "uid": "deadbeef", "live": True})])
    late, doubtful = (cloud_name(OURS, uid, 1, "0") for uid in (world.slice().uid, "deadbeef"))
    put_in_cloud(world, late, labels(OURS, world.slice().uid, 1, "0"))
    put_in_cloud(world, doubtful, labels(OURS, "deadbeef", 1, "0"))

    survey = surveyor(world).survey([ZONE])

    assert {late: f"slice {world.slice().name} is over"} == whys(survey, is_orphan=True)
    assert {doubtful} == set(whys(survey, is_orphan=False))


def test_nothing_is_judged_where_the_listing_is_not_whole(world: World) -> None:
    """The zone is named."""
    world.slices.unreachable.add(ZONE)

    survey = surveyor(world).survey([ZONE])

    assert ((), frozenset()) == (survey.judged, survey.complete)
    assert (f"{ZONE}: unreachable",) == survey.problems


def surveyor(world: World) -> Surveyor:
    """Look as a person does."""
    return Surveyor(world.slices, world.store, OURS)


def whys(survey: Survey, *, is_orphan: bool) -> dict[str, str]:
    """Give what was judged so, with the reasons."""
    return {
        each.request.name: each.judgement.why
        for each in survey.judged
        if each.judgement.is_orphan is is_orphan
    }
