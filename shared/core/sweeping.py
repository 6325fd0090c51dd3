"""Say of a thing in the cloud whether it is an orphan: ours, and wanted by nobody.

The one judgement of the tick, of recovery before it deletes, and of ``tpuctl sweep``. Whatever
is in doubt is kept: an orphan has our name, our labels, and no slice that may still deal with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.core.cloud import CloudRequest
from shared.core.names import LABEL_INSTALLATION, LABEL_SLICE, CloudName, parse_cloud_name
from shared.core.slices import Bid, Kind, Slice

STRANGE_LABELS = "it has our name and not our labels"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is held of one queued resource, and why."""

    is_orphan: bool
    why: str


@dataclass(frozen=True, slots=True)
class Holders:
    """Slices by the names of the bids that they still deal with, and by their uid."""

    bids: Mapping[str, tuple[Slice, Bid]]
    owners: Mapping[str, Sequence[Slice]]

    @classmethod
    def among(cls, slices: Sequence[Slice]) -> Holders:
        """Sort slices by what they hold."""
        bids = {
            bid.name: (slice_, bid)
            for slice_ in slices
            for generation in slice_.generations
            for bid in generation.bids
            if bid.gone_at is None
        }
        owners: dict[str, list[Slice]] = {}
        for slice_ in slices:
            owners.setdefault(slice_.uid, []).append(slice_)
        return cls(bids, owners)


def parse_own_name(name: str, installation: str) -> CloudName | None:
    """Read a name in the cloud; None for one that is not of this installation."""
    parsed = parse_cloud_name(name)
    return parsed if parsed is not None and parsed.installation == installation else None


def judge(request: CloudRequest, installation: str, holders: Holders) -> Judgement:
    """Judge a queued resource by slices that were read after it was seen."""
    held = holders.bids.get(request.name)
    if held is not None:
        return _kept(_held(*held))
    parsed = parse_cloud_name(request.name)
    if parsed is None:
        return _kept("its name is none of ours")
    if parsed.installation != installation:
        return _kept(f"it is of the installation {parsed.installation}")
    labels = (request.labels.get(LABEL_INSTALLATION), request.labels.get(LABEL_SLICE))
    if labels != (installation, parsed.slice_uid):
        return _kept(STRANGE_LABELS)
    return _unheld(parsed, holders.owners.get(parsed.slice_uid, ()))


def _held(slice_: Slice, bid: Bid) -> str:
    """Say what a slice has to do with its bid."""
    if slice_.kind is Kind.ADOPTED:
        return f"it was adopted as slice {slice_.name}"
    if bid.is_condemned:
        return f"slice {slice_.name} is letting it go"
    return f"slice {slice_.name} wants it"


def _unheld(name: CloudName, owners: Sequence[Slice]) -> Judgement:
    """Judge what is surely ours, and no slice's open bid."""
    for owner in owners:
        if name.generation > owner.generation:
            # The documents may be those of a moment before it was asked for.
            return _kept(f"slice {owner.name} has no generation {name.generation} yet")
    return Judgement(is_orphan=True, why=_unwanted(name, owners))


def _unwanted(name: CloudName, owners: Sequence[Slice]) -> str:
    """Say why an orphan is one."""
    if not owners:
        return "no slice wants it"
    owner = owners[0]
    if not owner.live:
        return f"slice {owner.name} is over"
    if name.generation < owner.generation:
        return f"generation {name.generation} of slice {owner.name} is over"
    return f"slice {owner.name} gave this bid up"


def _kept(why: str) -> Judgement:
    return Judgement(is_orphan=False, why=why)
