"""Who may log in to a host: keys of metadata, of the project, and of OS Login."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from sandbox.access import Access, LoginKey, fingerprint_of

PROJECT = {"ssh-keys": "me:ssh-rsa P me\nyou:ssh-rsa Y you"}
HOST = {"ssh-keys": "\nme:ssh-rsa H me"}


@pytest.mark.parametrize(
    "project, attributes, expected",
    [
        pytest.param({}, {}, [], id="nobody without keys"),
        pytest.param({}, HOST, ["ssh-rsa H me"], id="keys of the host"),
        pytest.param(PROJECT, {}, ["ssh-rsa P me"], id="keys of the project, of this user only"),
        pytest.param(PROJECT, HOST, ["ssh-rsa H me", "ssh-rsa P me"], id="both"),
        pytest.param(
            PROJECT,
            HOST | {"block-project-ssh-keys": "true"},
            ["ssh-rsa H me"],
            id="the project's keys blocked",
        ),
        pytest.param(
            PROJECT, HOST | {"enable-oslogin": "TRUE"}, ["ssh-rsa L"], id="OS Login instead"
        ),
        pytest.param(
            PROJECT | {"enable-oslogin": "TRUE"},
            HOST | {"enable-oslogin": "FALSE"},
            ["ssh-rsa H me", "ssh-rsa P me"],
            id="the host's word counts more than the project's",
        ),
        pytest.param({}, {"ssh-keys": "me\n:\nme:"}, [], id="lines that hold no key"),
    ],
)
def test_keys_that_open_a_host(
    project: Mapping[str, str], attributes: Mapping[str, str], expected: list[str]
) -> None:
    """Sorted, so that a list that says the same is the same."""
    access = Access()
    access.set_metadata(project)
    access.import_key("me@x", LoginKey("ssh-rsa L"))
    access.import_key("me@x", LoginKey("ssh-rsa OLD", expires_us=5_000_000))

    assert expected == access.keys_for("me", attributes, now=5.0)


def test_login_key_opens_until_it_expires() -> None:
    """To the microsecond."""
    access = Access()
    access.import_key("me@x", LoginKey("ssh-rsa L", expires_us=5_000_000))
    told = {"enable-oslogin": "true"}

    assert ["ssh-rsa L"] == access.keys_for("me", told, now=4.9)
    assert [] == access.keys_for("me", told, now=5.0)


def test_what_was_told_survives_a_restart(tmp_path: Path) -> None:
    """Metadata and profiles alike."""
    path = tmp_path / "access.json"
    first = Access(path)
    first.set_metadata({"a": "b"})
    profile = first.import_key("me@x", LoginKey("ssh-rsa L", 7))

    again = Access(path)

    assert ({"a": "b"}, profile) == (again.metadata(), again.profile("me@x"))
    assert first.fingerprint() == again.fingerprint()


def test_key_is_taken_back_once() -> None:
    """The account stays."""
    access = Access()
    access.import_key("me@x", LoginKey("ssh-rsa L"))

    assert access.remove_key("me@x", fingerprint_of("ssh-rsa L\n"))
    assert not access.remove_key("me@x", fingerprint_of("ssh-rsa L"))
    assert ({}, True) == (access.profile("me@x").keys, access.profile("me@x").has_account)


def test_fingerprint_changes_with_the_metadata() -> None:
    """Whoever writes says what was read."""
    access = Access()
    before = access.fingerprint()
    access.set_metadata({"a": "b"})

    assert before != access.fingerprint()
