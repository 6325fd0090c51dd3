"""Identity tokens for tests, signed with a key of their own as Google signs its."""

from __future__ import annotations

import atexit
import json
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from cli.emulated.identity import ISSUER, LocalSigner, subject_of
from shared.core.identity import GCLOUD_AUDIENCE

ADA = "ada@example.com"
BOB = "bob@example.com"
EVE = "eve@example.com"


def signer(name: str = "ours") -> LocalSigner:
    """Return a signer; those of different names do not know each other's keys."""
    return _signer(name)


def certs(name: str = "ours") -> Mapping[str, str]:
    """Return a signer's certificates by key id."""
    found: Mapping[str, str] = json.loads(signer(name).certs_path.read_bytes())
    return found


def claims(email: str = ADA, **changes: object) -> dict[str, object]:
    """Say what Google would; a change to None leaves a claim out."""
    issued_s = int(datetime.now(UTC).timestamp())
    said: dict[str, object] = {
        "iss": ISSUER,
        "aud": GCLOUD_AUDIENCE,
        "sub": subject_of(email),
        "email": email,
        "email_verified": True,
        "iat": issued_s,
        "exp": issued_s + 3600,
        **changes,
    }
    return {name: value for name, value in said.items() if value is not None}


def mint(email: str = ADA, *, by: str = "ours", **changes: object) -> str:
    """Sign a token; ``changes`` replace its claims (``sub``, ``aud``, ``iat``, ``exp`` …)."""
    return signer(by).sign(claims(email, **changes))


@cache
def _signer(name: str) -> LocalSigner:
    """Making a key takes a while, so all tests of a process share it."""
    folder = tempfile.TemporaryDirectory(prefix=f"tpuctl-{name}-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    return LocalSigner.open(Path(folder.name))
