"""What nobody can look at is told once, and lost never."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from shared.core.alerts import alerts_of
from shared.core.decide import decide
from shared.core.observe import absent, never_came, seen
from shared.core.situation import Situation
from shared.core.slices import Bid
from shared.core.unknown import note_seen, take_unknown
from tests.unit.core.facts import request
from tests.unit.core.situations import (
    bid_of,
    failed,
    later,
    recovering,
    running,
    settled,
    submitted,
    with_bid,
)

UNKNOWN_S = running().policy.unknown_s


def unseen(now: Situation, *, after_s: float = UNKNOWN_S) -> Situation:
    """Let nobody have seen the newest bid for a while."""
    since = now.now
    return take_unknown(later(now, after_s), {bid_of(now).name}, since, "zone: unreachable")


def seen_as(now: Situation, at: datetime, state: str = "ACTIVE", node: str = "READY") -> Bid:
    """Look at the newest bid."""
    return seen(bid_of(now), request(state, node), at)


def test_it_is_told_once_and_changes_nothing_else() -> None:
    """The job runs on; a second look that fails is no news."""
    now = running()
    told = unseen(now)
    after = decide(told)

    assert [("unknown", "unknown")] == [(each.kind, each.reason) for each in alerts_of(after)]
    assert (now.served.stage, now.slice.generation) == (after.served.stage, after.slice.generation)
    assert replace(bid_of(now), unknown_since=now.now) == bid_of(told)
    again = take_unknown(told, {bid_of(now).name}, later(now, 60.0).now, "still")
    assert told == again


def test_the_alert_says_how_long_and_why() -> None:
    """For whoever decides whether to look by hand."""
    (alert,) = alerts_of(unseen(running()))

    name = bid_of(running()).name
    assert alert.text == f"{name} could not be looked at for 15 min: zone: unreachable"


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(recovering, id="asking for another slice"),
        pytest.param(running, id="running"),
        pytest.param(lambda: settled(submitted()), id="asking for the first"),
    ],
)
def test_summaries_say_it_while_it_lasts(now: object) -> None:
    """Of the job and of its slice; not a word of it afterwards."""
    assert callable(now)
    told = decide(unseen(now()))
    bid = seen_as(told, told.now, "WAITING_FOR_RESOURCES", "")
    after = decide(with_bid(told, unknown_since=bid.unknown_since))

    assert "not seen in the cloud since 20" in told.served.summary
    assert "not seen in the cloud since 20" in told.slice.summary
    assert "not seen" not in after.served.summary + after.slice.summary


@pytest.mark.parametrize(
    "take",
    [
        pytest.param(lambda bid, at: seen(bid, request("ACTIVE", "READY"), at), id="there"),
        pytest.param(absent, id="absent"),
        pytest.param(lambda bid, at: never_came(bid, "no", at), id="never came"),
    ],
)
def test_whatever_is_seen_ends_it(take: object) -> None:
    """And its owner hears of it, once."""
    assert callable(take)
    told = later(unseen(running()), 60.0)
    old = bid_of(told)
    new = take(old, told.now)
    after = note_seen(told, old, new)

    assert new.unknown_since is None
    assert [("seen_again", f"{old.name} is seen again, after 16 min")] == [
        (each.kind, each.text) for each in alerts_of(after)
    ]
    assert after == note_seen(after, new, new)


def test_what_was_seen_meanwhile_is_not_unknown() -> None:
    """Another tick was faster."""
    now = running()
    seen_later = with_bid(later(now), observed_at=later(now).now)

    assert seen_later == take_unknown(seen_later, {bid_of(now).name}, now.now, "late")


def test_what_shall_go_is_nobodys_worry() -> None:
    """Its delete is tried again until it is seen to be gone."""
    now = failed()
    gone = decide(replace(now, slice=replace(now.slice, wanted=False)))

    assert gone == take_unknown(gone, {bid_of(now).name}, gone.now, "unreachable")
