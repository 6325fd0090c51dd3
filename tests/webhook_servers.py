"""Servers on this machine that are posted to, and answer well or badly."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# What an address holds that nobody may be told.
CANARY = "T0CANARY/B0CANARY/sEcReTpAtH"


@dataclass(slots=True)
class Heard:
    """What a server was sent."""

    paths: list[str] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)


Answer = Callable[[BaseHTTPRequestHandler, Heard], None]


def status(code: int, **headers: str) -> Answer:
    """Make a server that answers with a status."""

    def answer(handler: BaseHTTPRequestHandler, _heard: Heard) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()

    return answer


@contextmanager
def serving(answer: Answer) -> Iterator[tuple[str, Heard]]:
    """Serve one webhook on this machine; yield its address."""
    heard = Heard()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.paths.append(self.path)
            heard.headers.append(dict(self.headers))
            heard.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            answer(self, heard)

        do_GET = do_POST  # noqa: N815 - and so

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/services/{CANARY}", heard
    finally:
        heard.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
