"""A mandate's bytes are a function of the document, and tokens of what they stand for."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.core.mandates import (
    Place,
    agent_config,
    attempt_token,
    bid_token,
    render,
    sequence_of,
)
from shared.core.situation import Situation
from shared.core.slices import Mandate
from tests.unit.core.situations import SCENES, bid_of, later, newest, running

SECRET = b"a secret"


@pytest.mark.parametrize("name", [name for name in SCENES if name != "queued"])
def test_the_same_sequence_is_the_same_bytes_however_far_it_was_carried(name: str) -> None:
    """Who writes it again, at any time, writes what is there already."""
    now = SCENES[name]()
    for generation in now.slice.generations:
        order = generation.mandate
        carried = replace(order, written=order.sequence, rung=order.sequence, rings=not order.rings)
        read_later = replace(generation, mandate=carried, bids=(), claimed="", condemned_at=now.now)

        written = render(now.slice, generation, SECRET)

        assert written == render(later(now, 99.0).slice, read_later, SECRET)
        assert order.sequence == sequence_of(written)


def rendered(now: Situation, **changes: object) -> dict[str, object]:
    """Write the mandate of a running job, changed."""
    order = replace(newest(now).mandate, **changes)  # type: ignore[arg-type]
    fields: dict[str, object] = json.loads(
        render(now.slice, replace(newest(now), mandate=order), SECRET)
    )
    return fields


def test_a_mandate_carries_a_token_for_each_bid_and_for_the_attempt_it_starts() -> None:
    """A host finds its own; nobody else's start has one."""
    now = running()
    bids = {"0": bid_token(SECRET, "slice001", 2, "0"), "1": bid_token(SECRET, "slice001", 2, "1")}

    start = rendered(now, bids=("0", "1"))
    idle = rendered(now, bids=("0", "1"), action="idle")

    assert {"bids": bids, "attempt": attempt_token(SECRET, now.served.id, 2)} == start["tokens"]
    assert {"bids": bids, "attempt": None} == idle["tokens"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no json",
        b"[1]",
        b"null",
        b'{"sequence":"7"}',
        b"{}",
        b"\xff",
        pytest.param(b"[" * 100_000, id="deep"),
    ],
)
def test_an_object_that_is_no_mandate_has_no_sequence(data: bytes) -> None:
    """It is written over."""
    assert 0 == sequence_of(data)


WORDS = st.text(st.characters(codec="ascii", categories=("L", "N")), max_size=4)


@given(WORDS, st.integers(0, 99), WORDS, st.integers(0, 99))
@example("a", 11, "a1", 1)
def test_tokens_of_attempts_and_bids_differ_unless_they_stand_for_the_same(
    job: str, number: int, other: str, another: int
) -> None:
    """Neither glued words nor a swapped kind sign alike."""
    same = (job, number) == (other, another)

    assert same == (attempt_token(SECRET, job, number) == attempt_token(SECRET, other, another))
    assert attempt_token(SECRET, job, number) != bid_token(SECRET, job, number, "")
    assert attempt_token(SECRET, job, number) != attempt_token(b"other", job, number)


def test_a_teams_hosts_are_told_of_its_folder_only() -> None:
    """Mandate, spec, logs and code: what a host looks for it looks for there."""
    now, folder = running(), "teams/vision/"
    slice_ = replace(now.slice, folder=folder)
    place = Place("project", "bucket", "topic")

    config = json.loads(agent_config(slice_, newest(now), bid_of(now), place, now.policy))
    order = json.loads(render(slice_, newest(now), SECRET))

    assert folder == config["folder"]
    assert f"{folder}control/mandates/slice001/g2.json" == config["mandate"]
    sha256 = now.served.spec_sha256
    assert {"object": f"{folder}control/specs/{sha256}.json", "sha256": sha256} == order["spec"]


def test_a_new_mandate_says_nothing_of_old_ones() -> None:
    """What stands in an idle was not left over from a start."""
    now = running()
    idle = Mandate(9, "idle", "", now.now, bids=("0",))
    fields = json.loads(render(now.slice, replace(newest(now), mandate=idle), SECRET))

    assert ([None] * 4, {}, 0.0) == (
        [fields[name] for name in ("job", "attempt", "spec", "run")],
        fields["boots"],
        fields["lease_s"],
    )
