"""Perform what was committed: mandates, bells, bids, deletes.

Each effect returns a mark: the change of the documents that says it was done. A mark is applied
to whatever the documents are by then, so an effect that took long cannot undo a decision.
``tried`` holds what was tried already: what failed is not tried again before it is due.
Nothing is begun after the deadline: then OutOfTime is raised, and what was done keeps its marks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableSet
from dataclasses import replace
from uuid import NAMESPACE_URL, uuid5

from shared.app import grants
from shared.app.context import App
from shared.app.gate import Wait, later, wait_after_failure, wait_before_create
from shared.core.causes import Cause
from shared.core.mandates import Place, agent_config, render, sequence_of
from shared.core.names import labels, mandate_object
from shared.core.schedule import uncreated, undeleted, unrung, unwritten
from shared.core.situation import Situation
from shared.core.slices import Bid, BidStage, Generation, Mandate, View
from shared.errors import Busy, Conflict, NoAccess, Permanent, QuotaExceeded, Retryable, Stockout
from shared.host import agent_source, startup_script
from shared.log import get
from shared.ports import BidRequest

Mark = Callable[[Situation], Situation]

_WRITES_MAX = 5
_log = get("perform")


def perform_launch(
    app: App,
    now: Situation,
    tried: MutableSet[str],  # noqa: ARG001 - a mandate that failed leaves no mark
) -> Iterator[Mark]:
    """Write mandates, then ring bells: what launch may touch."""
    for generation in unwritten(now):
        app.deadline.check()
        try:
            yield _write_mandate(app, now, generation)
        except (Retryable, Permanent) as error:
            _log.warning("%s: the mandate is not written: %s", now.slice.name, error)
    for generation in unrung(now):
        app.deadline.check()
        yield _ring(app, generation)


def perform_recovery(app: App, now: Situation, tried: MutableSet[str]) -> Iterator[Mark]:
    """Delete bids, then create bids: what recovery may touch."""
    for generation, bid in undeleted(now):
        if not _is_first(tried, f"delete {bid.name}"):
            continue
        app.deadline.check()
        try:
            _delete(app, bid)
        except (Retryable, Permanent) as error:
            _log.warning("%s is not deleted: %s", bid.name, error)
            text = "is being taken away" if isinstance(error, Busy) else str(error)
            yield _mark_wait(generation, bid, later(app, now, bid, text))
        else:
            yield _mark_bid(generation, bid, deleted_at=now.now, not_before=None, tries=0)
    for generation, bid in uncreated(now):
        if _is_first(tried, f"create {bid.name}"):
            app.deadline.check()
            yield _create(app, now, generation, bid)


def _delete(app: App, bid: Bid) -> None:
    if bid.foreign:
        app.slices.remove(bid.zone, bid.name, bid.node_uid)
    else:
        app.slices.delete(bid.zone, bid.name)


def _is_first(tried: MutableSet[str], effect: str) -> bool:
    is_first = effect not in tried
    tried.add(effect)
    return is_first


# --- Mandates and bells -------------------------------------------------------------------------


def _write_mandate(app: App, now: Situation, generation: Generation) -> Mark:
    """Write the object unless it says this already; never a lower sequence over a higher one."""
    order = generation.mandate
    name = mandate_object(now.slice.uid, generation.number, now.slice.folder)
    data = render(now.slice, generation, app.secret)
    for _ in range(_WRITES_MAX):
        stored = app.blobs.get(name)
        sequence = sequence_of(stored.data) if stored else 0
        if sequence > order.sequence:
            _log.error("%s holds sequence %d, above ours", name, sequence)
            return _mark_order(generation, _jump_over(sequence))
        if sequence < order.sequence:
            if stored is None and order.written > 0:
                return _without_mandate(name, generation)
            try:
                app.blobs.put(name, data, if_generation=stored.generation if stored else 0)
            except Conflict:
                continue
        return _mark_order(generation, lambda old: _written(old, order.sequence))
    raise Conflict(f"{name} is being written by somebody else")


def _without_mandate(name: str, generation: Generation) -> Mark:
    """Give a generation up whose mandate is missing: it is never made again.

    Nobody in it can be told anything any more. Nothing is renewed either: for whoever waits for
    the writer's end that is as good as an end that was written.
    """
    if not generation.claimed and not generation.is_condemned:
        raise Permanent(f"{name} is missing; it is never made again")
    _log.error("%s is missing; it is never made again", name)
    sequence, bid = generation.mandate.sequence, generation.claimed_bid
    told = _mark_order(generation, lambda old: _written(old, sequence))
    if bid is None or bid.verdict is View.LOST:
        return told
    given_up = _mark_bid(
        generation, bid, verdict=View.LOST, lost_cause=Cause.HOST_LOST, detail="no mandate"
    )
    return lambda now: given_up(told(now))


def _written(old: Mandate, sequence: int) -> Mandate:
    return replace(old, written=max(old.written, sequence))


def _jump_over(stored: int) -> Callable[[Mandate], Mandate]:
    """Jump over a sequence that this database does not know (it was restored)."""
    return lambda old: replace(old, sequence=max(old.sequence, stored + 1))


def _ring(app: App, generation: Generation) -> Mark:
    """Ring, best effort: agents look by themselves a little later."""
    sequence, bid = generation.mandate.sequence, generation.claimed_bid
    # The metadata of a node that others made stays as it is: its agents look often by themselves.
    is_there = bid is not None and bid.verdict is View.READY and bid.gone_at is None
    if bid is not None and is_there and not bid.foreign:
        try:
            app.slices.ring(bid.zone, bid.name, str(sequence))
        except (Retryable, Permanent) as error:
            _log.info("%s did not hear the bell: %s", bid.name, error)
    return _mark_order(generation, lambda old: replace(old, rung=max(old.rung, sequence)))


def _mark_order(generation: Generation, change: Callable[[Mandate], Mandate]) -> Mark:
    def mark(now: Situation) -> Situation:
        found = now.generation(generation.number)
        if found is None:
            return now
        return now.with_generation(replace(found, mandate=change(found.mandate)))

    return mark


# --- Bids ---------------------------------------------------------------------------------------


def _create(app: App, now: Situation, generation: Generation, bid: Bid) -> Mark:
    """Ask for a bid, if nobody says no.  What the Store raises says nothing about the bid."""
    try:
        wait = _admit(app, now, generation, bid)
    except (Stockout, NoAccess) as error:
        return _not_there(generation, bid, error)
    return _ask(app, now, generation, bid) if wait is None else _mark_wait(generation, bid, wait)


def _admit(app: App, now: Situation, generation: Generation, bid: Bid) -> Wait | None:
    """Ask all who may say no, right before the request; the one that is asked last takes a place.

    Raises Stockout and NoAccess where grants say so, and Unavailable for the Store: like any
    other look at it that fails, that is tried again with the message.
    """
    try:
        grants.admit(app, now, bid)
    except QuotaExceeded as error:  # of ours: nobody else is stopped by it
        return later(app, now, bid, str(error), grows=False)
    return wait_before_create(app, now, generation, bid)


def _ask(app: App, now: Situation, generation: Generation, bid: Bid) -> Mark:
    try:
        operation = app.slices.create(_request(app, now, generation, bid))
    except (Stockout, Permanent) as error:
        return _not_there(generation, bid, error)
    except Retryable as error:
        _log.warning("%s is not created: %s", bid.name, error)
        return _mark_wait(generation, bid, wait_after_failure(app, now, bid, error))
    asked = {"stage": BidStage.REQUESTED, "operation": operation, "requested_at": now.now}
    return _mark_bid(generation, bid, **asked, detail="", in_line=False, not_before=None, tries=0)


def _not_there(generation: Generation, bid: Bid, error: Stockout | Permanent) -> Mark:
    """Give a bid up: its zone has nothing now, or refuses it for good."""
    refused = isinstance(error, Permanent)
    if refused:
        _log.error("%s was refused: %s", bid.name, error)
    return _mark_bid(generation, bid, verdict=View.LOST, refused=refused, detail=str(error))


def _request(app: App, now: Situation, generation: Generation, bid: Bid) -> BidRequest:
    place = Place(app.project, app.bucket, app.reports_topic)
    return BidRequest(
        name=bid.name,
        zone=bid.zone,
        accelerator_type=bid.accelerator_type,
        runtime_version=bid.runtime_version,
        tier=bid.tier,
        labels=labels(app.installation, now.slice.uid, generation.number, bid.id),
        metadata={
            "startup-script": startup_script(),
            "tpuctl-agent": agent_source(),
            "tpuctl-config": agent_config(now.slice, generation, bid, place, app.policy),
            "tpuctl-bell": "0",
        },
        request_id=str(uuid5(NAMESPACE_URL, bid.name)),
        service_account=now.slice.worker_account,
    )


def _mark_wait(generation: Generation, bid: Bid, wait: Wait) -> Mark:
    """Leave a bid as it is, with the reason; what became of it meanwhile counts more."""

    def mark(now: Situation) -> Situation:
        found = now.generation(generation.number)
        newest = next((each for each in found.bids if each.id == bid.id), None) if found else None
        if found is None or newest is None:
            return now
        if (newest.stage, newest.is_condemned) != (bid.stage, bid.is_condemned):
            return now
        waiting = replace(
            newest,
            detail=wait.text,
            in_line=wait.until is None,
            not_before=wait.until,
            tries=wait.tries,
        )
        return now.with_bid(found, waiting)

    return mark


def _mark_bid(generation: Generation, bid: Bid, **changes: object) -> Mark:
    def mark(now: Situation) -> Situation:
        found = now.generation(generation.number)
        newest = next((each for each in found.bids if each.id == bid.id), None) if found else None
        if found is None or newest is None:
            return now
        if "stage" in changes and newest.stage is not BidStage.INTENDED:
            kept = {key: value for key, value in changes.items() if key != "stage"}
            return now.with_bid(found, replace(newest, **kept))  # type: ignore[arg-type]
        return now.with_bid(found, replace(newest, **changes))  # type: ignore[arg-type]

    return mark
