"""The table ``[alerts]``: which webhooks are told what (docs/alerts.md)."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TypeAlias
from urllib.parse import urlsplit

from shared.core.alert_kinds import USUAL_KINDS, AlertKind
from shared.core.alert_routes import BURST, POSTS_PER_HOUR, Target, WebhookKind
from shared.core.identity import slug
from shared.errors import SpecError
from shared.settings_cloud import CloudSettings, check_keys, texts

URL_CHARS_MAX = 2048
_NAME = re.compile(r"[a-z][a-z0-9-]{0,38}[a-z0-9]")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_KEYS = (
    "url",
    "url_env",
    "kind",
    "signing_secret_env",
    "owners",
    "teams",
    "kinds",
    "burst",
    "posts_per_hour",
    "link",
)


_Teams: TypeAlias = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """One webhook: where it is, or the environment variable that says so, and who it is for."""

    target: Target
    url: str = field(default="", repr=False)
    url_env: str = ""
    signing_secret_env: str = ""


@dataclass(frozen=True, slots=True)
class AlertSettings:
    """All webhooks, by name."""

    webhooks: Mapping[str, WebhookSettings] = field(default_factory=dict)


def alert_settings(path: str, written: object, cloud: CloudSettings | None = None) -> AlertSettings:
    """Read the table; teams are those of the table ``[cloud]``.  Raises SpecError."""
    if not isinstance(written, dict):
        raise SpecError(f"{path}: alerts", "expected a table")
    check_keys(path, "alerts.", written, ("webhooks",))
    tables = written.get("webhooks", {})
    if not isinstance(tables, dict):
        raise SpecError(f"{path}: alerts.webhooks", "expected a table a webhook")
    teams = {name: team.members for name, team in cloud.teams.items()} if cloud else {}
    webhooks = {
        name: _webhook(f"{path}: alerts.webhooks.{name}", name, table, teams)
        for name, table in tables.items()
    }
    return AlertSettings(webhooks)


def checked_url(where: str, url: object) -> str:
    """Check an address that may be posted to.  Raises SpecError, which does not repeat it.

    https alone; http on this machine, for trying things out. The address is a secret.
    """
    if not isinstance(url, str) or not url:
        raise SpecError(where, "is missing: the address of the webhook")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise SpecError(where, "is no address") from None
    is_printable = url.isascii() and url.isprintable() and " " not in url
    if not host or not is_printable or len(url) > URL_CHARS_MAX:
        raise SpecError(where, "is no address")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise SpecError(where, "holds a user, a password or a fragment: put it without them")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(url)):
        raise SpecError(where, "is no https address")
    return url


def is_loopback(url: str) -> bool:
    """Tell whether an address is on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _webhook(where: str, name: str, table: object, teams: _Teams) -> WebhookSettings:
    if not _NAME.fullmatch(name):
        raise SpecError(where, "expected a name of 2 to 40 small letters, digits and dashes")
    if not isinstance(table, dict):
        raise SpecError(where, "expected a table")
    check_keys(where, "", table, _KEYS)
    kind = WebhookKind(_one_of(f"{where}.kind", table.get("kind", "slack"), WebhookKind))
    url, url_env = table.get("url"), _variable(f"{where}.url_env", table.get("url_env", ""))
    if (url is None) == (not url_env):
        raise SpecError(where, "expected either url or url_env")
    secret_env = table.get("signing_secret_env", "")
    secret_env = _variable(f"{where}.signing_secret_env", secret_env)
    if (kind is WebhookKind.GENERIC) != bool(secret_env):
        raise SpecError(
            f"{where}.signing_secret_env",
            "is missing: name the variable with its key" if not secret_env else "is for generic",
        )
    return WebhookSettings(
        target=_target(where, name, kind, table, teams),
        url="" if url is None else checked_url(f"{where}.url", url),
        url_env=url_env,
        signing_secret_env=secret_env,
    )


def _target(
    where: str,
    name: str,
    kind: WebhookKind,
    table: Mapping[str, object],
    teams: _Teams,
) -> Target:
    owners = texts(f"{where}.owners", table.get("owners", []))
    of_teams = [
        member
        for team in texts(f"{where}.teams", table.get("teams", []))
        for member in teams[_one_of(f"{where}.teams", team, teams)]
    ]
    if ("owners" in table or "teams" in table) and not (owners or of_teams):
        raise SpecError(where, "names nobody: leave owners and teams out to tell of everybody")
    kinds = tuple(
        _one_of(f"{where}.kinds", each, AlertKind)
        for each in texts(f"{where}.kinds", table.get("kinds", list(USUAL_KINDS)))
    )
    burst = _number(f"{where}.burst", table.get("burst", BURST))
    per_hour = _number(f"{where}.posts_per_hour", table.get("posts_per_hour", POSTS_PER_HOUR))
    # An owner is named after an e-mail address; either may be written.
    names = tuple(slug(each) for each in (*owners, *of_teams))
    link = _link(f"{where}.link", table.get("link", ""))
    return Target(name, kind, names, kinds, int(burst), per_hour, link)


def _link(where: str, link: object) -> str:
    if link == "":
        return ""
    url = checked_url(where, link)
    if url.replace("{job}", "").count("{") or url.replace("{job}", "").count("}"):
        raise SpecError(where, "knows one placeholder, {job}")
    return url


def _variable(where: str, name: object) -> str:
    if not isinstance(name, str) or (name and not _VARIABLE.fullmatch(name)):
        raise SpecError(where, "expected the name of an environment variable")
    return name


def _one_of(where: str, value: object, known: Iterable[str]) -> str:
    names = list(known)
    if value in names:
        return str(value)
    near = get_close_matches(str(value), names, 1)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(names) or 'none'}"
    raise SpecError(where, f"{value!r} is not known; {hint}")


def _number(where: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= 1e6:  # noqa: PLR2004 - no more than a number
        raise SpecError(where, f"expected a number from 1, found {value!r}")
    return value
