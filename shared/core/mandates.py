"""What stands in a mandate's object and in a node's metadata: pure functions of the documents.

Same sequence, same bytes: whoever writes a mandate again writes what is there already.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from math import inf

from shared.core.names import mandate_object, spec_object
from shared.core.policy import Policy
from shared.core.slices import Bid, Generation, Slice
from shared.errors import NotAuthorized

MANDATE_VERSION = 1
CONFIG_VERSION = 1
# No bell rings on a node that others made: its agents look by themselves.
FOREIGN_POLL_S = 5.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where agents find things: the project, its bucket and the topic of their reports."""

    project: str
    bucket: str
    topic: str


def bid_token(secret: bytes, slice_uid: str, generation: int, bid: str) -> str:
    """Sign who a host is: what it must show before it has an attempt.  Raises NotAuthorized."""
    return _token(secret, "bid", slice_uid, str(generation), bid)


def attempt_token(secret: bytes, job: str, attempt: int) -> str:
    """Sign what a host runs: what a snapshot about an attempt must show."""
    return _token(secret, "attempt", job, str(attempt))


def render(slice_: Slice, generation: Generation, secret: bytes) -> bytes:
    """Write the mandate of a generation as its object's bytes."""
    order = generation.mandate
    has_spec, is_start = order.action in {"prepare", "start"}, order.action == "start"
    spec_name = spec_object(order.spec_sha256, slice_.folder)
    tokens = {
        "bids": {bid: bid_token(secret, slice_.uid, generation.number, bid) for bid in order.bids},
        "attempt": attempt_token(secret, order.job, order.attempt) if is_start else None,
    }
    fields = {
        "version": MANDATE_VERSION,
        "slice": slice_.name,
        "slice_uid": slice_.uid,
        "generation": generation.number,
        "sequence": order.sequence,
        "action": order.action,
        "reason": order.reason,
        "job": order.job or None,
        "attempt": order.attempt if is_start else None,
        "spec": {"object": spec_name, "sha256": order.spec_sha256} if has_spec else None,
        "bid": order.bid,
        "boots": dict(order.boots),
        "run": dict(order.run) if is_start else None,
        "lease_s": order.lease_s,
        "grace_s": order.grace_s,
        "restart": dict(order.restart),
        "tokens": tokens,
    }
    return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()


def sequence_of(data: bytes) -> int:
    """Return the sequence of a stored mandate; 0 when it is not one of ours."""
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        return 0
    sequence = fields.get("sequence") if isinstance(fields, dict) else None
    return sequence if isinstance(sequence, int) else 0


def agent_config(
    slice_: Slice, generation: Generation, bid: Bid, place: Place, policy: Policy
) -> str:
    """Write the metadata attribute ``tpuctl-config``: who a bid's hosts are."""
    fields: Mapping[str, object] = {
        "version": CONFIG_VERSION,
        "project": place.project,
        "bucket": place.bucket,
        "topic": place.topic,
        "folder": slice_.folder,
        "mandate": mandate_object(slice_.uid, generation.number, slice_.folder),
        "slice": slice_.name,
        "slice_uid": slice_.uid,
        "generation": generation.number,
        "bid": bid.id,
        "node": bid.name,
        "hosts": bid.hosts,
        "poll_fast_s": policy.poll_fast_s,
        "poll_slow_s": min(policy.poll_slow_s, FOREIGN_POLL_S if bid.foreign else inf),
        "snapshot_s": policy.snapshot_s,
        "progress_s": policy.progress_s,
        "log_s": policy.log_s,
        "supervise_s": policy.supervise_s,
    }
    return json.dumps(fields, sort_keys=True)


def _token(secret: bytes, *words: str) -> str:
    if not secret:
        raise NotAuthorized("this process has no access to the secret that signs tokens")
    # A separator that no word contains: no two lists of words sign alike.
    return hmac.new(secret, "\0".join(words).encode(), sha256).hexdigest()
