"""`tpuctl run`: what it publishes and uploads, and every input that it refuses."""

import json
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from shared.core.names import code_object, spec_object
from shared.core.spec import from_document, spec_sha256
from tests.fakes import FakeBlobs
from tests.unit.cli.stage import (
    PLACE,
    Installed,
    Launch,
    Tpuctl,
    make_job,
    make_slice,
    refuse,
)

# Nothing here talks to a bucket.
pytestmark = pytest.mark.usefixtures("blobs", "project")


def test_command_is_submitted_and_its_number_printed(tpuctl: Tpuctl, launch: Launch) -> None:
    """With the steps that follow."""
    result = tpuctl("run", *PLACE, "--", "python", "train.py", "--steps", "3")

    assert 0 == result.code, result.err
    assert "job 7 digits accepted" in result.out
    assert "next: tpuctl logs -f 7, tpuctl show 7, tpuctl wait 7\n" in result.out
    assert "no project configured: using this machine (TPUCTL_HOME=" in result.err
    assert ["python", "train.py", "--steps", "3"] == launch.args["spec"]["command"]
    assert "v4-16" == launch.args["spec"]["accelerator_type"]
    assert "tpu-ubuntu2204-base" == launch.args["spec"]["runtime_version"]
    assert {"kind": "submit", "owner": "ada", "version": 1} == {
        key: launch.commands[0][key] for key in ("kind", "owner", "version")
    }


def test_ids_are_made_here_and_have_the_protocol_s_form(tpuctl: Tpuctl, launch: Launch) -> None:
    """Twelve and eight of a-z and 0-9, a letter first."""
    tpuctl("run", *PLACE, "--", "true")

    args = launch.args
    assert (12, 8) == (len(args["job"]), len(args["slice_uid"]))
    assert all(text.isalnum() and text.islower() for text in (args["job"], args["slice_uid"]))
    assert args["job"][0].isalpha()
    assert (None, None) == (args["on"], args["slice"])


def test_words_after_the_program_are_the_program_s(tpuctl: Tpuctl, launch: Launch) -> None:
    """Also without two hyphens before them."""
    tpuctl("run", *PLACE, "python", "train.py", "--name", "x", "--help")

    assert ["python", "train.py", "--name", "x", "--help"] == launch.args["spec"]["command"]


def test_spec_is_uploaded_under_its_content(
    tpuctl: Tpuctl, launch: Launch, blobs: FakeBlobs
) -> None:
    """The bytes that hosts fetch are the ones that the command names."""
    tpuctl("run", *PLACE, "--", "true")

    spec = from_document(launch.args["spec"])
    stored = blobs.get(spec_object(spec_sha256(spec)))
    assert stored is not None
    assert launch.args["spec"] == json.loads(stored.data)


def test_code_is_uploaded_once_however_often_it_runs(
    tpuctl: Tpuctl, launch: Launch, blobs: FakeBlobs
) -> None:
    """By its content; the second upload finds it."""
    for _ in range(2):
        assert 0 == tpuctl("run", *PLACE, "--code", ".", "--", "true").code

    first, second = (command["args"]["spec"]["code"] for command in launch.commands)
    assert first == second
    stored = blobs.get(code_object(first["sha256"]))
    assert stored is not None
    with tarfile.open(fileobj=BytesIO(stored.data)) as archive:
        assert {"train.py", "job.yaml"} == set(archive.getnames())


def test_file_brings_its_folder_as_code_and_flags_count_more(
    tpuctl: Tpuctl, launch: Launch, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Single variables and rules are replaced, others stay."""
    monkeypatch.chdir(project.parent)

    result = tpuctl(
        "run", "-f", "project/job.yaml", "--env", "RATE=0.2", "--rule-on", "oom=stop",
        "--tag", "second", "--note", "a = b", "--grace-s", "5",
    )  # fmt: skip

    assert 0 == result.code, result.err
    spec = launch.args["spec"]
    assert {"RATE": "0.2", "KEPT": "yes"} == spec["env"]
    assert {"hang": "stop", "oom": "stop"} == spec["on"]
    assert (["second"], "a = b", 5.0) == (spec["tags"], spec["note"], spec["grace_s"])
    assert spec["code"]["sha256"]


def test_no_code_is_packed_where_none_is_asked_for(tpuctl: Tpuctl, launch: Launch) -> None:
    """A home folder is quickly uploaded by mistake."""
    plain = tpuctl("run", *PLACE, "--", "true")
    refused = tpuctl("run", "-f", "job.yaml", "--no-code")

    assert [None, None] == [command["args"]["spec"]["code"] for command in launch.commands]
    assert "--code . packs this folder" in plain.out
    assert 0 == refused.code


def test_slice_can_be_one_that_is_there_or_be_named(tpuctl: Tpuctl, launch: Launch) -> None:
    """With the former the type is known."""
    launch.installed.put_slice(make_slice(make_job(), name="warm"))

    tpuctl("run", "--name", "a", "--on", "warm", "--", "true")
    tpuctl("run", *PLACE, "--slice", "mine", "--", "true")

    assert [("warm", None), (None, "mine")] == [
        (command["args"]["on"], command["args"]["slice"]) for command in launch.commands
    ]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("x" * 100_000, id="100 kB"),
        pytest.param("$(touch /tmp/owned) `id` ; rm -rf * | cat & \"'", id="metacharacters"),
        pytest.param("one\ntwo\r\n\tthree", id="newlines"),
        pytest.param("a=b==c", id="equals signs"),
        pytest.param("Grüße 日本", id="not ASCII"),
        pytest.param("", id="empty"),
    ],
)
def test_values_arrive_whole_and_as_they_were_written(
    tpuctl: Tpuctl, launch: Launch, value: str
) -> None:
    """In the environment, in arguments, in a note."""
    result = tpuctl("run", *PLACE, "--env", f"V={value}", "--", "echo", value)

    assert 0 == result.code, result.err
    spec = launch.args["spec"]
    assert ({"V": value}, ["echo", value]) == (spec["env"], spec["command"])


def test_refusal_is_the_error_and_the_exit_code(tpuctl: Tpuctl, launch: Launch) -> None:
    """With where to look."""
    launch.installed.put_slice(make_slice(make_job(), name="warm"))
    launch.answer = refuse("slice warm is busy with job 3")

    result = tpuctl("run", "--name", "a", "--on", "warm", "--", "true")

    assert (1, "") == (result.code, result.out)
    assert "refused: slice warm is busy with job 3" == result.error
    assert "tpuctl slice ls" in result.next_step


def test_run_can_wait_for_the_end(tpuctl: Tpuctl, launch: Launch, installed: Installed) -> None:
    """And exits as ``wait`` does."""

    def ends_at_once(command: dict[str, dict[str, str]]) -> dict[str, object]:
        job = make_job(7, id=command["args"]["job"], stage="failed", reason="it broke")
        installed.put_job(job)
        return {"outcome": "accepted", "reason": "", "job": job.id, "number": 7}

    launch.answer = ends_at_once  # type: ignore[assignment]

    result = tpuctl("run", *PLACE, "--wait", "--", "true")

    assert 1 == result.code
    assert "job 7 digits-7 failed: it broke" in result.out
