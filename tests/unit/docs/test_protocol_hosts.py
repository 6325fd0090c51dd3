"""The protocol page says what hosts are told and what they say: mandates, config, snapshots."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from types import NoneType
from typing import get_args

import pytest

from shared.core.hosts import Host
from shared.core.mandates import Place, agent_config, render
from shared.core.names import code_object, log_prefix, mandate_object, spec_object
from shared.core.situation import Situation
from shared.core.slices import Generation
from shared.core.snapshot import Snapshot, _Attempt
from shared.host import agent
from tests.unit.core.situations import (
    WORLD,
    bid_of,
    claimed,
    failed,
    newest,
    recovering,
    running,
    submitted,
)
from tests.unit.docs.tables import fields, matches, page, rows, words
from tests.unit.host.states import CONFIG, mandate

PAGE = page("protocol.md")
SECTION_5 = PAGE.partition("## 5.")[2].partition("## 6.")[0]
SECTION_6 = PAGE.partition("## 6.")[2].partition("## 7.")[0]
SNAPSHOT, ATTEMPT = SECTION_6.split("\n`attempt`:\n")


def orders() -> Mapping[str, tuple[Situation, Generation]]:
    """Return a mandate of each action, as the rules give them."""
    prepare, start, idle = claimed(submitted()), running(), failed()
    end = recovering()
    return {
        "idle": (idle, newest(idle)),
        "prepare": (prepare, newest(prepare)),
        "start": (start, newest(start)),
        "end": (end, end.slice.generations[-2]),
    }


def rendered(action: str) -> dict[str, object]:
    """Write a mandate as its object."""
    now, generation = orders()[action]
    data: dict[str, object] = json.loads(render(now.slice, generation, b"secret"))
    return data


def is_written(row: tuple[str, ...], action: str) -> bool:
    """Tell whether a row of the table is about an action; most are about all."""
    of = re.match(r"of ((?:`\w+`(?: and )?)+):", row[2])
    return of is None or f"`{action}`" in of[1]


@pytest.mark.parametrize("action", agent.ACTIONS)
def test_a_mandate_has_the_fields_and_types_of_the_table(action: str) -> None:
    """Every field is there for every action, and null where the table says whose it is."""
    table = rows(SECTION_5, "field", "type", "meaning")
    written = rendered(action)

    assert set(fields(table)) == set(written)
    for row in table:
        for name, kind in fields([row]).items():
            assert matches(kind, written[name]), f"{name} is {written[name]}, not {kind}"
            if "null" in kind and not kind.startswith("{`bids`"):
                assert is_written(row, action) == (written[name] is not None), name


@pytest.mark.parametrize("action", agent.ACTIONS)
def test_the_agent_reads_what_the_control_plane_writes(action: str) -> None:
    """All four actions, and what a start says of itself."""
    now, generation = orders()[action]

    read = agent.parse_mandate(render(now.slice, generation, b"secret"))

    order = generation.mandate
    assert (action, order.sequence, order.grace_s) == (read.action, read.sequence, read.grace_s)
    assert (order.job, order.attempt) == (read.job, read.attempt)
    assert (dict(order.boots), order.lease_s) == (dict(read.boots), read.lease_s)
    assert set(order.bids) == set(read.bid_tokens)


def test_a_start_says_what_the_table_says_of_its_run() -> None:
    """The object ``run`` is told in the same row."""
    (row,) = [row for row in rows(SECTION_5, "field", "type") if words(row[0]) == ["run"]]
    run = rendered("start")["run"]

    assert isinstance(run, dict)
    assert {"start", *run} == set(words(row[2]))


def test_the_actions_are_those_that_agents_know() -> None:
    """An agent refuses what is not on the page."""
    actions = [words(row[0])[0] for row in rows(SECTION_5, "action", "a host does")]
    (row,) = [row for row in rows(SECTION_5, "field", "type") if words(row[0]) == ["action"]]

    assert list(agent.ACTIONS) == actions == words(row[2])


def test_the_config_has_the_fields_and_types_of_the_table() -> None:
    """What is written is on the page, and the agent makes of it what was meant."""
    now = running()
    place = Place("project", "bucket", "topic")
    text = agent_config(now.slice, newest(now), bid_of(now), place, WORLD.policy)
    written = json.loads(text)
    types = fields(rows(SECTION_5, "config", "type"))
    machine = agent.Machine("other", 1, "w-1", "boot", "10.0.0.1")

    read = agent.parse_config(text.encode(), machine)

    assert set(types) == set(written)
    for name, kind in types.items():
        assert matches(kind, written[name]), name
        assert name == "version" or written[name] == getattr(read, name)


def test_objects_have_the_names_on_the_page() -> None:
    """Names are functions of what they stand for, here and on the hosts."""
    names = [words(row[0])[0] for row in rows(SECTION_5, "object", "written by")]
    mandate_name = mandate_object("{uid}", 0).replace("g0", "g{n}")

    made = [
        mandate_name,
        mandate_name[: -len(".json")] + ".host-{bid}-{i}.json",
        spec_object("{sha256}"),
        code_object("{sha256}"),
        log_prefix("{job}") + "{attempt}/{host}/{chunk}.log",
    ]

    assert made == names


def states() -> Mapping[str, agent.State]:
    """Return states of an agent that together say everything a snapshot can say."""
    new = agent.initial(CONFIG, None, 0.0)
    attempt = agent.Attempt("j", 0, "token", lease_s=1.0, grace_s=1.0, checkpoint_dir="/c")
    record = replace(new.record, attempt=attempt, seen=3)
    full = replace(
        new,
        record=record,
        mandate=mandate(3, "prepare"),
        setup=agent.SetupFailure("s", 1, None, "e", 1),
        progress=agent.Progress(1, 2, {"loss": 0.5}),
        checkpoint=agent.Checkpoint(1, "/c/1"),
        prepared=agent.Prepared("s", 1.0),
    )
    return {"new": new, "full": full}


@pytest.mark.parametrize("name", states())
def test_a_snapshot_has_the_fields_and_types_of_the_table(name: str) -> None:
    """The agent says all of it, whatever it knows; an empty field is null where it may be."""
    said = agent.snapshot(states()[name], sequence=1, at="2030-01-01T00:00:00+00:00")
    types = fields(rows(SNAPSHOT, "field", "type"))

    assert list(types) == list(said)
    assert {} == {key: said[key] for key in types if not matches(types[key], said[key])}


def test_objects_in_a_snapshot_have_the_fields_of_the_table() -> None:
    """Setup, progress and checkpoint in their rows, the attempt in a table of its own."""
    said = agent.snapshot(states()["full"], sequence=1, at="2030-01-01T00:00:00+00:00")
    kinds = fields(rows(SNAPSHOT, "field", "type"))

    for name in ("setup", "progress", "checkpoint", "tokens"):
        inner = said[name]
        assert isinstance(inner, dict)
        assert list(inner) == words(kinds[name])
    attempt, types = said["attempt"], fields(rows(ATTEMPT, "field", "type"))
    assert isinstance(attempt, dict)
    assert list(types) == list(attempt)
    assert {} == {key: attempt[key] for key in types if not matches(types[key], attempt[key])}


def test_the_control_plane_reads_the_fields_of_the_table() -> None:
    """Every field of a snapshot and of its attempt is parsed, and may be null where it says so."""
    for model, text in ((Snapshot, SNAPSHOT), (_Attempt, ATTEMPT)):
        types = fields(rows(text, "field", "type"))

        assert list(types) == list(model.model_fields)
        for name, kind in types.items():
            is_nullable = NoneType in get_args(model.model_fields[name].annotation)
            assert ("null" in kind.rpartition("}")[2]) == is_nullable, name


def test_what_is_stored_of_a_host_is_what_it_said() -> None:
    """All fields but the version and the tokens."""
    said = set(fields(rows(SNAPSHOT, "field", "type"))) - {"version", "tokens"}

    assert said == set(Host.__dataclass_fields__) - {"published_at", "received_at", "wakes"}


def test_the_phases_are_the_words_of_the_agent() -> None:
    """Each word that the agent can say, and no other."""
    described = [words(row[0])[0] for row in rows(SECTION_6, "phase", "a host")]
    constants = {text for text in agent.phase.__code__.co_consts if isinstance(text, str)}

    assert constants - {agent.phase.__doc__, "start"} == set(described)


def test_who_can_kill_and_what_can_be_noticed_is_a_closed_list() -> None:
    """The words of both rows are those that are parsed."""
    killed = {word.strip('"') for word in row_words(ATTEMPT, "killed_by")}
    noticed = {word.strip('"') for word in row_words(SNAPSHOT, "notice")}

    assert set(get_args(_Attempt.model_fields["killed_by"].annotation)) == killed
    assert set(get_args(Snapshot.model_fields["notice"].annotation)) == noticed


def row_words(text: str, name: str) -> list[str]:
    """Return the words in the meaning of one field."""
    (row,) = [row for row in rows(text, "field", "type") if words(row[0]) == [name]]
    return words(row[2])
