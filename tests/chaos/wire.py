"""A wire between the functions and an emulator that can be cut, held up and taken away.

Whoever is connected through it talks to the emulator as if directly, until somebody breaks it.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from typing import Final, Self

_CHUNK_BYTES: Final = 65_536
# A close with this option set is a reset: what was on its way is lost.
_RESET: Final = struct.pack("ii", 1, 0)


class Wire:
    """One address that leads to another one, for the time of a ``with`` block."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._lock = threading.Lock()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._flows, self._accepts = threading.Event(), threading.Event()
        self._flows.set()
        self._accepts.set()
        self._door = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.cuts = 0

    @property
    def address(self) -> str:
        """Where to connect to: ``host:port``."""
        host, port = self._door.getsockname()
        return f"{host}:{port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        self.heal()
        self.cut()

    def cut(self) -> int:
        """Reset all connections; return how many there were."""
        with self._lock:
            pairs = list(self._pairs)
            self._pairs.clear()
        for pair in pairs:
            for end in pair:
                _reset(end)
        self.cuts += len(pairs)
        return len(pairs)

    def hold(self) -> None:
        """Carry nothing on, in neither direction, until healed."""
        self._flows.clear()

    def refuse(self) -> int:
        """Cut, and reset whoever connects anew, until healed; return how many were cut."""
        self._accepts.clear()
        return self.cut()

    def heal(self) -> None:
        """Be a plain wire again."""
        self._accepts.set()
        self._flows.set()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._door.accept()
            except OSError:
                return
            self._connect(near)

    def _connect(self, near: socket.socket) -> None:
        if not self._accepts.is_set():
            _reset(near)
            return
        try:
            far = socket.create_connection(self._target, timeout=5)
        except OSError:
            _reset(near)
            return
        far.settimeout(None)
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pair = (near, far)
        with self._lock:
            self._pairs.add(pair)
        for source, sink in (pair, (far, near)):
            threading.Thread(target=self._pump, args=(source, sink, pair), daemon=True).start()

    def _pump(
        self, source: socket.socket, sink: socket.socket, pair: tuple[socket.socket, socket.socket]
    ) -> None:
        """Carry one direction until either end is gone; then the other end is told."""
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK_BYTES):
                self._flows.wait()
                sink.sendall(data)
        with self._lock:
            self._pairs.discard(pair)
        for end in pair:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def _reset(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        # A thread that waits in recv keeps the socket open: wake it first.
        end.shutdown(socket.SHUT_RD)
    end.close()
