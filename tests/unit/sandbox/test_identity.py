"""Tokens say which host presents them, and cannot be made up."""

from pathlib import Path

import pytest

from sandbox.identity import Identity


def test_token_leads_back_to_its_host() -> None:
    """Whatever the host is called."""
    identity = Identity(b"key")

    assert "a.b-w-0" == identity.host_of(f"Bearer {identity.access_token('a.b-w-0')}")


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer ",
        "Bearer ya29.sandbox.",
        "Bearer ya29.sandbox.YQ.forged",
        "Bearer ya29.sandbox.%%%.x",
        "Bearer ya29.sandbox.ü.ü",
        "Basic abc",
    ],
)
def test_other_credentials_are_nobody(authorization: str | None) -> None:
    """Also broken ones."""
    assert Identity(b"key").host_of(authorization) is None


def test_another_key_does_not_know_the_token() -> None:
    """Each sandbox signs with its own."""
    token = Identity(b"one").access_token("a-w-0")

    assert Identity(b"two").host_of(f"Bearer {token}") is None


def test_key_is_made_once_and_private(tmp_path: Path) -> None:
    """Only its owner can read it."""
    path = tmp_path / "identity.key"

    first, second = Identity.load(path), Identity.load(path)

    assert first == second
    assert 0o600 == path.stat().st_mode & 0o777
