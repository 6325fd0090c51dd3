"""One way to log: lines with fields, to whatever handler the process has set up.

A deployed function writes JSON, one line an event, as Cloud Logging reads it. Only the fields of
``FIELDS`` are written, everything is cut to a length, and what looks like a secret is struck out:
the last net, not the first, below code that never logs one.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
# The tick's account of itself, read by the alert policies of Google's wiring.
TICK = "tick"

# What a line may say beside its text, by ``context``, ``add`` or ``extra``.
FIELDS: Final = (
    "function",
    "subscription",
    "message_id",
    "delivery_attempt",
    "job",
    "slice",
    "generation",
    "attempt",
    "event",
    "kind",
    "outbox_age_s",
    "slices",
    "problems",
)
TRACE: Final = "logging.googleapis.com/trace"
MESSAGE_CHARS_MAX: Final = 2_000
FIELD_CHARS_MAX: Final = 200
STACK_CHARS_MAX: Final = 8_000
STRUCK_OUT: Final = "[secret]"

_SECRET = re.compile(
    r"(?i:bearer)\s+[\w.~+/=-]+"  # an authorization header
    r"|eyJ[\w-]{8,}(?:\.[\w-]*){0,2}"  # a JSON web token
    r"|ya29\.[\w.-]+"  # Google's access token
    r"|https://hooks\.slack\.com/\S+"  # whoever knows it may post
    r"|(?<![0-9A-Za-z])[0-9a-fA-F]{32,}(?![0-9A-Za-z])"  # one of our HMACs
)
_NOTHING: Mapping[str, object] = {}
_context: ContextVar[Mapping[str, object]] = ContextVar("log_context", default=_NOTHING)


def get(name: str) -> logging.Logger:
    """Return the logger of one part of the control plane."""
    return logging.getLogger(f"tpuctl.{name}")


def to_stderr(level: int = logging.INFO) -> None:
    """Send all lines to stderr; for processes, never for libraries."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TextFormatter(FORMAT))
    logging.basicConfig(handlers=[handler], level=level)
    # A machine ticks once a second, and nobody there counts what a tick says.
    get(TICK).setLevel(logging.WARNING)
    _quieten_libraries()


def to_json_stdout(level: int = logging.INFO) -> None:
    """Send all lines to stdout as JSON; for a deployed function, once a process."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(handlers=[handler], level=level, force=True)
    logging.captureWarnings(capture=True)
    _quieten_libraries()


@contextmanager
def context(**fields: object) -> Iterator[None]:
    """Put fields on every line of this thread until the block ends."""
    token = _context.set({**_context.get(), **fields})
    try:
        yield
    finally:
        _context.reset(token)


def add(**fields: object) -> None:
    """Put more fields on the lines of the block around, once they are known.

    Without a block there is nothing that could take them away again, and nothing is added.
    """
    if (around := _context.get()) is not _NOTHING:
        _context.set({**around, **fields})


class TextFormatter(logging.Formatter):
    """A record as text for people on a machine; what looks like a secret is struck out."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a line, and the lines of a stack if there is one."""
        return without_secrets(super().format(record))


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON, with the names that Cloud Logging knows."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one line; line breaks in texts are escaped."""
        line: dict[str, object] = {
            "severity": record.levelname,
            "message": clean(record.getMessage(), MESSAGE_CHARS_MAX),
            "logger": record.name,
        }
        known = {**_context.get(), **vars(record)}
        line |= {name: _value(known[name]) for name in FIELDS if name in known}
        if trace := _context.get().get("trace"):
            line[TRACE] = trace
        if record.exc_info:
            # The end of a stack is where it happened.
            stack = without_secrets(self.formatException(record.exc_info))
            line["stack_trace"] = stack[-STACK_CHARS_MAX:]
        return json.dumps(line)


def clean(text: str, chars_max: int) -> str:
    """Strike out what looks like a secret, then cut: a cut must not hide half a secret."""
    return without_secrets(text)[:chars_max]


def without_secrets(text: str) -> str:
    """Strike out what looks like a secret; for texts that come from elsewhere, as errors do."""
    return _SECRET.sub(STRUCK_OUT, text)


def _value(value: object) -> object:
    if value is None or isinstance(value, int | float):
        return value
    return clean(str(value), FIELD_CHARS_MAX)


def _quieten_libraries() -> None:
    logging.getLogger("google").setLevel(logging.WARNING)
    logging.getLogger("urllib3").setLevel(logging.ERROR)
