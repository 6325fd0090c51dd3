"""What runs on a TPU VM: a constant startup script and the agent, one file each.

Both travel as text in a node's metadata, so this is where others get them from.
"""

from __future__ import annotations

import base64
import gzip
from pathlib import Path

_HERE = Path(__file__).parent


def startup_script() -> str:
    """Return the node's ``startup-script``: the same text for every job of everybody."""
    return (_HERE / "startup.sh").read_text(encoding="utf-8")


def installer(config: str) -> str:
    """Return what makes a node that others made serve a slice: one line of shell for each host.

    ``config`` says which slice. The line brings everything with it and leaves the node's own
    metadata and startup script alone; it asks for root where it has none.
    """
    values = {
        "@AGENT@": _packed(agent_source()),
        "@CONFIG@": _packed(config),
        "@STARTUP@": _packed(startup_script()),
    }
    text = (_HERE / "installer.sh").read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(name, value)
    run = 'if [ -n "${TPUCTL_ROOT:-}" ] || [ "$(id -u)" = 0 ]; then bash; else sudo bash; fi'
    return f"echo {_packed(text)} | base64 -d | gunzip | {{ {run}; }}"


def _packed(text: str) -> str:
    """Write a text in letters and digits alone: nothing in it can be taken for shell code."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def agent_source() -> str:
    """Return the node's ``tpuctl-agent``."""
    return (_HERE / "agent.py").read_text(encoding="utf-8")
