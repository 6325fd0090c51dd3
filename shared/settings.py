"""Where this installation keeps its state, and what its owner set.

Everything lies in one folder: ``$TPUCTL_HOME``, by default ``~/.tpuctl``. Its ``settings.toml``
is optional; a wrong key in it is refused with the near one named.
"""

from __future__ import annotations

import getpass
import os
import re
import secrets
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

from shared.core.policy import EMBEDDED, Policy
from shared.errors import SpecError

INSTALLATION_CHARS = 6
_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
OWNER_CHARS_MAX = 40
_NOBODY = "me"
_SECRET_BYTES = 32


@dataclass(frozen=True)
class Settings:
    """One installation on this machine."""

    home: Path
    owner: str
    policy: Policy

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
        return str(self.home / "outputs")

    @cached_property
    def installation(self) -> str:
        """Six characters in every cloud name: keep two installations in one project apart."""
        made = "".join(secrets.choice(_ALPHABET) for _ in range(INSTALLATION_CHARS))
        return _kept(self.home / "installation", made.encode()).decode()

    @cached_property
    def secret(self) -> bytes:
        """The key of the tokens that snapshots carry; only its owner may read the file."""
        return _kept(self.home / "secret", secrets.token_bytes(_SECRET_BYTES))


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings of the installation that the environment names.

    Raises SpecError for a settings file with a wrong key or value.
    """
    environ = os.environ if environ is None else environ
    home = Path(environ.get("TPUCTL_HOME") or Path.home() / ".tpuctl").absolute()
    path = home / "settings.toml"
    written = _read(path) if path.exists() else {}
    _check_keys(path, "", written, ("owner", "policy"))
    owner = written.get("owner") or environ.get("TPUCTL_OWNER") or _user()
    if not isinstance(owner, str):
        raise SpecError(f"{path}: owner", "expected a text")
    return Settings(home, _slug(owner), _policy(path, written.get("policy", {})))


def _read(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SpecError(str(path), f"cannot be read: {error}") from None


def _policy(path: Path, written: object) -> Policy:
    if not isinstance(written, dict):
        raise SpecError(f"{path}: policy", "expected a table")
    _check_keys(path, "policy.", written, tuple(field.name for field in fields(Policy)))
    for key, value in written.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise SpecError(f"{path}: policy.{key}", f"expected seconds, found {value!r}")
    return replace(EMBEDDED, **written)


def _check_keys(
    path: Path, table: str, written: Mapping[str, object], known: tuple[str, ...]
) -> None:
    for key in written:
        if key not in known:
            near = get_close_matches(key, known, 1)
            hint = f"; did you mean {table}{near[0]}?" if near else f"; known: {', '.join(known)}"
            raise SpecError(f"{path}: {table}{key}", f"is no setting{hint}")


def _user() -> str:
    """Name whoever is logged in; containers have users without a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return _NOBODY


def _slug(text: str) -> str:
    """Make a name of what may be an e-mail address, so that it can stand in a path."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if not words:
        return _NOBODY
    return (words if words[0].isalpha() else f"u-{words}")[:OWNER_CHARS_MAX].rstrip("-")


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
