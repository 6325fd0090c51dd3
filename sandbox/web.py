"""What the sandbox's HTTP servers share."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING

from flask.json.provider import DefaultJSONProvider
from werkzeug.routing import BaseConverter
from werkzeug.serving import WSGIRequestHandler
from werkzeug.wrappers import Response

from sandbox.errors import SandboxError

if TYPE_CHECKING:
    from wsgiref.types import WSGIEnvironment


class ConnectionDroppedError(SandboxError):
    """The caller is cut off: nothing shall reach it, not even an error."""


class Json(DefaultJSONProvider):
    """JSON in the order in which it was made; what is nested too deeply is no JSON."""

    sort_keys = False

    def loads(self, s: str | bytes, **kwargs: object) -> object:
        """Read a text.  Raises ValueError."""
        try:
            return super().loads(s, **kwargs)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None


class ObjectNameConverter(BaseConverter):
    """Any text in a route, slashes first and last included: the name of an object."""

    regex = ".+"
    part_isolating = False


class QuietHandler(WSGIRequestHandler):
    """A request handler that does not write a line for every request."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing."""


def drop_connection(environ: WSGIEnvironment) -> Response:
    """Break the connection, as a network that is gone does; the answer reaches nobody."""
    connection = environ.get("werkzeug.socket")
    if isinstance(connection, socket.socket):
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
    return Response(status=503)
