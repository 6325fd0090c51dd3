"""`make simulate SEEDS=n FIRST=k`: live through seeds on all cores, and tell of what failed."""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Final

from typer import echo

from tests.simulation import story
from tests.simulation.coverage import Coverage
from tests.simulation.run import live, quieten
from tests.simulation.weather import HOUR_S
from tests.simulation.world import Size, storm_of

BATCH: Final = 10
FAILURES_MAX: Final = 3
# So many seeds meet everything; fewer may miss something without anything being wrong.
COVERING_SEEDS: Final = 500


@dataclass(slots=True)
class Batch:
    """What became of some seeds; ``cpu_s`` is what they took of one core."""

    seeds: int
    cpu_s: float
    failed: list[int] = field(default_factory=list)
    coverage: Coverage = field(default_factory=Coverage)


def main() -> int:
    """Run, print and return the exit code."""
    args = _arguments()
    half_s = args.hours / 2 * HOUR_S
    size = storm_of(args.slices) if args.storm else Size(args.slices, half_s, half_s)
    quieten()
    begun = time.monotonic()
    total = Batch(0, 0.0)
    with ProcessPoolExecutor(args.cores) as pool:
        batches = [
            pool.submit(_live_batch, first, min(BATCH, args.first + args.seeds - first), size)
            for first in range(args.first, args.first + args.seeds, BATCH)
        ]
        for done in as_completed(batches):
            _add(total, done.result())
            _show_progress(total, args.seeds)
    return _report(total, args, size, time.monotonic() - begun)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=_positive, default=200, help="how many (default: 200)")
    parser.add_argument("--first", type=int, default=0, help="the first one (default: 0)")
    parser.add_argument("--slices", type=_positive, default=5, help="jobs in a world (default: 5)")
    parser.add_argument("--hours", type=float, default=6.0, help="half chaos, half calm")
    parser.add_argument("--storm", action="store_true", help="lose all slices at one moment")
    parser.add_argument("--cores", type=_positive, default=os.cpu_count(), help="default: all")
    return parser.parse_args()


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return int(text)


def _live_batch(first: int, count: int, size: Size) -> Batch:
    quieten()
    begun, batch = time.process_time(), Batch(count, 0.0)
    for seed in range(first, first + count):
        result = live(seed, size)
        batch.coverage.add(result)
        if result.wrong:
            batch.failed.append(seed)
    batch.cpu_s = time.process_time() - begun
    return batch


def _add(total: Batch, batch: Batch) -> None:
    total.seeds += batch.seeds
    total.cpu_s += batch.cpu_s
    total.failed += batch.failed
    total.coverage.join([batch.coverage])


def _show_progress(total: Batch, seeds: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{total.seeds} of {seeds} seeds, {len(total.failed)} failed ")
        sys.stderr.flush()


def _report(total: Batch, args: argparse.Namespace, size: Size, seconds: float) -> int:
    for seed in sorted(total.failed)[:FAILURES_MAX]:
        _tell(seed, size, args.slices)
    rate, last = total.seeds / total.cpu_s, args.first + args.seeds - 1
    green, coverage = total.seeds - len(total.failed), total.coverage
    never = coverage.never()
    echo(f"seeds {args.first} to {last}: {green} green, {len(total.failed)} failed")
    echo(
        f"{args.slices} slices, {args.hours:g} h: {rate:.1f} seeds a second and core,"
        f" {seconds:.0f} s in all"
    )
    echo(
        f"met: {sum(coverage.faults.values())} faults, {coverage.points} effects that could fail,"
        f" {coverage.creates} creates"
    )
    if never:
        echo(f"reached by no seed: {', '.join(never)}")
    if total.failed:
        echo(f"failed: {' '.join(map(str, sorted(total.failed)[:50]))}")
    is_enough = args.seeds >= COVERING_SEEDS and args.slices >= Size().jobs
    return 1 if total.failed or (never and is_enough) else 0


def _tell(seed: int, size: Size, slices: int) -> None:
    result = story.smallest(live(seed, size), size)
    echo(f"seed {seed} failed")
    for line in story.told(result):
        echo(line)
    more = f" ARGS='--slices {slices}'" if slices != Size().jobs else ""
    echo(f"  again: make simulate SEEDS=1 FIRST={seed}{more}")


if __name__ == "__main__":
    sys.exit(main())
