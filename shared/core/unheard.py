"""Whose silence is about to be held against a slice: before that, somebody listens again."""

from __future__ import annotations

from collections.abc import Iterator

from shared.core.situation import Situation
from shared.core.slices import Bid, Generation, View


def unheard(now: Situation) -> frozenset[tuple[str, int]]:
    """Name the hosts of the current generation that were silent for too long: bid, number."""
    current = now.slice.current
    if current is None:
        return frozenset()
    bids = [bid for bid in current.bids if not bid.is_condemned and bid.verdict is not View.LOST]
    return frozenset((bid.id, host) for bid in bids for host in _unheard_of(now, current, bid))


def _unheard_of(now: Situation, current: Generation, bid: Bid) -> Iterator[int]:
    """Who stopped speaking; who never did, once all should have booted.

    A bid that nobody claimed yet may be claimed, and judged, in one decision.
    """
    hosts = now.hosts_of(current, bid.id)
    if current.claimed in {"", bid.id}:
        for host in hosts:
            heard_at = host.received_at
            if heard_at is None or now.since(heard_at) >= now.policy.silent_host_s:
                yield host.host
    if bid.booted_at is None and bid.ready_at is not None:
        is_late = now.since(bid.ready_at) >= now.policy.boot_s
        spoke = {host.host for host in hosts}
        yield from (host for host in range(bid.hosts) if is_late and host not in spoke)
