"""The port of the gRPC API: open at once, while gRPC itself is loaded for the first who comes.

Most sandboxes never see a gRPC call, and loading it would make every start slower.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import grpc

    from sandbox.world import World

_LOOPBACK = "127.0.0.1"
_CHUNK_BYTES = 65_536
_REACH_S = 5.0


class GrpcDoor:
    """Takes connections and passes them on to the server behind it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._server: grpc.Server | None = None
        self._listener = socket.create_server((_LOOPBACK, 0))
        self.address = f"{_LOOPBACK}:{self._listener.getsockname()[1]}"

    def open(self) -> None:
        """Take connections from now on."""
        threading.Thread(target=self._take, name="grpc-door", daemon=True).start()

    def close(self) -> None:
        """Take none any more, and end those that are open."""
        self._listener.close()
        if self._server:
            self._server.stop(None)

    def _take(self) -> None:
        port = 0
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            port = port or self._load()
            _pass_on(client, _reach(port))

    def _load(self) -> int:
        # The sandbox starts processes: gRPC shall not look at each.
        os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
        from sandbox import grpc_server

        self._server, port = grpc_server.serve(self._world)
        return port


def _reach(port: int) -> socket.socket:
    server = socket.create_connection((_LOOPBACK, port), timeout=_REACH_S)
    # From now on a silence is no trouble.
    server.settimeout(None)
    return server


def _pass_on(client: socket.socket, server: socket.socket) -> None:
    """Copy what either side says to the other, until one ends."""
    for source, sink in ((client, server), (server, client)):
        threading.Thread(target=_copy, args=(source, sink), daemon=True).start()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK_BYTES):
            sink.sendall(data)
    for end in (source, sink):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
    # The other direction sees its end, and the last one closes.
    with contextlib.suppress(OSError):
        source.close()
