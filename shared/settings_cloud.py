"""The table ``[cloud]``: where in Google Cloud an installation is, and what it may use there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches

from shared.core.identity import People, Team
from shared.errors import SpecError

_PROJECT = re.compile(r"[a-z][a-z0-9-]{4,28}[a-z0-9]")
# It names a folder of the bucket.
_TEAM = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")
_PREFIX = re.compile(r"[a-z][a-z0-9-]{0,18}[a-z0-9]")


@dataclass(frozen=True, slots=True)
class TeamSettings:
    """Whoever trusts one another: their jobs run under one worker account, in one folder."""

    worker_account: str
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CloudSettings:
    """One deployment.

    ``prefix`` begins the names of its topics and subscriptions. ``outputs`` is where jobs
    write, a folder of the bucket by default. ``audiences`` are the clients whose identity
    tokens are believed. ``worker_account`` is what slices run as, unless a team has its own.
    ``admins`` are the e-mail addresses of those who may act for everybody.
    """

    project: str
    bucket: str
    region: str = ""
    bucket_region: str = ""
    database: str = "(default)"
    prefix: str = "tpuctl"
    outputs: str = ""
    zones: tuple[str, ...] = ()
    external_ips: bool = True
    network: str = ""
    subnetwork: str = ""
    worker_account: str = ""
    audiences: tuple[str, ...] = ()
    teams: Mapping[str, TeamSettings] = field(default_factory=dict)
    admins: tuple[str, ...] = ()

    @property
    def people(self) -> People:
        """Who works together, and under which account."""
        teams = (
            Team(name, team.worker_account, _lower(team.members))
            for name, team in self.teams.items()
        )
        return People(self.worker_account, tuple(teams), _lower(self.admins))

    @property
    def data_region(self) -> str:
        """Where the bucket is: the functions' region, unless it says another one."""
        return self.bucket_region or self.region


def cloud_settings(path: str, written: object) -> CloudSettings:
    """Read the table.  Raises SpecError."""
    if not isinstance(written, dict):
        raise SpecError(f"{path}: cloud", "is missing: this wiring needs a table [cloud]")
    check_keys(path, "cloud.", written, tuple(each.name for each in fields(CloudSettings)))
    values: dict[str, object] = {}
    for key, value in written.items():
        where = f"{path}: cloud.{key}"
        values[key] = _teams(where, value) if key == "teams" else _value(where, key, value)
    for key in ("project", "bucket"):
        if not values.get(key):
            raise SpecError(f"{path}: cloud.{key}", "is missing")
    made = CloudSettings(**values)  # type: ignore[arg-type]  # checked key by key
    if not _PROJECT.fullmatch(made.project):
        raise SpecError(f"{path}: cloud.project", f"{made.project!r} is no project id")
    if not _PREFIX.fullmatch(made.prefix):
        raise SpecError(
            f"{path}: cloud.prefix", f"expected 2 to 20 letters, digits, dashes: {made.prefix!r}"
        )
    return made


def check_keys(
    path: str, table: str, written: Mapping[str, object], known: tuple[str, ...]
) -> None:
    """Refuse a key that is not known, and name the near one.  Raises SpecError."""
    for key in written:
        if key not in known:
            near = get_close_matches(key, known, 1)
            hint = f"; did you mean {table}{near[0]}?" if near else f"; known: {', '.join(known)}"
            raise SpecError(f"{path}: {table}{key}", f"is no setting{hint}")


def _value(where: str, key: str, value: object) -> object:
    if key == "external_ips":
        if not isinstance(value, bool):
            raise SpecError(where, f"expected true or false, found {value!r}")
        return value
    if key in {"zones", "audiences", "admins"}:
        return texts(where, value)
    if not isinstance(value, str):
        raise SpecError(where, f"expected a text, found {value!r}")
    return value


def texts(where: str, value: object) -> tuple[str, ...]:
    """Read a list of texts.  Raises SpecError."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise SpecError(where, f"expected a list of texts, found {value!r}")
    return tuple(value)


def _teams(where: str, value: object) -> Mapping[str, TeamSettings]:
    if not isinstance(value, dict):
        raise SpecError(where, "expected a table a team")
    teams = {name: _team(f"{where}.{name}", team) for name, team in value.items()}
    team_of: dict[str, str] = {}
    for name, team in teams.items():
        if not _TEAM.fullmatch(name):
            raise SpecError(
                where, f"expected names of 1 to 40 small letters, digits, dashes, found {name!r}"
            )
        for member in _lower(team.members):
            if member in team_of:
                raise SpecError(where, f"{member} is in two teams: {team_of[member]} and {name}")
            team_of[member] = name
    return teams


def _team(where: str, value: object) -> TeamSettings:
    if not isinstance(value, dict):
        raise SpecError(where, "expected a table")
    check_keys(where, "", value, ("worker_account", "members"))
    account = value.get("worker_account")
    if not isinstance(account, str) or not account:
        raise SpecError(f"{where}.worker_account", "is missing")
    return TeamSettings(account, texts(f"{where}.members", value.get("members", [])))


def _lower(addresses: tuple[str, ...]) -> frozenset[str]:
    return frozenset(address.strip().lower() for address in addresses)
