"""Signatures under identity tokens: Google's keys, or none."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from cli.emulated.identity import subject_of
from shared.adapters.google_identity import (
    EMULATOR_VARIABLE,
    CachedKeys,
    Certificates,
    GoogleIdentity,
)
from shared.core.identity import GCLOUD_AUDIENCE, Person
from shared.errors import NotAuthorized
from tests.identities import ADA, certs, claims, mint

PROJECT = "proj-1"
EMULATORS = {EMULATOR_VARIABLE: "127.0.0.1:1"}


def now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


def ours(age_s: float = 3600.0) -> Certificates:
    """Return the certificates that stand for Google's."""
    return Certificates(certs(), age_s)


def identity() -> GoogleIdentity:
    """Believe our signer."""
    return GoogleIdentity({GCLOUD_AUDIENCE}, CachedKeys(ours))


def encoded(part: object) -> str:
    """Write a part of a token."""
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


# --- Signatures ---------------------------------------------------------------------------------


def test_a_token_of_google_names_its_person() -> None:
    """Subject and address, nothing else."""
    assert Person(subject_of(ADA), ADA) == identity().person(mint(), now())


def test_a_token_is_valid_hours_later_if_it_was_when_published() -> None:
    """A redelivered order is still its owner's."""
    published_at = now() - timedelta(hours=40)
    issued_s = int(published_at.timestamp()) - 5
    token = mint(iat=issued_s, exp=issued_s + 3600)

    assert ADA == identity().person(token, published_at).email


def test_a_token_that_is_valid_only_now_is_refused() -> None:
    """It was issued after the order."""
    with pytest.raises(NotAuthorized, match="issued after"):
        identity().person(mint(), now() - timedelta(hours=1))


def changed_claims() -> str:
    """Put other claims under a signature."""
    header, _, signature = mint().split(".")
    return ".".join((header, encoded(claims("eve@example.com")), signature))


def signed_by_secret() -> str:
    """Use the public certificate as if it were a shared secret."""
    import hashlib
    import hmac

    ((key_id, certificate),) = certs().items()
    signed = f"{encoded({'alg': 'HS256', 'kid': key_id})}.{encoded(claims())}"
    mac = hmac.new(certificate.encode(), signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def unsigned(**header: object) -> str:
    """Leave the signature empty."""
    return f"{encoded(header)}.{encoded(claims())}."


@pytest.mark.parametrize(
    "forge, reason",
    [
        pytest.param(changed_claims, "signature", id="other claims"),
        pytest.param(lambda: mint(by="other"), "not Google's", id="another key"),
        pytest.param(lambda: mint()[:-20], "signature", id="half a signature"),
        pytest.param(signed_by_secret, "RS256", id="the certificate as a secret"),
        pytest.param(lambda: unsigned(alg="none", kid="x"), "RS256", id="no algorithm"),
        pytest.param(lambda: unsigned(alg="RS256"), "named key", id="no key id"),
        pytest.param(lambda: unsigned(alg="RS256", kid=["x"]), "named key", id="odd key id"),
        pytest.param(lambda: unsigned(alg=["RS256"], kid="x"), "RS256", id="odd algorithm"),
        pytest.param(
            lambda: unsigned(alg="RS256", kid=next(iter(certs()))), "signature", id="not signed"
        ),
        pytest.param(lambda: "", "malformed", id="empty"),
        pytest.param(lambda: "a.b.c", "malformed", id="no base64"),
        pytest.param(lambda: "ya29.opaque", "malformed", id="access token"),
        pytest.param(lambda: "ä.ö.ü", "malformed", id="not ascii"),
        pytest.param(lambda: "\ud800.x.y", "malformed", id="no text at all"),
        pytest.param(lambda: f"{encoded('x')}.{encoded('y')}.", "malformed", id="no objects"),
        pytest.param(lambda: "." * 9000, "malformed", id="dots"),
        pytest.param(lambda: f"{'W' * 8000}.{'W' * 100}.x", "malformed", id="deep"),
    ],
)
def test_a_forged_token_is_refused(forge: Callable[[], str], reason: str) -> None:
    """With a reason, and never with an error that nobody expects."""
    with pytest.raises(NotAuthorized, match=reason):
        identity().person(forge(), now())


@pytest.mark.parametrize(
    "token",
    [
        pytest.param(mint(by="other"), id="another key"),
        pytest.param(mint() + ".eyJtb3JlIjoxfQ", id="four parts"),
        pytest.param(mint()[:-20], id="half a signature"),
        pytest.param(mint(aud="elsewhere"), id="wrong audience"),
        pytest.param("secret-secret.c2VjcmV0.x", id="no json"),
    ],
)
def test_no_error_and_no_log_line_quotes_a_token(
    token: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Google's library does quote it: neither the text nor what is chained to it may."""
    caplog.set_level(logging.DEBUG)

    with pytest.raises(NotAuthorized) as caught:
        identity().person(token, now())

    told = f"{caught.value} {caught.value.__cause__} {caplog.text}"
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert [] == [part for part in token.split(".") if len(part) > 1 and part in told]


def test_claims_of_a_token_with_a_good_signature_are_still_checked() -> None:
    """Google signs for everybody."""
    with pytest.raises(NotAuthorized, match="elsewhere"):
        identity().person(mint(aud="elsewhere"), now())
