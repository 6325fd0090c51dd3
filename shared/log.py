"""One way to log: lines with fields, to whatever handler the process has set up."""

from __future__ import annotations

import logging
import sys

FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


def get(name: str) -> logging.Logger:
    """Return the logger of one part of the control plane."""
    return logging.getLogger(f"tpuctl.{name}")


def to_stderr(level: int = logging.INFO) -> None:
    """Send all lines to stderr; for processes, never for libraries."""
    logging.basicConfig(stream=sys.stderr, level=level, format=FORMAT)
    logging.getLogger("google").setLevel(logging.WARNING)
    logging.getLogger("urllib3").setLevel(logging.ERROR)
