"""The errors the simulated APIs answer with, in Google's words and numbers.

An ``ApiError`` is raised where a rule is broken and becomes JSON in one place (``http.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

JsonObject: TypeAlias = dict[str, object]

# HTTP status and google.rpc.Code of every status name that the sandbox uses.
STATUSES: Mapping[str, tuple[int, int]] = {
    "CANCELLED": (499, 1),
    "INVALID_ARGUMENT": (400, 3),
    "DEADLINE_EXCEEDED": (504, 4),
    "NOT_FOUND": (404, 5),
    "ALREADY_EXISTS": (409, 6),
    "PERMISSION_DENIED": (403, 7),
    "RESOURCE_EXHAUSTED": (429, 8),
    "FAILED_PRECONDITION": (400, 9),
    "ABORTED": (409, 10),
    "UNIMPLEMENTED": (501, 12),
    "INTERNAL": (500, 13),
    "UNAVAILABLE": (503, 14),
    "UNAUTHENTICATED": (401, 16),
}
# Which status name an HTTP code without further hints stands for.
STATUS_OF_HTTP: Mapping[int, str] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ALREADY_EXISTS",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}

# What Google says where it says nothing in particular.
COMMON_WORDS: Mapping[int, str] = {
    400: "Request contains an invalid argument.",
    401: "Request had invalid authentication credentials. Expected OAuth 2 access token, login "
    "cookie or other valid authentication credential.",
    403: "The caller does not have permission",
    404: "Requested entity was not found.",
    409: "Requested entity already exists",
    429: "Quota exceeded for quota metric 'Create requests' and limit 'Create requests per "
    "minute' of service 'tpu.googleapis.com' for consumer 'project_number:0'.",
    500: "Internal error encountered.",
    501: "Operation is not implemented, or supported, or enabled.",
    503: "The service is currently unavailable.",
    504: "Deadline expired before operation could complete.",
}


class SandboxError(Exception):
    """Root of the errors that the sandbox raises on purpose."""


class SettingsError(SandboxError):
    """A setting has an unknown name or an impossible value."""


class ApiError(SandboxError):
    """A request that a Google API would refuse."""

    def __init__(self, status: str, message: str, *details: JsonObject) -> None:
        super().__init__(message)
        self.http_code, self.rpc_code = STATUSES[status]
        self.status = status
        self.message = message
        self.details = details

    def body(self) -> JsonObject:
        """Render the error as the JSON body of a Google API."""
        error: JsonObject = {
            "code": self.http_code,
            "message": self.message,
            "status": self.status,
        }
        if self.details:
            error["details"] = list(self.details)
        return {"error": error}

    def rpc_status(self) -> JsonObject:
        """Render the error as a ``google.rpc.Status``, as operations carry it."""
        return {
            "code": self.rpc_code,
            "message": self.message,
            "details": list(self.details),
        }


def invalid(message: str) -> ApiError:
    """Refuse a request that is wrong in itself."""
    return ApiError("INVALID_ARGUMENT", message)


def bad_field(field: str, message: str) -> ApiError:
    """Refuse a request for one of its fields, with Google's detail about it."""
    violation = {"field": field, "description": message} if field else {"description": message}
    return ApiError(
        "INVALID_ARGUMENT",
        message,
        {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]},
    )


def not_found(name: str) -> ApiError:
    """Refuse a request for something that is not there."""
    return ApiError("NOT_FOUND", f"Resource '{name}' was not found")


def ordered(http_code: int, message: str) -> ApiError:
    """Fail as somebody has ordered: with his words, or with Google's for such an error."""
    is_said = message not in ("", COMMON_WORDS[503])
    details: tuple[JsonObject, ...] = ()
    if http_code == 429 and not is_said:  # noqa: PLR2004 - too many requests
        details = (
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "RATE_LIMIT_EXCEEDED",
                "domain": "googleapis.com",
                "metadata": {
                    "service": "tpu.googleapis.com",
                    "quota_metric": "tpu.googleapis.com/qps/create",
                },
            },
        )
    words = message if is_said else COMMON_WORDS[http_code]
    return ApiError(STATUS_OF_HTTP[http_code], words, *details)


def already_exists(name: str) -> ApiError:
    """Refuse to create a name twice."""
    return ApiError("ALREADY_EXISTS", f"Resource '{name}' already exists")


def precondition(message: str) -> ApiError:
    """Refuse a request that the resource's state does not allow."""
    return ApiError("FAILED_PRECONDITION", message)


def no_access(zone: str) -> ApiError:
    """Refuse a location that does not exist or that the project may not use."""
    return ApiError("PERMISSION_DENIED", f"Location {zone} is not found or access is unauthorized.")


def quota_exceeded(metric: str, limit: int, subject: str) -> ApiError:
    """Refuse a request that would use more than the project's quota."""
    message = f"Quota limit '{metric}' has been exceeded. Limit: {limit} in {subject}."
    return ApiError(
        "RESOURCE_EXHAUSTED",
        message,
        {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"subject": subject, "description": message}],
        },
    )


def no_reserved_capacity() -> ApiError:
    """Say that a reservation has no room; the service says it without a reservation, too."""
    return ApiError(
        "RESOURCE_EXHAUSTED",
        "Insufficient reserved capacity. Contact customer support to increase your reservation. "
        "[EID: 0x5a4d0b0c5a4d0b0d]",
    )


def stockout(zone: str) -> ApiError:
    """Say that a zone is sold out."""
    return ApiError(
        "RESOURCE_EXHAUSTED",
        f'There is no more capacity in the zone "{zone}"; you can try in another zone where '
        "Cloud TPU Nodes are offered (see https://cloud.google.com/tpu/docs/regions) "
        "[EID: 0x5a4d0b0c5a4d0b0c]",
    )
