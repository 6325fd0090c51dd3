"""What an agent is given it reads, or says what is wrong; and no word of it becomes code or a path.

The agent runs as root beside users' programs. Commands are real processes here: whatever stands
in a word arrives in the program as that word.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from shared.core.mandates import Place, agent_config, render
from shared.core.policy import EMBEDDED
from shared.core.spec import canonical_json, parse_spec
from shared.errors import SpecError
from shared.host import agent
from tests.e2e.host_cloud import BUCKET, Cloud, running_cloud
from tests.security.odd import DEEP, HUGE, JSON, NASTY, as_bytes, mutated
from tests.unit.core.situations import current, running

MACHINE = agent.Machine("node", 0, "host", "boot", "127.0.0.1")
GRAMMAR = settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
REAL = settings(GRAMMAR, max_examples=25)
# What a system can hand to a program at all; the rest is refused before (below).
SAYABLE = [word for word in NASTY if "\0" not in word and word.isascii() | (word != "\ud800")]
WORD_OF_A_COMMAND = st.sampled_from(SAYABLE) | st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20
)
SHOW = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ['ODD'], os.listdir()]))"


def good(what: str) -> object:
    """Write a document as the control plane does."""
    now = running()
    generation = current(now)
    match what:
        case "mandate":
            return json.loads(render(now.slice, generation, b"secret"))
        case "config":
            place = Place("project", "bucket", "reports")
            return json.loads(
                agent_config(now.slice, generation, generation.bids[0], place, EMBEDDED)
            )
        case _:
            spec = {"name": "a", "command": ["python"], "env": {"A": "b"}, "setup": ["true"]}
            code = {"sha256": "0" * 64, "bytes": 1, "object": "code/x.tar.gz"}
            return json.loads(canonical_json(parse_spec({**spec, "code": code})))


PARSERS: dict[str, Callable[[bytes], object]] = {
    "mandate": agent.parse_mandate,
    "config": lambda data: agent.parse_config(data, MACHINE),
    "spec": agent.parse_spec,
}


@pytest.mark.parametrize("what", PARSERS)
def test_a_broken_document_is_read_or_malformed(what: str) -> None:
    """Nothing else is raised: an agent that ends renews no lease."""

    @GRAMMAR
    @given((mutated(good(what)) | JSON).map(as_bytes) | st.binary())
    def check(data: bytes) -> None:
        read_or_malformed(PARSERS[what], data)

    PARSERS[what](as_bytes(good(what)))
    check()


@pytest.mark.parametrize("what", PARSERS)
def test_depth_and_size_are_malformed(what: str) -> None:
    """In place of the document, and as any of its fields."""
    document = good(what)
    assert isinstance(document, dict)
    fields = [{**document, name: value} for name in document for value in (HUGE, 10**400, 1e999)]
    for data in (*(text.encode() for text in DEEP), *map(as_bytes, fields)):
        read_or_malformed(PARSERS[what], data)


@pytest.mark.parametrize("pattern", ["(" * 5000 + ")" * 5000, "a{9999999999999}", "(?P<step>"])
def test_a_pattern_that_cannot_be_is_malformed(pattern: str) -> None:
    """Python says so in more than one way."""
    read_or_malformed(agent.parse_spec, as_bytes({"command": ["a"], "progress": [pattern]}))


def read_or_malformed(parse: Callable[[bytes], object], data: bytes) -> None:
    """Parse; a refusal is one line of bounded length."""
    try:
        parse(data)
    except agent.Malformed as error:
        assert len(str(error)) < 3000  # noqa: PT017 - either outcome is fine


@REAL
@given(st.lists(WORD_OF_A_COMMAND, max_size=4), WORD_OF_A_COMMAND)
@example(list(SAYABLE), "$(touch pwned)")
def test_a_word_of_a_command_arrives_as_it_is(words: list[str], value: str) -> None:
    """No shell is in between: nothing is split, expanded, or run."""
    program = [sys.executable, "-c", SHOW]
    written = {"name": "a", "command": [*program, *words], "env": {"ODD": value}}
    spec = agent.parse_spec(canonical_json(parse_spec(written)).encode())
    literal = {name: "{" + name + "}" for name in agent.PLACEHOLDERS}
    command = agent.fill_command(spec, literal)

    assert [*program, *(agent.fill(word, literal) for word in words)] == command
    assert [command[3:], spec.env["ODD"], []] == json.loads(output_of(command, spec.env))


def test_only_who_asks_for_a_shell_gets_one() -> None:
    """And then its line is one word, in which no placeholder is replaced."""
    line = "echo {job} $(true) # '\""
    asked = agent.parse_spec(as_bytes({"shell": line}))
    plain = agent.parse_spec(as_bytes({"command": ["bash", line], "env": {}}))
    values = dict.fromkeys(agent.PLACEHOLDERS, "; touch pwned")

    assert ["bash", "-c", line] == agent.fill_command(asked, values)
    assert (True, False) == (asked.is_shell, plain.is_shell)
    assert ["bash", line.replace("{job}", "; touch pwned")] == agent.fill_command(plain, values)


def output_of(command: list[str], env: dict[str, str] | object) -> str:
    """Run a command as the agent does, in an empty folder; return what it prints."""
    import tempfile

    assert isinstance(env, dict)
    read, write = os.pipe()
    with tempfile.TemporaryDirectory() as folder:
        process = agent.spawn(command, env={**os.environ, **env}, cwd=Path(folder), output=write)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            text = pipe.read().decode()
        assert 0 == process.wait(60), text
        return text


@pytest.mark.parametrize("word", [*NASTY, HUGE], ids=lambda word: ascii(word)[:30])
def test_what_no_program_can_be_given_is_no_spec(word: str) -> None:
    """NUL, halves of characters, keys that are none, names that are paths: refused at the edge."""
    base = {"name": "a", "command": ["a"]}
    is_text = "\0" not in word and word not in {"\ud800", HUGE}

    assert is_text == is_spec({**base, "command": ["a", word]})
    assert is_text == is_spec({**base, "env": {"KEY": word}})
    assert is_text == is_spec({**base, "setup": ["a", word]})
    assert (is_text and word != "") == is_spec({"name": "a", "shell": word})
    is_key = is_text and re.fullmatch(r"[A-Za-z_]\w*", word, re.ASCII) is not None
    assert is_key == is_spec({**base, "env": {word: ""}})
    is_name = re.fullmatch(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?", word) is not None
    assert is_name == is_spec({**base, "name": word})


def is_spec(fields: dict[str, object]) -> bool:
    """Tell whether somebody may submit this."""
    try:
        parse_spec(fields)
    except SpecError:
        return False
    return True


@pytest.fixture(scope="module")
def cloud() -> object:
    """Run a cloud whose only host is a team's."""
    with running_cloud("teams/vision/") as made:
        yield made


@pytest.mark.parametrize("name", [word for word in SAYABLE if word])
def test_no_name_of_an_object_leaves_its_bucket(cloud: Cloud, name: str) -> None:
    """A name is one part of the address, whatever is in it."""
    environ = {
        "GCE_METADATA_HOST": cloud.address,
        "STORAGE_EMULATOR_HOST": f"http://{cloud.address}",
        "PUBSUB_EMULATOR_HOST": cloud.address,
        "TPUCTL_BOOT_ID": "boot-7",
    }
    google = agent.Google(environ)
    full = f"teams/vision/{name}"
    cloud.objects.clear()
    google.create_object(BUCKET, full, b"content")

    assert {full: b"content"} == cloud.objects
    assert b"content" == google.read_object(BUCKET, full)
