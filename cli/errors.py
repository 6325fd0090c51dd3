"""What goes wrong in front of a user: one line what and where, one line what to do next.

Every command raises ``CliError``, or an error of the control plane, which is translated here.
"""

from __future__ import annotations

from typing import Final

from shared.errors import ControlPlaneError, Retryable, SpecError, StateFileError

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
TIMED_OUT: Final = 4
INTERRUPTED: Final = 130


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
        case Retryable():
            step = "try again; tpuctl local status shows what is up"
        case _:
            step = "tpuctl local status shows what is up"
    return CliError(str(error), next_step=step)
