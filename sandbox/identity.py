"""Who a host is: access tokens and identity tokens, signed with the sandbox's own key.

Tokens are stateless: who presents one is read from it and checked against its signature.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ACCESS_TOKEN_TTL_S = 3600
_PREFIX = "ya29.sandbox"
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Identity:
    """The key that the sandbox signs with."""

    key: bytes

    @classmethod
    def load(cls, path: Path) -> Identity:
        """Read the key, or make one that only the owner of the file can read."""
        if not path.exists():
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(os.urandom(_KEY_BYTES))
        return cls(path.read_bytes())

    def access_token(self, host: str) -> str:
        """Return the bearer token of a host."""
        return f"{_PREFIX}.{_encode(host.encode())}.{self._sign(host.encode())}"

    def host_of(self, authorization: str | None) -> str | None:
        """Return which host an ``Authorization`` header belongs to, or None."""
        token = (authorization or "").removeprefix("Bearer ")
        if not token.startswith(f"{_PREFIX}."):
            return None
        name, _, signature = token.removeprefix(f"{_PREFIX}.").partition(".")
        try:
            host = base64.urlsafe_b64decode(name + "=" * (-len(name) % 4))
        except ValueError:
            return None
        is_ours = hmac.compare_digest(signature.encode(), self._sign(host).encode())
        return host.decode() if is_ours else None

    def identity_token(self, claims: Mapping[str, object]) -> str:
        """Return a JSON Web Token (HS256; Google's are RS256) with these claims."""
        parts = ({"alg": "HS256", "typ": "JWT", "kid": "sandbox"}, claims)
        signed = ".".join(_encode(json.dumps(part).encode()) for part in parts)
        return f"{signed}.{self._sign(signed.encode())}"

    def _sign(self, data: bytes) -> str:
        return _encode(hmac.new(self.key, data, hashlib.sha256).digest())


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
