"""List prices of what is counted, as data: for us-central1, in US dollars. Check yours.

As they were known in 2026-11, from stored copies of these pages; nobody asked Google that day:
  cloud.google.com/firestore/pricing, cloud.google.com/pubsub/pricing,
  cloud.google.com/run/pricing (functions are billed by request), cloud.google.com/storage/pricing
  (one region, standard class), cloud.google.com/scheduler/pricing
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bench.operation_counts import Counts
from shared.topology import FUNCTIONS

AS_OF: Final = "2026-11"
HOURS: Final = 730.0
DAYS: Final = HOURS / 24
PREEMPTIONS_A_DAY: Final = 4
JOBS: Final = 50
FIRESTORE, PUBSUB, FUNCTION, STORAGE, SCHEDULER = (
    "Firestore",
    "Pub/Sub",
    "functions",
    "Storage",
    "Scheduler",
)
# All functions are deployed with the same memory, and one CPU.
MEMORY_GIB: Final = max(each.memory_mib for each in FUNCTIONS.values()) / 1024


@dataclass(frozen=True, slots=True)
class Price:
    """What one field of ``Counts`` costs.  ``free`` are units a month that cost nothing."""

    service: str
    counted: str
    usd: float
    per: float
    free: float = 0.0

    def cost(self, counts: Counts, *, is_free_tier: bool) -> float:
        """Return US dollars for a month's counts."""
        free = self.free if is_free_tier else 0.0
        units: float = getattr(counts, self.counted)
        return max(0.0, units - free) * self.usd / self.per


PRICES: Final = (
    # The free quota is for one database a project.
    Price(FIRESTORE, "reads", 0.03, 100_000, 50_000 * DAYS),
    Price(FIRESTORE, "writes", 0.09, 100_000, 20_000 * DAYS),
    Price(FIRESTORE, "deletes", 0.01, 100_000, 20_000 * DAYS),
    Price(PUBSUB, "pubsub_bytes", 40.0, 2**40, 10 * 2**30),
    # A billing account has these once, whatever its projects are.
    Price(FUNCTION, "invocations", 0.40, 1_000_000, 2_000_000),
    Price(FUNCTION, "billed_s", 0.000024, 1, 180_000),
    Price(FUNCTION, "billed_s", 0.0000025 * MEMORY_GIB, 1, 360_000 / MEMORY_GIB),
    # What is free in some regions of the US is not counted here.
    Price(STORAGE, "class_a", 0.05, 10_000),
    Price(STORAGE, "class_b", 0.004, 10_000),
)
# One job of the scheduler; a billing account's first three are free.
SCHEDULER_USD: Final = 0.10


@dataclass(frozen=True, slots=True)
class Bill:
    """A month: US dollars by service at list price, and their sum after the free tiers."""

    usd: Mapping[str, float]
    usd_with_free_tiers: float

    @property
    def total_usd(self) -> float:
        """The sum at list price."""
        return sum(self.usd.values())


def bill(counts: Counts) -> Bill:
    """Price a month's counts."""
    usd = dict.fromkeys((FIRESTORE, PUBSUB, FUNCTION, STORAGE), 0.0)
    for price in PRICES:
        usd[price.service] += price.cost(counts, is_free_tier=False)
    left = sum(price.cost(counts, is_free_tier=True) for price in PRICES)
    return Bill({**usd, SCHEDULER: SCHEDULER_USD}, left)
