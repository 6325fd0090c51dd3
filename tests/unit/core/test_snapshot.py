"""A host's message is checked before a word of it is believed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.core.hosts import Host
from shared.core.mandates import attempt_token, bid_token
from shared.core.snapshot import authenticate, host_of, is_news, parse
from shared.errors import InvalidRequest, NotAuthorized
from tests.unit.core.situations import START, running, speaking

SECRET = b"a secret"
BASE: dict[str, object] = {
    "version": 1,
    "slice": "hi-1",
    "slice_uid": "slice001",
    "generation": 2,
    "bid": "0",
    "node": "n",
    "host": 0,
    "hosts": 2,
    "hostname": "w-0",
    "boot": "boot",
    "sequence": 7,
    "at": "2030-01-01T00:00:00Z",
    "seen_sequence": 3,
    "phase": "running",
    "alive": True,
    "attempt": {"job": "job000000001", "number": 2, "started_at": "2030-01-01T00:00:00+00:00"},
    "tokens": {
        "bid": bid_token(SECRET, "slice001", 2, "0"),
        "attempt": attempt_token(SECRET, "job000000001", 2),
    },
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def message(**changes: object) -> bytes:
    """Write a message."""
    return json.dumps({**BASE, **changes}).encode()


def test_a_good_message_becomes_what_is_stored() -> None:
    """All that a host said, and when it was heard."""
    snapshot = parse(message())
    authenticate(snapshot, SECRET)

    host = host_of(snapshot, published_at=START, received_at=START)

    assert ("g2-b0-0", 7, 3, "running", True) == (
        host.key,
        host.sequence,
        host.seen_sequence,
        host.phase,
        host.alive,
    )
    assert host.attempt.belongs_to("job000000001", 2)
    assert START == host.attempt.started_at == host.received_at


@given(st.binary())
@example(b"")
@example(b"[" * 10_000)
@example(b'{"version":1e999}')
@example('{"version":"\ud800"}'.encode("utf-8", "surrogatepass"))
def test_any_bytes_are_parsed_or_refused(data: bytes) -> None:
    """Nothing that a host sends raises anything else."""
    parsed_or_refused(data)


@given(st.sampled_from(sorted(BASE)), JSON)
def test_any_value_in_any_field_is_parsed_or_refused(name: str, value: object) -> None:
    """Types and sizes are checked, field by field."""
    parsed_or_refused(message(**{name: value}))


@given(
    st.sampled_from(["attempt", "setup", "progress", "checkpoint", "tokens"]),
    st.dictionaries(
        st.sampled_from(["job", "number", "spec", "step", "total", "metrics", "path", "bid"]), JSON
    ),
)
def test_any_value_in_an_inner_field_is_parsed_or_refused(
    name: str, inner: dict[str, object]
) -> None:
    """The objects inside as well."""
    parsed_or_refused(message(**{name: inner}))


def parsed_or_refused(data: bytes) -> None:
    """Parse; what is parsed can be checked, stored and compared."""
    try:
        snapshot = parse(data)
    except InvalidRequest:
        return
    host = host_of(snapshot, published_at=START, received_at=START)
    assert is_news(host, None)
    with pytest.raises(NotAuthorized):
        authenticate(snapshot, b"another secret")


@pytest.mark.parametrize(
    "changes, where",
    [
        pytest.param({"version": 2}, "version", id="a version that is not spoken"),
        pytest.param({"generation": "2"}, "generation", id="a number as text"),
        pytest.param({"generation": -1}, "generation", id="a negative number"),
        pytest.param({"sequence": 2**53 + 1}, "sequence", id="a number beyond JSON's"),
        pytest.param({"alive": 1}, "alive", id="a number for a yes"),
        pytest.param({"at": "2030-01-01T00:00:00"}, "at", id="a time of nowhere"),
        pytest.param({"notice": "soon"}, "notice", id="a word that is not listed"),
        pytest.param({"problem": "x" * 8_001}, "problem", id="too long a text"),
        pytest.param({"attempt": {"job": "j"}}, "attempt.number", id="an inner field missing"),
    ],
)
def test_a_refusal_names_the_field(changes: dict[str, object], where: str) -> None:
    """So that the parked message says what is wrong with it."""
    with pytest.raises(InvalidRequest, match=f"^snapshot: {where}: "):
        parse(message(**changes))


def test_fields_of_a_newer_agent_are_ignored() -> None:
    """Agents and control plane are not updated together."""
    assert parse(message()) == parse(message(temperature=40))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"slice_uid": "slice002"}, id="another slice"),
        pytest.param({"generation": 3}, id="another generation"),
        pytest.param({"bid": "1"}, id="another bid"),
        pytest.param({"attempt": {"job": "job000000002", "number": 2}}, id="another job"),
        pytest.param({"attempt": {"job": "job000000001", "number": 3}}, id="another attempt"),
        pytest.param({"tokens": {"bid": ""}}, id="no token"),
        pytest.param({"tokens": {"bid": BASE["tokens"]["bid"]}}, id="no attempt token"),  # type: ignore[index]
        pytest.param({"tokens": {"bid": "\u00e4"}}, id="a token that is no hex"),
    ],
)
def test_tokens_of_something_else_are_refused(changes: dict[str, object]) -> None:
    """A host can speak for its bid and its attempt, and for nothing else."""
    snapshot = parse(message(**changes))

    with pytest.raises(NotAuthorized):
        authenticate(snapshot, SECRET)


# --- News ---------------------------------------------------------------------------------------


def host(index: int = 0, **changes: object) -> Host:
    """Return a host of a running job, after it said something."""
    now = speaking(running(), index, **changes)
    return next(each for each in now.hosts_of(now.slice.generations[-1], "0") if each.host == index)


@pytest.mark.parametrize(
    "changes",
    [
        {"boot": "anew"},
        {"seen_sequence": 9},
        {"phase": "ending"},
        {"alive": False},
        {"prepared": None},
        {"notice": "preempted"},
    ],
)
def test_what_changes_a_decision_is_news(changes: dict[str, object]) -> None:
    """Somebody is woken for it."""
    assert is_news(host(1, **changes), host(1))


def test_the_same_again_is_no_news() -> None:
    """Snapshots are repeated for those that were lost."""
    assert not is_news(host(sequence=99, problem="none"), host())


def test_the_order_of_snapshots_is_their_sequence_and_between_boots_their_time() -> None:
    """A late message of the last boot does not undo the new one."""
    old, again = host(sequence=5), host(sequence=6)
    first = replace(old, published_at=START)
    reborn = replace(old, boot="anew", sequence=1, published_at=running().now)

    assert again.replaces(old)
    assert not old.replaces(again)
    assert not old.replaces(old)
    assert reborn.replaces(first)
    assert not first.replaces(reborn)
