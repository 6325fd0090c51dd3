"""From Enter to the first line of the new process on a warm slice, in the embedded wiring.

A slice of one's own, a program whose code changes each time, a setup that does not: the command
line starts, packs and uploads the code, orders, and the hosts fetch what is new and start. The
process says itself when it began. Seconds are of the wall clock; the best and the median of some
runs, because these machines are shared.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

RUNS = 7
TARGET_S = 3.0
PATIENCE_S = 120.0
PLACE = ("--type", "v4-16", "--zone", "us-central2-b")
# A setup that takes longer than the target: it must not be run again.
SETUP = "sleep 5; echo done >>$HOME/setups"
PROGRAM = "import os, pathlib, time; pathlib.Path({file!r}).write_text(str(time.time()))\n"
TPUCTL = Path(sys.executable).with_name("tpuctl")


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell with an installation of its own, and a folder for code."""

    environment: Mapping[str, str]
    folder: Path

    def tpuctl(self, *words: str) -> str:
        """Run a command; it must succeed."""
        done = subprocess.run(
            [TPUCTL, *words],
            env=dict(self.environment),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def rerun(self, number: int) -> float:
        """Run changed code on the slice; return the seconds until its process began."""
        code, began = self.folder / "code", self.folder / f"began-{number}"
        code.mkdir(exist_ok=True)
        (code / "train.py").write_text(PROGRAM.format(file=str(began)))
        entered = time.time()
        job = ("--name", "warm", "--on", "warm", "--code", str(code), "--setup", SETUP)
        self.tpuctl("run", *job, "--", "python", "train.py")
        while not (began.exists() and began.read_text()):
            if time.time() - entered > PATIENCE_S:
                raise RuntimeError("the process did not begin")
            time.sleep(0.005)
        self.tpuctl("wait", "@last")
        return float(began.read_text()) - entered


def main() -> int:
    """Print what was measured; fail when the best run misses the target, or the setup ran again."""
    with shell() as found:
        first_s = found.rerun(0)
        times_s = [found.rerun(number) for number in range(1, RUNS + 1)]
        setups = [path.read_text() for path in found.folder.glob("**/hosts/*/home/setups")]
    best_s, median_s = min(times_s), statistics.median(times_s)
    print(f"{'':<26}{'best':>9}{'median':>9}{'target':>9}")
    print(f"{'first run, with setup':<26}{first_s:>7.2f} s")
    print(f"{'rerun with changed code':<26}{best_s:>7.2f} s{median_s:>7.2f} s{TARGET_S:>7.2f} s")
    ran = sorted(text.count("done") for text in setups)
    print(f"setups on each host: {', '.join(map(str, ran))} in {RUNS + 1} runs")
    return 0 if best_s <= TARGET_S and set(ran) == {1} else 1


@contextmanager
def shell() -> Iterator[Shell]:
    """Bring everything up, with a slice that is warm."""
    with tempfile.TemporaryDirectory(prefix="tpuctl-bench-") as name:
        folder = Path(name)
        kept = {key: text for key, text in os.environ.items() if not key.startswith("TPUCTL_")}
        home = {"TPUCTL_HOME": str(folder / "home"), "TPUCTL_OWNER": "bench"}
        found = Shell({**kept, **home}, folder)
        quick = folder / "cloud.json"
        quick.write_text(json.dumps({"provisioning_s": 0.02, "boot_s": 0.02, "creating_s": 0.02}))
        found.tpuctl("local", "up", "--sandbox-config", str(quick))
        try:
            found.tpuctl("slice", "create", "warm", *PLACE, "--wait")
            yield found
        finally:
            found.tpuctl("local", "down")
