"""How Google's emulators are started: where their jars are, and which Java runs them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from cli.errors import CliError

FOLDER_VARIABLE: Final = "TPUCTL_EMULATORS"
_INSTALL: Final = (
    "gcloud components install cloud-firestore-emulator pubsub-emulator"
    " (Debian: apt-get install google-cloud-cli-firestore-emulator"
    f" google-cloud-cli-pubsub-emulator); or ${FOLDER_VARIABLE}: a folder with their jars"
)
# Little memory, and a quick start rather than the fastest code.
_JVM: Final = (
    "-Xmx1536m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Duser.language=en",
)


class Kind(StrEnum):
    """Which emulator."""

    FIRESTORE = "firestore"
    PUBSUB = "pubsub"

    @property
    def variable(self) -> str:
        """Google's own name for its address."""
        return f"{self.upper()}_EMULATOR_HOST"

    @property
    def label(self) -> str:
        """What people call it."""
        return f"the {'Firestore' if self is Kind.FIRESTORE else 'Pub/Sub'} emulator"


_JARS: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.FIRESTORE: (
        "cloud-firestore-emulator*.jar",
        "cloud-firestore-emulator/cloud-firestore-emulator*.jar",
    ),
    Kind.PUBSUB: (
        "cloud-pubsub-emulator*.jar",
        "pubsub-emulator/lib/cloud-pubsub-emulator*.jar",
    ),
}
_MAIN: Final[Mapping[Kind, str]] = {
    Kind.FIRESTORE: "com.google.cloud.datastore.emulator.firestore.CloudFirestore",
    Kind.PUBSUB: "com.google.cloud.pubsub.testing.v1.Main",
}


def command(kind: Kind) -> list[str]:
    """Return how to start an emulator.  Raises CliError when something is not installed."""
    jar = _jar(kind)
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None) or shutil.which("java")
    if java is None:
        raise java_error(f"{kind.label} needs Java, and there is none on PATH")
    return [java, *_JVM, "-cp", str(jar), _MAIN[kind]]


def java_error(message: str) -> CliError:
    """Return the error of a Java that is missing or too old."""
    return CliError(
        message, next_step="install Java 17 or newer, e.g.: apt-get install openjdk-17-jre-headless"
    )


def _jar(kind: Kind) -> Path:
    folder, where = _jars_folder()
    found = sorted(path for pattern in _JARS[kind] for path in folder.glob(pattern))
    if not found:
        raise CliError(f"{kind.label} is not installed: no jar in {where}", next_step=_INSTALL)
    return found[-1]


def _jars_folder() -> tuple[Path, str]:
    """Return where the jars should be: where the user says, else where gcloud puts them."""
    if given := os.environ.get(FOLDER_VARIABLE):
        return Path(given), f"${FOLDER_VARIABLE}, {given}"
    gcloud = shutil.which("gcloud")
    if gcloud is None:
        raise CliError(
            f"the emulators are not installed: no gcloud on PATH, no ${FOLDER_VARIABLE}",
            next_step=_INSTALL,
        )
    folder = Path(gcloud).resolve().parent.parent / "platform"
    return folder, str(folder)
