"""Who may call a function: checked here once more, behind Cloud Run's own check.

Whoever may invoke a service by some inherited role is still neither Pub/Sub nor the scheduler,
and no document may be written for them. The emulators send no tokens: there is nothing set.

Cloud Run checks a token's signature, then hands the token on without it. So the signature is
checked here only where it arrives; without one, a token is believed on Cloud Run and nowhere
else. That a service is open to nobody, Terraform and its policy checks see to.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from shared.errors import NotAuthorized, SpecError

if TYPE_CHECKING:
    from shared.adapters.google_identity import CachedKeys

# Set for each deployed function: what its callers' tokens are for, and whose they are.
AUDIENCE_VARIABLE = "TPUCTL_PUSH_AUDIENCE"
ACCOUNT_VARIABLE = "TPUCTL_PUSH_ACCOUNT"
# Cloud Run sets it for every service.
SERVICE_VARIABLE = "K_SERVICE"
ISSUERS = frozenset({"accounts.google.com", "https://accounts.google.com"})
SKEW_S = 10.0

_BEARER = "bearer "
_REMOVED = ".SIGNATURE_REMOVED_BY_GOOGLE"


class Forbidden(NotAuthorized):
    """The token is genuine, and somebody else's."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose tokens are believed; on Cloud Run also those whose signature it took away."""

    audience: str
    account: str
    keys: CachedKeys
    is_on_cloud_run: bool = False

    def check(self, headers: Mapping[str, str], now_s: float) -> None:
        """Believe a request at a time, in seconds since 1970; header names are in lower case.

        Raises NotAuthorized for a token that proves nothing, Forbidden for somebody else's,
        Unavailable when Google's keys cannot be had.
        """
        claims = self._claims(_token(headers))
        if claims.get("iss") not in ISSUERS:
            raise NotAuthorized("the token has another issuer than Google")
        issued_s, expires_s = claims.get("iat"), claims.get("exp")
        if not isinstance(issued_s, int) or not isinstance(expires_s, int):
            raise NotAuthorized("the token does not say how long it is valid")
        if not issued_s - SKEW_S <= now_s <= expires_s + SKEW_S:
            raise NotAuthorized("the token is not valid now")
        if claims.get("aud") != self.audience:
            raise Forbidden("the token is for somebody else")
        if claims.get("email") != self.account or claims.get("email_verified") is not True:
            raise Forbidden("the token is another account's")

    def _claims(self, token: str) -> Mapping[str, object]:
        from shared.adapters.google_identity import signed_claims

        if self.is_on_cloud_run and token.endswith(_REMOVED):
            return _unsigned_claims(token)
        return signed_claims(token, self.keys)


def caller() -> Caller | None:
    """Say who may call this function; None where nothing is set.  Raises SpecError."""
    return caller_in(os.environ)


def caller_in(environ: Mapping[str, str]) -> Caller | None:
    """Read who may call; None where nothing is set.  Raises SpecError for half a setting."""
    audience, account = environ.get(AUDIENCE_VARIABLE, ""), environ.get(ACCOUNT_VARIABLE, "")
    if not audience and not account:
        return None
    if not audience or not account:
        missing = ACCOUNT_VARIABLE if audience else AUDIENCE_VARIABLE
        raise SpecError(f"${missing}", "is missing: the other half of the callers' check is set")
    return Caller(audience, account, _keys(), bool(environ.get(SERVICE_VARIABLE)))


@cache
def _keys() -> CachedKeys:
    """Keep Google's keys for as long as this instance lives."""
    from shared.adapters.google_identity import google_keys

    return google_keys()


def _unsigned_claims(token: str) -> Mapping[str, object]:
    from google.auth import jwt

    try:
        claims: Mapping[str, object] = jwt.decode(token, verify=False)
    except (ValueError, TypeError, RecursionError):
        # The library's texts quote what it read: not for a log.
        raise NotAuthorized("the token is malformed") from None
    return claims


def _token(headers: Mapping[str, str]) -> str:
    header = headers.get("authorization", "")
    if not header.lower().startswith(_BEARER):
        raise NotAuthorized("no token")
    return header[len(_BEARER) :].strip()
