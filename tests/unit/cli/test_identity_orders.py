"""An order says who gives it where that is asked, and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from google.auth.exceptions import DefaultCredentialsError
from pytest_mock import MockerFixture

from cli.emulated.identity import LocalSigner, subject_of
from cli.errors import CliError
from cli.identity import LOGIN, NOT_LOGGED_IN, TOKEN_VARIABLE, claims_of
from cli.installation import Installation
from cli.orders import give, new_order
from shared.core.identity import Person, owner_names
from shared.core.orders import OrderKind
from shared.settings import Settings, load
from tests.identities import ADA, mint
from tests.unit.cli.stage import Installed, Launch, Tpuctl, refuse

PROJECT = "proj-1"


def google_settings(monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Write the settings of a deployment."""
    written: Mapping[str, object] = {
        "wiring": "google",
        "installation": "abc123",
        "cloud": {"project": PROJECT, "bucket": "bucket"},
    }
    monkeypatch.setenv("TPUCTL_SETTINGS", json.dumps(written))
    return load()


def deployed(
    monkeypatch: pytest.MonkeyPatch, mocker: MockerFixture, installed: Installed
) -> Installation:
    """Make an installation in Google's wiring, over documents and topics of this machine."""
    mocker.patch("shared.wiring.open_store", return_value=installed.store)
    mocker.patch("shared.wiring.open_bus", return_value=installed.bus)
    monkeypatch.setenv(TOKEN_VARIABLE, mint())
    return Installation(google_settings(monkeypatch))


def test_nobody_logged_in_stops_every_command_in_one_line(
    tpuctl: Tpuctl, monkeypatch: pytest.MonkeyPatch, mocker: MockerFixture
) -> None:
    """Before the documents are opened, which ask for a login too."""
    google_settings(monkeypatch)
    error = DefaultCredentialsError("none")
    mocker.patch("shared.wiring.open_store", side_effect=error)

    result = tpuctl("ps")

    assert (1, NOT_LOGGED_IN, LOGIN) == (result.code, result.error, result.next_step)


def test_the_owner_is_the_account(
    monkeypatch: pytest.MonkeyPatch, mocker: MockerFixture, installed: Installed
) -> None:
    """Not the user of this machine."""
    assert "ada-example-com" == deployed(monkeypatch, mocker, installed).owner


def test_the_owner_is_the_one_that_orders_get(
    monkeypatch: pytest.MonkeyPatch, mocker: MockerFixture, installed: Installed
) -> None:
    """Also where another account has the plain name."""
    fields = {"owner": "ada-example-com", "number": 1, "email": "x", "subject": "7"}
    installed.put("owners/ada-example-com", fields)

    expected = owner_names(Person(subject_of(ADA), ADA))[1]
    assert expected == deployed(monkeypatch, mocker, installed).owner


def test_an_order_carries_the_token(
    monkeypatch: pytest.MonkeyPatch, mocker: MockerFixture, installed: Installed, launch: Launch
) -> None:
    """In Google's wiring."""
    give(
        deployed(monkeypatch, mocker, installed), new_order(OrderKind.STOP), {"job": "abcdefghijkl"}
    )

    (command,) = launch.commands
    assert Person(subject_of(ADA), ADA) == claims_of(command["id_token"]).person


def test_an_order_on_this_machine_carries_none(installed: Installed, launch: Launch) -> None:
    """Nobody asks for it, so a runner of the version before understands the order."""
    give(Installation(installed.settings), new_order(OrderKind.STOP), {"job": "abcdefghijkl"})

    (command,) = launch.commands
    assert "id_token" not in command


def test_a_refused_token_says_how_to_log_in(
    monkeypatch: pytest.MonkeyPatch, mocker: MockerFixture, installed: Installed, launch: Launch
) -> None:
    """The reason is launch's, the next step the client's."""
    launch.answer = refuse("the identity token had expired when the order was published")

    with pytest.raises(CliError, match="refused: the identity token had expired") as caught:
        give(
            deployed(monkeypatch, mocker, installed),
            new_order(OrderKind.STOP),
            {"job": "abcdefghijkl"},
        )

    assert "gcloud auth application-default login" == caught.value.next_step


# --- The local signer ---------------------------------------------------------------------------


def test_a_signers_key_is_its_owners_and_stays(tmp_path: Path) -> None:
    """Whoever reads it can be anybody."""
    first = LocalSigner.open(tmp_path / "identity")
    key = first.key_path.read_bytes()

    assert key == LocalSigner.open(tmp_path / "identity").key_path.read_bytes()
    assert 0o600 == first.key_path.stat().st_mode & 0o777


def test_the_simulated_cloud_cannot_sign() -> None:
    """Hosts could be anybody otherwise: its tokens are of another kind, under another key."""
    from sandbox.identity import Identity

    token = Identity(b"k" * 32).identity_token({"email": ADA})
    header = json.loads(_decoded(token.split(".")[0]))

    assert "HS256" == header["alg"]


def _decoded(part: str) -> bytes:
    import base64

    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
