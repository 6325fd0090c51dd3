"""What every use case is given: the ports, and what the installation is."""

from __future__ import annotations

from dataclasses import dataclass

from shared.core.catalog import Catalog
from shared.core.policy import Policy
from shared.ports import Blobs, Bus, Clock, SliceApi, Store


@dataclass(frozen=True, slots=True)
class App:
    """One installation of the control plane, in whichever wiring.

    ``outputs_root`` is where jobs write when their spec names no place: ``gs://…`` or a folder.
    """

    store: Store
    bus: Bus
    blobs: Blobs
    slices: SliceApi
    clock: Clock
    policy: Policy
    catalog: Catalog
    installation: str
    secret: bytes
    project: str
    bucket: str
    outputs_root: str
