"""A box over the Pub/Sub emulator and a cloud of real processes, and its move to Firestore."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pytest
import tomli_w

from cli import local_runner
from functions import runner
from functions.ticks import Ticks
from sandbox import control
from shared import settings as home_settings
from shared import wiring
from shared.adapters import pubsub, pubsub_setup
from shared.core.codec import from_fields
from shared.core.model import Job
from shared.core.policy import EMBEDDED, Policy
from shared.ports import Store
from shared.topology import RETENTION_S, SUBSCRIPTIONS
from tests.emulators import Emulators
from tests.installations import TPUCTL, Installation, alive, assert_never_two, until
from tests.sandboxes import QUICK

pytestmark = pytest.mark.slow

PREFIX = "moving"
BUCKET = "box-bucket"
PULL_S = 5.0
# The emulator keeps nothing for longer than a week.
PULLED = tuple(replace(each, retention_s=RETENTION_S) for each in SUBSCRIPTIONS)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the box and the functions are: one project, one cloud."""

    project: str
    emulators: Emulators
    url: str


@pytest.fixture
def place(
    emulators: Emulators, cloud_project: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    """Bring up a cloud whose hosts publish to the emulator."""
    given = {"project": cloud_project, "buckets": [BUCKET], "topics": [f"{PREFIX}-reports"]}
    folder = tmp_path / "cloud"
    info = control.start(folder, settings={**QUICK, **given}, pubsub=emulators.pubsub)
    monkeypatch.setenv("TPUCTL_CLOUD", info.url)
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", emulators.pubsub)
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", emulators.firestore)
    try:
        yield Place(cloud_project, emulators, info.url)
    finally:
        control.stop(folder)


@pytest.fixture
def box(place: Place, tmp_path: Path) -> Iterator[Installation]:
    """Make a box as its owner does, and start it without systemd."""
    home = tmp_path / "box"
    made = Installation(home, place.url)
    words = ("--project", place.project, "--bucket", BUCKET, "--prefix", PREFIX)
    told = made.tpuctl("init", "--box", *words)
    assert f"good: topic {PREFIX}-reports" in told
    hurry(home / "settings.toml", tmp_path / "outputs")
    made.tpuctl("box", "up", "--no-systemd")
    try:
        yield made
    finally:
        local_runner.stop(home)


def hurry(path: Path, outputs: Path, **changes: object) -> None:
    """Write settings anew, for a cloud that is quick and on this machine."""
    import tomllib

    tables = tomllib.loads(path.read_text("utf-8"))
    quick = {
        key: value for key, value in asdict(EMBEDDED).items() if value != getattr(Policy(), key)
    }
    cloud = {**tables["cloud"], "outputs": str(outputs)}
    path.write_text(tomli_w.dumps({**tables, "cloud": cloud, "policy": quick, **changes}), "utf-8")


@contextmanager
def functions(home: Path, place: Place) -> Iterator[Store]:
    """Let the google wiring of a home act in this process, its subscriptions pulled from."""
    settings = home_settings.load({**os.environ, "TPUCTL_HOME": str(home)})
    app = wiring.open_app(settings, place.url)
    inbox = pubsub.connect_inbox(
        place.project, PREFIX, PULLED, emulator=place.emulators.pubsub, wait_s=PULL_S
    )
    stop = threading.Event()
    ticks = Ticks(stop)
    sources = {each.name: runner._Source(inbox, each.name, lambda: True) for each in SUBSCRIPTIONS}
    threads = runner._Server(app, stop, ticks, sources).threads()
    for thread in threads:
        thread.start()
    try:
        yield app.store
    finally:
        stop.set()
        ticks.poke()
        for thread in threads:
            thread.join(PULL_S * 2)


def tpuctl(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command that may fail."""
    environ = {**os.environ, "TPUCTL_HOME": str(home)}
    return subprocess.run(
        [TPUCTL, *words], env=environ, capture_output=True, text=True, timeout=60, check=False
    )


def test_job_on_a_box_survives_a_preemption(box: Installation) -> None:
    """What hosts say comes by pull; the second attempt begins when the first is dead."""
    work = box.run("digits")
    work.until_saved(0)

    box.admin.post(f"nodes/{work.node}:preempt", {"notice": True, "notice_s": 1})
    until(lambda: work.entries(1), lambda: work.job.summary)

    assert "succeeded" == work.finish().stage
    assert [0, 1] == [attempt.number for attempt in work.attempts]
    assert_never_two(work)


def test_running_job_moves_to_the_functions_and_is_not_disturbed(
    box: Installation, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same attempt goes on to its end, told by its hosts to another control plane."""
    work = box.run("digits")
    work.until_saved(0)
    job, before, asked = work.job, {each.pid for each in work.entries(0)}, box.creates()
    file, target = tmp_path / "box.jsonl", tmp_path / "google"

    told = box.tpuctl("box", "export", str(file))
    assert 0o600 == file.stat().st_mode & 0o777
    assert "1 jobs" in told
    install(target, place, box, tmp_path / "outputs")
    assert 0 == tpuctl(target, "import", str(file)).returncode
    monkeypatch.setenv(
        "TPUCTL_SECRET", tpuctl(target, "import", str(file), "--print-secret").stdout
    )
    begun = tpuctl(target, "import", str(file), "--start")
    assert 0 == begun.returncode, begun.stderr

    with functions(target, place) as store:
        assert alive(sorted(before)), "the processes run on"
        work.steer("finish")
        done = until(lambda: found if (found := stored(store, job)).is_over else None)

    assert ("succeeded", 0) == (done.stage, done.attempt)
    assert before == {each.pid for each in work.entries(0)}, "nothing was started again"
    assert asked == box.creates()
    assert "running" == work.job.stage, "the sealed box was told nothing"
    refused = tpuctl(box.home, "box", "up", "--no-systemd")
    assert 1 == refused.returncode
    assert "sealed since" in refused.stderr


def install(target: Path, place: Place, box: Installation, outputs: Path) -> None:
    """Deploy the functions' side: what Terraform makes, and the settings that it puts out."""
    settings = home_settings.load({"TPUCTL_HOME": str(box.home)})
    cloud = {"project": place.project, "bucket": BUCKET, "prefix": PREFIX, "region": "us-central2"}
    written = {"wiring": "google", "installation": settings.installation, "cloud": cloud}
    saved = target.with_suffix(".json")
    saved.write_text(json.dumps({"settings": {"value": written, "sensitive": False}}), "utf-8")
    assert 0 == tpuctl(target, "init", "--from-terraform", str(saved)).returncode
    hurry(target / "settings.toml", outputs)
    pubsub_setup.declare(place.project, PREFIX, PULLED, emulator=place.emulators.pubsub)


def stored(store: Store, job: Job) -> Job:
    """Read a job where it is now."""
    document = store.get(f"jobs/{job.id}")
    assert document is not None, "it came along"
    return from_fields(Job, document.fields)
