"""VMs by their names, the only ones that Google's audit log knows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

INSTANCE: Final = re.compile(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Instance:
    """Which host a VM is, as the document that is found by the VM's name says it."""

    slice: str
    slice_uid: str
    generation: int
    bid: str
    host: int
    summary: str
    expires_at: datetime


def instance_of(hostname: str) -> str:
    """Return the name of the VM that calls itself so, "" where that can be no VM's name."""
    label = hostname.partition(".")[0]
    return label if INSTANCE.fullmatch(label) else ""
