"""The network of a sandbox's hosts: addresses that no other sandbox of this machine gives out.

Loopback is a whole /8 on Linux, so that every host can have an address of its own and listen on
the same ports as its neighbours. A bound socket claims a network for as long as a process lives.
"""

from __future__ import annotations

import socket
import sys
from contextlib import suppress

_IS_LINUX = sys.platform.startswith("linux")
_FIRST = 77
_NETWORKS = (*range(_FIRST, 128), *range(64, _FIRST))
# No host has this address: their last parts end at 250.
_DOOR = "{}.255.254"
_DOOR_PORT = 20_001
_PER_PART = 250
FIRST_NETWORK = f"127.{_FIRST}" if _IS_LINUX else ""
ONLY_ADDRESS = "127.0.0.1"


def claim_network(wanted: str = "") -> tuple[str, socket.socket | None]:
    """Return a network, as ``127.77``, and what holds it; the wanted one, if it is free.

    Empty where there is but one loopback address, or none is left.
    """
    networks = [f"127.{part}" for part in _NETWORKS] if _IS_LINUX else []
    for network in [wanted, *networks] if wanted in networks else networks:
        claim = socket.socket()
        with suppress(OSError):
            claim.bind((_DOOR.format(network), _DOOR_PORT))
            return network, claim
        claim.close()
    return "", None


def address(network: str, number: int) -> str:
    """Return the address of a network's ``number``-th host, counted from 1."""
    if not network:
        return ONLY_ADDRESS
    return f"{network}.{number // _PER_PART % _PER_PART}.{number % _PER_PART + 1}"
