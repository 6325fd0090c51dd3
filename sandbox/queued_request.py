"""A request for a queued resource: what it may say, and what it becomes when it is admitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox import admission
from sandbox.errors import JsonObject, already_exists, bad_field
from sandbox.resources import QueuedResource, location_of, short, zone_of

if TYPE_CHECKING:
    from sandbox.ledger import Ledger
    from sandbox.resources import NodeSpec, NodeWish
    from shared.core.catalog import Tier

# Dynamic Workload Scheduler: at most a week, and only where it is offered (v6e and v5e).
FLEX_START_S_MAX = 7 * 86_400
FLEX_START_OFFERS = frozenset(
    {
        ("v6e", "asia-northeast1-b"),
        ("v6e", "us-east5-a"),
        ("v5e", "us-west4-a"),
        ("v5e", "us-central1-a"),
    }
)


@dataclass(frozen=True, slots=True)
class QueuedRequest:
    """A queued resource as a request describes it, unchecked.

    It may be served from ``valid_after`` until ``valid_until``, as times or in seconds from the
    call; its nodes run for ``run_for_s`` at most.
    """

    wishes: tuple[NodeWish, ...]
    tier: Tier
    body: JsonObject
    valid_for_s: float | None = None
    valid_until: float | None = None
    valid_after_s: float | None = None
    valid_after: float | None = None
    run_for_s: float | None = None
    is_flex_start: bool = False


def admit(ledger: Ledger, name: str, request: QueuedRequest) -> QueuedResource:
    """Check a request against all that Google checks at once.  Raises ApiError."""
    location = location_of(name)
    admission.check_location(ledger, name)
    admission.check_id("queued_resource_id", short(name))
    if name in ledger.queued or name in ledger.pending:
        raise already_exists(name)
    if not request.wishes:
        raise bad_field(
            "tpu.node_spec", "Invalid value for field 'tpu.node_spec': at least one is required."
        )
    specs: tuple[NodeSpec, ...] = tuple(
        admission.admit_node(ledger, location, wish, request.tier) for wish in request.wishes
    )
    _check_flex_start(ledger, name, request, specs)
    opens, closes = _window(ledger, request)
    admission.check_names_free(ledger, location, specs)
    admission.check_quota(ledger, location, specs)
    return QueuedResource(
        name,
        specs,
        request.body,
        created_at=ledger.now,
        valid_after=opens,
        valid_until=closes,
        run_for_s=request.run_for_s,
    )


def _window(ledger: Ledger, request: QueuedRequest) -> tuple[float | None, float | None]:
    """Return when the request may be served.  Refuses a window that is never open."""
    opens, closes = request.valid_after, request.valid_until
    if request.valid_after_s is not None:
        opens = ledger.now + request.valid_after_s / ledger.settings.speed
    if request.valid_for_s is not None:
        closes = ledger.now + request.valid_for_s / ledger.settings.speed
    if closes is not None and closes <= max(ledger.now, opens or 0.0):
        raise bad_field(
            "queueing_policy", "Invalid queueing_policy: the time to wait ends before it begins."
        )
    return opens, closes


def _check_flex_start(
    ledger: Ledger, name: str, request: QueuedRequest, specs: tuple[NodeSpec, ...]
) -> None:
    if not request.is_flex_start:
        if request.run_for_s is not None:
            raise bad_field("run_duration", "run_duration is only supported with FLEX_START.")
        return
    if request.run_for_s is None or not 0 < request.run_for_s <= FLEX_START_S_MAX:
        raise bad_field(
            "run_duration.max_run_duration",
            "FLEX_START needs run_duration.max_run_duration of at most 7 days.",
        )
    for spec in specs:
        generation = ledger.catalog.accelerators[spec.accelerator_type].generation
        if (generation, zone_of(name)) not in FLEX_START_OFFERS:
            raise bad_field(
                "provisioning_model",
                f"FLEX_START is not offered for {spec.accelerator_type} in {zone_of(name)}.",
            )
