"""The OS Login API: people's keys and accounts, for projects whose hosts log in that way.

Everybody's account has the name of the user that the sandbox runs as: nobody else can log in
to its hosts, which are that user's processes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from flask import Blueprint, Response, jsonify, request

from sandbox.access import LoginKey, fingerprint_of, own_user
from sandbox.errors import ApiError, invalid

if TYPE_CHECKING:
    from sandbox.access import Profile
    from sandbox.errors import JsonObject
    from sandbox.world import World

# Every release track has its own version of the API.
_VERSIONS = ("v1", "v1beta", "v1alpha")


def blueprint(world: World) -> Blueprint:
    """Make the routes."""
    routes = Blueprint("oslogin", __name__)
    api = _LoginApi(world)
    user = f"/<any({', '.join(_VERSIONS)}):version>/users/<person>"
    key = f"{user}/sshPublicKeys/<fingerprint>"
    for path, name, answer, method in (
        (f"{user}/loginProfile", "profile", api.get_profile, "GET"),
        (f"{user}:importSshPublicKey", "import-key", api.import_key, "POST"),
        (key, "get-key", api.get_key, "GET"),
        (key, "update-key", api.update_key, "PATCH"),
        (key, "delete-key", api.delete_key, "DELETE"),
    ):
        routes.add_url_rule(path, name, answer, methods=[method])
    return routes


class _LoginApi:
    """One method for each method of the API."""

    def __init__(self, world: World) -> None:
        self._world = world

    def get_profile(self, version: str, person: str) -> Response:  # noqa: ARG002 - the route's
        """Read a profile; it is empty before the first key."""
        project = request.args.get("projectId", self._world.settings().project)
        return jsonify(_render(person, self._world.access.profile(person), project))

    def import_key(self, version: str, person: str) -> Response:  # noqa: ARG002 - the route's
        """Add a key, and make the account."""
        key = _key(request.get_json(silent=True))
        project = request.args.get("projectId", self._world.settings().project)
        # Whoever leaves this block has hosts that know the key.
        with self._world.engine.cloud():
            profile = self._world.access.import_key(person, key)
        return jsonify(loginProfile=_render(person, profile, project))

    def get_key(self, version: str, person: str, fingerprint: str) -> Response:  # noqa: ARG002 - the route's
        """Read one key."""
        return jsonify(_render_key(person, fingerprint, self._find(person, fingerprint)))

    def update_key(self, version: str, person: str, fingerprint: str) -> Response:  # noqa: ARG002 - the route's
        """Change when a key expires."""
        before = self._find(person, fingerprint)
        key = LoginKey(before.key, _expiry(request.get_json(silent=True)))
        with self._world.engine.cloud():
            self._world.access.import_key(person, key)
        return jsonify(_render_key(person, fingerprint, key))

    def delete_key(self, version: str, person: str, fingerprint: str) -> Response:  # noqa: ARG002 - the route's
        """Take a key back."""
        self._find(person, fingerprint)
        with self._world.engine.cloud():
            self._world.access.remove_key(person, fingerprint)
        return jsonify({})

    def _find(self, person: str, fingerprint: str) -> LoginKey:
        key = self._world.access.profile(person).keys.get(fingerprint)
        if key is None:
            raise ApiError("NOT_FOUND", f"SSH public key {fingerprint} not found.")
        return key


def _key(body: object) -> LoginKey:
    text = str(body.get("key", "")).strip() if isinstance(body, dict) else ""
    if len(text.split()) < 2:  # noqa: PLR2004 - its kind and itself
        raise invalid("SSH public key is missing or malformed.")
    return LoginKey(text, _expiry(body))


def _expiry(body: object) -> int:
    value = body.get("expirationTimeUsec") if isinstance(body, dict) else None
    if not str(value or 0).isdecimal():
        raise invalid("expiration_time_usec must be a number of microseconds.")
    return int(str(value or 0))


def _render(person: str, profile: Profile, project: str) -> JsonObject:
    rendered: JsonObject = {"name": person}
    if profile.has_account:
        rendered["posixAccounts"] = [_account(person, project)]
    if profile.keys:
        rendered["sshPublicKeys"] = {
            name: _render_key(person, name, key) for name, key in profile.keys.items()
        }
    return rendered


def _account(person: str, project: str) -> JsonObject:
    user = own_user()
    return {
        "primary": True,
        "username": user,
        "uid": str(os.getuid()),
        "gid": str(os.getgid()),
        "homeDirectory": f"/home/{user}",
        "operatingSystemType": "LINUX",
        "accountId": project,
        "name": f"users/{person}/projects/{project}",
    }


def _render_key(person: str, fingerprint: str, key: LoginKey) -> JsonObject:
    rendered: JsonObject = {
        "key": key.key,
        "fingerprint": fingerprint_of(key.key),
        "name": f"users/{person}/sshPublicKeys/{fingerprint}",
    }
    if key.expires_us:
        rendered["expirationTimeUsec"] = str(key.expires_us)
    return rendered
