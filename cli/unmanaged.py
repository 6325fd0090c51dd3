"""TPUs that are in the cloud and are no slice's: what could be adopted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from cli.errors import CliError
from cli.installation import Installation
from cli.sweeping import zones_to_look_in
from shared.ports import Document

_RIGHTS: Final = "roles/tpu.viewer for your own account: this looks as you, not as the functions"


def read_unmanaged(
    installation: Installation, slices: Sequence[Document], zones: Sequence[str]
) -> list[dict[str, Any]]:
    """List zones as whoever is logged in; without names, those in which anything of ours ever was.

    Raises CliError where no zone could be listed.
    """
    looked_in = zones_to_look_in(installation, zones)
    if not looked_in:
        raise CliError(
            "no slice was ever asked for here: say where to look",
            next_step="tpuctl slice ls --all --zone ZONE",
        )
    listing = installation.slices.list(looked_in)
    if not listing.complete:
        raise CliError(f"no zone was listed: {listing.problems[0]}", next_step=_RIGHTS)
    ours = {
        (bid["zone"], bid["name"])
        for document in slices
        for generation in _list(document.fields["generations"])
        for bid in generation["bids"]
        if bid["foreign"]
    }
    return [
        {
            "name": other.name,
            "zone": other.zone,
            "type": other.nodes[0].accelerator_type,
            "tier": other.nodes[0].tier,
            "state": other.nodes[0].state,
            "created_at": other.nodes[0].created_at,
        }
        for other in listing.others
        if (other.zone, other.name) not in ours
    ]


def _list(value: Any) -> list[Any]:
    return list(value)
