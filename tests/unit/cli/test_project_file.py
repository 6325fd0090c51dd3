"""`tpuctl.toml`: found upwards, checked key by key, and less than what is typed."""

from dataclasses import replace
from pathlib import Path

import pytest

from cli import project_file
from shared.core.slices import Kind
from tests.fakes import FakeBlobs
from tests.unit.cli.stage import Installed, Launch, Tpuctl, make_job, make_slice, write

pytestmark = pytest.mark.usefixtures("blobs")

TOML = """\
[run]
command = ["python", "train.py", "--config.lr=0.1", "--workdir={output_dir}"]
type = "v4-16"
zones = ["us-central2-b"]
setup = "pip install -r requirements.txt"
env = { RATE = "0.1", KEPT = "yes" }

[alias]
lr = "config.lr"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work below a folder with a ``tpuctl.toml``."""
    root = tmp_path / "Digits 2"
    write(root / "tpuctl.toml", TOML)
    write(root / "train.py", "print(1)\n")
    (root / "src" / "deep").mkdir(parents=True)
    monkeypatch.chdir(root / "src" / "deep")
    return root


@pytest.fixture
def held(installed: Installed) -> None:
    """Have a slice that is free."""
    job = make_job(3)
    installed.put_slice(replace(make_slice(job), name="v2-1", kind=Kind.NAMED, job=""))


@pytest.mark.usefixtures("folder")
def test_run_alone_is_enough(tpuctl: Tpuctl, launch: Launch, blobs: FakeBlobs) -> None:
    """The file is found above, named, and its folder is the code."""
    result = tpuctl("run")

    assert 0 == result.code, result.err
    spec = launch.args["spec"]
    assert "job 7 digits accepted" in result.out.replace("digits-2", "digits")
    assert "digits-2" == spec["name"]
    assert ("v4-16", ["us-central2-b"]) == (spec["accelerator_type"], spec["zones"])
    assert ["bash", "-ec", "pip install -r requirements.txt"] == spec["setup"]
    assert "tpuctl.toml" in result.err
    assert blobs.get(spec["code"]["object"]) is not None


@pytest.mark.usefixtures("folder", "held")
def test_a_slice_and_a_value_are_enough(tpuctl: Tpuctl, launch: Launch) -> None:
    """An alias stands for the whole key; what the slice is, it knows itself."""
    result = tpuctl("run", "v2-1", "lr=0.01", "seed=3")

    assert 0 == result.code, result.err
    args = launch.args
    words = ["python", "train.py", "--config.lr=0.01", "--workdir={output_dir}", "--seed=3"]
    assert words == args["spec"]["command"]
    assert ("v2-1", None) == (args["on"], args["spec"]["accelerator_type"])


@pytest.mark.usefixtures("folder")
def test_flags_win_over_the_file(tpuctl: Tpuctl, launch: Launch) -> None:
    """Single variables of the environment too."""
    tpuctl("run", "--name", "other", "--env", "RATE=0.2", "--no-code", "--", "lr=0.01")

    spec = launch.args["spec"]
    assert ("other", {"RATE": "0.2", "KEPT": "yes"}) == (spec["name"], spec["env"])
    assert (["lr=0.01"], None) == (spec["command"], spec["code"])


@pytest.mark.usefixtures("folder")
def test_a_program_is_typed_as_before(tpuctl: Tpuctl, launch: Launch) -> None:
    """More words than a slice and values."""
    tpuctl("run", "python", "other.py", "lr=1")

    assert ["python", "other.py", "lr=1"] == launch.args["spec"]["command"]


@pytest.mark.usefixtures("folder", "launch")
def test_one_word_that_is_no_slice_may_be_a_program(tpuctl: Tpuctl) -> None:
    """It says how."""
    result = tpuctl("run", "nvidia-smi")

    assert (3, "there is no slice 'nvidia-smi'") == (result.code, result.error)
    assert "tpuctl slice ls, or tpuctl run -- nvidia-smi" == result.next_step


@pytest.mark.usefixtures("folder", "held")
def test_flags_behind_a_slice_are_not_taken_for_a_program_s(tpuctl: Tpuctl, launch: Launch) -> None:
    """The job would fail minutes later, with a program that is not there."""
    result = tpuctl("run", "v2-1", "--env", "A=1")

    assert "--env stands behind v2-1, which is a slice: flags come first" == result.error
    assert [] == launch.commands


@pytest.mark.parametrize("words", [["run"], ["run", "--name", "a", "--type", "v4-16"]])
def test_nothing_to_run_is_one_line(
    tpuctl: Tpuctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """It says where it looked."""
    monkeypatch.chdir(tmp_path)

    result = tpuctl(*words)

    told = "COMMAND: is missing, and no tpuctl.toml here or above says what to run"
    assert (2, told) == (result.code, result.error)


def test_without_a_file_words_are_a_program(
    tpuctl: Tpuctl, launch: Launch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever they look like."""
    monkeypatch.chdir(tmp_path)

    tpuctl("run", "--name", "a", "--type", "v4-16", "train", "lr=1")

    assert ["train", "lr=1"] == launch.args["spec"]["command"]


@pytest.mark.parametrize(
    "line, told",
    [
        pytest.param("[run]\ntpye = 'v4-16'", "tpuctl.toml:2: run.tpye: is not known; near: type",
                     id="key"),
        pytest.param("[rnu]", "tpuctl.toml:1: rnu: is not known; near: run", id="table"),
        pytest.param("run = 1", "tpuctl.toml:1: run: expected a table", id="no table"),
        pytest.param("[run", "tpuctl.toml: cannot be read as TOML: ", id="syntax"),
        pytest.param("[run]\ncommand='true'\ntype = 'v4-17'",
                     "tpuctl.toml:2: command: expected a list of words", id="first of two"),
        pytest.param("[run]\ncommand=['true']\n\ntype = 'v4-17'",
                     "tpuctl.toml:4: accelerator_type: 'v4-17' is not known", id="value"),
        pytest.param("[run]\ncommand=['true']\n[run.env]\nRATE = 1",
                     "tpuctl.toml:3: env.RATE: expected text", id="table of its own"),
        pytest.param("[run]\ntype='v4-16'\naccelerator_type='v4-16'",
                     "tpuctl.toml:3: run.accelerator_type: stands twice: "
                     "type and accelerator_type are the same", id="twice"),
        pytest.param("[run]\nzones=['a']\nzone='a'",
                     "tpuctl.toml:3: run.zone: stands twice: zones and zone are the same",
                     id="twice, the short name last"),
        pytest.param("[run]\ncode = 'nowhere'", "tpuctl.toml:2: run.code: expected a folder",
                     id="code"),
        pytest.param("[run]\noverride = '--lr'", "tpuctl.toml:2: run.override: expected a text",
                     id="form"),
        pytest.param("[alias]\nlr = 1", "tpuctl.toml:2: alias.lr: expected the full name",
                     id="alias"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("launch")
def test_what_is_wrong_is_one_line_with_its_place(
    tpuctl: Tpuctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, told: str
) -> None:
    """Before anything is ordered."""
    monkeypatch.chdir(write(tmp_path / "tpuctl.toml", line).parent)

    result = tpuctl("run")

    assert result.code in {1, 2}
    assert told in result.error


def test_values_need_a_command_of_words(
    tpuctl: Tpuctl, launch: Launch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line for a shell is never written into."""
    toml = "[run]\nshell = 'python train.py | tee log'\ntype = 'v4-16'\n"
    monkeypatch.chdir(write(tmp_path / "tpuctl.toml", toml).parent)

    result = tpuctl("run", "lr=1")

    told = "lr=1: changes an argument of command, and this job has none that is words"
    assert f"tpuctl.toml: {told}" == result.error
    assert [] == launch.commands


def test_programs_that_take_keys_without_hyphens_are_told_so(
    tpuctl: Tpuctl, launch: Launch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the form of an argument."""
    toml = "[run]\ncommand=['train', 'lr=1']\ntype='v4-16'\ncode=false\noverride='{key}={value}'\n"
    monkeypatch.chdir(write(tmp_path / "tpuctl.toml", toml).parent)

    assert 0 == tpuctl("run", "lr=2", "a.b=c=d").code

    assert ["train", "lr=2", "a.b=c=d"] == launch.args["spec"]["command"]


def test_the_file_of_another_project_above_is_not_used(folder: Path) -> None:
    """A repository ends the search; so does the root."""
    (folder / "src" / ".git").mkdir()

    assert None is project_file.find(folder / "src" / "deep")
    assert folder / "tpuctl.toml" == project_file.find(folder)


@pytest.mark.usefixtures("folder")
def test_a_job_file_takes_its_place(tpuctl: Tpuctl, launch: Launch) -> None:
    """Its values can be changed as well."""
    write(Path("job.yaml"), "name: a\naccelerator_type: v4-16\ncommand: [train, --lr=1]\n")

    assert 0 == tpuctl("run", "-f", "job.yaml", "lr=2").code

    spec = launch.args["spec"]
    assert ("a", ["train", "--lr=2"], {}) == (spec["name"], spec["command"], spec["env"])
