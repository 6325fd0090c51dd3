"""What is an orphan and what is none: a case for every reason, and all in doubt is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from shared.core.cloud import CloudRequest
from shared.core.names import cloud_name, labels
from shared.core.situation import Situation
from shared.core.slices import Kind, Slice
from shared.core.sweeping import STRANGE_LABELS, Holders, Judgement, judge, parse_own_name
from tests.unit.core.situations import UID, recovering, running

OURS, THEIRS = "abc123", "zzz999"


def shown(name: str, tags: Mapping[str, str] | None = None) -> CloudRequest:
    """Show something in the cloud."""
    return CloudRequest(name, "zone-a", "ACTIVE", "", "", (), tags or {})


def own(uid: str = UID, generation: int = 1, bid: str = "0") -> CloudRequest:
    """Show something that bears our name and our labels."""
    name = cloud_name(OURS, uid, generation, bid)
    return shown(name, labels(OURS, uid, generation, bid))


def held(now: Situation) -> CloudRequest:
    """Show the newest bid of a situation's slice."""
    bid = now.slice.generations[-1].bids[-1]
    return shown(bid.name, labels(OURS, now.slice.uid, now.slice.generation, bid.id))


def judged(request: CloudRequest, *slices: Slice) -> Judgement:
    """Judge by some slices."""
    return judge(request, OURS, Holders.among(slices))


SLICE = running().slice


@pytest.mark.parametrize(
    "request_, slices, why",
    [
        pytest.param(own("deadbeef"), (SLICE,), "no slice wants it", id="unknown to all"),
        pytest.param(
            own(),
            (replace(SLICE, live=False, generations=()),),
            f"slice {SLICE.name} is over",
            id="of a slice that is over",
        ),
        pytest.param(
            own(generation=1),
            (replace(SLICE, generations=SLICE.generations[-1:]),),
            f"generation 1 of slice {SLICE.name} is over",
            id="of a generation that is buried",
        ),
        pytest.param(
            own(generation=SLICE.generation, bid="7"),
            (SLICE,),
            f"slice {SLICE.name} gave this bid up",
            id="of a bid that is buried",
        ),
    ],
)
def test_what_nobody_wants_is_an_orphan(
    request_: CloudRequest, slices: tuple[Slice, ...], why: str
) -> None:
    """With the reason in words."""
    assert Judgement(is_orphan=True, why=why) == judged(request_, *slices)


@pytest.mark.parametrize(
    "request_, slices, why",
    [
        pytest.param(
            held(running()), (SLICE,), f"slice {SLICE.name} wants it", id="it serves a slice"
        ),
        pytest.param(
            held(recovering()), (recovering().slice,), f"slice {SLICE.name}", id="it recovers one"
        ),
        pytest.param(shown("my-own-node"), (SLICE,), "its name is none of ours", id="another name"),
        pytest.param(
            shown(cloud_name(THEIRS, UID, 1, "0"), labels(OURS, UID, 1, "0")),
            (),
            f"it is of the installation {THEIRS}",
            id="another installation",
        ),
        pytest.param(shown(own().name), (), STRANGE_LABELS, id="no labels"),
        pytest.param(
            shown(own().name, labels(THEIRS, UID, 1, "0")),
            (),
            STRANGE_LABELS,
            id="labels of another installation",
        ),
        pytest.param(
            shown(own().name, labels(OURS, "cafecafe", 1, "0")),
            (),
            STRANGE_LABELS,
            id="labels of another slice",
        ),
        pytest.param(
            own(generation=SLICE.generation + 1),
            (SLICE,),
            f"slice {SLICE.name} has no generation {SLICE.generation + 1} yet",
            id="of a generation to come",
        ),
    ],
)
def test_what_is_in_doubt_is_kept(
    request_: CloudRequest, slices: tuple[Slice, ...], why: str
) -> None:
    """With the reason in words."""
    judgement = judged(request_, *slices)

    assert not judgement.is_orphan
    assert judgement.why.startswith(why)


def test_what_was_adopted_is_kept_whatever_its_name() -> None:
    """It is a slice's by its name in the documents alone."""
    generation = SLICE.generations[-1]
    bid = replace(generation.bids[-1], name="my-own-node")
    adopted = replace(SLICE.with_generation(generation.with_bid(bid)), kind=Kind.ADOPTED)

    judgement = judged(shown("my-own-node"), adopted)

    assert Judgement(is_orphan=False, why=f"it was adopted as slice {SLICE.name}") == judgement


def test_a_condemned_bid_is_its_slices_affair() -> None:
    """Its own intent deletes it, and knows when."""
    now = running()
    bid = replace(now.slice.generations[-1].bids[-1], condemned_at=now.now)
    generation = now.slice.generations[-1].with_bid(bid)

    judgement = judged(held(now), now.slice.with_generation(generation))

    assert Judgement(is_orphan=False, why=f"slice {SLICE.name} is letting it go") == judgement


def test_a_bid_that_was_buried_and_is_there_again_is_an_orphan() -> None:
    """A create that took effect too late."""
    now = running()
    bid = replace(now.slice.generations[-1].bids[-1], gone_at=now.now)
    generation = now.slice.generations[-1].with_bid(bid)

    judgement = judged(held(now), now.slice.with_generation(generation))

    why = f"slice {SLICE.name} gave this bid up"
    assert Judgement(is_orphan=True, why=why) == judgement


def test_of_two_slices_with_one_uid_each_has_a_say() -> None:
    """Ids are made by clients: what one of the two may still want is kept."""
    newer = replace(SLICE, name="other")
    older = replace(SLICE, generation=0, generations=())
    request_ = own(generation=SLICE.generation, bid="7")

    assert not judged(request_, newer, older).is_orphan


@pytest.mark.parametrize(
    "name, uid",
    [
        pytest.param(cloud_name(OURS, UID, 3, "0"), UID, id="ours"),
        pytest.param(cloud_name(THEIRS, UID, 3, "0"), None, id="another installation's"),
        pytest.param("my-own-node", None, id="of any other form"),
    ],
)
def test_an_own_name_is_one_of_this_installation(name: str, uid: str | None) -> None:
    """Whoever reads names asks here."""
    parsed = parse_own_name(name, OURS)

    assert uid == (parsed.slice_uid if parsed else None)
