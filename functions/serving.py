"""Requests as deliveries, and what becomes of them as the status codes that Pub/Sub understands.

The one place that decides a status: 204 acknowledges, 503 asks for a redelivery by the
subscription's backoff, 401 and 403 refuse a caller before anything is read. What an authenticated
caller sends and nobody can read is parked and acknowledged: asking again would not change it.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Mapping
from functools import cache

from functions import callers
from functions.callers import Forbidden
from functions.tracing import trace_in
from shared import settings, wiring
from shared.app.context import App
from shared.errors import ControlPlaneError, NotAuthorized
from shared.log import add, context, get
from shared.topology import FUNCTIONS

DONE, NO_TOKEN, FORBIDDEN, AGAIN = 204, 401, 403, 503

Reply = tuple[str, int]
_log = get("serving")


@cache
def app() -> App:
    """Put the installation together once an instance."""
    return wiring.open_app(settings.load(), os.environ.get(wiring.CLOUD_VARIABLE, ""))


def pushed(function: str, body: bytes, headers: Mapping[str, str]) -> Reply:
    """Hand a push request to its use case; only the function's own subscriptions are served."""
    return _served(function, headers, lambda limit_s: _push(function, body, limit_s))


def ticked(headers: Mapping[str, str]) -> Reply:
    """Run the tick."""
    return _served("health_check", headers, _tick)


def _push(function: str, body: bytes, limit_s: float) -> int:
    from functions.envelope import Unread, read
    from shared.app import push

    try:
        delivery = read(body, function, _prefix())
    except Unread as error:
        answer = push.refuse(app(), error.delivery(app().clock.now()), str(error))
    else:
        answer = push.receive(app(), delivery, limit_s=limit_s)
    return AGAIN if answer.retry else DONE


def _tick(limit_s: float) -> int:
    from shared.app import health_check

    health_check.run(app(), limit_s=limit_s)
    return DONE


def _served(function: str, headers: Mapping[str, str], act: Callable[[float], int]) -> Reply:
    """Check the caller, then act within what is left of the function's time.

    ``headers`` has names in lower case.
    """
    begun_s = time.monotonic()
    with context(function=function):
        try:
            refusal = _refusal(headers)
            if refusal is not None:
                return "", refusal
            add(trace=trace_in(headers, app().project))
            spent_s = time.monotonic() - begun_s
            return "", act(FUNCTIONS[function].timeout_s - spent_s)
        except ControlPlaneError as error:
            _log.error("%s cannot work: %s", function, error)
            return "", AGAIN
        finally:
            _collect_garbage()


def _refusal(headers: Mapping[str, str]) -> int | None:
    """Refuse whoever may not call, before anything is read.  Raises Unavailable, SpecError."""
    caller = callers.caller()
    if caller is None:
        return None
    try:
        caller.check(headers, time.time())
    except NotAuthorized as error:
        _log.warning("a caller is refused: %s", error)
        return FORBIDDEN if isinstance(error, Forbidden) else NO_TOKEN
    return None


def _collect_garbage() -> None:
    """Look for garbage from now on; what was imported so far never becomes any."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


@cache
def _prefix() -> str:
    """What the names of this installation's subscriptions begin with."""
    cloud = settings.load().cloud
    return f"{cloud.prefix}-" if cloud else ""
