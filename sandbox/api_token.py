"""Google's token endpoint, as far as a library needs it that starts from a service account."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING

from flask import Blueprint, Response, jsonify, request

from sandbox.identity import ACCESS_TOKEN_TTL_S

if TYPE_CHECKING:
    from sandbox.world import World


def blueprint(world: World) -> Blueprint:
    """Make the route."""
    routes = Blueprint("token", __name__)
    routes.add_url_rule("/token", "token", lambda: _answer(world), methods=["POST"])
    return routes


def _answer(world: World) -> Response:
    """Give a token to whoever names itself: who it is shows in the log of calls."""
    person = _issuer(request.form.get("assertion", ""))
    if not person:
        response = jsonify(error="invalid_grant", error_description="Invalid JWT.")
        response.status_code = 400
        return response
    token = world.identity.access_token(person)
    return jsonify(
        {"access_token": token, "expires_in": ACCESS_TOKEN_TTL_S, "token_type": "Bearer"}
    )


def _issuer(assertion: str) -> str:
    """Read who signed an assertion; the signature is not looked at."""
    part = assertion.split(".")[1] if assertion.count(".") == 2 else ""  # noqa: PLR2004 - a JWT
    try:
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (binascii.Error, ValueError):
        return ""
    return str(claims.get("iss", "")) if isinstance(claims, dict) else ""
