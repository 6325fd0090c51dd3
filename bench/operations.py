"""What the control plane asks of Google in an hour and for an event, and what a month costs.

Counted in one process under the real policy: deliveries come one after the other, so a race,
which costs a second load, is not in it. Nor is what people read with the command line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

from bench.operation_counts import Counts
from bench.operation_prices import AS_OF, DAYS, HOURS, JOBS, PREEMPTIONS_A_DAY, Bill, bill
from bench.operation_world import MeteredWorld, metered_world
from tests.unit.app.records import JOB

HOUR_S: Final = 3600.0
# Until canaries have a history, and until what follows an event is over.
WARM_UP_S: Final = 600.0
CALM_S: Final = 900.0
FURTHER_JOB: Final = "job000000002"
COLUMNS: Final = {
    "reads": "reads",
    "writes": "writes",
    "deletes": "deletes",
    "messages": "messages",
    "invocations": "calls",
    "billed_s": "seconds",
    "tpu_requests": "TPU",
    "class_a": "class A",
    "class_b": "class B",
}


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything that was counted.  All but ``idle`` comes on top of an idle installation."""

    idle: Counts
    running: Counts
    further: Counts
    start: Counts
    preemption: Counts
    stop: Counts

    @property
    def rows(self) -> Mapping[str, Counts]:
        """Each with its name on the page."""
        return {
            "an idle hour": self.idle,
            "an hour of a running job": self.running,
            "an hour of each further job": self.further,
            "a start": self.start,
            "a preemption": self.preemption,
            "a stop": self.stop,
        }

    @property
    def months(self) -> Mapping[str, Bill]:
        """Bills of a month: nobody there, one job, many; all are preempted some times a day."""
        events = self.start + self.preemption * (PREEMPTIONS_A_DAY * DAYS) + self.stop
        idle = self.idle * HOURS
        one = idle + self.running * HOURS + events
        many = one + (self.further * HOURS + events) * (JOBS - 1)
        return {"idle": bill(idle), "1 job": bill(one), f"{JOBS} jobs": bill(many)}


def measure() -> Measured:
    """Let some hours pass and count."""
    with metered_world() as world:
        return _measured(world)


def _measured(world: MeteredWorld) -> Measured:
    world.run(WARM_UP_S)
    idle, ticks = world.counted(lambda: world.run(HOUR_S))
    tick = idle * (1 / ticks)

    def on_top(found: tuple[Counts, int]) -> Counts:
        counts, ticks = found
        return counts - tick * ticks

    start = on_top(world.counted(lambda: world.start(JOB)))
    world.run(CALM_S)
    running = on_top(world.counted(lambda: world.run(HOUR_S)))
    preemption = on_top(world.counted(lambda: world.preempt(JOB)))
    world.start(FURTHER_JOB)
    world.run(CALM_S)
    both = on_top(world.counted(lambda: world.run(HOUR_S)))
    world.end(FURTHER_JOB)
    world.run(CALM_S)
    stop = on_top(world.counted(lambda: world.end(JOB)))
    return Measured(idle, running, both - running, start, preemption, stop)


def main(*, is_json: bool = False) -> int:
    """Print what was counted and what it costs; no target to miss."""
    measured = measure()
    print(as_json(measured) if is_json else as_text(measured))
    return 0


def as_text(measured: Measured) -> str:
    """Write both tables."""
    width = max(map(len, measured.rows))
    lines = [f"{'counted':<{width}} " + "".join(f"{name:>9}" for name in COLUMNS.values())]
    for name, counts in measured.rows.items():
        cells = (f"{getattr(counts, column):>9,.0f}" for column in COLUMNS)
        lines.append(f"{name:<{width}} {''.join(cells)}")
    services = [*next(iter(measured.months.values())).usd, "sum", "with free tiers"]
    widths = [max(10, len(service) + 2) for service in services]
    heads = (f"{service:>{size}}" for service, size in zip(services, widths, strict=True))
    lines += ["", f"{'US$ a month, ' + AS_OF:<{width}} " + "".join(heads)]
    for name, found in measured.months.items():
        sums = [*found.usd.values(), found.total_usd, found.usd_with_free_tiers]
        cells = (f"{usd:>{size}.2f}" for usd, size in zip(sums, widths, strict=True))
        lines.append(f"{name:<{width}} {''.join(cells)}")
    return "\n".join(line.rstrip() for line in lines)


def as_json(measured: Measured) -> str:
    """Write the same for programs."""
    counts = {
        name: {column: round(value, 3) for column, value in asdict(found).items()}
        for name, found in measured.rows.items()
    }
    months = {
        name: {"usd": found.usd, "usd_with_free_tiers": found.usd_with_free_tiers}
        for name, found in measured.months.items()
    }
    return json.dumps({"counts": counts, "as_of": AS_OF, "usd_a_month": months}, indent=2)
