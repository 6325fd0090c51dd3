"""A writer is dead on proof, and only on proof of what came after its end."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.core.decide import decide
from shared.core.fencing import fence
from shared.core.model import Writer
from shared.core.observe import absent, seen
from shared.core.situation import Situation
from tests.unit.core.facts import request
from tests.unit.core.situations import (
    bid_of,
    later,
    newest,
    obeyed,
    running,
    stopping,
    undead,
    with_bid,
)


def writer_of(now: Situation) -> Writer:
    """Return the writer of the job."""
    writer = now.served.writer
    assert writer is not None, "the job was started"
    return writer


def looked(now: Situation, *, at_s: float = 0.0, state: str = "PREEMPTED") -> Situation:
    """Take in a look at the bid, some seconds before or after the end was seen written."""
    written_at = writer_of(now).end_written_at
    assert written_at is not None, "the end was seen written"
    at = written_at + timedelta(seconds=at_s)
    bid = bid_of(now)
    found = absent(bid, at) if state == "404" else seen(bid, request("ACTIVE", state), at)
    return replace(now.with_bid(newest(now), found), now=max(now.now, at))


def test_a_running_attempt_is_not_dead_whatever_is_seen() -> None:
    """Without an end nothing was told to stop: the node may come back."""
    now = obeyed(running())
    gone = with_bid(now, stopped_at=now.now, absent_at=now.now, absent_again_at=now.later(600))

    assert "" == writer_of(fence(later(gone, 86_400.0))).dead


@pytest.mark.parametrize(
    "at_s, dead",
    [
        pytest.param(-1.0, "", id="before the end was written"),
        pytest.param(0.0, "", id="at the moment of the writing"),
        pytest.param(1.0, "stopped", id="after it"),
    ],
)
def test_a_node_that_is_gone_proves_something_only_after_the_end(at_s: float, dead: str) -> None:
    """What was gone before may have been replaced by something that read an older mandate."""
    assert dead == writer_of(fence(looked(stopping(), at_s=at_s))).dead


@pytest.mark.parametrize("state", ["READY", "REPAIRING", "STOPPING", "RESTARTING", "UNKNOWN"])
def test_a_node_in_any_other_state_proves_nothing(state: str) -> None:
    """Only the three states in which no process can live."""
    assert "" == writer_of(fence(looked(stopping(), at_s=5.0, state=state))).dead


@pytest.mark.parametrize(
    "looks_s, dead",
    [
        pytest.param([5.0], "", id="once"),
        pytest.param([5.0, 34.0], "", id="twice, 29 s apart"),
        pytest.param([5.0, 35.0], "absent", id="twice, 30 s apart"),
        pytest.param([-40.0, 5.0], "", id="the first before the end"),
        pytest.param([-40.0, 5.0, 35.0], "absent", id="and two after it"),
    ],
)
def test_absence_proves_something_when_it_lasts(looks_s: list[float], dead: str) -> None:
    """A single 404 may be a mistake."""
    now = stopping()
    for at_s in looks_s:
        now = fence(looked(now, at_s=at_s, state="404"))

    assert dead == writer_of(now).dead


def test_absence_is_counted_from_when_it_was_last_seen() -> None:
    """A look that misses it now and another one that misses it later are not one absence."""
    now = fence(looked(stopping(), at_s=5.0, state="404"))
    now = fence(looked(now, at_s=20.0, state="READY"))
    now = fence(looked(now, at_s=60.0, state="404"))
    assert "" == writer_of(now).dead

    now = fence(looked(now, at_s=90.0, state="404"))

    assert "absent" == writer_of(now).dead


@pytest.mark.parametrize("early_s, dead", [(1.0, ""), (0.0, "lease")])
def test_the_lease_is_waited_for_to_its_end(early_s: float, dead: str) -> None:
    """From the time at which the end was seen written, with the margin."""
    now = stopping()
    writer = writer_of(now)
    assert writer.end_written_at is not None, "the end was seen written"
    wait_s = writer.lease_s + now.policy.lease_margin_s - early_s
    waited = replace(now, now=writer.end_written_at + timedelta(seconds=wait_s))

    assert dead == writer_of(fence(waited)).dead


def test_the_lease_begins_when_the_end_is_written_and_not_when_it_is_decided() -> None:
    """Until it is in the bucket, every read renews."""
    now = stopping()
    order = newest(now).mandate
    unwritten = replace(newest(now), mandate=replace(order, written=order.sequence - 1))
    now = now.with_generation(unwritten).with_writer(end_written_at=None)

    waited = fence(later(now, 86_400.0))

    assert ("", None) == (writer_of(waited).dead, writer_of(waited).end_written_at)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"seen_sequence": 2}, id="knows an older mandate"),
        pytest.param({"alive": True}, id="something lives there"),
    ],
)
def test_every_host_must_acknowledge(changes: dict[str, object]) -> None:
    """One that does not is enough to wait."""
    now = obeyed(stopping())
    hosts = [
        replace(host, **changes) if host.key == "g2-b0-1" else host  # type: ignore[arg-type]
        for host in now.hosts
    ]

    assert "" == writer_of(fence(replace(now, hosts=tuple(hosts)))).dead
    assert "acknowledged" == writer_of(fence(now)).dead


def test_a_host_that_never_spoke_acknowledges_nothing() -> None:
    """Half a gang says nothing of the other half."""
    now = obeyed(stopping())
    hosts = tuple(host for host in now.hosts if host.key != "g2-b0-1")

    assert "" == writer_of(fence(replace(now, hosts=hosts))).dead


def test_hosts_of_the_next_generation_acknowledge_nothing_for_the_last() -> None:
    """The new hosts are prepared and know every mandate of theirs; the old ones are silent."""
    now = undead()

    assert 3 == now.slice.generation
    assert "" == writer_of(decide(now)).dead


def test_a_writer_of_another_slice_is_left_to_that_slice() -> None:
    """What is seen here says nothing of hosts elsewhere."""
    now = obeyed(stopping()).with_writer(slice_uid="elsewhere")

    assert now == fence(now)


def test_who_is_dead_stays_dead_by_the_first_proof() -> None:
    """The timeline tells it once."""
    once = fence(obeyed(stopping()))

    again = fence(looked(later(once), at_s=9.0))

    assert "acknowledged" == writer_of(again).dead
    assert [] == [note for note in again.notes if note.event == "WriterDead"]


def test_a_slice_that_was_read_before_its_job_proves_nothing() -> None:
    """Its newest bid is missing in what was read; what is decided cannot be committed."""
    now = stopping()
    torn = replace(newest(now), bids=())

    assert "" == writer_of(fence(now.with_generation(torn))).dead
