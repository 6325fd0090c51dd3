"""The entry points of the deployed functions: one HTTP target each, named as they are deployed.

Each imports what it needs when it is first called, so that a cold start loads one use case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask import Request

Reply = tuple[str, int]


def health_check(request: Request) -> Reply:  # noqa: ARG001 - the tick carries nothing
    """Tick: observe the cloud, and make up for every message that was lost."""
    from functions.serving import app
    from shared.app import health_check

    health_check.run(app())
    return "", 204


def report(request: Request) -> Reply:
    """Record what hosts say about themselves."""
    return _pushed(request, "report")


def recovery(request: Request) -> Reply:
    """Make capacity match the wish."""
    return _pushed(request, "recovery")


def launch(request: Request) -> Reply:
    """Make work match the wish; users' orders come on a subscription of their own."""
    return _pushed(request, "launch", "launch-commands")


def alert(request: Request) -> Reply:
    """Tell people."""
    return _pushed(request, "alert")


def park(request: Request) -> Reply:
    """Put dead letters aside."""
    return _pushed(request, "park")


def _pushed(request: Request, *subscriptions: str) -> Reply:
    from functions.serving import pushed

    return pushed(request.get_data(), subscriptions)
