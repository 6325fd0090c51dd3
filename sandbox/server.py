"""Puts one sandbox together and serves it until it is told to stop."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flask import Flask, Response, jsonify, request
from werkzeug.exceptions import HTTPException
from werkzeug.serving import BaseWSGIServer, make_server

from sandbox import admin, api_storage, api_tpu, api_uploads, processes, pubsub
from sandbox.cloud import Cloud
from sandbox.engine import Engine
from sandbox.errors import ApiError
from sandbox.fleet import Fleet
from sandbox.identity import Identity
from sandbox.objects import ObjectStore
from sandbox.web import ConnectionDroppedError, ObjectNameConverter, QuietHandler, drop_connection
from sandbox.world import World

if TYPE_CHECKING:
    from sandbox.pubsub import Publish
    from sandbox.settings import Settings

_LOOPBACK = "127.0.0.1"
_log = logging.getLogger("sandbox")


@dataclass(frozen=True, slots=True)
class Server:
    """A sandbox that listens, and the engine behind it."""

    http: BaseWSGIServer
    engine: Engine
    world: World

    @property
    def url(self) -> str:
        """Return where all APIs are served."""
        return f"http://127.0.0.1:{self.http.port}"


def build(home: Path, settings: Settings, *, port: int, publish: Publish) -> Server:
    """Make a sandbox that listens already.  Raises OSError when the port is taken."""
    home.mkdir(parents=True, exist_ok=True)
    engine = Engine(Cloud(settings, now=time.time()), clock=time.time)
    world = World(
        engine=engine,
        identity=Identity.load(home / "identity.key"),
        objects=ObjectStore(home / "buckets", clock=time.time),
        publish=publish,
        clock=time.time,
    )
    for bucket in settings.buckets:
        world.objects.make_bucket(bucket)
    http = _listen(port, application(world))
    engine.run(
        Fleet(
            home / "hosts",
            world.identity,
            emulators=_emulators(http.port),
            on_exit=engine.machine_ended,
        )
    )
    return Server(http, engine, world)


def application(world: World) -> Flask:
    """Make the web application with all APIs."""
    app = Flask("sandbox")
    app.url_map.merge_slashes = False
    app.url_map.converters["object"] = ObjectNameConverter
    app.json.sort_keys = False  # type: ignore[attr-defined]  # Flask's default provider has it
    for api in (api_tpu, api_storage, api_uploads, pubsub, admin):
        app.register_blueprint(api.blueprint(world))
    app.register_error_handler(ApiError, _api_error)
    app.register_error_handler(ConnectionDroppedError, lambda _: drop_connection(request.environ))
    app.register_error_handler(HTTPException, _http_error)
    return app


def serve(server: Server, home: Path) -> None:
    """Write where the sandbox is, and serve until SIGTERM or SIGINT; then leave nothing."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    threading.Thread(target=server.http.serve_forever, daemon=True).start()
    info = home / "sandbox.json"
    _write_info(info, server.url)
    stop.wait()
    server.engine.stop()
    info.unlink(missing_ok=True)


def _listen(port: int, app: Flask) -> BaseWSGIServer:
    """Bind before anything else is made; werkzeug itself would exit on a taken port."""
    try:
        listener = socket.create_server((_LOOPBACK, port))
    except OSError as error:
        raise OSError(f"port {port} is in use or not allowed: {error.strerror}") from None
    with listener:
        return make_server(
            _LOOPBACK,
            port,
            app,
            threaded=True,
            request_handler=QuietHandler,
            fd=listener.fileno(),
        )


def _emulators(port: int) -> Mapping[str, str]:
    return {
        "STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}",
        "PUBSUB_EMULATOR_HOST": f"127.0.0.1:{port}",
    }


def _write_info(path: Path, url: str) -> None:
    """Say who we are; the start time tells this process from a later one of its number."""
    draft = path.with_suffix(".draft")
    pid = os.getpid()
    info = {"pid": pid, "started": processes.start_time(pid), "url": url}
    draft.write_text(json.dumps(info), encoding="utf-8")
    draft.replace(path)


def _api_error(error: ApiError) -> Response:
    response = jsonify(error.body())
    response.status_code = error.http_code
    return response


def _http_error(error: HTTPException) -> Response:
    """Answer what no route knows in Google's shape, too."""
    code = error.code or 500
    if code == 500:  # noqa: PLR2004 - a bug of ours
        _log.error("request failed: %s %s", request.method, request.path)
    message = f"{request.method} {request.path}: {error.description}"
    response = jsonify(error={"code": code, "message": message, "status": error.name})
    response.status_code = code
    return response
