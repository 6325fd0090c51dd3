"""An installation in the google wiring whose cloud is this machine.

Firestore and Pub/Sub are Google's emulators, Cloud TPU and Cloud Storage the sandbox, and the
functions are processes behind push subscriptions, as they are deployed.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Final

from cli import emulators, local_runner
from cli.emulated.identity import LocalSigner
from sandbox import control
from shared import settings as home_settings
from shared.core.policy import EMBEDDED, Policy
from shared.settings import HOME_VARIABLE, SECRET_VARIABLE, Settings
from shared.topology import Topic
from shared.wiring import CLOUD_VARIABLE

PROJECT: Final = "tpuctl-emulated"
BUCKET: Final = "tpuctl-emulated"
PREFIX: Final = "tpuctl"
USER: Final = "demo@example.com"
# The emulators answer in some tens of milliseconds: a tick has more to do here.
TICK_S: Final = 1.0


def up(
    home: Path,
    *,
    cloud: Mapping[str, object],
    policy: Mapping[str, float] | None = None,
    installation: str = "",
    limits: Mapping[str, int] | None = None,
) -> Settings:
    """Start everything, and name it in this process's environment.  Undone by ``down``."""
    settings = prepare(home, cloud=cloud, policy=policy, installation=installation, limits=limits)
    local_runner.start(settings.home, os.environ[CLOUD_VARIABLE], local_runner.SERVED)
    return settings


def prepare(
    home: Path,
    *,
    cloud: Mapping[str, object],
    policy: Mapping[str, float] | None = None,
    installation: str = "",
    limits: Mapping[str, int] | None = None,
) -> Settings:
    """Start and name everything but the functions.  Undone by ``down``."""
    home.mkdir(parents=True, exist_ok=True)
    emulators.up(home / "emulators")
    os.environ.update(emulators.environment(home / "emulators"))
    os.environ.setdefault(SECRET_VARIABLE, secrets.token_hex(32))
    os.environ[HOME_VARIABLE] = str(home)
    topics = [f"{PREFIX}-{topic}" for topic in Topic]
    given = {"project": PROJECT, "buckets": [BUCKET], "topics": topics, **cloud}
    pubsub = os.environ["PUBSUB_EMULATOR_HOST"]
    info = control.start(home / "sandbox", settings=given, pubsub=pubsub)
    os.environ[CLOUD_VARIABLE] = info.url
    signer = LocalSigner.open(home / "identity")
    os.environ["TPUCTL_IDENTITY_CERTS"] = str(signer.certs_path)
    os.environ["TPUCTL_ID_TOKEN"] = signer.mint(USER)
    _write_settings(
        home,
        installation or _installation(),
        {**asdict(EMBEDDED), "tick_s": TICK_S, **(policy or {})},
        limits or {},
    )
    return home_settings.load()


def down(home: Path) -> None:
    """Stop everything that ``up`` started and is still there."""
    local_runner.stop(home, local_runner.SERVED)
    if control.find(home / "sandbox"):
        control.stop(home / "sandbox")
    emulators.down(home / "emulators")


def _write_settings(
    home: Path, installation: str, policy: Mapping[str, float], limits: Mapping[str, int]
) -> None:
    lines = [
        'wiring = "google"',
        f'installation = "{installation}"',
        "[cloud]",
        f'project = "{PROJECT}"',
        f'bucket = "{BUCKET}"',
        f'prefix = "{PREFIX}"',
        f'outputs = "{home / "outputs"}"',
        "[policy]",
        *(f"{key} = {value}" for key, value in policy.items() if value != getattr(Policy(), key)),
        "[limits]",
        *(f"{key} = {value}" for key, value in limits.items()),
    ]
    (home / "settings.toml").write_text("\n".join([*lines, ""]), encoding="utf-8")


def _installation() -> str:
    return f"e{secrets.token_hex(3)[:5]}"
