"""Look for orphans as whoever is logged in, and wait until they are gone.

The control plane deletes them with accounts of its own; what is read here is only shown.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cli.errors import USAGE, CliError
from cli.installation import Installation
from cli.near import near_names
from shared.app.orphans import Judged, Surveyor
from shared.app.stored import live_slices
from shared.app.zones import known_zones, zones_of

# A tick, a delivery, and the beginning of a delete: the end of one takes minutes in the cloud.
WAIT_S: Final = 150.0
_LOOK_AGAIN_S: Final = 0.1
_PAID_LOOK_S: Final = 2.0
DELETING: Final = "DELETING"
GONE: Final = "deleted"
BEGUN: Final = "is being deleted"
STILL_THERE: Final = "still there"


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of an orphan; ``why`` is the word for it."""

    judged: Judged
    why: str


def surveyor(installation: Installation) -> Surveyor:
    """Open what judges, by the user's own account."""
    return Surveyor(installation.slices, installation.store, installation.settings.installation)


def zones_to_look_in(installation: Installation, named: Sequence[str]) -> list[str]:
    """Name the zones of slices, those that the tick remembers, the settings', and ``named``.

    Raises CliError for a name that is no zone's.
    """
    check_zones(named)
    cloud = installation.settings.cloud
    live = {zone for slice_ in live_slices(installation.store) for zone in zones_of(slice_)}
    configured = cloud.zones if cloud else ()
    return sorted({*live, *known_zones(installation.store), *configured, *named})


def wait_for(installation: Installation, orphans: Sequence[Judged]) -> list[Fate]:
    """Wait until each orphan is gone, going, or none any more; say what became of each."""
    eyes, deadline, pause = surveyor(installation), time.monotonic() + WAIT_S, threading.Event()
    every_s = _LOOK_AGAIN_S if installation.settings.cloud is None else _PAID_LOOK_S
    fates: dict[str, Fate] = {}
    while True:
        for judged in orphans:
            if judged.request.name not in fates:
                fates.update(_fate(eyes, judged))
        if len(fates) == len(orphans) or time.monotonic() >= deadline:
            break
        pause.wait(every_s)
    return [fates.get(each.request.name) or Fate(each, STILL_THERE) for each in orphans]


def as_fields(judged: Judged) -> dict[str, Any]:
    """Show one for programs."""
    request = judged.request
    nodes = [node.created_at for node in request.nodes if node.created_at is not None]
    return {
        "name": request.name,
        "zone": request.zone,
        "state": request.state,
        "created_at": min(nodes, default=None),
        "why": judged.judgement.why,
    }


def _fate(eyes: Surveyor, judged: Judged) -> Mapping[str, Fate]:
    """Look at an orphan once more; empty while nothing has become of it."""
    name = judged.request.name
    now = eyes.look(judged.request.zone, name)
    if now is None:
        return {name: Fate(judged, GONE)}
    if now.request.state == DELETING:
        return {name: Fate(now, BEGUN)}
    if not now.judgement.is_orphan:
        return {name: Fate(now, f"left alone: {now.judgement.why}")}
    return {}


def check_zones(named: Sequence[str]) -> None:
    """Refuse what is no zone's name; the catalog takes a while to load.  Raises CliError."""
    if not named:
        return
    from shared.catalog_data import load_catalog

    known = load_catalog().zones
    for zone in named:
        if zone not in known:
            near = near_names(zone, known)
            hint = f"; near: {', '.join(near)}" if near else ""
            raise CliError(
                f"--zone: no zone with TPUs is called {zone!r}{hint}",
                next_step="give the name of a zone, such as us-central2-b",
                code=USAGE,
            )
