"""The only place that chooses adapters.

So far there is one wiring, embedded: Store and Bus in one SQLite file, and a simulated cloud on
this machine whose address the caller knows. Google's libraries are imported when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.adapters.sqlite_store import SqliteStore
from shared.adapters.system import SystemClock
from shared.ports import Blobs
from shared.settings import Settings
from shared.topology import EMBEDDED_SUBSCRIPTIONS

if TYPE_CHECKING:
    from shared.adapters.sqlite_bus import SqliteBus
    from shared.app.context import App

EMBEDDED_PROJECT = "sandbox"
EMBEDDED_BUCKET = "tpuctl-sandbox"


def open_store(settings: Settings) -> SqliteStore:
    """Open the installation's documents.  Raises StateFileError."""
    return SqliteStore(settings.state_path)


def open_bus(settings: Settings) -> SqliteBus:
    """Open the installation's topics and subscriptions.  Raises StateFileError."""
    from shared.adapters.sqlite_bus import SqliteBus

    return SqliteBus(settings.state_path, EMBEDDED_SUBSCRIPTIONS)


def open_blobs(endpoint: str) -> Blobs:
    """Open the installation's bucket in the simulated cloud at an address."""
    from shared.adapters import storage

    return storage.connect(EMBEDDED_BUCKET, project=EMBEDDED_PROJECT, endpoint=endpoint)


def embedded(settings: Settings, endpoint: str) -> App:
    """Put the control plane together on this machine, over the simulated cloud at an address."""
    from shared.adapters import tpu
    from shared.app.context import App
    from shared.catalog_data import load_catalog

    return App(
        store=open_store(settings),
        bus=open_bus(settings),
        blobs=open_blobs(endpoint),
        slices=tpu.connect(EMBEDDED_PROJECT, endpoint=endpoint),
        clock=SystemClock(),
        policy=settings.policy,
        catalog=load_catalog(),
        installation=settings.installation,
        secret=settings.secret,
        project=EMBEDDED_PROJECT,
        bucket=EMBEDDED_BUCKET,
        outputs_root=settings.outputs_root,
    )
