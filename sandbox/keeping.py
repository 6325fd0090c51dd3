"""What a sandbox leaves in its home for the next one, and how to be rid of it.

Standard library only: the CLI starts fast.
"""

from __future__ import annotations

import shutil
from pathlib import Path

STATE = "cloud.db"


def forget(home: Path) -> None:
    """Throw it all away but the buckets; the sandbox must not be up.  Idempotent."""
    for suffix in ("", "-wal", "-shm"):
        (home / f"{STATE}{suffix}").unlink(missing_ok=True)
    shutil.rmtree(home / "hosts", ignore_errors=True)
