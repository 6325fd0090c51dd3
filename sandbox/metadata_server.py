"""The metadata server of one host: an HTTP server on a port of its own.

Answers only requests with ``Metadata-Flavor: Google``, lets ``wait_for_change`` hang until
the asked part of the tree has another etag, and hands out the host's tokens.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

from werkzeug.serving import BaseWSGIServer, make_server
from werkzeug.wrappers import Request, Response

from sandbox import guest_attributes, metadata
from sandbox.identity import ACCESS_TOKEN_TTL_S, Identity
from sandbox.web import QuietHandler, drop_connection

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

    from sandbox.metadata import Tree, View

# (host, namespace/key, value or None to delete it)
GuestAttribute: TypeAlias = Callable[[str, str, str | None], None]

_ROOT = "/computeMetadata/v1"
# What Google's server allows at most for a hanging request.
_WAIT_S_MAX = 3600.0


class MetadataServer:
    """Serves one host's tree; ``publish`` replaces it and wakes whoever waits."""

    def __init__(
        self, host_name: str, identity: Identity, on_guest_attribute: GuestAttribute
    ) -> None:
        self._host_name = host_name
        self._identity = identity
        self._on_guest_attribute = on_guest_attribute
        self._changed = threading.Condition()
        self._tree: Tree = {}
        self._is_cut = False
        self._is_closed = False
        self._server: BaseWSGIServer = make_server(
            "127.0.0.1", 0, self._answer, threaded=True, request_handler=QuietHandler
        )
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        """Return ``host:port`` for GCE_METADATA_HOST."""
        return f"127.0.0.1:{self._server.port}"

    def publish(self, tree: Tree, *, is_cut: bool) -> None:
        """Show another tree, or stop answering at all."""
        with self._changed:
            self._tree, self._is_cut = tree, is_cut
            self._changed.notify_all()

    def close(self) -> None:
        """Stop serving, without waiting for it; whoever hangs is let go."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        threading.Thread(target=self._shut_down, daemon=True).start()

    def _shut_down(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        if self._is_cut:
            return drop_connection(environ)(environ, start)
        response = self._respond(request)
        if self._is_cut or self._is_closed:
            response = drop_connection(environ)
        response.headers["Metadata-Flavor"] = "Google"
        response.headers["Server"] = "Metadata Server for VM"
        return response(environ, start)

    def _respond(self, request: Request) -> Response:
        if request.path == "/":
            return Response("computeMetadata/\n", content_type="application/text")
        is_forwarded = "X-Forwarded-For" in request.headers
        if request.headers.get("Metadata-Flavor") != "Google" or is_forwarded:
            return Response("Missing Metadata-Flavor:Google header.\n", 403)
        if not request.path.startswith(_ROOT):
            return _missing(request.path)
        path = request.path.removeprefix(_ROOT)
        if path.startswith(guest_attributes.ROOT):
            return self._guest_attribute(path.removeprefix(guest_attributes.ROOT), request)
        place, _, leaf = path.rpartition("/")
        is_account = place.startswith("/instance/service-accounts/")
        if is_account and leaf in {"token", "identity"}:
            return self._credential(leaf, request)
        view = self._view(path, request)
        if view is None:
            return _missing(path)
        return Response(view.text, content_type=view.content_type, headers={"ETag": view.etag})

    def _guest_attribute(self, path: str, request: Request) -> Response:
        """Read, write or delete what the host says of itself."""
        with self._changed:
            tree = self._tree
        try:
            asked = guest_attributes.Asked(request.method, path, request.get_data())
            change = guest_attributes.judge(tree, asked)
        except guest_attributes.RefusedError as error:
            return Response(f"{error}\n", error.code)
        if change is None:
            place = guest_attributes.find(tree, path)
            if place is None:
                return _missing(request.path)
            recursive = _is_true(request.args.get("recursive"))
            view = metadata.show(place, recursive=recursive, alt=request.args.get("alt", ""))
            return Response(view.text, content_type=view.content_type)
        self._on_guest_attribute(self._host_name, *change)
        return Response(status=200)

    def _view(self, path: str, request: Request) -> View | None:
        """Return what is there; with ``wait_for_change`` when it is another than before."""
        view = self._look(path, request)
        if not _is_true(request.args.get("wait_for_change")):
            return view
        known = request.args.get("last_etag") or (view.etag if view else "")
        wait_s = min(request.args.get("timeout_sec", _WAIT_S_MAX, float), _WAIT_S_MAX)
        deadline = time.monotonic() + (wait_s or _WAIT_S_MAX)
        with self._changed:
            while (view := self._look(path, request)) and view.etag == known:
                left_s = deadline - time.monotonic()
                if left_s <= 0 or self._is_cut or self._is_closed:
                    break
                self._changed.wait(left_s)
        return view

    def _look(self, path: str, request: Request) -> View | None:
        place = metadata.find(self._tree, path)
        if place is None:
            return None
        recursive = _is_true(request.args.get("recursive"))
        return metadata.show(place, recursive=recursive, alt=request.args.get("alt", ""))

    def _credential(self, kind: str, request: Request) -> Response:
        if kind == "token":
            answer = {
                "access_token": self._identity.access_token(self._host_name),
                "expires_in": ACCESS_TOKEN_TTL_S,
                "token_type": "Bearer",
            }
            return Response(json.dumps(answer), content_type="application/json")
        audience = request.args.get("audience")
        if not audience:
            return Response("non-empty audience parameter required\n", 400)
        return Response(self._identity.identity_token(self._claims(audience)))

    def _claims(self, audience: str) -> dict[str, object]:
        """Say who this host is, as the full format of Google's identity tokens does."""
        now = int(time.time())
        email = str(metadata.find(self._tree, "instance/service-accounts/default/email"))
        instance = {
            "instance_id": metadata.find(self._tree, "instance/id"),
            "instance_name": metadata.find(self._tree, "instance/name"),
            "project_id": metadata.find(self._tree, "project/project-id"),
            "zone": str(metadata.find(self._tree, "instance/zone")).rpartition("/")[2],
        }
        return {
            "aud": audience,
            "azp": email,
            "email": email,
            "email_verified": True,
            "exp": now + ACCESS_TOKEN_TTL_S,
            "google": {"compute_engine": instance},
            "iat": now,
            "iss": "https://accounts.google.com",
            "sub": email,
        }


def _is_true(value: str | None) -> bool:
    return (value or "").lower() == "true"


def _missing(path: str) -> Response:
    """Answer for what is not there; maintenance has an error of its own."""
    if path.rstrip("/") == "/instance/upcoming-maintenance":
        error = {"error": "no notifications have been received yet, try again later"}
        return Response(json.dumps(error), 503, content_type="application/json")
    return Response("not found\n", 404)
