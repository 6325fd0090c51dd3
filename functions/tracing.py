"""Which request of Google's a line belongs to, so that all lines of one are shown together."""

from __future__ import annotations

import re
from collections.abc import Mapping

# The first is the standard's, the second is what Google's own services send.
_HEADERS = (
    ("traceparent", re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")),
    ("x-cloud-trace-context", re.compile(r"([0-9a-f]{32})(?:/\d{1,20})?(?:;o=\d)?")),
)


def trace_in(headers: Mapping[str, str], project: str) -> str:
    """Name the trace of a request, as Cloud Logging does; empty for one that names none."""
    for name, form in _HEADERS:
        found = form.fullmatch(headers.get(name, ""))
        if found and project:
            return f"projects/{project}/traces/{found[1]}"
    return ""
