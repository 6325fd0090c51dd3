"""What goes wrong with calls of the cloud: errors of each class, requests that show up late."""

from __future__ import annotations

from collections.abc import Callable

from shared.errors import (
    Busy,
    ControlPlaneError,
    InvalidRequest,
    NoAccess,
    RateLimited,
    Unavailable,
)
from tests.simulation.chance import Chance, Fault

# A request that shows up late mostly does so before the control plane stops waiting for it
# (600 s); one that comes after that is nobody's.
LATE_S = (30.0, 540.0)
TOO_LATE_S = (700.0, 2400.0)
TOO_LATE = 0.3
API_ERROR = 0.05
ERRORS: tuple[Callable[[str], ControlPlaneError], ...] = (
    lambda _: Unavailable("the cloud answers 503"),
    lambda _: RateLimited("the cloud answers 429"),
    lambda _: Busy("the cloud answers 409"),
)


def may_fail(chance: Chance, method: str) -> None:
    """Fail a call now and then, with an error that its method may have."""
    if not chance.hits(Fault.API_ERRORS, API_ERROR):
        return
    errors = chance.of("errors")
    if method == "create" and errors.random() < 1 / 40:
        raise NoAccess("the project may not use this zone")
    if method == "delete" and errors.random() < 1 / 10:
        raise InvalidRequest("the cloud answers 400")
    raise errors.choice(ERRORS)(method)


def late_s(chance: Chance) -> float | None:
    """Return the seconds after which a new request shows up, if it is late."""
    if not chance.hits(Fault.SLOW_CREATES, 0.2):
        return None
    lateness = chance.of("lateness")
    usual_s = chance.of("creates").uniform(*LATE_S)
    return lateness.uniform(*TOO_LATE_S) if lateness.random() < TOO_LATE else usual_s
