"""Users' orders about slices, as changes of what is known: make again, restart, adopt, let go.

Each refusal is one sentence for the person who asked (docs/protocol.md §7).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from shared.core.catalog import Catalog
from shared.core.causes import Cause
from shared.core.cloud import CloudNode
from shared.core.identity import Bounds
from shared.core.letting_go import condemn
from shared.core.names import LABEL_INSTALLATION, parse_cloud_name
from shared.core.ordering import Refused
from shared.core.reacting import close_attempt, resumed
from shared.core.restarting import begin_restart
from shared.core.situation import Situation
from shared.core.slices import Bid, BidStage, Generation, Kind, Mandate, Slice
from shared.core.stages import ON_A_SLICE, Event, Stage
from shared.errors import SpecError

# What a node may be in when it is adopted: what was lost, or is going, is not worth it.
_ALIVE: Final = frozenset({"READY", "CREATING", "STARTING", "RESTARTING", "REPAIRING"})


@dataclass(frozen=True, slots=True)
class Adoption:
    """What its owner says of a node that is to be adopted."""

    name: str
    uid: str
    owner: str
    disposable: bool
    bounds: Bounds


def recreate(now: Situation, *, by: str) -> Situation:
    """Delete what a slice has, and ask for its next generation.  Raises Refused."""
    slice_ = now.slice
    _check_there(slice_)
    if not slice_.can_be_made:
        raise Refused(f"slice {slice_.name} was adopted: it is never deleted or made again")
    if now.stands_at(Stage.STOPPING):
        raise Refused(f"slice {slice_.name} is busy: job {now.served.number} is being stopped")
    is_idle = not now.is_serving or now.served.is_over
    if slice_.kind is Kind.TEMPORARY and is_idle:
        raise Refused(f"slice {slice_.name} goes with its job, and that is over: resume the job")
    now = now.with_slice(asked=slice_.generation + 1, next_bid_at=None)
    now = now.note("SliceRecreated", f"{slice_.name} is made again by {by}")
    current = slice_.current
    return now if current is None else _give_up(now, current, by)


def _give_up(now: Situation, current: Generation, by: str) -> Situation:
    """Let what runs there save its state; no budget pays for what its owner wants."""
    wait_s = now.policy.notice_s if current.claimed else 0.0
    now = condemn(now, current, "recreated", delete_in_s=wait_s)
    if not now.stands_at(*ON_A_SLICE):
        return now
    now = resumed(close_attempt(now, Cause.DELETED)).with_job(cause=Cause.DELETED)
    return now.advance(Event.SLICE_LOST, f"its slice is made again by {by}", why=Cause.DELETED)


def restart(now: Situation, *, by: str) -> Situation:
    """Let every host of a slice reboot; its job goes on after that.  Raises Refused."""
    slice_ = now.slice
    _check_there(slice_)
    current = slice_.current
    bid = current.claimed_bid if current else None
    if current is None or bid is None or len(now.hosts_of(current, bid.id)) < bid.hosts:
        raise Refused(f"slice {slice_.name} is not up: {slice_.summary or 'nothing is there yet'}")
    if now.stands_at(Stage.STOPPING):
        raise Refused(f"slice {slice_.name} is busy: job {now.served.number} is being stopped")
    if current.restart_at is not None:
        raise Refused(f"slice {slice_.name} is being restarted already")
    return begin_restart(now, current, f"restarted by {by}")


def adopted(node: CloudNode, wish: Adoption, catalog: Catalog, at: datetime) -> Slice:
    """Make the slice of a node that others made.  Raises Refused."""
    _check_adoptable(node, wish.bounds)
    try:
        accelerator = catalog.accelerator(node.accelerator_type)
    except SpecError as error:
        raise Refused(f"TPU {node.name} is a {node.accelerator_type}: {error.reason}") from None
    bid = Bid(
        id="0",
        name=node.name,
        zone=node.zone,
        accelerator_type=accelerator.accelerator_type,
        tier=node.tier,
        runtime_version=node.runtime_version,
        hosts=accelerator.hosts,
        intended_at=at,
        stage=BidStage.PRESENT,
        node_uid=node.uid,
        state=node.state,
        foreign=True,
    )
    generation = Generation(1, "adopted", at, Mandate(0, "idle", "", at), (bid,))
    return Slice(
        name=wish.name,
        uid=wish.uid,
        owner=wish.owner,
        kind=Kind.ADOPTED,
        accelerator_type=accelerator.accelerator_type,
        zones=(node.zone,),
        tier=node.tier,
        runtime_version=node.runtime_version,
        hosts=accelerator.hosts,
        created_at=at,
        generation=1,
        generations=(generation,),
        worker_account=wish.bounds.worker_account,
        folder=wish.bounds.folder,
        disposable=wish.disposable,
    )


def _check_adoptable(node: CloudNode, bounds: Bounds) -> None:
    where = f"TPU {node.name} in {node.zone}"
    parsed = parse_cloud_name(node.name)
    installation = parsed.installation if parsed else node.labels.get(LABEL_INSTALLATION)
    if installation is not None:
        raise Refused(f"{where} belongs to the tpuctl installation {installation} already")
    if node.state not in _ALIVE:
        raise Refused(f"{where} is {node.state}: only what runs can be adopted")
    if bounds.worker_account and node.service_account != bounds.worker_account:
        raise Refused(
            f"{where} runs as {node.service_account or 'the default account'}, jobs of your team"
            f" run as {bounds.worker_account}"
        )


def _check_there(slice_: Slice) -> None:
    if not slice_.live:
        raise Refused(f"slice {slice_.name} is gone already")
    if not slice_.wanted:
        raise Refused(f"slice {slice_.name} is being deleted")
