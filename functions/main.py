"""The entry points of the deployed functions: one HTTP target each, named as they are deployed.

Each imports what it needs when it is first called, so that a cold start loads one use case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask import Request

Reply = tuple[str, int]


def health_check(request: Request) -> Reply:
    """Tick: observe the cloud, and make up for every message that was lost."""
    from functions.serving import ticked

    return ticked(_headers(request))


def report(request: Request) -> Reply:
    """Record what hosts say about themselves, and what Google's audit log says about them."""
    return _pushed("report", request)


def recovery(request: Request) -> Reply:
    """Make capacity match the wish."""
    return _pushed("recovery", request)


def launch(request: Request) -> Reply:
    """Make work match the wish; users' orders come on a subscription of their own."""
    return _pushed("launch", request)


def alert(request: Request) -> Reply:
    """Tell people."""
    return _pushed("alert", request)


def park(request: Request) -> Reply:
    """Put dead letters aside."""
    return _pushed("park", request)


def _pushed(function: str, request: Request) -> Reply:
    from functions.serving import pushed

    return pushed(function, request.get_data(), _headers(request))


def _headers(request: Request) -> dict[str, str]:
    return {name.lower(): value for name, value in request.headers.items()}
