"""What the control plane logs, as a deployed function would write it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO

from shared.log import JsonFormatter


class Lines:
    """Everything that was logged so far."""

    def __init__(self) -> None:
        self.stream = StringIO()

    @property
    def text(self) -> str:
        """The lines as they were written."""
        return self.stream.getvalue()

    @property
    def all(self) -> list[dict[str, object]]:
        """One object a line."""
        return [json.loads(line) for line in self.text.splitlines()]

    def clear(self) -> None:
        """Forget what was logged."""
        self.stream.seek(0)
        self.stream.truncate()


@contextmanager
def captured() -> Iterator[Lines]:
    """Log to where a test can read it."""
    lines = Lines()
    handler = logging.StreamHandler(lines.stream)
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("tpuctl")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
