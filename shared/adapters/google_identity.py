"""Who signed an order: Google's signature under an identity token, checked with Google's keys.

Nothing here may log, raise or keep a token: the errors of Google's library quote it, so none of
them is passed on. Importing this module loads that library: let only the wiring do it, and late.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from google.auth import jwt
from google.auth.exceptions import GoogleAuthError
from google.auth.transport import Request

from shared.core.identity import Person, audiences_of, check_claims
from shared.errors import NotAuthorized, SpecError, Unavailable

CERTS_URL: Final = "https://www.googleapis.com/oauth2/v1/certs"
CERTS_VARIABLE: Final = "TPUCTL_IDENTITY_CERTS"
EMULATOR_VARIABLE: Final = "FIRESTORE_EMULATOR_HOST"
FETCH_S: Final = 10.0  # one try: a message that fails is delivered again
AGE_S: Final = 3600.0  # for an answer that does not say how long it holds
AGE_S_MAX: Final = 86_400.0
# A token with an unknown key makes us ask again, but nobody can make us ask all the time.
ASK_AGAIN_S: Final = 60.0

_ALGORITHM = "RS256"
# The library compares with the time now; which time counts is for the core to say.
_ANY_TIME_S = 10**10
_MAX_AGE = re.compile(r"max-age=(\d+)")


@dataclass(frozen=True, slots=True)
class Certificates:
    """Public keys by their ids, and for how long they may be believed without asking again."""

    by_id: Mapping[str, str]
    age_s: float


Fetch = Callable[[], Certificates]


def connect(project: str, audiences: Collection[str], environ: Mapping[str, str]) -> GoogleIdentity:
    """Believe Google's tokens for these audiences, or for gcloud's when none is listed.

    Beside the emulators, and only there, other keys take the place of Google's.
    Raises SpecError for other keys elsewhere.
    """
    source = environ.get(CERTS_VARIABLE, "")
    if source and not environ.get(EMULATOR_VARIABLE):
        raise SpecError(
            CERTS_VARIABLE, f"is for the emulators only: unset it, or set {EMULATOR_VARIABLE}"
        )
    return GoogleIdentity(audiences_of(audiences, project), CachedKeys(_fetch_from(source)))


class CachedKeys:
    """Certificates, fetched when they are first needed and again when they are too old."""

    def __init__(self, fetch: Fetch, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._fetch = fetch
        self._monotonic = monotonic
        self._held: Certificates | None = None
        self._fetched_at = 0.0

    def get(self, key_id: str) -> str | None:
        """Return a key, or None if it is not among Google's.  Raises Unavailable."""
        held, age_s = self._held, self._monotonic() - self._fetched_at
        if held is None or age_s >= self._age_s(held, key_id):
            held = self._renewed()
        return held.by_id.get(key_id)

    @staticmethod
    def _age_s(held: Certificates, key_id: str) -> float:
        return held.age_s if key_id in held.by_id else min(held.age_s, ASK_AGAIN_S)

    def _renewed(self) -> Certificates:
        self._held = self._fetch()
        self._fetched_at = self._monotonic()
        return self._held


class GoogleIdentity:
    """Reads who somebody is from the token that Google signed for them."""

    def __init__(self, audiences: Collection[str], keys: CachedKeys) -> None:
        self._audiences = audiences
        self._keys = keys

    def person(self, token: str, published_at: datetime) -> Person:
        """Say who gave what was published at a time.  Raises NotAuthorized, Unavailable."""
        return check_claims(signed_claims(token, self._keys), self._audiences, published_at)


def signed_claims(token: str, keys: CachedKeys) -> Mapping[str, Any]:
    """Read the claims of a token whose signature holds.  Raises NotAuthorized, Unavailable."""
    key_id = _key_id(token)
    certificate = keys.get(key_id)
    if certificate is None:
        raise NotAuthorized("the identity token is signed with a key that is not Google's")
    try:
        claims: Mapping[str, Any] = jwt.decode(
            token, certs={key_id: certificate}, clock_skew_in_seconds=_ANY_TIME_S
        )
    except (ValueError, TypeError, RecursionError, GoogleAuthError):
        raise NotAuthorized("the signature of the identity token does not hold") from None
    return claims


def google_keys() -> CachedKeys:
    """Return Google's own keys, whatever stands in for its other services."""
    return CachedKeys(_fetch_from(""))


def _key_id(token: str) -> str:
    """Read which key signed a token; only the algorithm of Google's keys is believed."""
    try:
        header = jwt.decode_header(token)
    except (ValueError, RecursionError, GoogleAuthError):
        raise NotAuthorized("the identity token is malformed") from None
    key_id = header.get("kid")
    if header.get("alg") != _ALGORITHM or not isinstance(key_id, str):
        raise NotAuthorized(f"the identity token is not signed with {_ALGORITHM} and a named key")
    return key_id


def _fetch_from(source: str) -> Fetch:
    """Say how to get the keys: from Google, from another address, or from a file."""
    if source and not source.startswith(("http://", "https://")):
        return lambda: _read(Path(source))
    return lambda: _download(source or CERTS_URL)


def _read(path: Path) -> Certificates:
    """Read keys from a file, every time anew: a local signer may have been set up since."""
    try:
        return Certificates(_parsed(path.read_bytes(), str(path)), 0.0)
    except OSError as error:
        raise Unavailable(f"{CERTS_VARIABLE}: {path} cannot be read: {error.strerror}") from None


def _download(url: str) -> Certificates:
    request = _request()
    try:
        response = request(url, method="GET", timeout=FETCH_S)
    except GoogleAuthError as error:
        raise Unavailable(f"{url} does not answer: {error}", after_s=5.0) from None
    if response.status != 200:  # noqa: PLR2004 - OK
        raise Unavailable(f"{url} answers {response.status}", after_s=5.0)
    found = _MAX_AGE.search(str(response.headers.get("Cache-Control", "")))
    age_s = min(float(found[1]), AGE_S_MAX) if found else AGE_S
    return Certificates(_parsed(response.data, url), age_s)


def _request() -> Request:
    from google.auth.transport.requests import Request as OverRequests

    return OverRequests()


def _parsed(data: bytes, where: str) -> Mapping[str, str]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise Unavailable(f"{where} holds no certificates by key id")
    return found
