"""Only Pub/Sub and the scheduler may call; whoever else does leaves nothing behind."""

from __future__ import annotations

import base64
import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from google.auth import crypt, jwt
from pytest_mock import MockerFixture

from functions import callers
from functions.callers import Caller, Forbidden
from shared.adapters.google_identity import CachedKeys, Certificates
from shared.errors import NotAuthorized, SpecError, Unavailable
from tests.unit.app.world import World
from tests.unit.functions.pushes import client_of, envelope

AUDIENCE = "https://launch-abc.a.run.app"
ACCOUNT = "push@my-project.iam.gserviceaccount.com"
NOW_S = 1_900_000_000
REMOVED = "SIGNATURE_REMOVED_BY_GOOGLE"


def make_key() -> rsa.RSAPrivateKey:
    """Make a key pair."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def certificate_of(key: rsa.RSAPrivateKey) -> str:
    """Write a certificate as Google shows its own."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=36_500))
        .sign(key, hashes.SHA256())
    )
    return built.public_bytes(serialization.Encoding.PEM).decode()


KEY, FOREIGN_KEY = make_key(), make_key()
CERTIFICATES = Certificates({"ours": certificate_of(KEY)}, 3600.0)
CLAIMS: dict[str, object] = {
    "iss": "https://accounts.google.com",
    "aud": AUDIENCE,
    "email": ACCOUNT,
    "email_verified": True,
    "iat": NOW_S - 60,
    "exp": NOW_S + 3540,
}


def token_of(key: rsa.RSAPrivateKey = KEY, key_id: str = "ours", **claims: object) -> str:
    """Sign claims."""
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    signer = crypt.RSASigner.from_string(pem, key_id)
    signed: bytes = jwt.encode(signer, {**CLAIMS, **claims})
    return signed.decode()


def unsigned(algorithm: str, signature: str = "", **claims: object) -> str:
    """Write a token that nobody signed."""
    header = {"alg": algorithm, "typ": "JWT", "kid": "ours"}
    parts = [json.dumps(each).encode() for each in (header, {**CLAIMS, **claims})]
    encoded = [base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts]
    return ".".join([*encoded, signature])


def bearer(token: str) -> dict[str, str]:
    """Write the header."""
    return {"authorization": f"Bearer {token}"}


@pytest.fixture
def caller() -> Caller:
    """Make a check that believes our own key."""
    return Caller(AUDIENCE, ACCOUNT, CachedKeys(lambda: CERTIFICATES))


def test_the_right_account_is_believed(caller: Caller) -> None:
    """With a genuine token for this function."""
    caller.check(bearer(token_of()), NOW_S)


NOBODY = [
    pytest.param({}, id="no header"),
    pytest.param({"authorization": "Basic eDp5"}, id="another scheme"),
    pytest.param(bearer(""), id="an empty token"),
    pytest.param(bearer("a.b.c"), id="no token"),
    pytest.param(bearer("é.é.é"), id="not ASCII"),
    pytest.param(bearer(unsigned("none")), id="unsigned"),
    pytest.param(bearer(unsigned("HS256", "c2lnbmVk")), id="signed with a password"),
    pytest.param(bearer(unsigned("RS256", "c2lnbmVk")), id="a wrong signature"),
    pytest.param(bearer(unsigned("RS256", REMOVED)), id="a signature that was taken away"),
    pytest.param(bearer(token_of(FOREIGN_KEY)), id="signed by somebody else"),
    pytest.param(bearer(token_of(FOREIGN_KEY, "theirs")), id="an unknown key"),
    pytest.param(bearer(token_of(exp=NOW_S - 3600)), id="expired"),
    pytest.param(bearer(token_of(iat=NOW_S + 3600, exp=NOW_S + 7200)), id="from the future"),
    pytest.param(bearer(token_of(iss="https://evil.example")), id="another issuer"),
]
SOMEBODY_ELSE = [
    pytest.param({"aud": "https://other.a.run.app"}, id="another audience"),
    pytest.param({"aud": [AUDIENCE]}, id="a list of audiences"),
    pytest.param({"email": "x@other.iam.gserviceaccount.com"}, id="another account"),
    pytest.param({"email": None}, id="no account"),
    pytest.param({"email_verified": False}, id="an account that is not verified"),
    pytest.param({"email_verified": "true"}, id="a text that says it is verified"),
]


@pytest.mark.parametrize("headers", NOBODY)
def test_a_token_that_proves_nothing_is_refused(caller: Caller, headers: dict[str, str]) -> None:
    """Whatever it says, and without quoting it."""
    with pytest.raises(NotAuthorized) as caught:
        caller.check(headers, NOW_S)

    assert not isinstance(caught.value, Forbidden)
    assert "eyJ" not in str(caught.value)


@pytest.mark.parametrize("claims", SOMEBODY_ELSE)
@pytest.mark.parametrize("is_on_cloud_run", [True, False])
def test_a_genuine_token_of_somebody_else_is_refused(
    caller: Caller, claims: dict[str, Any], *, is_on_cloud_run: bool
) -> None:
    """Whether its signature arrives or not."""
    caller = replace(caller, is_on_cloud_run=is_on_cloud_run)
    token = unsigned("RS256", REMOVED, **claims) if is_on_cloud_run else token_of(**claims)

    with pytest.raises(Forbidden):
        caller.check(bearer(token), NOW_S)


def test_on_cloud_run_a_token_arrives_without_its_signature(caller: Caller) -> None:
    """Cloud Run has checked it, and takes it away; its times are checked all the same."""
    caller = replace(caller, is_on_cloud_run=True)
    caller.check(bearer(unsigned("RS256", REMOVED)), NOW_S)

    with pytest.raises(NotAuthorized):
        caller.check(bearer(unsigned("RS256", REMOVED)), NOW_S + 7200)
    with pytest.raises(NotAuthorized):
        caller.check(bearer(unsigned("RS256", "c2lnbmVk")), NOW_S)


def test_without_googles_keys_the_message_comes_again(
    guarded: World, mocker: MockerFixture
) -> None:
    """Nobody is refused for what Google does not answer."""
    mocker.patch.object(
        callers, "_keys", return_value=CachedKeys(mocker.Mock(side_effect=Unavailable("down")))
    )

    with client_of("launch") as client:
        assert 503 == client.post("/", headers=bearer(token_of())).status_code

    assert [] == guarded.all("parked")


@pytest.mark.parametrize("name", [callers.AUDIENCE_VARIABLE, callers.ACCOUNT_VARIABLE])
def test_half_a_setting_is_refused(name: str) -> None:
    """Rather than checking nothing."""
    with pytest.raises(SpecError):
        callers.caller_in({name: "x"})


def test_where_nothing_is_set_nothing_is_checked() -> None:
    """The emulators send no tokens."""
    assert callers.caller_in({}) is None


@pytest.fixture
def guarded(world: World, monkeypatch: pytest.MonkeyPatch, mocker: MockerFixture) -> World:
    """Make an installation whose functions check their callers."""
    monkeypatch.setenv(callers.AUDIENCE_VARIABLE, AUDIENCE)
    monkeypatch.setenv(callers.ACCOUNT_VARIABLE, ACCOUNT)
    mocker.patch.object(callers, "_keys", return_value=CachedKeys(lambda: CERTIFICATES))
    return world


@pytest.mark.parametrize("target", ["health_check", "launch", "report"])
@pytest.mark.parametrize(
    "status, token",
    [
        pytest.param(401, "", id="nobody"),
        pytest.param(401, unsigned("none"), id="unsigned"),
        pytest.param(401, token_of(exp=NOW_S - 10**9, iat=NOW_S - 10**9 - 60), id="expired"),
        pytest.param(403, token_of(aud="https://x", iat=1, exp=10**11), id="another audience"),
        pytest.param(403, token_of(email="x@y.example", iat=1, exp=10**11), id="another account"),
    ],
)
def test_a_refused_caller_leaves_nothing_behind(
    guarded: World, mocker: MockerFixture, target: str, status: int, token: str
) -> None:
    """No document, no message, no call to the cloud: not even a parked one."""
    commit = mocker.spy(guarded.store, "commit")
    publish = mocker.spy(guarded.bus, "publish")

    with client_of(target) as client:
        response = client.post("/", data=b"junk", headers=bearer(token) if token else {})

    assert status == response.status_code
    assert (0, 0) == (commit.call_count, publish.call_count)


def test_the_right_caller_is_served(guarded: World) -> None:
    """With a token that is valid now."""
    now_s = int(time.time())
    headers = bearer(token_of(iat=now_s - 5, exp=now_s + 3600))

    with client_of("launch") as client:
        response = client.post("/", json=envelope(data=b'{"slice":"s"}'), headers=headers)

    assert 204 == response.status_code
    assert [] == guarded.all("parked")
