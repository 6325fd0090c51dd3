"""What runs on a TPU VM: a constant startup script and the agent, one file each.

Both travel as text in a node's metadata, so this is where others get them from.
"""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent


def startup_script() -> str:
    """Return the node's ``startup-script``: the same text for every job of everybody."""
    return (_HERE / "startup.sh").read_text(encoding="utf-8")


def agent_source() -> str:
    """Return the node's ``tpuctl-agent``."""
    return (_HERE / "agent.py").read_text(encoding="utf-8")
