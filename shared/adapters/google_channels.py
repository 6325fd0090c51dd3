"""gRPC's channels to Google's services, and to emulators of them."""

from __future__ import annotations

from typing import Final

import grpc

# Documents and messages are limited by us, far below what memory takes; a connection that
# nobody uses for a while is kept.
OPTIONS: Final = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.keepalive_time_ms", 30_000),
)


def to_emulator(address: str) -> grpc.Channel:
    """Open a channel to an emulator (``host:port``), on this machine or beside it: no proxy."""
    return grpc.insecure_channel(address, options=(*OPTIONS, ("grpc.enable_http_proxy", 0)))
