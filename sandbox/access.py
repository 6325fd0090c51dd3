"""Who may log in to hosts: the project's metadata and people's OS Login profiles.

Kept in one file, so that a sandbox that comes up again knows them.
"""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class LoginKey:
    """A public key of a profile.  ``expires_us`` is microseconds since the epoch; 0: never."""

    key: str
    expires_us: int = 0


@dataclass(frozen=True, slots=True)
class Profile:
    """What OS Login knows of a person: keys by fingerprint, and whether there is an account."""

    keys: Mapping[str, LoginKey] = field(default_factory=dict)
    has_account: bool = False


class Access:
    """The project's metadata and the profiles.  Safe for several threads."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._metadata: Mapping[str, str] = {}
        self._profiles: Mapping[str, Profile] = {}
        if path is not None and path.exists():
            self._load(json.loads(path.read_text("utf-8")))

    def metadata(self) -> Mapping[str, str]:
        """Return the metadata that all hosts of the project share."""
        return self._metadata

    def set_metadata(self, items: Mapping[str, str]) -> None:
        """Replace the project's metadata."""
        with self._lock:
            self._metadata = dict(items)
            self._save()

    def fingerprint(self) -> str:
        """Return what changes with the metadata."""
        text = json.dumps(self._metadata, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def profile(self, person: str) -> Profile:
        """Return a person's profile; it is empty before the first key."""
        return self._profiles.get(person, Profile())

    def import_key(self, person: str, key: LoginKey) -> Profile:
        """Add a key to a profile, and make the account.  Idempotent: by fingerprint."""
        with self._lock:
            before = self.profile(person)
            keys = {**before.keys, fingerprint_of(key.key): key}
            return self._keep(person, Profile(keys, has_account=True))

    def remove_key(self, person: str, fingerprint: str) -> bool:
        """Take a key back; return whether there was one."""
        with self._lock:
            before = self.profile(person)
            if fingerprint not in before.keys:
                return False
            kept = {name: key for name, key in before.keys.items() if name != fingerprint}
            self._keep(person, replace(before, keys=kept))
            return True

    def keys_for(self, user: str, attributes: Mapping[str, str], now: float) -> list[str]:
        """Return the public keys that let a user in to a host with these attributes.

        With OS Login metadata counts for nothing, as on Google's images.
        """
        told = {**self._metadata, **attributes}
        if told.get("enable-oslogin", "").upper() == "TRUE":
            return sorted(self._login_keys(now))
        is_own = attributes.get("block-project-ssh-keys", "").upper() == "TRUE"
        shared = "" if is_own else self._metadata.get("ssh-keys", "")
        lists = (attributes.get("ssh-keys", ""), shared)
        return sorted({key for text in lists for key in keys_of(user, text)})

    def _login_keys(self, now: float) -> Iterator[str]:
        for profile in self._profiles.values():
            for key in profile.keys.values():
                if not key.expires_us or now * _MICROSECONDS < key.expires_us:
                    yield key.key.strip()

    def _keep(self, person: str, profile: Profile) -> Profile:
        self._profiles = {**self._profiles, person: profile}
        self._save()
        return profile

    def _load(self, kept: Mapping[str, Mapping[str, object]]) -> None:
        self._metadata = {key: str(value) for key, value in kept["metadata"].items()}
        self._profiles = {
            person: Profile(
                {name: LoginKey(**key) for name, key in profile["keys"].items()},
                has_account=profile["has_account"],
            )
            for person, profile in kept["profiles"].items()
            if isinstance(profile, dict)
        }

    def _save(self) -> None:
        if self._path is None:
            return
        profiles = {person: asdict(profile) for person, profile in self._profiles.items()}
        draft = self._path.with_suffix(".draft")
        draft.write_text(json.dumps({"metadata": self._metadata, "profiles": profiles}), "utf-8")
        draft.replace(self._path)


def own_user() -> str:
    """Return the user that the sandbox runs as: whom hosts let in, whatever variables say."""
    return pwd.getpwuid(os.getuid()).pw_name


def keys_of(user: str, ssh_keys: str) -> Iterator[str]:
    """Return a user's keys in the metadata ``ssh-keys``: lines of ``user:key``."""
    for line in ssh_keys.splitlines():
        name, _, key = line.strip().partition(":")
        if name == user and key:
            yield key


def fingerprint_of(key: str) -> str:
    """Return the name of a key in a profile."""
    return hashlib.sha256(key.strip().encode()).hexdigest()
