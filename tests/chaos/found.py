"""What runs on hosts, found from outside: by the tree of their processes and by their diaries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sandbox import processes
from tests.chaos import counting
from tests.installations import command_line


def pids(host: Mapping[str, Any], program: str) -> list[int]:
    """Find the processes of a program on a host."""
    below = processes.descendants(int(host["pid"])) if host["pid"] else []
    return [pid for pid in below if program in command_line(pid)]


def has_saved(pid: int) -> bool:
    """Tell from the diary whether a checkpoint was completed since a workload started."""
    _, _, arguments = command_line(pid).partition(counting.__file__)
    if not arguments:
        return False  # it has ended
    lines = Path(arguments.split()[0], counting.DIARY).read_text("utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    ours = [number for number, entry in enumerate(entries) if entry["pid"] == pid]
    return bool(ours) and any(entry["what"] == "saved" for entry in entries[ours[0] :])
