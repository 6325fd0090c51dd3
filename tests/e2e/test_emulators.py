"""`tpuctl emulators` with Google's own jars: what they answer, and that they go."""

import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli import emulators as started
from sandbox.processes import start_time
from shared.adapters import firestore
from shared.ports import Create
from tests.emulators import Emulators, start
from tests.installations import TPUCTL

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
# Google's own client finds the emulator by the environment alone.
MAKE_A_TOPIC = """
from google.pubsub_v1 import PublisherClient
print(PublisherClient().create_topic(name="projects/p-12345/topics/made", timeout=20).name)
"""


def shell(home: Path, line: str) -> str:
    """Run a line that must succeed; return what it printed."""
    words = {"TPUCTL": str(TPUCTL), "PYTHON": sys.executable, "MAKE_A_TOPIC": MAKE_A_TOPIC}
    done = subprocess.run(
        ["sh", "-ec", line],
        env={**os.environ, **words, "TPUCTL_HOME": str(home)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout


def status_of(url: str, token: str = "") -> int:
    """Ask for something; return the HTTP status."""
    request = urllib.request.Request(url)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def test_a_shell_that_evaluates_env_talks_to_them(home: Path) -> None:
    """And after down nothing of them is left."""
    try:
        shell(home, "$TPUCTL emulators up")
        pids = [emulator.pid for emulator in started.find(home / "emulators").values()]

        made = shell(home, 'eval "$($TPUCTL emulators env)"; $PYTHON -c "$MAKE_A_TOPIC"')
    finally:
        shell(home, "$TPUCTL emulators down")

    assert "projects/p-12345/topics/made\n" == made
    assert [None, None] == [start_time(pid) for pid in pids]


@pytest.fixture(scope="module")
def denying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulators]:
    """Give emulators whose Firestore has the rules of a deployment."""
    folder = tmp_path_factory.mktemp("denying")
    try:
        yield start(folder, ROOT / "infra/firestore.rules")
    finally:
        started.down(folder)


def test_rules_shut_everybody_out_but_servers(denying: Emulators, cloud_project: str) -> None:
    """Who has no role in the project reads nothing, not even with the path."""
    firestore.connect(cloud_project, emulator=denying.firestore).commit(
        [Create("jobs/a", {"owner": "ada"})]
    )
    databases = f"projects/{cloud_project}/databases/(default)"
    url = f"http://{denying.firestore}/v1/{databases}/documents/jobs/a"

    assert [403, 200] == [status_of(url), status_of(url, "owner")]
