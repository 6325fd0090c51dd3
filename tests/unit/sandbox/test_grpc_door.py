"""The port of the gRPC API: open at once, and loaded once."""

import socket
import subprocess
import sys
from typing import Any, cast

from pytest_mock import MockerFixture

from sandbox import grpc_server
from sandbox.grpc_door import GrpcDoor

PATIENCE_S = 30


def test_server_is_loaded_once_and_hears_every_caller(mocker: MockerFixture) -> None:
    """Not before the first one comes; what either side says reaches the other."""
    behind = socket.create_server(("127.0.0.1", 0))
    behind.settimeout(PATIENCE_S)
    answer = (mocker.Mock(), behind.getsockname()[1])
    serve = mocker.patch.object(grpc_server, "serve", return_value=answer)
    door = GrpcDoor(cast("Any", None))
    door.open()
    host, port = door.address.split(":")
    before = serve.call_count

    for word in (b"one", b"two"):
        with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as caller:
            caller.sendall(word)
            server, _ = behind.accept()
            server.settimeout(PATIENCE_S)
            heard = server.recv(16)
            server.sendall(heard[::-1])
            said = caller.recv(16)
            server.close()
            ended = caller.recv(16)
        assert (word, word[::-1], b"") == (heard, said, ended)

    door.close()
    behind.close()
    assert (0, 1) == (before, serve.call_count)
    answer[0].stop.assert_called_once()


def test_grpc_is_not_loaded_with_the_door() -> None:
    """Else every start of a sandbox would be slower."""
    look = "import sys, sandbox.grpc_door; sys.exit('grpc' in sys.modules)"

    assert 0 == subprocess.run([sys.executable, "-c", look], check=False, timeout=30).returncode
