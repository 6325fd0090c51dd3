"""A signer of identity tokens for the emulators: its own key in the place of Google's.

Its certificates are believed only where ``TPUCTL_IDENTITY_CERTS`` names them and an emulator is
named beside it (``shared.adapters.google_identity``). The simulated cloud knows nothing of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shared.core.identity import GCLOUD_AUDIENCE

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

ISSUER: Final = "https://accounts.google.com"
LIFETIME_S: Final = 3600  # as Google's
KEY_BITS: Final = 2048
_VALID: Final = timedelta(days=3650)
_BACK: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class LocalSigner:
    """One key in a folder; whoever can read the folder can sign as anybody."""

    folder: Path

    @classmethod
    def open(cls, folder: Path) -> LocalSigner:
        """Use the key of a folder, or make it: ``key.pem`` (0600) and ``certs.json``."""
        signer = cls(folder)
        if not signer.certs_path.exists():
            signer._make()
        return signer

    @property
    def certs_path(self) -> Path:
        """What ``TPUCTL_IDENTITY_CERTS`` names: certificates by key id, as Google's page."""
        return self.folder / "certs.json"

    @property
    def key_path(self) -> Path:
        """The private key."""
        return self.folder / "key.pem"

    def mint(
        self,
        email: str,
        *,
        subject: str = "",
        audience: str = GCLOUD_AUDIENCE,
        issued_at: datetime | None = None,
        lifetime_s: float = LIFETIME_S,
    ) -> str:
        """Sign that somebody has this address; without a ``subject`` it follows from that."""
        issued_s = int((issued_at or datetime.now(UTC)).timestamp())
        return self.sign(
            {
                "iss": ISSUER,
                "aud": audience,
                "sub": subject or subject_of(email),
                "email": email,
                "email_verified": True,
                "iat": issued_s,
                "exp": issued_s + int(lifetime_s),
            }
        )

    def sign(self, claims: Mapping[str, object]) -> str:
        """Sign any claims."""
        from google.auth import crypt, jwt

        (key_id,) = json.loads(self.certs_path.read_bytes())
        signer = crypt.RSASigner.from_string(self.key_path.read_bytes(), key_id)
        token: bytes = jwt.encode(signer, dict(claims))
        return token.decode()

    def _make(self) -> None:
        """Write the key, then what makes it known."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import rsa

        key = rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        self.key_path.unlink(missing_ok=True)
        self.key_path.touch(mode=0o600)
        self.key_path.write_bytes(private)
        certificate = _certificate(key)
        certs = {sha256(certificate.encode()).hexdigest()[:40]: certificate}
        draft = self.certs_path.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(certs), encoding="utf-8")
        draft.replace(self.certs_path)


def subject_of(email: str) -> str:
    """Make up the number that Google gives an account: 21 digits."""
    return str(int.from_bytes(sha256(email.lower().encode()).digest()))[:21]


def _certificate(key: RSAPrivateKey) -> str:
    """Sign one's own certificate, in the form of Google's."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.x509.oid import NameOID

    now = datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tpuctl-emulators")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACK)
        .not_valid_after(now + _VALID)
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()
