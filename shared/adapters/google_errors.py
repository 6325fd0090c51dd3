"""What Google's client libraries raise, read once: a status name and a text.

The status names are those of ``google.rpc.Code``. Over HTTP several of them share a number, so
the name in the body wins; requests that got no answer at all count as UNAVAILABLE.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import grpc
import requests.exceptions
from google.api_core import exceptions as api
from google.auth import exceptions as auth

from shared.errors import (
    ControlPlaneError,
    InvalidRequest,
    NotAuthorized,
    RateLimited,
    Unavailable,
)
from shared.log import without_secrets

# Everything a call to Google can raise when it fails.
GOOGLE_ERRORS: Final = (
    api.GoogleAPIError,
    auth.GoogleAuthError,
    requests.exceptions.RequestException,
)

_STATUS_OF_HTTP: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ALREADY_EXISTS",
    412: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}

# The same call would fail again.
_WRONG: Final = frozenset(
    {
        "ALREADY_EXISTS",
        "FAILED_PRECONDITION",
        "INVALID_ARGUMENT",
        "NOT_FOUND",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
    }
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call failed: ``http`` is 0 when there was no answer.

    The text ends in documents and alerts, and libraries quote what they like in it.
    """

    status: str
    http: int
    text: str


def failure_of(error: Exception) -> Failure:
    """Read any of ``GOOGLE_ERRORS``."""
    if isinstance(error, api.RetryError) and isinstance(error.cause, GOOGLE_ERRORS):
        return failure_of(error.cause)
    if isinstance(error, api.GoogleAPICallError):
        http = int(error.code or 0)
        status = _status_told(error) or _STATUS_OF_HTTP.get(http, "UNKNOWN")
        return Failure(status, http, without_secrets(str(error.message)))
    is_refused = isinstance(error, (auth.DefaultCredentialsError, auth.RefreshError))
    status = "UNAUTHENTICATED" if is_refused else "UNAVAILABLE"
    return Failure(status, 0, without_secrets(str(error)))


def meaning(failure: Failure, what: str, *, role: str) -> ControlPlaneError:
    """Return what a failure is to us, where a service has no words of its own for it.

    ``what`` names what was called, ``role`` what an account needs for that.
    """
    text = f"{what}: {failure.text}"
    match failure.status:
        case "PERMISSION_DENIED":
            return NotAuthorized(f"{text} (this account needs {role})")
        case "UNAUTHENTICATED":
            return NotAuthorized(text)
        case "RESOURCE_EXHAUSTED":
            return RateLimited(text)
    return InvalidRequest(text) if failure.status in _WRONG else Unavailable(text)


def _status_told(error: api.GoogleAPICallError) -> str:
    """Return the status name: what stands in a body beside code and message, or gRPC's own."""
    try:
        return str(error.response.json()["error"]["status"])
    except (AttributeError, KeyError, TypeError, ValueError):
        code = error.grpc_status_code if isinstance(error.response, grpc.RpcError) else None
        return str(code.name) if code else ""
