"""Snapshots, environment, placeholders and progress."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.core import placeholders
from shared.host import agent
from tests.unit.host.states import BOOT, CONFIG, RUN, SPEC, exited, mandate, running

PROTOCOL = Path(__file__).parents[3] / "docs" / "protocol.md"
STEPS = [re.compile(r"step (?P<step>\d+)(/(?P<total>\d+))?")]


def _attempt(number: int = 0) -> agent.Attempt:
    return agent.Attempt("j", number, "t", 60.0, 5.0, "/checkpoints")


def _table(heading: str) -> set[str]:
    """Read the field names in the first column of the table below a heading of the protocol."""
    section = PROTOCOL.read_text().partition(heading)[2].partition("| field | type | meaning |")[2]
    rows = section.partition("\n\n")[0].splitlines()[2:]
    return {name for row in rows for name in re.findall(r"`([a-z_]+)`", row.split("|")[1])}


def test_a_snapshot_has_exactly_the_fields_of_the_protocol() -> None:
    """The table of docs/protocol.md §6 is the contract."""
    state, _ = agent.step(running(), exited(3.0))

    words = agent.snapshot(state, sequence=1, at="2030-01-01T00:00:00Z")

    assert _table("## 6. Snapshots") == set(words)
    assert isinstance(words["attempt"], dict)
    assert _table("`attempt`:\n") == set(words["attempt"])
    json.dumps(words)


def test_a_mandate_is_read_in_the_words_of_the_protocol() -> None:
    """Every field of the table of docs/protocol.md §5 is one that the parser meets."""
    document = {
        "version": 1,
        "slice": "s",
        "slice_uid": "uid",
        "generation": 1,
        "sequence": 2,
        "action": "start",
        "reason": "all hosts are prepared",
        "job": "j",
        "attempt": 0,
        "spec": {"object": SPEC.object, "sha256": SPEC.sha256},
        "bid": "b0",
        "boots": {"0": BOOT, "1": "boot-of-1"},
        "run": {
            "number": 1,
            "resumes": 0,
            "checkpoint_dir": "/checkpoints",
            "output_dir": "/output",
            "shard": 0,
            "shards": 1,
            "from_step": None,
        },
        "lease_s": 100,
        "grace_s": 10,
        "restart": {"1": "boot-0"},
        "tokens": {"bids": {"b0": "t"}, "attempt": "u"},
    }

    read = agent.parse_mandate(json.dumps(document).encode())

    assert _table("## 5. Mandate") == set(document)
    assert mandate(2, "start", attempt_token="u", restart={"1": "boot-0"}) == read


@pytest.mark.parametrize(
    "written, folder",
    [
        pytest.param({"folder": "teams/vision/"}, "teams/vision/", id="of a team"),
        pytest.param({"folder": ""}, "", id="of none"),
        pytest.param({}, "", id="of the version before"),
    ],
)
def test_a_config_says_in_which_folder_the_host_works(written: dict[str, str], folder: str) -> None:
    """One that says nothing of it means the top of the bucket."""
    names = ("project", "bucket", "mandate", "slice", "slice_uid", "bid")
    config = dict.fromkeys(names, "x") | {"version": 1, "generation": 1, "hosts": 1}
    machine = agent.Machine("node", 0, "w-0", BOOT, "10.0.0.1")

    read = agent.parse_config(json.dumps({**config, **written}).encode(), machine)

    assert folder == read.folder


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"version": 2}, id="newer version"),
        pytest.param({"action": "dance"}, id="unknown action"),
        pytest.param({"sequence": "2"}, id="sequence is text"),
        pytest.param({"sequence": True}, id="sequence is a claim"),
        pytest.param({"action": "prepare"}, id="prepare without a spec"),
        pytest.param({"action": "start", "job": "j"}, id="start without a run"),
        pytest.param({"grace_s": -1}, id="negative grace"),
        pytest.param({"grace_s": float("nan")}, id="grace is no number"),
    ],
)
def test_a_mandate_that_is_not_understood_is_refused_as_a_whole(change: dict[str, object]) -> None:
    """Half an order is worse than none."""
    idle = {"version": 1, "slice_uid": "uid", "generation": 1, "sequence": 2, "action": "idle"}
    assert "idle" == agent.parse_mandate(json.dumps(idle).encode()).action

    with pytest.raises(agent.Malformed):
        agent.parse_mandate(json.dumps({**idle, **change}).encode())


@given(
    st.binary(max_size=200)
    | st.recursive(st.none() | st.text(), st.lists).map(repr).map(str.encode)
)
def test_no_bytes_make_the_parsers_raise_anything_else(data: bytes) -> None:
    """What comes from outside is parsed or refused."""
    for parse in (agent.parse_mandate, agent.parse_spec):
        with pytest.raises(agent.Malformed):
            parse(data)


def test_a_coordinator_is_the_same_on_all_hosts_and_new_for_each_attempt() -> None:
    """Late packets of an old gang must not meet the new one."""
    hosts = [replace(CONFIG, host=host, coordinator_ip="10.0.0.1") for host in range(2)]

    addresses = {agent.coordinator(host, _attempt()) for host in hosts}
    others = {agent.coordinator(hosts[0], _attempt(number)) for number in range(20)}

    assert 1 == len(addresses)
    assert 20 == len(others)
    assert all(20_000 <= int(address.split(":")[1]) < 30_000 for address in others)


def test_a_workload_finds_its_identity_in_its_environment() -> None:
    """Ours wins over the user's; the user's over defaults; placeholders are filled in."""
    run = replace(RUN, from_step=40)
    env = {"NAME": "run-{job}-{attempt}", "TPUCTL_JOB": "forged", "JSON": '{"a": {"b": 1}}'}

    found = agent.workload_environment(
        CONFIG, agent.Spawn(_attempt(3), SPEC.sha256, run), env, agent.Place("/p", "/cache")
    )

    assert found == {
        "JAX_COMPILATION_CACHE_DIR": "/cache",
        "NAME": "run-j-3",
        "JSON": '{"a": {"b": 1}}',
        "TPUCTL_JOB": "j",
        "TPUCTL_NUMBER": "1",
        "TPUCTL_ATTEMPT": "3",
        "TPUCTL_RESUMES": "0",
        "TPUCTL_CHECKPOINT_DIR": "/checkpoints",
        "TPUCTL_OUTPUT_DIR": "/output",
        "TPUCTL_SHARD": "0",
        "TPUCTL_SHARDS": "1",
        "TPUCTL_HOST": "0",
        "TPUCTL_HOSTS": "2",
        "TPUCTL_FROM_STEP": "40",
        "TPUCTL_COORDINATOR": agent.coordinator(CONFIG, _attempt(3)),
        "TPUCTL_PROGRESS_FILE": "/p",
    }


def test_nothing_of_the_agents_own_environment_reaches_a_workload() -> None:
    """Only what every VM has, and where Google is."""
    environ = {"PATH": "/bin", "NOTIFY_SOCKET": "@x", "TPUCTL_ROOT": "/r", "SECRET": "s"}

    found = agent.machine_environment({**environ, "GCE_METADATA_HOST": "h"})

    assert {"PATH", "HOME", "LANG", "PYTHONUNBUFFERED", "GCE_METADATA_HOST"} == set(found)
    assert "/bin" == found["PATH"]


@given(st.text(alphabet="{}jobhst x\n$`", max_size=40))
def test_placeholders_are_read_as_the_core_reads_them(text: str) -> None:
    """The agent cannot import the core, so a test holds the two together."""
    values = dict.fromkeys(agent.PLACEHOLDERS, "value")

    assert placeholders.PLACEHOLDERS == agent.PLACEHOLDERS
    assert placeholders.substitute(text, values) == agent.fill(text, values)


def test_a_shell_line_is_one_argument_and_has_no_placeholders() -> None:
    """Users' text is data; its braces are the shell's."""
    spec = agent.parse_spec(json.dumps({"command": [], "shell": "echo ${job} {job}"}).encode())

    assert ["bash", "-c", "echo ${job} {job}"] == agent.fill_command(spec, {"job": "j"})


@pytest.mark.parametrize(
    "line, expected",
    [
        pytest.param(
            "step 120/1000 loss=0.31 lr: 1e-3",
            agent.Progress(120, 1000, {"loss": 0.31, "lr": 0.001}),
            id="step, total, metrics",
        ),
        pytest.param("step 7", agent.Progress(7), id="only a step"),
        pytest.param("stepping out", None, id="no step"),
        pytest.param("step 3 name=gpt2 x=1.5.2", agent.Progress(3), id="words are no metrics"),
    ],
)
def test_progress_is_found_in_lines(line: str, expected: agent.Progress | None) -> None:
    """Whatever looks like ``loss=0.3`` on the line of a step is a metric."""
    assert expected == agent.match_progress(line, STEPS)


@pytest.mark.parametrize(
    "line, expected",
    [
        pytest.param(
            '{"step": 3, "total": 9, "loss": 0.5, "name": "x"}',
            agent.Progress(3, 9, {"loss": 0.5}),
            id="numbers",
        ),
        pytest.param('{"loss": 0.5}', None, id="no step"),
        pytest.param('{"step": 3, "loss": NaN}', agent.Progress(3), id="not a number"),
        pytest.param("[1]", None, id="no object"),
        pytest.param('{"step": 3', None, id="half a line"),
    ],
)
def test_progress_is_read_from_its_file(line: str, expected: agent.Progress | None) -> None:
    """Lines that are no progress are ignored."""
    assert expected == agent.parse_progress_line(line)


@given(st.lists(st.binary(max_size=50), max_size=20))
def test_cutting_a_stream_into_lines_loses_no_byte(blocks: list[bytes]) -> None:
    """However the blocks fall."""
    splitter = agent.LineSplitter()

    lines = [line for block in blocks for line in splitter.feed(block)] + [splitter.rest()]

    assert b"".join(blocks) == b"".join(lines)


def test_a_line_without_end_takes_bounded_memory() -> None:
    """A progress bar of a gigabyte must not sink the host."""
    splitter = agent.LineSplitter()

    lines = splitter.feed(b"x" * (3 * agent.LINE_BYTES_MAX + 1))

    assert [agent.LINE_BYTES_MAX] * 3 == [len(line) for line in lines]
    assert b"x" == splitter.rest()


def test_evidence_is_the_last_lines_in_at_most_6000_bytes() -> None:
    """Bytes that are no UTF-8 must not make it longer."""
    tail = agent.Tail()

    for number in range(3000):
        tail.add(b"line %d \xff\xfe\n" % number)

    assert 6000 >= len(tail.text().encode())
    assert tail.text().endswith("line 2999 ??\n")
