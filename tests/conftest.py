"""What all tests share: a home of their own, and no leftovers of the user's environment."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["tests.counting", "tests.emulators"]

# Two cores may be busy with other things: a slow example is no failure.
settings.register_profile("tpuctl", deadline=None)
settings.load_profile("tpuctl")

OURS = (
    "TPUCTL_",
    "GOOGLE_",
    "CLOUDSDK_",
    "GCE_METADATA_",
    "STORAGE_EMULATOR_",
    "PUBSUB_EMULATOR_",
    "FIRESTORE_EMULATOR_",
)


REAL = ("e2e", "chaos")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks for groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep tests with real processes in one of a run's processes: they have time limits."""
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        if folder in REAL or "emulators" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("real"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give every test a home of its own and no setting of the machine it runs on."""
    for name in [name for name in os.environ if name.startswith(OURS)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TPUCTL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"
