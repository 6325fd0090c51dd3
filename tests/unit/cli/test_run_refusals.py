"""`tpuctl run`: every input that it refuses, and that nothing happens then."""

from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from cli import packing
from tests.fakes import FakeBlobs
from tests.unit.cli.stage import (
    PLACE,
    Installed,
    Launch,
    Result,
    Tpuctl,
    make_job,
    make_slice,
    write,
)

# Nothing here talks to a bucket.
pytestmark = pytest.mark.usefixtures("blobs", "project")


def _refused(result: Result) -> str:
    assert result.code in {1, 2}, result.err
    assert "" == result.out
    assert result.next_step
    return result.error


@pytest.mark.parametrize(
    "words, error",
    [
        pytest.param(
            ["--name", "a", "--type", "v4-17", "--", "true"],
            "--type: 'v4-17' is not known; near: v4-16",
            id="unknown type",
        ),
        pytest.param(
            ["--name", "a", "--type", "v4-16", "--zone", "us-centrall2-b", "--", "true"],
            "--zone: 'us-centrall2-b' is not known; near: us-central2-b",
            id="unknown zone",
        ),
        pytest.param(
            ["--name", "a", "--type", "v4-16", "--zone", "us-east1-d", "--", "true"],
            "--zone: v4-16 is not in us-east1-d; it is in us-central2-b",
            id="zone without the type",
        ),
        pytest.param(
            [*PLACE, "--runtime", "tpu-ubuntu2204-bass", "--", "true"],
            "--runtime: 'tpu-ubuntu2204-bass' is not known; near: tpu-ubuntu2204-base",
            id="unknown runtime",
        ),
        pytest.param(
            ["--name", "a", "--zone", "us-central2-b", "--", "true"],
            "--zone: needs the type too",
            id="zone but no type",
        ),
        pytest.param(["--name", "a", "--", "true"], "--type: is missing", id="no type"),
        pytest.param([*PLACE], "COMMAND: is missing", id="no command"),
        pytest.param([*PLACE, "--", ""], "COMMAND: is empty", id="empty command"),
        pytest.param([*PLACE[2:], "--", "true"], "--name: is missing", id="no name"),
        pytest.param(
            ["--name", "Digits_1", *PLACE[2:], "--", "true"], "--name: expected a name", id="slug"
        ),
        pytest.param(
            ["--name", "a" * 41, *PLACE[2:], "--", "true"], "of at most 40", id="too long"
        ),
        pytest.param([*PLACE, "--tier", "sopt", "--", "true"], "--tier: expected", id="tier"),
        pytest.param([*PLACE, "--rule", "prE", "--", "true"], "--rule: expected one", id="rule"),
        pytest.param(
            [*PLACE, "--rule-on", "hangs=stop", "--", "true"], "--rule-on", id="unknown cause"
        ),
        pytest.param(
            [*PLACE, "--rule-on", "hang", "--", "true"], "--rule-on: expected CAUSE", id="no action"
        ),
        pytest.param(
            [*PLACE, "--env", "NOVALUE", "--", "true"], "--env: expected NAME=VALUE", id="env"
        ),
        pytest.param([*PLACE, "--env", "A-B=1", "--", "true"], "--env", id="env name"),
        pytest.param(
            [*PLACE, "--env", "TPUCTL_X=1", "--", "true"], "are set by tpuctl", id="our env"
        ),
        pytest.param(
            [*PLACE, "--env", f"A={'x' * 120_001}", "--", "true"],
            "--env A: is 120001 bytes long",
            id="too long a value",
        ),
        pytest.param([*PLACE, "--grace-s", "-1", "--", "true"], "--grace-s", id="negative"),
        pytest.param([*PLACE, "--code", "nowhere", "--", "true"], "is not a folder", id="no code"),
        pytest.param(
            [*PLACE, "--code", ".", "--no-code", "--", "true"], "contradict", id="code or none"
        ),
        pytest.param(
            [*PLACE, "--on", "a", "--slice", "b", "--", "true"], "--slice a new", id="two slices"
        ),
        pytest.param(
            [*PLACE, "--slice", "My_Slice", "--", "true"], "--slice: expected a name", id="slice"
        ),
        pytest.param(["-f", "nowhere.yaml"], "nowhere.yaml: cannot be read", id="no file"),
    ],
)
def test_bad_input_is_one_line_that_names_the_flag(
    tpuctl: Tpuctl, installed: Installed, blobs: FakeBlobs, words: list[str], error: str
) -> None:
    """Nothing is published or uploaded."""
    installed.pretend_up()

    result = tpuctl("run", *words)

    assert error in _refused(result)
    assert {0} == set(installed.bus.backlog().values())
    assert [] == blobs.list("")


@pytest.mark.parametrize(
    "text, error",
    [
        pytest.param(
            "name: a\ncomand: [x]\n",
            "job.yaml:2: comand: there is no such key; near: command",
            id="wrong key",
        ),
        pytest.param(
            "name: a\ncommand: [x]\ngrace_s: soon\n",
            "job.yaml:3: grace_s: expected a number, found the text 'soon'",
            id="wrong type",
        ),
        pytest.param(
            "name: a\ncommand: [x]\naccelerator_type: v4-17\n",
            "job.yaml:3: accelerator_type: 'v4-17' is not known; near: v4-16",
            id="unknown type",
        ),
        pytest.param(
            "name: a\ncommand: [x]\naccelerator_type: v4-16\nzones:\n- us-centrall2-b\n",
            "job.yaml:4: zones: 'us-centrall2-b' is not known",
            id="unknown zone",
        ),
        pytest.param("name: [a\n", "job.yaml:2: cannot be read as YAML", id="no YAML"),
        pytest.param("name: a\ncode: here\n", "job.yaml:2: code: is filled in by", id="code"),
        pytest.param("name: a\ncommand: python x.py\n", "job.yaml:2: command: expected", id="line"),
    ],
)
def test_bad_job_file_is_told_with_line_and_key(
    tpuctl: Tpuctl, installed: Installed, project: Path, text: str, error: str
) -> None:
    """Where an editor can go."""
    installed.pretend_up()
    write(project / "job.yaml", text)

    assert error in _refused(tpuctl("run", "-f", "job.yaml"))


def test_job_file_that_is_no_text_is_refused(
    tpuctl: Tpuctl, installed: Installed, project: Path
) -> None:
    """With the place of the first bad byte."""
    installed.pretend_up()
    (project / "job.yaml").write_bytes(b"name: \xff\n")

    assert "is not UTF-8" in _refused(tpuctl("run", "-f", "job.yaml"))


def test_wrong_flag_beside_a_file_is_the_flag_s_fault(tpuctl: Tpuctl, installed: Installed) -> None:
    """Not some line's."""
    installed.pretend_up()

    assert _refused(tpuctl("run", "-f", "job.yaml", "--type", "v9")).startswith("--type: 'v9'")
    assert _refused(tpuctl("run", "-f", "job.yaml", "--env", "A-B=1")).startswith("--env A-B")


def test_bundle_over_the_limit_names_the_largest_files(
    tpuctl: Tpuctl, installed: Installed, project: Path, mocker: MockerFixture
) -> None:
    """And what to do."""
    installed.pretend_up()
    write(project / "data.bin", "x" * 2000)
    mocker.patch.object(packing.pack, "__kwdefaults__", {"bytes_max": 1000})

    error = _refused(tpuctl("run", *PLACE, "--code", ".", "--", "true"))

    assert "more than the" in error
    assert "data.bin" in error
    assert ".tpuctlignore" in error


def test_runner_that_is_not_up_is_said_at_once(tpuctl: Tpuctl, installed: Installed) -> None:
    """Nothing is published that would surprise later."""
    result = tpuctl("run", *PLACE, "--", "true")

    assert (1, "the local runner is not up") == (result.code, result.error)
    assert "tpuctl local up" == result.next_step
    assert {0} == set(installed.bus.backlog().values())


def test_sandbox_that_is_not_up_is_said(tpuctl: Tpuctl, installed: Installed) -> None:
    """It may have died under the runner."""
    installed.pretend_up()
    (installed.home / "sandbox" / "sandbox.json").unlink()

    result = tpuctl("run", *PLACE, "--", "true")

    assert (1, "the sandbox is not up") == (result.code, result.error)
    assert {0} == set(installed.bus.backlog().values())


def test_unknown_slice_exits_with_3_and_near_names(
    tpuctl: Tpuctl, launch: Launch, installed: Installed
) -> None:
    """Before anything is packed."""
    installed.put_slice(make_slice(make_job(), name="warm"))

    result = tpuctl("run", "--name", "a", "--on", "worm", "--", "true")

    assert (3, "there is no slice 'worm'; near: warm") == (result.code, result.error)
    assert [] == launch.commands


def test_zone_of_a_slice_that_is_there_is_its_own(
    tpuctl: Tpuctl, launch: Launch, installed: Installed
) -> None:
    """What is named with a slice is the slice."""
    installed.put_slice(make_slice(make_job(4), name="b"))

    result = tpuctl("run", "--name", "a", "--on", "b", "--zone", "us-central2-b", "--", "true")

    assert "--zone: slice b is where it is" == _refused(result)
    assert [] == launch.commands
