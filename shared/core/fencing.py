"""When a writer is known to be dead (docs/protocol.md §3).

A writer is the last attempt that was allowed to start. It stays alive for us until one of five
proofs; only then may another one start, on whatever slice.
"""

from __future__ import annotations

from shared.core.model import Writer
from shared.core.situation import Situation
from shared.core.slices import Bid, Generation


def fence(now: Situation) -> Situation:
    """Look for a proof that the writer is dead."""
    writer = now.writer
    if writer is None or writer.end_sequence is None:
        return now
    generation = now.generation(writer.generation)
    bids = generation.bids if generation else ()
    bid = next((each for each in bids if each.id == writer.bid), None)
    if generation is None or bid is None:
        return now  # over, or read before the job: what is decided then cannot be committed
    proof = _proof(now, generation, bid, writer)
    if proof:
        text = f"attempt {writer.attempt} writes no more ({proof})"
        return now.with_writer(dead=proof).note("WriterDead", text)
    return _note_times(now, generation, bid, writer)


def _proof(now: Situation, generation: Generation, bid: Bid, writer: Writer) -> str:
    assert writer.end_sequence is not None, "asked only after the end was decided"
    hosts = now.hosts_of(generation, writer.bid)
    if len(hosts) >= bid.hosts and all(host.acknowledges(writer.end_sequence) for host in hosts):
        return "acknowledged"
    written_at = writer.end_written_at
    if written_at is None:
        return ""
    if bid.stopped_at is not None and bid.stopped_at > written_at:
        return "stopped"
    if writer.absent_at is not None and bid.absent_at is not None:
        assert bid.absent_again_at is not None, "the last look is never older than the first"
        # Seen again in between, it is missing only since then.
        since = max(writer.absent_at, bid.absent_at)
        apart_s = (bid.absent_again_at - since).total_seconds()
        if apart_s >= now.policy.absence_s:
            return "absent"
    if now.since(written_at) >= writer.lease_s + now.policy.lease_margin_s:
        return "lease"
    return ""


def _note_times(now: Situation, generation: Generation, bid: Bid, writer: Writer) -> Situation:
    """Remember when the end was first seen written, and the first absence after it."""
    assert writer.end_sequence is not None, "asked only after the end was decided"
    if writer.end_written_at is None:
        if generation.mandate.written >= writer.end_sequence:
            return now.with_writer(end_written_at=now.now)
        return now
    look = bid.absent_again_at
    if writer.absent_at is None and look is not None and look > writer.end_written_at:
        return now.with_writer(absent_at=look)
    return now
