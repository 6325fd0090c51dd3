"""A wire carries both ways until somebody breaks it, and again once it is healed."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.chaos.wire import Wire

PATIENCE_S = 30.0
# Long enough for what goes through at once, in a test that waits for nothing to come.
SHORT_S = 0.2


@pytest.fixture
def wire() -> Iterator[Wire]:
    """Give a wire to a server that says again what it is told."""
    door = socket.create_server(("127.0.0.1", 0))

    def echo(end: socket.socket) -> None:
        with end, suppress(OSError):
            while data := end.recv(100):
                end.sendall(data)

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=echo, args=(door.accept()[0],), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    with door, Wire(f"127.0.0.1:{door.getsockname()[1]}") as wire:
        yield wire


def connect(wire: Wire) -> socket.socket:
    """Connect through it."""
    host, _, port = wire.address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_S)


def greet(wire: Wire) -> bytes:
    """Connect anew, say something and return the answer; empty for whoever is not let through."""
    try:
        with connect(wire) as end:
            return ask(end)
    except ConnectionError:
        return b""


def ask(end: socket.socket, word: bytes = b"hello") -> bytes:
    """Say something and return the answer; empty where the connection is gone."""
    try:
        end.sendall(word)
        return end.recv(100)
    except ConnectionError:
        return b""


def test_a_wire_carries_both_ways(wire: Wire) -> None:
    """As if there were none."""
    with connect(wire) as end:
        assert b"hello" == ask(end)


def test_a_cut_ends_what_is_connected_and_nothing_else(wire: Wire) -> None:
    """Whoever connects anew gets through."""
    with connect(wire) as end, connect(wire) as other:
        assert b"hello" == ask(end) == ask(other)

        assert 2 == wire.cut()

        assert b"" == ask(end) == ask(other)
    assert b"hello" == greet(wire)


def test_what_is_held_up_comes_when_the_wire_is_healed(wire: Wire) -> None:
    """Nothing is lost, and nobody is told meanwhile."""
    with connect(wire) as end:
        ask(end)
        wire.hold()
        end.settimeout(SHORT_S)
        with pytest.raises(TimeoutError):
            ask(end, b"later")

        wire.heal()
        end.settimeout(PATIENCE_S)

        assert b"later" == end.recv(100)


def test_a_wire_that_refuses_lets_nobody_through_until_healed(wire: Wire) -> None:
    """Neither those who were there nor those who come."""
    with connect(wire) as end:
        ask(end)
        assert 1 == wire.refuse()
        assert b"" == ask(end)
    assert b"" == greet(wire)

    wire.heal()

    assert b"hello" == greet(wire)
