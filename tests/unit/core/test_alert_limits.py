"""Whether a webhook is told now: once, not too often, not while it is down, and nothing is lost."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.core.alert_limits import (
    BUSY_AGAIN_S,
    CLAIM_S,
    GIVE_UP_S,
    KEPT,
    QUIET_S_MAX,
    QUIET_S_MIN,
    Bucket,
    Held,
    Step,
    Telling,
    TellingState,
    admit,
    failed,
    posted,
)
from shared.core.alert_routes import Target, WebhookKind

START = datetime(2030, 1, 1, tzinfo=UTC)
# Two at once, then one a minute.
TARGET = Target("lab", WebhookKind.SLACK, burst=2, posts_per_hour=60.0)
MINUTE_S = 60.0


def telling(number: int = 1, kind: str = "preempted") -> Telling:
    """Make an alert that was just heard of."""
    return Telling("", f"a{number}", kind, number, "lab", "ada", START, START, START + KEPT)


def bucket(**changes: object) -> Bucket:
    """Make a webhook that nobody told anything yet."""
    fresh = Bucket("", "lab", "ada", float(TARGET.burst), START, START + KEPT)
    return replace(fresh, **changes)  # type: ignore[arg-type]


def at(seconds: float) -> datetime:
    """Say when."""
    return START + timedelta(seconds=seconds)


def told(step: Step, seconds: float = 0.0) -> Step:
    """Let a post arrive."""
    assert step.posts
    return posted(step, step.telling, step.bucket, at(seconds))


def empty() -> Bucket:
    """Make a webhook that was told all that it may be told now."""
    return bucket(tokens=0.0)


def test_an_alert_is_posted_at_once() -> None:
    """And then it is done."""
    step = told(admit(TARGET, telling(), bucket(), START))

    assert (TellingState.POSTED, 1, None) == (
        step.telling.state,
        step.bucket.posted,
        step.bucket.busy_until,
    )
    again = admit(TARGET, step.telling, step.bucket, at(1))
    assert (False, None) == (again.posts, again.after_s)


def test_an_alert_that_is_delivered_twice_at_the_same_time_is_posted_once() -> None:
    """The second delivery waits for what becomes of the first."""
    first = admit(TARGET, telling(), bucket(), START)
    second = admit(TARGET, first.telling, first.bucket, at(1))

    assert (True, False, BUSY_AGAIN_S) == (first.posts, second.posts, second.after_s)
    assert (first.telling, {}) == (second.telling, second.bucket.held)


def test_whoever_died_while_posting_is_followed_by_another() -> None:
    """After its claim ran out: rather twice than never."""
    first = admit(TARGET, telling(), bucket(), START)
    early = admit(TARGET, first.telling, first.bucket, at(CLAIM_S - 1))
    late = admit(TARGET, first.telling, first.bucket, at(CLAIM_S))

    assert (False, True) == (early.posts, late.posts)


def test_a_burst_is_posted_and_the_rest_is_held() -> None:
    """Until there is a token again."""
    now = bucket()
    for number in range(2):
        now = told(admit(TARGET, telling(number), now, START)).bucket
    third = admit(TARGET, telling(3), now, START)

    assert (False, MINUTE_S) == (third.posts, third.after_s)
    assert (TellingState.HELD, 1, {"preempted": (3,)}) == (
        third.telling.state,
        third.telling.place,
        third.bucket.held,
    )


def test_a_held_alert_that_comes_again_is_counted_once() -> None:
    """However often it comes."""
    held = admit(TARGET, telling(3), empty(), START)
    again = admit(TARGET, held.telling, held.bucket, at(10))

    assert (False, {"preempted": (3,)}, 1) == (
        again.posts,
        again.bucket.held,
        again.bucket.held_ever,
    )
    assert again.after_s == pytest.approx(50.0)


def hold(*tellings: Telling) -> tuple[list[Telling], Bucket]:
    """Let alerts come when nothing may be told."""
    now, held = empty(), []
    for each in tellings:
        step = admit(TARGET, each, now, START)
        held.append(step.telling)
        now = step.bucket
    return held, now


def test_whichever_comes_first_takes_all_others_along() -> None:
    """Itself left out; the others then need no post."""
    held, now = hold(telling(1), telling(2, "failed"), telling(3))

    step = admit(TARGET, held[2], now, at(MINUTE_S))
    after = told(step, MINUTE_S)
    other = admit(TARGET, held[0], after.bucket, at(MINUTE_S + 1))

    assert {"preempted": (1,), "failed": (2,)} == step.more
    assert {} == after.bucket.held
    assert (TellingState.SUMMED_UP, False, None) == (
        other.telling.state,
        other.posts,
        other.after_s,
    )


def test_an_alert_that_was_never_held_takes_the_held_along_too() -> None:
    """Whoever comes first."""
    _, now = hold(telling(1), telling(1))

    assert {"preempted": (1, 1)} == admit(TARGET, telling(9), now, at(MINUTE_S)).more


def test_what_is_held_while_a_post_is_under_way_is_not_taken_for_told() -> None:
    """The post had left already."""
    held, now = hold(telling(1))
    step = admit(TARGET, held[0], now, at(MINUTE_S))
    late = replace(step.bucket, held={"preempted": (1,), "failed": (7,)}, held_ever=2)

    after = posted(step, step.telling, late, at(MINUTE_S))

    assert ({"failed": (7,)}, 1) == (after.bucket.held, after.bucket.told_to)


def test_a_webhook_that_fails_is_left_alone_for_longer_each_time() -> None:
    """Up to a bound; one that asks for more time gets it."""
    now, waits = bucket(), []
    for _ in range(10):
        step = failed(telling(), now, START, after_s=0.0)
        waits.append(step.after_s)
        now = step.bucket
    asked = failed(telling(), bucket(), START, after_s=400.0)

    assert [QUIET_S_MIN, 4.0, 8.0] == waits[:3]
    assert QUIET_S_MAX == waits[-1]
    assert 400.0 == asked.after_s


def test_what_failed_is_held_and_the_next_post_tells_of_it() -> None:
    """Even when its own message never comes again."""
    step = failed(telling(1, "failed"), bucket(), START, after_s=0.0)
    quiet = admit(TARGET, telling(2), step.bucket, at(1))
    later = admit(TARGET, telling(3), quiet.bucket, at(QUIET_S_MIN))

    assert (False, 1.0) == (quiet.posts, quiet.after_s)
    assert (True, {"failed": (1,), "preempted": (2,)}) == (later.posts, later.more)
    assert "down after 1 tries, 0 posted, 2 waiting, 0 given up" == later.bucket.summary


def test_a_post_that_arrives_ends_the_trouble() -> None:
    """The next failure begins at the shortest wait."""
    broken = failed(telling(), bucket(failures=7), START, after_s=0.0)
    after = told(admit(TARGET, broken.telling, broken.bucket, at(QUIET_S_MAX)), QUIET_S_MAX)

    assert (0, None) == (after.bucket.failures, after.bucket.quiet_until)


def test_an_old_alert_is_given_up_and_still_counted_by_the_next_post() -> None:
    """A webhook that was down for days says what it missed."""
    step = failed(telling(1, "succeeded"), bucket(), at(GIVE_UP_S - 1), after_s=100.0)
    dropped = admit(TARGET, step.telling, step.bucket, at(GIVE_UP_S))
    later = admit(TARGET, telling(2), dropped.bucket, at(GIVE_UP_S + 200))

    assert (TellingState.DROPPED, False, None, 1) == (
        dropped.telling.state,
        dropped.posts,
        dropped.after_s,
        dropped.bucket.dropped,
    )
    assert {"succeeded": (1,)} == later.more


def test_an_old_alert_is_tried_once_more_where_the_webhook_may_be_tried() -> None:
    """And given up when that fails too."""
    step = failed(telling(1), bucket(), at(0), after_s=0.0)
    last = admit(TARGET, step.telling, step.bucket, at(GIVE_UP_S))
    over = failed(last.telling, last.bucket, at(GIVE_UP_S), after_s=0.0)

    assert last.posts
    assert (TellingState.DROPPED, 1, None, {"preempted": (1,)}) == (
        over.telling.state,
        over.bucket.dropped,
        over.after_s,
        over.bucket.held,
    )


def test_an_old_alert_that_only_waited_is_posted_without_a_token() -> None:
    """A limit is no reason to give anything up."""
    held = admit(TARGET, telling(), empty(), START)
    spent = replace(held.bucket, tokens=0.0, at=at(GIVE_UP_S))

    assert admit(TARGET, held.telling, spent, at(GIVE_UP_S)).posts


def test_a_clock_that_goes_back_gives_nothing() -> None:
    """And takes nothing."""
    assert 0.0 == admit(TARGET, telling(), empty(), at(-3600)).bucket.tokens


def test_documents_are_kept_for_longer_than_messages() -> None:
    """Or a late redelivery would be told again."""
    step = told(admit(TARGET, telling(), bucket(), START))

    assert at(KEPT.total_seconds()) == step.telling.expires_at == step.bucket.expires_at


# --- A storm ------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Storm:
    """A webhook and everything that is delivered to it, in any order, more than once."""

    bucket: Bucket = field(default_factory=bucket)
    tellings: dict[int, Telling] = field(default_factory=dict)
    heads: list[tuple[float, int]] = field(default_factory=list)
    counted: Counter[tuple[str, int]] = field(default_factory=Counter)

    def deliver(self, number: int, seconds: float, *, arrives: bool) -> None:
        """Deliver one alert, and let its post arrive or not."""
        found = self.tellings.get(number) or replace(
            telling(number, KINDS[number % 3]), first_at=at(seconds)
        )
        step = admit(TARGET, found, self.bucket, at(seconds))
        if step.posts and arrives:
            self.heads.append((seconds, number))
            self._count(step.more)
            step = told(step, seconds)
        elif step.posts:
            step = failed(step.telling, step.bucket, at(seconds), after_s=0.0)
        self.tellings[number], self.bucket = step.telling, step.bucket

    def _count(self, more: Held) -> None:
        self.counted.update((kind, each) for kind, numbers in more.items() for each in numbers)


KINDS = ("preempted", "recovered", "failed")
DELIVERIES = st.lists(st.tuples(st.integers(0, 9), st.floats(0, 90), st.booleans()), max_size=60)


@given(DELIVERIES)
def test_in_a_storm_every_alert_is_told_exactly_once(
    deliveries: list[tuple[int, float, bool]],
) -> None:
    """By itself or in a summary, whatever is delivered twice, held, or fails on the way."""
    storm, now = _Storm(), 0.0
    for number, pause_s, arrives in deliveries:
        now += pause_s
        storm.deliver(number, now, arrives=arrives)
    heard = set(storm.tellings)
    for _ in range(3):  # in the end everything comes again, and the webhook is well
        for number in heard:
            now += QUIET_S_MAX + 5 * MINUTE_S
            storm.deliver(number, now, arrives=True)

    # What was given up waits for the next post of all.
    waiting = [number for numbers in storm.bucket.held.values() for number in numbers]
    assert all(storm.tellings[each].state is TellingState.DROPPED for each in waiting)
    told_of = Counter([*waiting, *(number for _, number in storm.heads)])
    told_of.update(number for (_, number), times in storm.counted.items() for _ in range(times))
    assert dict.fromkeys(heard, 1) == dict(told_of)


@given(st.lists(st.tuples(st.integers(0, 99), st.floats(0, 5)), max_size=80))
def test_the_rate_holds_whatever_is_delivered(deliveries: list[tuple[int, float]]) -> None:
    """In any span of time: the burst, and what the rate adds."""
    storm, now = _Storm(), 0.0
    for number, pause_s in deliveries:
        now += pause_s
        storm.deliver(number, now, arrives=True)

    assert len(storm.heads) <= TARGET.burst + now * TARGET.posts_per_hour / 3600 + 1e-6
