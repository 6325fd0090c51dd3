"""What all tests share: a home of their own, and no leftovers of the user's environment."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

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


REAL = {"chaos", "contract", "e2e"}


def pytest_configure() -> None:
    """Forget what the way of starting a run says to all programs that it starts."""
    os.environ.pop("COLUMNS", None)  # pytest-xdist tells its processes how wide its terminal is
    # A run in the background ignores Ctrl-C.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class OneForReal(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Keeps tests with real processes in one of a run's processes: they have time limits."""

    def _split_scope(self, nodeid: str) -> str:
        return "real" if nodeid.split("/")[1] in REAL else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneForReal:
    """Choose who runs what in a run with several processes."""
    return OneForReal(config, log)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give every test a home of its own and no setting of the machine it runs on."""
    for name in [name for name in os.environ if name.startswith(OURS)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TPUCTL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"
