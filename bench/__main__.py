"""``python -m bench [NAME...]``: run all measurements, or some.

``python -m bench operations --json`` prints what it counted for programs.
"""

from __future__ import annotations

import sys
from importlib import import_module

BENCHES = ("cli_start", "cold_start", "operations", "push_latency", "sandbox_hosts")
# Minutes, not seconds: only when named.
LONG = ("preemption_storm", "warm_rerun")


def main(names: list[str]) -> int:
    """Run the named measurements, or all but the long ones; fail if one misses its target."""
    known = (*BENCHES, *LONG)
    if sorted(names) == ["--json", "operations"]:
        return int(import_module("bench.operations").main(is_json=True))
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"error: no measurement {', '.join(unknown)}; there are: {', '.join(known)}")
        return 2
    # All are run, whatever the first one finds.
    found = [int(import_module(f"bench.{name}").main()) for name in names or BENCHES]
    return max(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
