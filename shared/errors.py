"""Every error the control plane tells apart, drawn once.

* ControlPlaneError
  x Retryable           try again, the world may have changed (carries ``after_s``)
    - Conflict          somebody else committed first
    - Stockout          the zone has no capacity now
    - QuotaExceeded     a limit of ours in the cloud is used up
    - Busy              a name is still being deleted
    - RateLimited       too many requests in a minute
    - Unavailable       the service did not answer, or answered with a server error
    - OutOfTime         this invocation has used up its time
  x Permanent           the same call can never succeed
    - SpecError         a user's field is wrong (carries ``field``)
    - IllegalTransition a stage met an event that it cannot meet
    - NotAuthorized     an account lacks a role, or a token is wrong
    - NoAccess          the project may not use a zone
    - InvalidRequest    the cloud refused the request as malformed
    - FromTheFuture     a message names a number that was never committed
    - Unreadable        a document holds what no version of this program wrote
    - StateFileError    a file on disk is not ours to use

A caller catches at the level on which it can act. Adapters translate foreign errors at the
call; nothing above them names a Google or SQLite exception.
"""

from __future__ import annotations


class ControlPlaneError(Exception):
    """Root of all errors this project raises on purpose."""


class Retryable(ControlPlaneError):  # noqa: N818 - the tree reads as sentences: `except Retryable`
    """A call that may succeed later; ``after_s`` says when to try again."""

    def __init__(self, message: str, *, after_s: float = 1.0) -> None:
        super().__init__(message)
        self.after_s = after_s


class Conflict(Retryable):
    """A compare-and-set lost: the document changed since it was read."""


class Unavailable(Retryable):
    """A service did not answer, or answered with a server error."""


class RateLimited(Retryable):
    """Requests per minute are used up; says nothing about the zone."""


class Busy(Retryable):
    """The name, or the quota behind it, is still held by something that is being deleted."""


class OutOfTime(Retryable):
    """This invocation has used up its time; the next one goes on where it stopped."""


class Stockout(Retryable):
    """The zone has no capacity for this type now."""

    def __init__(self, message: str, *, zone: str, after_s: float = 60.0) -> None:
        super().__init__(message, after_s=after_s)
        self.zone = zone


class QuotaExceeded(Retryable):
    """A quota of the project is used up."""

    def __init__(self, message: str, *, after_s: float = 300.0) -> None:
        super().__init__(message, after_s=after_s)


class Permanent(ControlPlaneError):  # noqa: N818 - the tree reads as sentences: `except Permanent`
    """A call that can never succeed as it is."""


class SpecError(Permanent):
    """A field that a user wrote is wrong."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class IllegalTransition(Permanent):
    """A stage met an event for which the table has no row."""

    def __init__(self, stage: str, event: str) -> None:
        super().__init__(f"stage {stage} cannot meet {event}")
        self.stage = stage
        self.event = event


class NotAuthorized(Permanent):
    """An account lacks a role, or a token does not match."""


class NoAccess(Permanent):
    """The project may not use this zone."""


class InvalidRequest(Permanent):
    """The cloud refused the request as malformed."""


class FromTheFuture(Permanent):
    """A message names a number that was never committed: a bug or a forgery."""


class Unreadable(Permanent):
    """A document holds what no version of this program wrote."""


class StateFileError(Permanent):
    """A state file is corrupt, foreign or newer than this program; it is left as it is."""
