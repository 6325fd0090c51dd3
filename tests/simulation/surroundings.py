"""What every host of the world stands on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.simulation.bus import Network
from tests.simulation.chance import Chance
from tests.simulation.engine import Engine, SimClock
from tests.simulation.storage import Storage

if TYPE_CHECKING:
    from tests.simulation.programs import Programs


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The queue of events, the bucket, the bus, and what runs; ``clock`` is the hosts' own."""

    engine: Engine
    chance: Chance
    network: Network
    storage: Storage
    programs: Programs
    clock: SimClock
    grace_s: float = 30.0
