"""Where the CLI gets the token from that says who gives an order."""

from __future__ import annotations

import subprocess
import time
from types import SimpleNamespace
from typing import Any

import google.auth
import pytest
from google.auth import compute_engine, exceptions, impersonated_credentials
from google.auth.compute_engine import _metadata
from google.oauth2 import credentials as user
from google.oauth2 import service_account
from pytest_mock import MockerFixture

from cli.emulated.identity import subject_of
from cli.errors import CliError
from cli.identity import TOKEN_VARIABLE, TokenSource, claims_of
from shared.core.identity import Person
from tests.identities import ADA, claims, mint, signer

PROJECT = "proj-1"
AUDIENCE = "tpuctl-proj-1"


def source(**environ: str) -> TokenSource:
    """Look for a token in an environment."""
    return TokenSource(PROJECT, environ)


@pytest.fixture(autouse=True)
def gcloud(mocker: MockerFixture) -> Any:
    """Take the place of gcloud: it is not there."""
    return mocker.patch("cli.identity.subprocess.run", side_effect=FileNotFoundError("gcloud"))


def found(mocker: MockerFixture, credentials: object) -> None:
    """Let Google's library find credentials."""
    mocker.patch.object(google.auth, "default", return_value=(credentials, None))


def user_credentials(mocker: MockerFixture, id_token: str | None) -> user.Credentials:
    """Make a user's credentials whose refresh brings an identity token along, or none."""
    made = user.Credentials("ya29.access", id_token=id_token)
    mocker.patch.object(user.Credentials, "refresh")
    return made


# --- Ways ---------------------------------------------------------------------------------------


def test_the_environments_token_comes_first(mocker: MockerFixture) -> None:
    """For tests and CI; Google's library is not even asked."""
    asked = mocker.patch.object(google.auth, "default")
    token = mint()

    assert token == source(**{TOKEN_VARIABLE: f"{token}\n"}).token()
    asked.assert_not_called()


def test_a_users_credentials_bring_a_token(mocker: MockerFixture) -> None:
    """What `gcloud auth application-default login` left."""
    token = mint()
    found(mocker, user_credentials(mocker, token))

    assert token == source().token()
    assert Person(subject_of(ADA), ADA) == source().person()


@pytest.mark.parametrize(
    "kind, made",
    [
        pytest.param(
            service_account.IDTokenCredentials,
            lambda: service_account.Credentials(None, "ci@p.iam", "https://oauth2.example/token"),
            id="service account",
        ),
        pytest.param(
            impersonated_credentials.IDTokenCredentials,
            lambda: impersonated_credentials.Credentials(
                user.Credentials("ya29.access"), "ci@p.iam", ["openid"]
            ),
            id="impersonated",
        ),
        pytest.param(compute_engine.IDTokenCredentials, compute_engine.Credentials, id="vm"),
    ],
)
def test_accounts_ask_for_a_token_made_for_us(mocker: MockerFixture, kind: type, made: Any) -> None:
    """With their address in it: an audience of its own keeps it from being used elsewhere."""
    token = mint("ci@p.iam", aud=AUDIENCE)
    asked: list[Any] = []

    def refresh(self: Any, _: object) -> None:
        self.token = token
        asked.append(self)

    mocker.patch.object(kind, "refresh", refresh)
    mocker.patch.object(_metadata, "get_service_account_info", return_value={"email": "ci@p.iam"})
    found(mocker, made())

    assert token == source().token()
    (identity,) = asked
    assert AUDIENCE == identity._target_audience
    assert getattr(identity, "_include_email", True)


@pytest.mark.parametrize(
    "adc",
    [
        pytest.param("none", id="no credentials"),
        pytest.param("no token", id="credentials without a token"),
        pytest.param("no address", id="a token without an address"),
        pytest.param("odd", id="credentials that give none"),
    ],
)
def test_gcloud_is_asked_last(mocker: MockerFixture, gcloud: Any, adc: str) -> None:
    """Whatever the library has instead."""
    if adc == "none":
        error = exceptions.DefaultCredentialsError("none")
        mocker.patch.object(google.auth, "default", side_effect=error)
    elif adc == "odd":
        found(mocker, object())
    else:
        nameless = {name: said for name, said in claims().items() if name != "email"}
        token = None if adc == "no token" else signer().sign(nameless)
        found(mocker, user_credentials(mocker, token))
    gcloud.side_effect = None
    gcloud.return_value = SimpleNamespace(stdout=f"{mint()}\n")

    assert ADA == source().person().email
    assert ["gcloud", "auth", "print-identity-token", "--quiet"] == gcloud.call_args.args[0]
    assert gcloud.call_args.kwargs["timeout"] == 30.0


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(FileNotFoundError("gcloud"), id="not installed"),
        pytest.param(subprocess.CalledProcessError(1, "gcloud"), id="not logged in"),
        pytest.param(subprocess.TimeoutExpired("gcloud", 30.0), id="hangs"),
    ],
)
def test_nobody_logged_in_is_said_with_the_next_step(
    mocker: MockerFixture, gcloud: Any, trouble: Exception
) -> None:
    """One line, and what to type."""
    error = exceptions.DefaultCredentialsError("many\nlines")
    mocker.patch.object(google.auth, "default", side_effect=error)
    gcloud.side_effect = trouble

    with pytest.raises(CliError) as caught:
        source().token()

    assert "gcloud auth application-default login" == caught.value.next_step
    assert "\n" not in str(caught.value)


def test_an_access_token_is_never_taken_for_an_identity(mocker: MockerFixture, gcloud: Any) -> None:
    """It would hand over more than a name."""
    found(mocker, user_credentials(mocker, None))
    gcloud.side_effect = None
    gcloud.return_value = SimpleNamespace(stdout="ya29.access\n")

    with pytest.raises(CliError):
        source().token()


def test_no_network_is_not_taken_for_no_login(mocker: MockerFixture) -> None:
    """Another next step."""
    credentials = user_credentials(mocker, None)
    error = exceptions.TransportError("no route\nto host")
    mocker.patch.object(user.Credentials, "refresh", side_effect=error)
    found(mocker, credentials)

    with pytest.raises(CliError, match=r"Google does not answer: no route$") as caught:
        source().token()

    assert "try again" == caught.value.next_step


# --- Tokens -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "token, message",
    [
        pytest.param("ya29.access", "holds no identity token", id="access token"),
        pytest.param("a.b.c", "holds no identity token", id="no base64"),
        pytest.param("a.W10.c", "holds no identity token", id="no object"),
        pytest.param(mint(exp=5), "has expired", id="expired"),
    ],
)
def test_a_wrong_token_in_the_environment_is_refused(token: str, message: str) -> None:
    """In one line that does not quote it."""
    with pytest.raises(CliError, match=message) as caught:
        source(**{TOKEN_VARIABLE: token}).token()

    assert TOKEN_VARIABLE in caught.value.next_step
    assert token not in str(caught.value)


def test_a_token_is_used_until_it_is_about_to_end(mocker: MockerFixture) -> None:
    """An upload may take longer than a token lives."""
    soon_s = int(time.time()) + 60
    tokens = [mint(exp=soon_s), mint(), mint()]
    made = user_credentials(mocker, None)
    found(mocker, made)

    def refresh(self: Any, _: object) -> None:
        self._id_token = tokens.pop(0)

    mocker.patch.object(user.Credentials, "refresh", refresh)
    asked = source()
    first, second, third = asked.token(), asked.token(), asked.token()

    assert claims_of(first).expires_s == soon_s
    assert first != second
    assert second == third
    assert 1 == len(tokens)


def test_a_token_is_not_shown() -> None:
    """Not even where everything is printed."""
    asked = source(**{TOKEN_VARIABLE: mint()})
    shown = repr(TokenSource(PROJECT, {}, asked.token()))

    assert asked.token() not in shown
