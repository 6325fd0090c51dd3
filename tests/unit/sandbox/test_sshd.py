"""The doors to hosts: what OpenSSH's server is told, and what is said where there is none."""

import subprocess
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from sandbox import background, sshd
from sandbox.access import Access
from sandbox.resources import Host
from sandbox.sshd import Doors, SshUnavailableError


@pytest.fixture
def doors(mocker: MockerFixture) -> Doors:
    """Give doors whose keys are made by nobody."""
    mocker.patch.object(sshd, "make_host_key")
    return Doors(Path("/x/sbin/sshd"), 2222, Access(), lambda: 0.0, user="me")


def host(**metadata: str) -> Host:
    """Make a host with this metadata."""
    return Host("n-w-0", "n", 0, 1, "n-w-0", "127.77.0.9", attributes=metadata)


def test_server_listens_on_the_hosts_own_address_for_one_user(doors: Doors, tmp_path: Path) -> None:
    """With keys only, whoever owns the folder; paths with spaces are one word."""
    config = doors.config(tmp_path / "a b", "127.77.0.9").splitlines()

    assert "ListenAddress 127.77.0.9:2222" in config
    assert f'HostKey "{tmp_path}/a b/host_key"' in config
    assert f"ForceCommand '{tmp_path}/a b/session'" in config
    assert {"AllowUsers me", "AuthenticationMethods publickey"} < set(config)


def test_session_is_put_into_the_hosts_home_and_environment(tmp_path: Path) -> None:
    """The command that was asked for is what runs there; its words stay as they are."""
    home = tmp_path / "it's home"
    home.mkdir()
    script = tmp_path / "session"
    sshd.write_session(script, {"HOME": str(home), "WORD": "$two 'words'=1"})

    done = subprocess.run(
        [script],
        env={"PATH": "/usr/bin:/bin", "SSH_ORIGINAL_COMMAND": 'pwd; echo "$WORD"; exit 3'},
        capture_output=True,
        text=True,
        check=False,
        timeout=10,
    )

    assert (3, f"{home}\n$two 'words'=1\n") == (done.returncode, done.stdout)


def test_keys_follow_the_metadata(doors: Doors, tmp_path: Path) -> None:
    """Also those of the project, which no host's record shows."""
    doors.build(tmp_path, host(), {})
    listed = tmp_path / "ssh" / "authorized_keys"
    before = listed.read_text("utf-8")

    doors.admit(tmp_path, host(**{"ssh-keys": "me:ssh-rsa A me\nyou:ssh-rsa B"}))
    own = listed.read_text("utf-8")
    doors.access.set_metadata({"ssh-keys": "me:ssh-rsa P"})
    doors.admit(tmp_path, host())

    assert ("", "ssh-rsa A me\n") == (before, own)
    assert "ssh-rsa P\n" == listed.read_text("utf-8")


def test_host_without_a_disk_yet_gets_no_keys(doors: Doors, tmp_path: Path) -> None:
    """It gets them with its door."""
    doors.admit(tmp_path, host(**{"ssh-keys": "me:ssh-rsa A"}))

    assert [] == list(tmp_path.iterdir())
    doors.build(tmp_path, host(**{"ssh-keys": "me:ssh-rsa A"}), {})
    assert "ssh-rsa A\n" == (tmp_path / "ssh" / "authorized_keys").read_text("utf-8")


def test_machine_without_openssh_is_told_what_to_install(mocker: MockerFixture) -> None:
    """One line, and what to do."""
    mocker.patch("shutil.which", return_value=None)

    with pytest.raises(SshUnavailableError, match=r"not installed: install openssh-server"):
        sshd.find_server()


def test_other_systems_are_refused_before_anything_is_tried(
    mocker: MockerFixture, tmp_path: Path
) -> None:
    """Only Linux gives every host an address of its own."""
    mocker.patch("sys.platform", "darwin")

    with pytest.raises(SshUnavailableError, match="needs Linux"):
        sshd.open_doors(tmp_path / "ssh", Access(), lambda: 0.0)


def test_reason_why_sshd_would_not_start_is_passed_on(
    mocker: MockerFixture, tmp_path: Path
) -> None:
    """And what root has to have is made, as the system's own service does."""
    missing = tmp_path / "run" / "sshd"
    program = tmp_path / "sshd"
    program.write_text(
        "#!/bin/sh\n"
        'missing="${0%/*}/run/sshd"\n'
        '[ -d "$missing" ] && { echo no user sshd >&2; exit 255; }\n'
        'echo "Missing privilege separation directory: $missing" >&2\nexit 255\n'
    )
    program.chmod(0o700)
    mocker.patch.object(sshd, "find_server", return_value=program)
    mocker.patch.object(sshd, "make_host_key")

    with pytest.raises(SshUnavailableError, match=r"sshd cannot run: no user sshd"):
        sshd.open_doors(tmp_path / "ssh", Access(), lambda: 0.0)

    assert missing.is_dir()


def test_port_is_gcloud_s_own_or_a_free_one(mocker: MockerFixture) -> None:
    """Who may not have 22 gets another, and says so to gcloud."""
    probe = mocker.patch("socket.socket").return_value.__enter__.return_value
    allowed = sshd.choose_port()
    probe.bind.side_effect = PermissionError
    mocker.patch.object(background, "free_ports", return_value=[23_456])

    assert (22, 23_456) == (allowed, sshd.choose_port())
