"""A host of a team as real processes: everything it reads and writes is below the team's folder."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.e2e.host_cloud import Cloud, Host, Json, eventually, running_cloud

TEAM = "teams/vision/"


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    """Run a cloud in which the only host is a team's."""
    with running_cloud(TEAM) as cloud:
        yield cloud


@pytest.fixture
def host(cloud: Cloud, tmp_path: Path) -> Iterator[Host]:
    """Boot a host, and leave nothing of it behind."""
    host = Host(cloud, tmp_path)
    try:
        yield host
    finally:
        host.stop()


def bundle() -> bytes:
    """Pack a program."""
    data, text = io.BytesIO(), b"print('of a team')\n"
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        header = tarfile.TarInfo("train.py")
        header.size = len(text)
        archive.addfile(header, io.BytesIO(text))
    return data.getvalue()


def spec_in(cloud: Cloud, folder: str) -> Json:
    """Store code and spec in a folder, and say of the spec what the team's mandate says."""
    code, sha256 = bundle(), hashlib.sha256(bundle()).hexdigest()
    name = f"code/{sha256}.tar.gz"
    cloud.put(folder + name, code)
    written = {
        "command": ["python", "train.py"],
        "env": {},
        "progress": [],
        "code": {"object": name, "sha256": sha256},
    }
    content = cloud.put(f"{folder}control/specs/s.json", json.dumps(written).encode())
    return {**content, "object": f"{TEAM}control/specs/s.json"}


def attempt_of(cloud: Cloud) -> Json:
    """Return what the host says of its attempt."""
    attempt = cloud.newest.get("attempt")
    return attempt if isinstance(attempt, dict) else {}


def test_a_teams_host_reads_and_writes_below_its_folder(
    cloud: Cloud, host: Host, tmp_path: Path
) -> None:
    """Mandate, spec, code, logs, and the report that it could not publish."""
    spec = spec_in(cloud, TEAM)
    cloud.order("prepare", job="j", spec=spec)
    host.start()
    eventually(lambda: cloud.newest.get("phase") == "prepared")
    run = {"number": 1, "resumes": 0, "shard": 0, "shards": 1, "from_step": None}
    places = {"checkpoint_dir": str(tmp_path / "c"), "output_dir": str(tmp_path / "o")}
    start = {"job": "j", "attempt": 0, "spec": spec, "boots": {"0": host.boot}}
    cloud.order("start", run={**run, **places}, **start)
    eventually(lambda: attempt_of(cloud).get("flushed"))
    cloud.broken.add("pubsub")
    cloud.order("end")
    report = f"{TEAM}control/mandates/uid/g1.host-b0-0.json"
    eventually(lambda: report in cloud.objects)

    assert 0 == attempt_of(cloud)["exit_code"]
    assert b"of a team\n" == cloud.objects[f"{TEAM}logs/j/0/0/000000.log"]
    assert [] == [name for name in cloud.objects if not name.startswith(TEAM)]


def test_a_spec_in_the_wrong_folder_is_a_setup_that_failed(cloud: Cloud, host: Host) -> None:
    """It is not looked for anywhere else; the owner is told what is missing."""
    spec = spec_in(cloud, "")
    cloud.order("prepare", job="j", spec=spec)
    host.start()
    eventually(lambda: cloud.newest.get("setup"))

    expected = f"/{quote(TEAM, safe='')}control%2Fspecs%2Fs.json: 404 Not Found"
    assert expected in json.dumps(cloud.newest["setup"])
