"""Where this installation keeps its state, which wiring it uses, and what its owner set.

On a machine everything lies in one folder: ``$TPUCTL_HOME``, by default ``~/.tpuctl``, with an
optional ``settings.toml``. A deployed function has no folder: the same tables, as JSON, stand in
``$TPUCTL_SETTINGS``. A wrong key is refused with the near one named.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import secrets
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from shared.core.identity import NAMELESS, slug
from shared.core.limits import Limits
from shared.core.policy import EMBEDDED, Policy
from shared.errors import SpecError
from shared.settings_cloud import CloudSettings, check_keys, cloud_settings

if TYPE_CHECKING:
    from shared.settings_alerts import AlertSettings

INSTALLATION_CHARS = 6
_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
_INSTALLATION = re.compile(r"[a-z][a-z0-9]{5}")
_SECRET_BYTES = 32
# What a secret begins with in $TPUCTL_SECRET when the rest is its bytes in hex.
_SECRET_HEX = "hex:"  # noqa: S105 - what marks one

_TABLES = ("wiring", "owner", "installation", "cloud", "policy", "limits", "alerts")

HOME_VARIABLE = "TPUCTL_HOME"
SETTINGS_VARIABLE = "TPUCTL_SETTINGS"
SECRET_VARIABLE = "TPUCTL_SECRET"  # noqa: S105 - the name of a variable


class Wiring(StrEnum):
    """Which adapters an installation stands on."""

    EMBEDDED = "embedded"
    BOX = "box"
    GOOGLE = "google"


@dataclass(frozen=True)
class Settings:
    """One installation.  ``cloud`` is there in every wiring but the embedded one."""

    home: Path
    owner: str
    policy: Policy
    wiring: Wiring = Wiring.EMBEDDED
    cloud: CloudSettings | None = None
    given_installation: str = ""
    given_secret: str = ""
    alerts: AlertSettings | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def state_path(self) -> Path:
        """The embedded Store and Bus."""
        return self.home / "state.db"

    @property
    def sandbox_home(self) -> Path:
        """The simulated cloud's folder."""
        return self.home / "sandbox"

    @property
    def outputs_root(self) -> str:
        """Where jobs write, when their spec names no other place."""
        if self.cloud is not None:
            return self.cloud.outputs or f"gs://{self.cloud.bucket}/outputs"
        return str(self.home / "outputs")

    @property
    def google(self) -> CloudSettings:
        """What the wirings over Google Cloud need; only they may ask."""
        assert self.cloud is not None, f"the wiring {self.wiring} has a table [cloud]"
        return self.cloud

    @cached_property
    def installation(self) -> str:
        """Six characters in every cloud name: keep two installations in one project apart."""
        if self.given_installation:
            return self.given_installation
        first = secrets.choice(_ALPHABET[:26])
        rest = (secrets.choice(_ALPHABET) for _ in range(INSTALLATION_CHARS - 1))
        return _kept(self.home / "installation", "".join((first, *rest)).encode()).decode()

    @cached_property
    def secret(self) -> bytes:
        """The key of the tokens that snapshots carry; only its owner may read it.

        Empty in a deployed function that has no access to it: such a function cannot sign.
        """
        if self.given_secret:
            return _secret_bytes(self.given_secret)
        if self.wiring is Wiring.GOOGLE:
            return b""
        # Text, so that a variable can hold it when the installation moves.
        return _kept(self.home / "secret", secrets.token_hex(_SECRET_BYTES).encode())


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings of the installation that the environment names.

    Raises SpecError for a settings file with a wrong key or value.
    """
    environ = os.environ if environ is None else environ
    home = home_in(environ)
    path, written = _written(home, environ)
    check_keys(path, "", written, _TABLES)
    wiring = _wiring(path, written.get("wiring", Wiring.EMBEDDED))
    owner = written.get("owner") or environ.get("TPUCTL_OWNER") or _user()
    if not isinstance(owner, str):
        raise SpecError(f"{path}: owner", "expected a text")
    is_embedded = wiring is Wiring.EMBEDDED
    cloud = None if is_embedded else cloud_settings(path, written.get("cloud"))
    return Settings(
        home=home,
        owner=slug(owner),
        policy=_policy(path, written.get("policy", {}), EMBEDDED if is_embedded else Policy()),
        limits=_limits(path, written.get("limits")),
        wiring=wiring,
        cloud=cloud,
        given_installation=_installation(path, written.get("installation", "")),
        given_secret=environ.get(SECRET_VARIABLE, ""),
        alerts=_alerts(path, written.get("alerts"), cloud),
    )


def home_in(environ: Mapping[str, str]) -> Path:
    """Return the folder of the installation, whatever is in it."""
    return Path(environ.get(HOME_VARIABLE) or Path.home() / ".tpuctl").absolute()


def secret_text(secret: bytes) -> str:
    """Write a secret as ``$TPUCTL_SECRET`` holds it; early homes have one that is no text."""
    if secret.isalnum():
        return secret.decode()
    return f"{_SECRET_HEX}{secret.hex()}"


def _secret_bytes(text: str) -> bytes:
    """Read what ``secret_text`` wrote.  Raises SpecError."""
    if not text.startswith(_SECRET_HEX):
        return text.encode()
    try:
        return bytes.fromhex(text.removeprefix(_SECRET_HEX))
    except ValueError:
        raise SpecError(f"${SECRET_VARIABLE}", f"no hex digits after {_SECRET_HEX}") from None


def _written(home: Path, environ: Mapping[str, str]) -> tuple[str, Mapping[str, object]]:
    """Read what was written, and say where, for the errors."""
    text, path = environ.get(SETTINGS_VARIABLE), home / "settings.toml"
    where = str(path) if text is None else f"${SETTINGS_VARIABLE}"
    try:
        if text is not None:
            found = json.loads(text)
        else:
            found = tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
    except (OSError, ValueError) as error:
        raise SpecError(where, f"cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise SpecError(where, "expected an object with the tables of settings.toml")
    return where, found


def _wiring(path: str, written: object) -> Wiring:
    try:
        return Wiring(written)  # type: ignore[arg-type]  # the enum refuses what is none of it
    except ValueError:
        known = ", ".join(Wiring)
        raise SpecError(f"{path}: wiring", f"{written!r} is none of {known}") from None


def _installation(path: str, written: object) -> str:
    if written == "" or (isinstance(written, str) and _INSTALLATION.fullmatch(written)):
        return str(written)
    raise SpecError(
        f"{path}: installation", f"expected a letter, then 5 letters or digits, found {written!r}"
    )


def _policy(path: str, written: object, default: Policy) -> Policy:
    if not isinstance(written, dict):
        raise SpecError(f"{path}: policy", "expected a table")
    check_keys(path, "policy.", written, tuple(each.name for each in fields(Policy)))
    for key, value in written.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise SpecError(f"{path}: policy.{key}", f"expected seconds, found {value!r}")
    return replace(default, **written)


def _alerts(path: str, written: object, cloud: CloudSettings | None) -> AlertSettings | None:
    """Most installations have no such table, and commands start quickly."""
    if written is None:
        return None
    from shared.settings_alerts import alert_settings

    return alert_settings(path, written, cloud)


def _limits(path: str, written: object) -> Limits:
    if written is None:
        return Limits()
    from shared.settings_limits import limits_of

    return limits_of(path, written)


def _user() -> str:
    """Name whoever is logged in; containers have users without a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return NAMELESS


def _kept(path: Path, made: bytes) -> bytes:
    """Return what a file holds; write it first when it is not there.  Safe between processes."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        mine = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        mine.touch(mode=0o600)
        mine.write_bytes(made)
        try:
            # A link, not a rename: whoever is second takes what the first one wrote.
            os.link(mine, path)
        except FileExistsError:
            pass
        finally:
            mine.unlink()
    return path.read_bytes()
