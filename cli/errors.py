"""What goes wrong in front of a user: one line what and where, one line what to do next.

Every command raises ``CliError``, or an error of the control plane, which is translated here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from shared.errors import ControlPlaneError, NotAuthorized, Retryable, SpecError, StateFileError

if TYPE_CHECKING:
    from shared.settings import Settings

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
TIMED_OUT: Final = 4
INTERRUPTED: Final = 130

_API_OFF: Final = re.compile(r"SERVICE_DISABLED|has not been used in project|it is disabled")
_LOGGED_OUT: Final = re.compile(r"(?i)credentials|reauthenticat|unauthenticated")
_ENABLE: Final = (
    "gcloud services enable firestore.googleapis.com pubsub.googleapis.com storage.googleapis.com"
    " cloudscheduler.googleapis.com"
)
# By the name of a wiring.
_PLACES: Final[Mapping[str, str]] = {
    "embedded": "tpuctl local status shows what is up",
    "box": "tpuctl box status shows what is up",
    "google": "the logs of the functions say more: docs/deploy.md",
}


class CliError(Exception):
    """An error with the next step to take and the code to exit with."""

    def __init__(self, message: str, *, next_step: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.next_step = next_step
        self.code = code


class NotFoundError(CliError):
    """What a user named does not exist, or not once."""

    def __init__(self, message: str, *, next_step: str) -> None:
        super().__init__(message, next_step=next_step, code=NOT_FOUND)


def translated(error: ControlPlaneError) -> CliError:
    """Add the next step to an error that was raised below the commands."""
    match error:
        case SpecError():
            step = "correct it and try again; docs/job-spec.md names every field"
        case StateFileError():
            step = "name another folder with TPUCTL_HOME, or do what the line above says"
        case NotAuthorized() if step := _step_to_rights(str(error)):
            pass
        case Retryable():
            step = f"try again; {_where_to_look()}"
        case _:
            step = _where_to_look()
    return CliError(str(error), next_step=step)


def _step_to_rights(text: str) -> str:
    """Say how to get what Google refuses; nothing where it is not Google that refuses."""
    settings = _settings()
    if settings is None or settings.cloud is None:
        return ""
    if _API_OFF.search(text):
        return f"{_ENABLE} --project {settings.cloud.project}"
    if _LOGGED_OUT.search(text):
        return "gcloud auth application-default login"
    if settings.wiring == "box":
        return "tpuctl init --box, with the same options, says which role is missing"
    return (
        "whoever deployed it adds you to users or teams in infra/terraform.tfvars: docs/deploy.md"
    )


def _where_to_look() -> str:
    """Name what shows what is up, in the wiring of this home."""
    settings = _settings()
    return _PLACES["embedded" if settings is None else settings.wiring]


def _settings() -> Settings | None:
    """Read what this home is; None where that cannot be read, which is told elsewhere."""
    from shared import settings

    try:
        return settings.load()
    except ControlPlaneError:
        return None
