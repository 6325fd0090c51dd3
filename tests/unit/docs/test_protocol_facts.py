"""The protocol page says when a bid is lost and when a writer is dead: a case a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from shared.app.audit import _mark
from shared.app.perform import _without_mandate
from shared.core import ordering
from shared.core.audit import classify, parse
from shared.core.causes import Cause
from shared.core.codec import from_fields
from shared.core.decide import decide
from shared.core.instances import Instance
from shared.core.observe import absent, never_came, seen
from shared.core.situation import Situation
from shared.core.slices import Bid, BidStage, View
from shared.core.stages import Stage
from tests.audit_entries import HOST_ERROR, PREEMPTED, PROJECT, TERMINATED, as_message, vm_entry
from tests.unit.core.facts import request
from tests.unit.core.situations import (
    UID,
    bid_of,
    booted,
    claimed,
    granted,
    heard,
    later,
    losing,
    newest,
    obeyed,
    running,
    settled,
    speaking,
    stopping,
    submitted,
    with_bid,
)
from tests.unit.docs.tables import page, rows, words

PAGE = page("protocol.md")
SIGNS = {row[0]: row[1] for row in rows(PAGE, "sign", "cause")}
PROOFS = {row[0]: row[1] for row in rows(PAGE, "proof", "recorded as")}
MINUTE = 60.0

# --- Lost ---------------------------------------------------------------------------------------


def shown(state: str, node: str = "", **how: object) -> Callable[[], Bid]:
    """Show the bid of a running job in some state."""
    initiator, tier = str(how.get("initiator", "")), str(how.get("tier", "spot"))

    def take() -> Bid:
        now = running()
        bid = replace(bid_of(now), tier=tier)
        return seen(bid, request(state, node, initiator=initiator), now.now)

    return take


def failed_early() -> Bid:
    """Let a request fail that was never ready."""
    now = settled(submitted())
    return seen(bid_of(now), request("FAILED"), now.now)


def not_found() -> Bid:
    """Let a direct GET of a bid that was seen say 404."""
    now = running()
    return absent(bid_of(now), now.now)


def operation_failed() -> Bid:
    """Let the operation that should have created a bid fail."""
    now = settled(submitted())
    return never_came(replace(bid_of(now), stage=BidStage.REQUESTED), "no such thing", now.now)


def never_seen() -> Bid:
    """Let a request that was accepted not be there, twice."""
    now = settled(submitted())
    bid = absent(replace(bid_of(now), stage=BidStage.REQUESTED), now.now)
    assert View.PENDING is bid.verdict
    bid = absent(bid, now.later(10 * MINUTE))
    return bid_of(decide(later(now.with_bid(newest(now), bid), 10 * MINUTE)), first=True)


def noticed(notice: str) -> Callable[[], Bid]:
    """Let a host of a running job be told that it will go."""
    return lambda: bid_of_generation(decide(speaking(running(), notice=notice)), 2)


def logged(method: str) -> Callable[[], Bid]:
    """Let the audit log say of a VM of a running job what happened to it."""

    def take() -> Bid:
        now = running()
        entry = vm_entry(method, "t1v-n-1-w-0", now.now, zone=bid_of(now).zone)
        word = classify(parse(as_message(entry).data), PROJECT)
        assert word is not None, "the method is known"
        host = {"slice": "hi-1", "slice_uid": UID, "generation": 2, "bid": "0", "host": 0}
        instance = from_fields(Instance, {**host, "summary": "", "expires_at": now.now})
        return bid_of_generation(decide(_mark(instance, word)(now)), 2)

    return take


def slow_boot() -> Bid:
    """Let one host of two boot, and the other not."""
    now = granted(settled(submitted()))
    now = heard(now, booted(now).hosts[0])
    assert View.READY is bid_of(decide(later(now, 14 * MINUTE))).verdict
    return bid_of(decide(later(now, 15 * MINUTE)), first=True)


def silent(hosts: int, minutes: int) -> Callable[[], Bid]:
    """Let so many of two hosts be silent for so long, and for a little less first."""

    def take() -> Bid:
        now = replace(running(), can_judge_silence=True)
        early = speak_again(later(now, minutes * MINUTE - 30), 2 - hosts)
        assert View.READY is bid_of_generation(decide(early), 2).verdict
        return bid_of_generation(decide(speak_again(later(now, minutes * MINUTE), 2 - hosts)), 2)

    return take


def late_preparation() -> Bid:
    """Let one host say nothing from its boot to the end of the time for preparing."""
    now = claimed(submitted())
    late = later(now, now.policy.prepare_s + now.spec.setup_timeout_s)
    return bid_of_generation(decide(speaking(late, 0)), 1)


def without_mandate() -> Bid:
    """Let the mandate of a running job be missing when the next one is to be written."""
    now = running()
    return bid_of_generation(_without_mandate("g2.json", newest(now))(now), 2)


def speak_again(now: Situation, hosts: int) -> Situation:
    """Let the first hosts report as ever."""
    for index in range(hosts):
        now = speaking(now, index)
    return now


def bid_of_generation(now: Situation, number: int) -> Bid:
    """Return the bid of a generation."""
    generation = now.generation(number)
    assert generation is not None, "the generation is kept"
    return generation.bids[0]


LOST: Mapping[str, Callable[[], Bid]] = {
    "node `PREEMPTED`": shown("ACTIVE", "PREEMPTED"),
    "node `TERMINATED` or `STOPPED`, on spot": shown("ACTIVE", "TERMINATED"),
    "node `TERMINATED` or `STOPPED`, not on spot": shown("ACTIVE", "STOPPED", tier="on-demand"),
    "queued resource `SUSPENDED` or `SUSPENDING` by the service": shown("SUSPENDING"),
    "queued resource `SUSPENDED` or `SUSPENDING` by a user": shown("SUSPENDED", initiator="USER"),
    "queued resource `DELETING`, and we did not ask for it": shown("DELETING"),
    "queued resource `FAILED` before it was ready": failed_early,
    "queued resource `FAILED` after it was ready": shown("FAILED"),
    "a direct GET says 404 for a name confirmed before": not_found,
    "the operation of the create failed": operation_failed,
    "a name never seen, in two direct GETs at least 10 min apart": never_seen,
    "an authenticated snapshot with the notice `preempted`": noticed("preempted"),
    "an authenticated snapshot with the notice `maintenance`": noticed("maintenance"),
    **{
        f"an entry `{method}` of the audit log, not over 10 min old": logged(method)
        for method in (PREEMPTED, HOST_ERROR, TERMINATED)
    },
    "not all hosts booted 15 min after the node was ready": slow_boot,
    "a host silent for 5 min while others report": silent(1, 5),
    "a whole slice, or an only host, silent for 15 min": silent(2, 15),
    "a host silent for 5 min, and not prepared when the time for that is over": late_preparation,
    "the mandate of a claimed bid is missing": without_mandate,
}


def test_every_sign_has_a_case() -> None:
    """A row that nobody tries is a claim that nobody keeps."""
    assert list(SIGNS) == list(LOST)


@pytest.mark.parametrize("sign", LOST)
def test_a_bid_is_lost_by_the_cause_of_its_sign(sign: str) -> None:
    """One case for each row."""
    bid = LOST[sign]()

    assert View.LOST is bid.verdict
    assert words(SIGNS[sign]) == [str(bid.lost_cause)]


# --- Dead ---------------------------------------------------------------------------------------


def acknowledged() -> Situation:
    """Let all hosts obey the end."""
    return obeyed(stopping())


def stopped() -> Situation:
    """Look after the end was written, and see the node gone."""
    now = later(stopping())
    return with_bid(now, **_changes(seen(bid_of(now), request("SUSPENDING", "PREEMPTED"), now.now)))


def absent_twice() -> Situation:
    """Look twice after the end was written, half a minute apart."""
    now = later(stopping())
    now = decide(with_bid(now, **_changes(absent(bid_of(now), now.now))))
    now = later(now, 30.0)
    return with_bid(now, **_changes(absent(bid_of(now), now.now)))


def lease_over() -> Situation:
    """Wait for the lease and a minute more."""
    now = stopping()
    writer = now.writer
    assert writer is not None, "the job is being stopped"
    assert writer.end_written_at is not None, "its end was seen written"
    return replace(now, now=writer.end_written_at + (now.later(writer.lease_s + 60) - now.now))


def presumed() -> Situation:
    """Resume a lost job with the user's word that nothing of it lives."""
    now = settled(losing(running(), Cause.DELETED))
    now = now.with_job(stage=Stage.FAILED)
    order = ordering.Again(2, None, None, presume_dead=True, is_rerun=False)
    return ordering.again(now, order)


def _changes(bid: Bid) -> dict[str, object]:
    return {
        name: getattr(bid, name)
        for name in ("stage", "stopped_at", "absent_at", "absent_again_at", "verdict", "lost_cause")
    }


DEAD: Mapping[str, Callable[[], Situation]] = {
    "acknowledged": acknowledged,
    "stopped": stopped,
    "absent": absent_twice,
    "lease": lease_over,
    "presumed": presumed,
}


def test_every_proof_has_a_case() -> None:
    """The words are those that are stored."""
    assert list(DEAD) == [words(word)[0] for word in PROOFS.values()]


@pytest.mark.parametrize("word", DEAD)
def test_a_writer_is_dead_by_the_proof_of_its_row(word: str) -> None:
    """One case for each row; before it nothing is proved."""
    assert not stopping().served.writer_is_dead

    writer = decide(DEAD[word]()).served.writer

    assert writer is not None
    assert word == writer.dead
