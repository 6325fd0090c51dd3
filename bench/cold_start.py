"""What a cold start of each function loads before its first request: seconds and peak memory.

In the wiring google, in fresh processes, from compiled bytecode as Google's builder leaves it.
``framework`` is the server that the platform starts in every function; ``own`` is all that this
function's first request loads on top of it: its module, Google's clients, its parsers, and the
whole installation put together. The budget is for that. Seconds are of the processor, because
these machines are shared; the lowest of some starts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shared.topology import FUNCTIONS

RUNS = 12
BUDGET_S = 0.6
ROOT = Path(__file__).resolve().parent.parent

# A process's own highest memory: what getrusage says may be its parent's.
CHILD = """
import sys, time
import functions_framework
framework_s = time.process_time()
target, use = sys.argv[1:]
if target:
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
own_s = time.process_time() - framework_s
import re, pathlib
status = pathlib.Path("/proc/self/status").read_text()
print(framework_s, own_s, int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) / 1024)
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

    framework_s: float
    own_s: float
    memory_mib: float


def main() -> int:
    """Print the table; fail when a function is over the budget."""
    with tempfile.TemporaryDirectory() as folder:
        environment = environment_in(folder)
        found = {name: measure(name, environment) for name in FUNCTIONS}
    print(f"{f'best of {RUNS}':<16}{'framework':>11}{'own':>9}{'budget':>9}{'peak MiB':>10}")
    for name, cost in found.items():
        print(
            f"{name:<16}{cost.framework_s:>9.2f} s{cost.own_s:>7.2f} s{BUDGET_S:>7.2f} s"
            f"{cost.memory_mib:>10.0f}"
        )
    missed = [name for name in FUNCTIONS if found[name].own_s > BUDGET_S]
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
    """Return the best of some starts; the first one only compiles."""
    costs = [once(name, environment) for _ in range(RUNS + 1)][1:]
    return Cost(
        min(cost.framework_s for cost in costs),
        min(cost.own_s for cost in costs),
        max(cost.memory_mib for cost in costs),
    )


def once(name: str, environment: Mapping[str, str]) -> Cost:
    """Start a process and read what it says of itself."""
    command: Sequence[str] = (sys.executable, "-c", CHILD, name, USES.get(name, ""))
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return Cost(*(float(word) for word in done.stdout.split()[-3:]))
