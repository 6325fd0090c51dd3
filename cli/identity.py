"""How a user proves who they are: an identity token, from wherever Google gives one.

In this order: ``$TPUCTL_ID_TOKEN``; the application-default credentials, whether a user's, a
service account's, impersonated ones or a VM's; gcloud. A token is kept in memory only.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from cli.errors import CliError
from shared.core.identity import Person, own_audience

TOKEN_VARIABLE: Final = "TPUCTL_ID_TOKEN"  # noqa: S105 - the name of a variable
LOGIN: Final = "gcloud auth application-default login"
NOT_LOGGED_IN: Final = "no Google account with an e-mail address is logged in on this machine"
GCLOUD_S: Final = 30.0
# A token that ends sooner may not live until its order is published.
RENEW_S: Final = 120.0
_SEGMENTS = 3
_SHOWN_CHARS_MAX = 200


@dataclass(frozen=True, slots=True)
class Claims:
    """What a token says, unproved: for the screen and to choose documents, never for rights."""

    person: Person
    expires_s: float


@dataclass(slots=True)
class TokenSource:
    """The user's tokens for the tpuctl of one project."""

    project: str
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    _held: str = field(default="", repr=False)

    def token(self) -> str:
        """Return a token that lives for a while yet.  Raises CliError when there is none."""
        if not self._held or claims_of(self._held).expires_s < time.time() + RENEW_S:
            self._held = self._given() or _from_google(self.project)
        return self._held

    def person(self) -> Person:
        """Say who the user is, as far as this machine needs to know."""
        return claims_of(self.token()).person

    def _given(self) -> str:
        """Read the token of the environment; what is no token, or none any more, is refused."""
        token = self.environ.get(TOKEN_VARIABLE, "").strip()
        if not token:
            return ""
        try:
            expires_s = claims_of(token).expires_s
        except ValueError:
            raise CliError(
                f"{TOKEN_VARIABLE} holds no identity token", next_step=f"unset {TOKEN_VARIABLE}"
            ) from None
        if expires_s <= time.time():
            raise CliError(
                f"the identity token in {TOKEN_VARIABLE} has expired",
                next_step=f"set it anew, or unset {TOKEN_VARIABLE}",
            )
        return token


@contextmanager
def logged_in() -> Iterator[None]:
    """Say in one line that Google's library found nobody logged in.  Raises CliError."""
    from google.auth.exceptions import DefaultCredentialsError

    try:
        yield
    except DefaultCredentialsError:
        raise CliError(NOT_LOGGED_IN, next_step=LOGIN) from None


def claims_of(token: str) -> Claims:
    """Read a token without proving it.  Raises ValueError for anything else."""
    segments = token.split(".")
    if len(segments) != _SEGMENTS:
        raise ValueError("it has not three parts")
    said = json.loads(base64.urlsafe_b64decode(segments[1] + "=" * (-len(segments[1]) % 4)))
    match said:
        case {"sub": str(subject), "email": str(email), "exp": int(expires_s)}:
            return Claims(Person(subject, email.lower()), float(expires_s))
        case _:
            raise ValueError("it names no account with an e-mail address")


def _from_google(project: str) -> str:
    """Ask Google's library, then gcloud; the first usable token wins."""
    ways: tuple[Callable[[str], str], ...] = (_from_library, _from_gcloud)
    for way in ways:
        token = way(project)
        if _is_usable(token):
            return token
    raise CliError(NOT_LOGGED_IN, next_step=LOGIN)


def _is_usable(token: str) -> bool:
    try:
        claims_of(token)
    except ValueError:
        return False
    return True


def _from_library(project: str) -> str:
    """Use the application-default credentials; "" when they give no identity token."""
    import google.auth
    from google.auth.exceptions import GoogleAuthError, TransportError
    from google.auth.transport.requests import Request

    try:
        with warnings.catch_warnings():
            # About quotas, which an identity token does not use.
            warnings.simplefilter("ignore", UserWarning)
            credentials, _ = google.auth.default()
        identity = _identity_of(credentials, own_audience(project))
        identity.refresh(Request())
    except TransportError as error:
        raise CliError(
            f"Google does not answer: {_first_line(error)}", next_step="try again"
        ) from None
    except GoogleAuthError:
        return ""
    # A user's credentials bring one along; the others are one.
    found = identity.id_token if hasattr(identity, "id_token") else identity.token
    return str(found or "")


def _identity_of(credentials: Any, audience: str) -> Any:
    """Make of credentials such as give an identity token when they are refreshed."""
    from google.auth import compute_engine, impersonated_credentials
    from google.auth.exceptions import DefaultCredentialsError
    from google.auth.transport.requests import Request
    from google.oauth2 import credentials as user
    from google.oauth2 import service_account

    match credentials:
        case user.Credentials():
            return credentials
        case service_account.Credentials():
            return service_account.IDTokenCredentials(
                signer=credentials.signer,
                service_account_email=credentials.service_account_email,
                token_uri=credentials._token_uri,  # noqa: SLF001 - it has no other name
                target_audience=audience,
            )
        case impersonated_credentials.Credentials():
            return impersonated_credentials.IDTokenCredentials(
                credentials, target_audience=audience, include_email=True
            )
        case compute_engine.Credentials():
            return compute_engine.IDTokenCredentials(
                Request(), audience, use_metadata_identity_endpoint=True
            )
        case _:
            raise DefaultCredentialsError("these credentials give no identity token")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:_SHOWN_CHARS_MAX]


def _from_gcloud(project: str) -> str:  # noqa: ARG001 - one signature for all ways
    """Ask gcloud for a token of its active account; "" when it has none, or is not there."""
    try:
        done = subprocess.run(
            ["gcloud", "auth", "print-identity-token", "--quiet"],
            capture_output=True,
            check=True,
            text=True,
            timeout=GCLOUD_S,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
