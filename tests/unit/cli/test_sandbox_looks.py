"""`tpuctl sandbox calls`, `logs` and `forget`."""

import json
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pytest_mock import MockerFixture
from typer.testing import CliRunner

from cli.commands import sandbox_looks
from cli.commands.sandbox import app
from cli.errors import CliError, NotFoundError
from sandbox import control

INFO = control.SandboxInfo(pid=7, started="1", url="http://127.0.0.1:9")
CALL = {
    "at": 1_000_000_000.0,
    "method": "GetNode",
    "http_method": "GET",
    "path": "/v2/nodes/a",
    "caller": "curl",
    "status": 404,
}


def write(home: Path, host: str, text: str) -> Path:
    """Write what is on a host's console."""
    path = home / "sandbox" / "hosts" / host / "console.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


# --- Calls --------------------------------------------------------------------------------------


def test_calls_are_a_table_or_json(mocker: MockerFixture) -> None:
    """The same facts."""
    mocker.patch.object(control, "require", return_value=INFO)
    mocker.patch.object(control.Client, "get", return_value={"calls": [CALL], "forgotten": 0})

    table = CliRunner().invoke(app, ["calls"]).stdout
    parsed = json.loads(CliRunner().invoke(app, ["calls", "--json"]).stdout)

    assert "404     GetNode  curl    /v2/nodes/a" in table
    assert {"calls": [CALL], "forgotten": 0} == parsed


def test_calls_that_are_forgotten_are_counted(mocker: MockerFixture) -> None:
    """Below the table, out of the way of what reads it."""
    mocker.patch.object(control, "require", return_value=INFO)
    mocker.patch.object(control.Client, "get", return_value={"calls": [CALL], "forgotten": 7})

    result = CliRunner().invoke(app, ["calls"])

    assert "7 calls before these are forgotten\n" == result.stderr


@pytest.mark.parametrize(
    "agent, shown",
    [
        pytest.param(
            "google-cloud-sdk gcloud/528.0.0 command/gcloud.compute.tpus.tpu-vm.list x/y z/None",
            "compute tpus tpu-vm list",
            id="gcloud",
        ),
        pytest.param("gl-python/3.11.7 rest/2.32 gapic/1.28", "gl-python/3.11.7", id="library"),
    ],
)
def test_callers_are_named_in_few_words(mocker: MockerFixture, agent: str, shown: str) -> None:
    """All that they say of themselves is in the JSON."""
    mocker.patch.object(control, "require", return_value=INFO)
    mocker.patch.object(control.Client, "get", return_value={"calls": [{**CALL, "caller": agent}]})

    table = CliRunner().invoke(app, ["calls"]).stdout

    assert f"404     GetNode  {shown}  /v2/nodes/a" in table


def test_sandbox_is_asked_for_what_is_wanted_only(mocker: MockerFixture) -> None:
    """Since when, and which methods."""
    mocker.patch.object(control, "require", return_value=INFO)
    get = mocker.patch.object(control.Client, "get", return_value={"calls": []})
    begun = time.time()

    CliRunner().invoke(app, ["calls", "--since", "10m", "--method", "Create*"])

    query = get.call_args.args[0]
    assert query.endswith("&method=Create%2A")
    since = float(query.removeprefix("calls?since=").partition("&")[0])
    assert pytest.approx(begun - 600, abs=5) == since


@pytest.mark.parametrize(
    "flags, expected",
    [
        pytest.param([], "no calls\n", id="of all"),
        pytest.param(["--method", "nope"], "no calls with --method nope\n", id="of a method"),
        pytest.param(
            ["--since", "10m", "--method", "Get*"],
            "no calls with --method Get* --since 10m\n",
            id="of both",
        ),
    ],
)
def test_no_calls_are_told_with_what_was_asked_for(
    mocker: MockerFixture, flags: list[str], expected: str
) -> None:
    """Instead of a table of nothing; it is no error."""
    mocker.patch.object(control, "require", return_value=INFO)
    mocker.patch.object(control.Client, "get", return_value={"calls": [], "forgotten": 0})

    result = CliRunner().invoke(app, ["calls", *flags])

    assert (0, expected) == (result.exit_code, result.stdout)


# --- Faults -------------------------------------------------------------------------------------


def test_faults_in_force_are_shown_with_what_is_left_of_them() -> None:
    """Until when, how often, or without an end."""
    faults = [
        {"fault": "stockout", "target": "us-central2-b", "how": "wait", "until": None},
        {"fault": "call", "target": "Create*", "code": 503, "when": "before", "count": 2},
        {"fault": "slow-call", "target": "Create*", "delay_s": 660.0, "count": 1},
        {"fault": "stuck-delete", "count": 1},
    ]

    assert [
        "in force      on             left    keys",
        "stockout      us-central2-b  -       how=wait",
        "call          Create*        2 more  code=503 when=before",
        "slow-call     Create*        1 more  delay_s=660",
        "stuck-delete  -              1 more",
    ] == sandbox_looks.in_force(faults)


def test_faults_in_force_fit_a_terminal() -> None:
    """Even the longest, and whoever reads it: the end is never what is cut."""
    until = (datetime.now().astimezone() + timedelta(days=40)).replace(microsecond=0)
    services = ["metadata", "pubsub", "storage"]
    fault = {"fault": "silent-host", "services": services, "until": until.timestamp()}

    line = sandbox_looks.in_force([{**fault, "target": "a-node-with-a-long-name-w-3"}])[1]

    assert len(line) <= 80
    assert f"until {until:%d %b %H:%M:%S}  services=metadata,pubsub,storage" in line


# --- Logs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, expected",
    [
        pytest.param(["a"], "[0] one\n[0] two\n[10] ten\n", id="all hosts in order"),
        pytest.param(["a", "--host", "10"], "ten\n", id="by number"),
        pytest.param(["a-w-0"], "one\ntwo\n", id="by name"),
    ],
)
def test_logs_are_those_of_the_node(home: Path, words: list[str], expected: str) -> None:
    """Nothing of others whose names begin alike; nothing needs to be up."""
    write(home, "a-w-10", "ten\n")
    write(home, "a-w-0", "one\ntwo\n")
    write(home, "a-b-w-0", "other\n")

    assert expected == CliRunner().invoke(app, ["logs", *words]).stdout


def test_logs_of_nobody_are_not_found() -> None:
    """Exit 3, as everywhere."""
    result = CliRunner().invoke(app, ["logs", "nobody", "--host", "3"])

    assert isinstance(result.exception, NotFoundError)
    assert "nothing was written by nobody, host 3, in this sandbox" == str(result.exception)


def test_follow_prints_whole_lines_as_they_come(home: Path, mocker: MockerFixture) -> None:
    """A half line waits for its end; Ctrl-C ends it."""
    path = write(home, "a-w-0", "one\ntw")
    steps = iter(["o\nthree\n", None])

    def later(_: float) -> None:
        more = next(steps)
        if more is None:
            raise KeyboardInterrupt
        with path.open("a", encoding="utf-8") as file:
            file.write(more)

    mocker.patch("cli.commands.sandbox_looks.time.sleep", later)

    result = CliRunner().invoke(app, ["logs", "a", "-f"])

    assert "one\ntwo\nthree\n" == result.stdout


# --- Forget -------------------------------------------------------------------------------------


def test_forget_leaves_the_buckets(home: Path) -> None:
    """And takes the state and the hosts' disks; twice is no error."""
    write(home, "a-w-0", "x\n")
    kept = home / "sandbox" / "buckets" / "b"
    kept.mkdir(parents=True)
    for name in ("cloud.db", "cloud.db-wal", "calls.db", "calls.db-shm"):
        (home / "sandbox" / name).touch()

    codes = [CliRunner().invoke(app, ["forget"]).exit_code for _ in range(2)]

    assert [0, 0] == codes
    assert ["buckets"] == [path.name for path in (home / "sandbox").iterdir()]


def test_sandbox_that_is_up_is_not_forgotten(home: Path, mocker: MockerFixture) -> None:
    """It would write it all again."""
    path = write(home, "a-w-0", "x\n")
    mocker.patch.object(control, "find", return_value=INFO)

    result = CliRunner().invoke(app, ["forget"])

    assert isinstance(result.exception, CliError)
    assert "tpuctl sandbox down" == result.exception.next_step
    assert path.exists()
