"""A gRPC server that answers as a test tells it, in the place of Pub/Sub."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import grpc

Answer: TypeAlias = bytes | grpc.StatusCode | None


@dataclass
class Scripted(grpc.GenericRpcHandler):
    """Gives one answer after the other, the last one for ever; None is given never."""

    answers: list[Answer] = field(default_factory=lambda: [b""])
    asked: list[tuple[str, bytes]] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    address: str = ""

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
        """Answer every method."""
        method = details.method.rpartition("/")[2]

        def behave(request: bytes, context: grpc.ServicerContext) -> bytes:
            self.asked.append((method, request))
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if answer is None:
                self.ended.wait()
                return b""
            if isinstance(answer, grpc.StatusCode):
                context.abort(answer, "as the test said")
            assert isinstance(answer, bytes), "all others were answered"
            return answer

        return grpc.unary_unary_rpc_method_handler(behave)


@contextmanager
def serving() -> Iterator[Scripted]:
    """Serve on a free port of loopback."""
    scripted = Scripted()
    server = grpc.server(ThreadPoolExecutor(4), handlers=[scripted])
    scripted.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield scripted
    finally:
        scripted.ended.set()
        server.stop(None).wait()
