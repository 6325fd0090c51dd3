"""`gcloud compute tpus tpu-vm ssh` and `scp`, and what they need of other APIs."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest

from sandbox import control
from sandbox.access import own_user
from tests import gclouds
from tests.gclouds import Gcloud
from tests.sandboxes import ZONE, Box, eventually, running

USER = own_user()
# Waits until the project says something, and keeps it in the host's home.
ASKING: Final = """
import os, pathlib, time, urllib.request
server = "http://" + os.environ["GCE_METADATA_HOST"] + "/computeMetadata/v1/project/attributes/"
asked = urllib.request.Request(server + "colour", headers={"Metadata-Flavor": "Google"})
while True:
    try:
        said = urllib.request.urlopen(asked, timeout=30).read()
    except urllib.error.HTTPError:
        time.sleep(0.1)
        continue
    (pathlib.Path.home() / "colour").write_bytes(said)
    break
"""


@dataclass(frozen=True, slots=True)
class Desk:
    """Somebody with gcloud, a key and a two-host slice ``warm``."""

    box: Box
    gcloud: Gcloud
    # How gcloud's ssh and scp are told of a port that is not 22.
    ssh_flags: tuple[str, ...] = ()
    scp_flags: tuple[str, ...] = ()

    def ssh(self, *words: str) -> gclouds.Said:
        """Log in to a host of the slice."""
        return self.gcloud.run(
            *("compute", "tpus", "tpu-vm", "ssh", "warm", f"--zone={ZONE}"), *self.ssh_flags, *words
        )

    def scp(self, *words: str) -> gclouds.Said:
        """Copy to or from a host of the slice."""
        return self.gcloud.run(
            *("compute", "tpus", "tpu-vm", "scp", f"--zone={ZONE}"), *self.scp_flags, *words
        )


def sit_down(box: Box, home: Path) -> Desk:
    """Make the slice and a key."""
    gcloud = gclouds.pointed_at(home, box.url)
    gclouds.make_key(home)
    box.create_slice("warm", "true")
    return Desk(box, replace(gcloud, environment={**gcloud.environment, "HOME": str(home)}))


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Give a desk at a sandbox whose hosts have no ssh."""
    gclouds.program()
    home = tmp_path_factory.mktemp("outside")
    with running(home / "sandbox") as box:
        yield sit_down(box, home)


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Give a desk at a sandbox whose hosts let its user in."""
    gclouds.program()
    home = tmp_path_factory.mktemp("inside")
    gclouds.require_sshd(home / "try")
    with running(home / "sandbox", has_ssh=True) as box:
        desk, info = sit_down(box, home), control.find(box.home)
        assert info is not None, "the sandbox is up"
        yield replace(
            desk,
            ssh_flags=(f"--ssh-flag=-p {info.ssh_port}",),
            scp_flags=(f"--scp-flag=-P {info.ssh_port}",),
        )


def test_ssh_gets_as_far_as_opening_the_connection(outside: Desk) -> None:
    """To the address of the host, as the user, with gcloud's key."""
    said = outside.ssh("--worker=1", "--dry-run")

    host = outside.box.host("warm-w-1")
    assert host is not None, "the slice has a second host"
    assert 0 == said.code, said.err
    assert f"{USER}@{host['ip']}" in said.out
    assert "google_compute_engine" in said.out


def test_os_login_is_asked_where_the_project_wants_it(outside: Desk) -> None:
    """The key is brought there; the account bears the name of the sandbox's user."""
    project = ("compute", "project-info")
    added = outside.gcloud.run(*project, "add-metadata", "--metadata=enable-oslogin=TRUE")
    said = outside.ssh("--dry-run")
    profile = outside.gcloud.read("compute", "os-login", "describe-profile")
    removed = outside.gcloud.run(*project, "remove-metadata", "--keys=enable-oslogin")

    assert (0, 0, 0) == (added.code, said.code, removed.code), added.err + said.err + removed.err
    assert isinstance(profile, dict), "a profile is an object"
    assert [USER] == [account["username"] for account in profile["posixAccounts"]]
    assert 1 == len(profile["sshPublicKeys"])


def test_hosts_read_what_the_project_says(outside: Desk) -> None:
    """Those that are there already, too."""
    outside.box.create_slice("asks", f"{sys.executable} -c '{ASKING}'")
    project = ("compute", "project-info", "add-metadata", "--metadata=colour=blue")
    assert 0 == outside.gcloud.run(*project).code

    assert "blue" == eventually(lambda: outside.box.host_file("asks-w-1", "colour"))


def test_ssh_reaches_the_host_and_its_environment(inside: Desk) -> None:
    """The command runs on the host that was named, and its exit code comes back."""
    said = inside.ssh("--worker=1", "--command=pwd; touch here; exit 3")

    home = inside.box.home / "hosts" / "warm-w-1" / "home"
    assert (3, f"{home}\n") == (said.code, said.out), said.err
    assert (home / "here").exists()


def test_scp_brings_files_there_and_back(inside: Desk, tmp_path: Path) -> None:
    """Relative names are those of the host's home."""
    (tmp_path / "there").write_bytes(b"\x00bytes")

    up = inside.scp(str(tmp_path / "there"), "warm:file")
    down = inside.scp("warm:file", str(tmp_path / "back"))

    assert (0, 0) == (up.code, down.code), up.err + down.err
    assert b"\x00bytes" == (inside.box.home / "hosts" / "warm-w-0" / "home" / "file").read_bytes()
    assert b"\x00bytes" == (tmp_path / "back").read_bytes()
