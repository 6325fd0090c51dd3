"""Where the emulators' jars and their Java are looked for, and what is told without them."""

import shutil
from pathlib import Path

import pytest

from cli import emulator_jars
from cli.emulator_jars import Kind
from tests.unit.cli.stage import Tpuctl, write

pytestmark = pytest.mark.usefixtures("jars")


def test_no_jars_in_the_folder_is_told_with_what_to_install(tpuctl: Tpuctl, jars: Path) -> None:
    """Which one is missing, and where it was looked for."""
    (jars / "cloud-pubsub-emulator-0.8.20-all.jar").unlink()

    result = tpuctl("emulators", "up")

    assert 1 == result.code
    assert f"the Pub/Sub emulator is not installed: no jar in $TPUCTL_EMULATORS, {jars}" == (
        result.error
    )
    assert "gcloud components install cloud-firestore-emulator pubsub-emulator" in result.next_step
    assert "google-cloud-cli-pubsub-emulator" in result.next_step


def test_no_gcloud_is_told(tpuctl: Tpuctl, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the variable that would do as well."""
    monkeypatch.delenv("TPUCTL_EMULATORS")

    result = tpuctl("emulators", "up")

    assert "the emulators are not installed: no gcloud on PATH" in result.error
    assert "$TPUCTL_EMULATORS" in result.next_step


def test_no_java_is_told(tpuctl: Tpuctl, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The jars alone do nothing."""
    monkeypatch.setenv("PATH", str(tmp_path))

    result = tpuctl("emulators", "up")

    assert "needs Java, and there is none on PATH" in result.error
    assert "Java 17" in result.next_step


def test_jars_are_found_beside_gcloud(
    jars: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Through the link that a package manager makes, the newest of several."""
    sdk = tmp_path / "sdk"
    write(sdk / "bin/gcloud", "")
    (sdk / "bin/gcloud").chmod(0o755)
    (tmp_path / "programs/gcloud").symlink_to(sdk / "bin/gcloud")
    lib = sdk / "platform/pubsub-emulator/lib"
    for version in ("0.8.19", "0.8.20"):
        write(lib / f"cloud-pubsub-emulator-{version}-all.jar", "")
    shutil.move(jars / "cloud-firestore-emulator.jar", sdk / "platform")
    monkeypatch.delenv("TPUCTL_EMULATORS")

    assert str(lib / "cloud-pubsub-emulator-0.8.20-all.jar") in emulator_jars.command(Kind.PUBSUB)
    assert str(sdk / "platform/cloud-firestore-emulator.jar") in emulator_jars.command(
        Kind.FIRESTORE
    )


def test_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As everywhere."""
    write(tmp_path / "jdk/bin/java", "")
    (tmp_path / "jdk/bin/java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))

    assert str(tmp_path / "jdk/bin/java") == emulator_jars.command(Kind.PUBSUB)[0]
