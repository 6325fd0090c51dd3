"""Teams, accounts and admins, as the settings write them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from shared import wiring
from shared.adapters.google_identity import CERTS_VARIABLE, GoogleIdentity
from shared.core.identity import People, Team
from shared.errors import SpecError
from shared.settings import Settings, load
from shared.settings_cloud import CloudSettings, cloud_settings

BASE = {"project": "proj-1", "bucket": "bucket"}


def read(**written: object) -> CloudSettings:
    """Read a table."""
    return cloud_settings("settings.toml", {**BASE, **written})


def settings(**written: object) -> Settings:
    """Load the settings of a deployment."""
    return load({"TPUCTL_SETTINGS": json.dumps({"installation": "abc123", **written})})


def test_people_are_read_in_small_letters() -> None:
    """As Google's addresses are compared."""
    found = read(
        worker_account="common@p.iam",
        admins=["Root@example.com"],
        teams={"vision": {"worker_account": "v@p.iam", "members": ["Ada@example.com "]}},
    )

    team = Team("vision", "v@p.iam", frozenset({"ada@example.com"}))
    assert People("common@p.iam", (team,), frozenset({"root@example.com"})) == found.people


@pytest.mark.parametrize(
    "written, message",
    [
        pytest.param(
            {
                "teams": {
                    "a": {"worker_account": "a@p.iam", "members": ["x@y.z"]},
                    "b": {"worker_account": "b@p.iam", "members": ["X@y.z"]},
                }
            },
            "cloud.teams: x@y.z is in two teams: a and b",
            id="member of two teams",
        ),
        pytest.param({"admins": "root@x.y"}, "cloud.admins: expected a list", id="admins a text"),
        pytest.param({"admin": []}, "did you mean cloud.admins", id="near name"),
        pytest.param({"teams": {"a": {}}}, "worker_account: is missing", id="no account"),
        *(
            pytest.param(
                {"teams": {name: {"worker_account": "a@p.iam"}}},
                f"cloud.teams: expected names of 1 to 40 small letters, digits, dashes,"
                f" found {name!r}",
                id=f"team {name!r}",
            )
            for name in ("../text", "Vision", "a/b", "", "vision-", "v" * 41)
        ),
    ],
)
def test_wrong_people_are_refused(written: Mapping[str, Any], message: str) -> None:
    """With the place and what is wrong."""
    with pytest.raises(SpecError) as caught:
        read(**written)

    assert message in str(caught.value)


@pytest.mark.parametrize(
    "written, is_asked",
    [
        pytest.param({}, False, id="embedded"),
        pytest.param({"wiring": "box", "cloud": BASE}, False, id="box"),
        pytest.param({"wiring": "google", "cloud": BASE}, True, id="google"),
    ],
)
def test_only_googles_wiring_asks_who_gives_an_order(
    written: Mapping[str, object], *, is_asked: bool
) -> None:
    """On one machine its user is believed."""
    assert is_asked == isinstance(wiring.open_identity(settings(**written)), GoogleIdentity)


def test_other_keys_without_an_emulator_stop_a_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it serves anything."""
    monkeypatch.setenv(CERTS_VARIABLE, "certs.json")

    with pytest.raises(SpecError, match=CERTS_VARIABLE):
        wiring.open_identity(settings(wiring="google", cloud=BASE))
