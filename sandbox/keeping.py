"""What a sandbox leaves in its home for the next one, and how to be rid of it.

Standard library only: the CLI starts fast.
"""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path

STATE = "cloud.db"
CALLS = "calls.db"


def forget(home: Path) -> None:
    """Throw it all away but the buckets; the sandbox must not be up.  Idempotent."""
    for name, suffix in product((STATE, CALLS), ("", "-wal", "-shm")):
        (home / f"{name}{suffix}").unlink(missing_ok=True)
    shutil.rmtree(home / "hosts", ignore_errors=True)
