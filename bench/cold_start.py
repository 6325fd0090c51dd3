"""What a cold start of each function loads before its first request: seconds and peak memory.

In the wiring google, in fresh processes, from compiled bytecode as Google's builder leaves it.
The instance's own start and the first answers of Firestore and Pub/Sub come on top of it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shared.topology import FUNCTIONS

RUNS = 5
BUDGET_S = 0.6
BARE = "functions_framework"
ROOT = Path(__file__).resolve().parent.parent

# A process's own highest memory: what getrusage says may be its parent's.
CHILD = """
import sys, time
begun = time.perf_counter()
import functions_framework
target, use = sys.argv[1:]
if target != "functions_framework":
    import functions.deployed
    from functions import serving
    serving._refusal({"authorization": "Bearer none"})
    app = serving.app()
    if target == "health_check":
        import shared.app.health_check
    else:
        import functions.envelope
        from shared.app import push
        from shared.topology import SUBSCRIPTIONS
        for subscription in SUBSCRIPTIONS:
            if subscription.function == target:
                push.receiver_of(subscription.name)
    from shared.errors import Permanent
    for line in use.splitlines():
        try:
            exec(line)
        except Permanent:
            pass
took_s = time.perf_counter() - begun
import re, pathlib
status = pathlib.Path("/proc/self/status").read_text()
print(took_s, int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) / 1024)
"""
# What the first message makes a function load on top: parsers, and the ports that it calls.
JOBS = "from shared.core.spec import parse_spec; parse_spec({})"
USES = {
    "health_check": f"app.slices.list; app.bus.publish\n{JOBS}",
    "report": "app.bus.publish\nfrom shared.core.snapshot import parse; parse(b'{}')",
    "recovery": f"app.slices.create; app.bus.publish\n{JOBS}",
    "launch": "app.blobs.put; app.slices.ring; app.bus.publish\n"
    f"from shared.app.order_args import parse_order; parse_order(b'{{}}')\n{JOBS}",
    "alert": "from shared.core.alerts import parse_alert; parse_alert(b'{}')",
    "park": "app.bus.publish",
}
SETTINGS = {"wiring": "google", "cloud": {"project": "bench-project", "bucket": "bench-bucket"}}


@dataclass(frozen=True, slots=True)
class Cost:
    """What one start took."""

    seconds: float
    memory_mib: float


def main() -> int:
    """Print the table; fail when a function is over the budget."""
    with tempfile.TemporaryDirectory() as folder:
        environment = environment_in(folder)
        found = {name: measure(name, environment) for name in (BARE, *FUNCTIONS)}
    bare = found[BARE]
    print(f"median of {RUNS}           seconds   times bare    MiB   budget")
    for name, cost in found.items():
        ratio, budget = cost.seconds / bare.seconds, "-" if name == BARE else f"{BUDGET_S:.2f}"
        print(f"{name:<20} {cost.seconds:>9.3f} {ratio:>12.1f} {cost.memory_mib:>6.0f} {budget:>8}")
    missed = [name for name in FUNCTIONS if found[name].seconds > BUDGET_S]
    for name in missed:
        print(f"missed: {name}")
    return 1 if missed else 0


def environment_in(folder: str) -> Mapping[str, str]:
    """Describe a deployment whose services nobody calls; bytecode is kept in the folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TPUCTL_")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept | {
        "PYTHONPYCACHEPREFIX": folder,
        "TPUCTL_HOME": folder,
        "TPUCTL_SETTINGS": json.dumps(SETTINGS),
        "TPUCTL_SECRET": "bench",
        "TPUCTL_PUSH_AUDIENCE": "https://bench.a.run.app",
        "TPUCTL_PUSH_ACCOUNT": "bench@bench-project.iam.gserviceaccount.com",
        # Nothing listens there, and no credentials are looked for.
        "TPUCTL_CLOUD": "http://127.0.0.1:9",
        "FIRESTORE_EMULATOR_HOST": "127.0.0.1:9",
        "PUBSUB_EMULATOR_HOST": "127.0.0.1:9",
    }


def measure(name: str, environment: Mapping[str, str]) -> Cost:
    """Return the median of some starts; the first one only compiles."""
    costs = [once(name, environment) for _ in range(RUNS + 1)][1:]
    return Cost(
        statistics.median(cost.seconds for cost in costs),
        statistics.median(cost.memory_mib for cost in costs),
    )


def once(name: str, environment: Mapping[str, str]) -> Cost:
    """Start a process and read what it says of itself."""
    command: Sequence[str] = (sys.executable, "-c", CHILD, name, USES.get(name, ""))
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    seconds, memory_mib = done.stdout.split()[-2:]
    return Cost(float(seconds), float(memory_mib))
