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

from sandbox import (
    admin,
    api_compute,
    api_copies,
    api_oslogin,
    api_storage,
    api_token,
    api_tpu,
    api_uploads,
    background,
    processes,
    pubsub,
)
from sandbox.access import Access
from sandbox.calls import CallLog
from sandbox.engine import Engine
from sandbox.errors import STATUS_OF_HTTP, ApiError
from sandbox.fleet import Fleet, Outside
from sandbox.grpc_door import GrpcDoor
from sandbox.identity import Identity
from sandbox.keeper import Keeper
from sandbox.keeping import CALLS
from sandbox.objects import ObjectStore
from sandbox.web import (
    ConnectionDroppedError,
    Json,
    ObjectNameConverter,
    QuietHandler,
    drop_connection,
)
from sandbox.world import World

if TYPE_CHECKING:
    from sandbox.pubsub import Publish
    from sandbox.settings import Settings
    from sandbox.sshd import Doors

_LOOPBACK = "127.0.0.1"
_APIS = (
    api_tpu,
    api_compute,
    api_oslogin,
    api_storage,
    api_uploads,
    api_copies,
    api_token,
    pubsub,
    admin,
)
_log = logging.getLogger("sandbox")


@dataclass(frozen=True, slots=True)
class Server:
    """A sandbox that listens, and the engine behind it."""

    http: BaseWSGIServer
    engine: Engine
    world: World
    grpc: GrpcDoor
    # Where hosts are reached by ssh; 0: they are not.
    ssh_port: int = 0

    @property
    def url(self) -> str:
        """Return where all APIs are served."""
        return f"http://127.0.0.1:{self.http.port}"


def build(
    home: Path, settings: Settings | None, *, port: int, publish: Publish, has_ssh: bool = False
) -> Server:
    """Make a sandbox that listens already, with all that was in it when it ended.

    Without settings it has its former ones; without a port its former one, if that is free.
    Raises OSError when the port is taken, SshUnavailableError where hosts cannot have ssh,
    StateError when what was kept cannot be read.
    """
    home.mkdir(parents=True, exist_ok=True)
    keeper = Keeper(home, publish)
    cloud = keeper.open(settings)
    engine = Engine(cloud, clock=time.time, on_change=keeper.changed)
    world = _world(home, engine, publish)
    for bucket in cloud.settings.buckets:
        world.objects.make_bucket(bucket)
    doors = _doors(home, world.access) if has_ssh else None
    http = _listen(port or _former_port(keeper), application(world))
    keeper.port = http.port
    engine.run(
        Fleet(
            home / "hosts",
            world.identity,
            outside=Outside(_emulators(http.port), world.access.metadata, doors),
            owner=engine,
            kept=cloud.hosts,
        )
    )
    return Server(http, engine, world, GrpcDoor(world), ssh_port=doors.port if doors else 0)


def application(world: World) -> Flask:
    """Make the web application with all APIs."""
    app = Flask("sandbox")
    app.url_map.merge_slashes = False
    app.url_map.converters["object"] = ObjectNameConverter
    app.json = Json(app)
    for api in _APIS:
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
    server.grpc.open()
    info = home / "sandbox.json"
    _write_info(info, server)
    stop.wait()
    server.grpc.close()
    server.engine.stop()
    info.unlink(missing_ok=True)


def _world(home: Path, engine: Engine, publish: Publish) -> World:
    return World(
        engine=engine,
        identity=Identity.load(home / "identity.key"),
        objects=ObjectStore(home / "buckets", clock=time.time),
        publish=publish,
        clock=time.time,
        access=Access(home / "access.json"),
        calls=CallLog(home / CALLS),
    )


def _former_port(keeper: Keeper) -> int:
    return keeper.port if keeper.port and background.is_free(keeper.port) else 0


def _doors(home: Path, access: Access) -> Doors:
    from sandbox import sshd

    return sshd.open_doors(home / "ssh", access, time.time)


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


def _write_info(path: Path, server: Server) -> None:
    """Say who we are; the start time tells this process from a later one of its number."""
    draft = path.with_suffix(".draft")
    pid = os.getpid()
    info = {
        "pid": pid,
        "started": processes.start_time(pid),
        "url": server.url,
        "grpc": server.grpc.address,
        "ssh_port": server.ssh_port,
    }
    draft.write_text(json.dumps(info), encoding="utf-8")
    draft.replace(path)


def _api_error(error: ApiError) -> Response:
    response = jsonify(error.body())
    response.status_code = error.http_code
    return response


def _http_error(error: HTTPException) -> Response:
    """Answer what no route knows in Google's shape, too."""
    code = error.code or 500
    if code == 405:  # noqa: PLR2004 - Google says that there is nothing at all
        code = 404
    if code == 500:  # noqa: PLR2004 - a bug of ours
        _log.error("request failed: %s %s", request.method, request.path)
    message = f"{request.method} {request.path}: {error.description}"
    status = STATUS_OF_HTTP.get(code, error.name)
    response = jsonify(error={"code": code, "message": message, "status": status})
    response.status_code = code
    return response
