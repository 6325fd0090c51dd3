"""`python -m tests.simulation.mutate`: break every rule once, and see that somebody notices.

Prints a table: the mutant, and the seed or the test that killed it. Fails when one survives.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from typer import echo

from tests.simulation.mutant_list import all_mutants
from tests.simulation.mutants import Mutant, install

VARIABLE: Final = "TPUCTL_MUTANT"
PLUGIN: Final = "tests.simulation.mutant_plugin"
SEEDS: Final = 120
TIME_S: Final = 900.0
_FAILED: Final = 1


@dataclass(frozen=True, slots=True)
class Death:
    """How a mutant died; ``by`` is empty for one that lives."""

    name: str
    by: str
    saw: str = ""


def main() -> int:
    """Run, print and return the exit code."""
    args = _arguments()
    if args.live:
        return _live(args.live, args.first, args.seeds)
    names = [name for name in all_mutants() if args.only in name]
    deaths = []
    with ThreadPoolExecutor(args.cores) as pool:
        for death in pool.map(lambda name: kill(name, args.first, args.seeds), names):
            deaths.append(death)
            echo(f"{death.name:46} {death.by or 'LIVES':20} {death.saw[:80]}")
    alive = [death.name for death in deaths if not death.by]
    echo(f"{len(deaths) - len(alive)} of {len(deaths)} mutants died")
    return 1 if alive else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutate", description=__doc__)
    parser.add_argument("--only", default="", help="those with this in their name")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"at most (default: {SEEDS})")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--cores", type=int, default=os.cpu_count(), help="default: all")
    parser.add_argument("--live", default="", help=argparse.SUPPRESS)
    return parser.parse_args()


def kill(name: str, first: int = 0, seeds: int = SEEDS) -> Death:
    """Let a mutant live in a process of its own, and say what it died of."""
    case = next((mutant.case for mutant in all_mutants()[name] if mutant.case), "")
    if case:
        return _killed_by_case(name, case)
    command = [sys.executable, "-m", "tests.simulation.mutate", "--live", name]
    command += ["--first", str(first), "--seeds", str(seeds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_S, check=False)
    if done.returncode not in {0, _FAILED}:
        raise RuntimeError(f"mutant {name!r} was not tried: {done.stderr[-2000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    return Death(name, found["by"], found["saw"])


def _killed_by_case(name: str, case: str) -> Death:
    """Run tests over the mutant; the first that fails has killed it."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "--no-header",
        "-p",
        PLUGIN,
        *case.split(),
    ]
    environment = {**os.environ, VARIABLE: name}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=TIME_S, check=False, env=environment
    )
    if done.returncode == 0:
        return Death(name, "")
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED ")]
    if done.returncode != _FAILED or not failed:
        raise RuntimeError(f"mutant {name!r} was not tried: {done.stdout[-2000:]}{done.stderr}")
    test, _, why = failed[0].removeprefix("FAILED ").partition(" - ")
    return Death(name, test.rpartition("::")[2], why)


def _live(name: str, first: int, seeds: int) -> int:
    """Be the mutant: live through seeds until one of them sees it."""
    install(all_mutants()[name])
    for seed, saw in _wrong(range(first, first + seeds)):
        echo(json.dumps({"by": f"seed {seed}", "saw": saw}))
        return _FAILED
    echo(json.dumps({"by": "", "saw": ""}))
    return 0


def _wrong(seeds: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Live through seeds; whatever is loaded from here on is the mutant."""
    import tests.simulation.quick  # noqa: F401 - for what it does
    from tests.simulation.run import live, quieten

    quieten()
    for seed in seeds:
        result = live(seed)
        if result.wrong:
            yield seed, result.wrong[0]


def installed(name: str) -> tuple[Mutant, ...]:
    """Put a mutant in place of the product."""
    mutants = all_mutants()[name]
    install(mutants)
    return mutants


if __name__ == "__main__":
    sys.exit(main())
