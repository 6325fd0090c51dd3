"""`tpuctl sandbox env`: what a shell makes of it, and what it leaves alone."""

import json
import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from pytest_mock import MockerFixture
from typer.testing import CliRunner, Result

from cli.commands import sandbox_env
from cli.commands.sandbox import app
from sandbox import control

INFO = control.SandboxInfo(7, "1", "http://127.0.0.1:9", grpc="127.0.0.1:8")


@pytest.fixture
def up(mocker: MockerFixture, home: Path) -> Path:
    """Pretend that a sandbox of another project is up; give its folder."""
    mocker.patch.object(control, "find", return_value=INFO)
    mocker.patch.object(control.Client, "get", return_value={"project": "it's"})
    mocker.patch.object(sandbox_env, "_private_key", return_value="key")
    return home / "sandbox"


def env(*words: str) -> Result:
    """Call the command."""
    return CliRunner().invoke(app, ["env", *words])


def in_a_shell(text: str, **before: str) -> Mapping[str, str]:
    """Evaluate a text as a person's shell does; return the variables after it."""
    command = ["sh", "-c", 'eval "$1"; env -0', "sh", text]
    environment = {"PATH": os.environ["PATH"], **before}
    done = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=30)
    pairs = [pair.partition("=") for pair in done.stdout.decode().split("\0") if pair]
    return {name: value for name, _, value in pairs}


def test_shell_has_all_variables_after_eval(up: Path) -> None:
    """Whatever is in them: a quote in the project's name, a comment at the end."""
    found = in_a_shell(env().stdout)

    told = json.loads(env("--json").stdout)
    assert told == {name: value for name, value in found.items() if name in told}
    assert "it's" == told["CLOUDSDK_CORE_PROJECT"] == told["GOOGLE_CLOUD_PROJECT"]
    for api in ("TPU", "COMPUTE", "OSLOGIN", "STORAGE"):
        assert f"{INFO.url}/" == told[f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{api}"]
    assert ("127.0.0.1:8", INFO.url) == (
        told["TPUCTL_SANDBOX_GRPC"],
        told["STORAGE_EMULATOR_HOST"],
    )
    assert str(up / "gcloud") == told["CLOUDSDK_CONFIG"]


def test_unset_takes_every_variable_back_also_when_the_sandbox_is_gone(
    up: Path, mocker: MockerFixture
) -> None:
    """And leaves the shell's own ones."""
    exports = env().stdout
    mocker.patch.object(control, "find", return_value=None)
    unsets = env("--unset")

    left = in_a_shell(f"{exports}\n{unsets.stdout}", OWN="mine")

    assert 0 == unsets.exit_code
    assert not {name for name in left if name.startswith(("CLOUDSDK", "GOOGLE", "TPUCTL"))}
    assert "mine" == left["OWN"]
    assert up.parent.exists()


def test_credentials_are_the_owners_alone_and_made_once(up: Path) -> None:
    """For this address: another one gets another token endpoint."""
    env()
    path = up / "gcloud" / "application_default_credentials.json"
    first = path.stat().st_mtime_ns
    env()

    told = json.loads(path.read_text("utf-8"))
    assert 0o600 == path.stat().st_mode & 0o777
    assert first == path.stat().st_mtime_ns
    assert ("service_account", f"{INFO.url}/token") == (told["type"], told["token_uri"])
    path.write_text(json.dumps(told | {"token_uri": "http://127.0.0.1:1/token"}), "utf-8")
    env()
    assert f"{INFO.url}/token" == json.loads(path.read_text("utf-8"))["token_uri"]


def test_sandbox_that_is_not_up_has_no_variables(home: Path) -> None:
    """One line, and the next step; nothing that `eval` would run."""
    said = env()

    assert (1, "") == (said.exit_code, said.stdout)
    assert f"no sandbox is up in {home}" in said.stderr
    assert "next: tpuctl sandbox up" in said.stderr


def test_every_line_is_an_export_or_a_comment(up: Path) -> None:
    """So that fish and others can be fed from it, too."""
    lines = [line for line in env().stdout.splitlines() if not line.startswith("#")]

    assert {"export"} == {shlex.split(line)[0] for line in lines}
    assert up.exists()


@pytest.mark.parametrize(
    "environ, expected",
    [
        pytest.param({}, {}, id="no proxy"),
        pytest.param({"no_proxy": "a"}, {}, id="no proxy, and hosts past it"),
        pytest.param({"HTTP_PROXY": ""}, {}, id="an empty one"),
        pytest.param({"https_proxy": "x"}, {}, id="one for https only"),
        pytest.param(
            {"HTTP_PROXY": "x", "NO_PROXY": "a,b"},
            {"no_proxy": "127.0.0.1", "NO_PROXY": "a,b,127.0.0.1"},
            id="beside what is there",
        ),
        pytest.param(
            {"all_proxy": "x", "no_proxy": "127.0.0.1"},
            {"no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"},
            id="once",
        ),
    ],
)
def test_proxy_is_kept_out_of_the_way(
    environ: Mapping[str, str], expected: Mapping[str, str]
) -> None:
    """The sandbox is on this machine, and a proxy is not."""
    assert expected == sandbox_env.past_proxies(environ)
