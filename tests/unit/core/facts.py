"""Everything that can come to be known: what hosts say, and what the cloud shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from shared.core.causes import Cause
from shared.core.cloud import CloudNode, CloudRequest
from shared.core.hosts import Checkpoint, Host, HostAttempt, HostSetup, Progress
from shared.core.letting_go import lost
from shared.core.observe import absent, seen
from shared.core.situation import Situation
from shared.core.slices import Bid, View
from tests.unit.core.situations import JOB, SHA256, heard, host_of, running

# --- What hosts say -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a host says.

    It is a proof of death when all hosts of the writer say it: they obey, and nothing lives there.
    """

    name: str
    changes: Callable[[Situation, Host, int], Mapping[str, object]]
    has_attempt: bool = False
    is_proof: bool = False


def tell(
    now: Situation, fact: Fact, generation: int, attempt: int, hosts: Sequence[int]
) -> Situation:
    """Let hosts of a generation say something of an attempt, the generation known or not."""
    spoken = []
    for index in hosts:
        host = _last_word(now, generation, index)
        changes = {"sequence": host.sequence + 1, "received_at": now.now}
        told = {**changes, **fact.changes(now, host, attempt)}
        spoken.append(replace(host, **told))  # type: ignore[arg-type]
    return heard(now, *spoken)


def _last_word(now: Situation, generation: int, index: int) -> Host:
    where = (now.slice.uid, generation, index)
    for host in now.hosts:
        if (host.slice_uid, host.generation, host.host) == where:
            return host
    stranger = host_of(running(), index)
    place = {"slice": now.slice.name, "slice_uid": now.slice.uid, "generation": generation}
    return replace(stranger, received_at=now.now, boot=f"boot-{generation}-0-{index}", **place)  # type: ignore[arg-type]


def _ended(**how: object) -> Callable[[Situation, Host, int], Mapping[str, object]]:
    def changes(now: Situation, host: Host, attempt: int) -> Mapping[str, object]:
        end = {"started_at": now.now, "ended_at": now.now, **how}
        word: dict[str, object] = {"attempt": HostAttempt(JOB, attempt, **end)}  # type: ignore[arg-type]
        if host.attempt.number in {attempt, -1}:
            word |= {"alive": False, "phase": "idle"}
        return word

    return changes


def _going_on(**words: object) -> Callable[[Situation, Host, int], Mapping[str, object]]:
    def changes(now: Situation, _host: Host, attempt: int) -> Mapping[str, object]:
        return {"attempt": HostAttempt(JOB, attempt, started_at=now.now), **words}

    return changes


def _saying(**words: object) -> Callable[[Situation, Host, int], Mapping[str, object]]:
    return lambda _now, _host, _attempt: words


def _obeying(**words: object) -> Callable[[Situation, Host, int], Mapping[str, object]]:
    def changes(now: Situation, host: Host, _attempt: int) -> Mapping[str, object]:
        generation = now.generation(host.generation)
        sequence = generation.mandate.sequence if generation else 9
        return {"seen_sequence": sequence, "alive": False, **words}

    return changes


_FAILED_SETUP = HostSetup(spec=SHA256, exit_code=1, evidence="no such package")
_REBOOTED = {"boot": "boot-anew", "sequence": 1, "attempt": HostAttempt(), "prepared": None}

FACTS = (
    Fact("ended with 0", _ended(exit_code=0), has_attempt=True),
    Fact("ended with 1", _ended(exit_code=1, evidence="bug"), has_attempt=True),
    Fact("ended by a signal", _ended(signal=11), has_attempt=True),
    Fact("was told", _ended(signal=15, told=True, killed_by="mandate"), has_attempt=True),
    Fact("ended with 0 when told", _ended(exit_code=0, told=True), has_attempt=True),
    Fact("its lease ran out", _ended(signal=9, told=True, killed_by="lease"), has_attempt=True),
    Fact("its agent died", _ended(signal=9, killed_by="supervisor"), has_attempt=True),
    Fact("progress", _going_on(progress=Progress(7, 100)), has_attempt=True),
    Fact("checkpoint", _going_on(checkpoint=Checkpoint(5, "gs://c/5")), has_attempt=True),
    Fact("rebooted", _saying(**_REBOOTED, phase="booted", alive=False, seen_sequence=0)),
    Fact("notice", _saying(notice="preempted")),
    Fact("maintenance", _saying(notice="maintenance")),
    Fact("prepared before", _saying(prepared=SHA256, phase="prepared", alive=False)),
    Fact("setup failed", _obeying(setup=_FAILED_SETUP, prepared=None, phase="idle"), is_proof=True),
    Fact("prepared", _obeying(prepared=SHA256, phase="prepared"), is_proof=True),
    Fact("acknowledged", _obeying(), is_proof=True),
)
NOTHING = Fact("nothing new", _saying())

# --- What the cloud shows -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at the cloud says of a bid; ``is_proof`` of death when an end was written."""

    name: str
    take: Callable[[Situation, Bid], Bid]
    is_proof: bool = False


def look_at(now: Situation, look: Look, generation: int) -> Situation:
    """Take in a look at all bids of a generation."""
    found = now.generation(generation)
    for bid in found.bids if found else ():
        assert found is not None, "only a generation that is there has bids"
        now = now.with_bid(found, look.take(now, bid))
    return now


def request(
    state: str, node: str = "", *, health: str = "HEALTHY", initiator: str = ""
) -> CloudRequest:
    """Make what the API shows of a queued resource with one node, or none."""
    nodes = (CloudNode("n", "us-central2-b", "n@1", node, health, 2, {}),) if node else ()
    return CloudRequest("n", "us-central2-b", state, "why", initiator, nodes)


def _shown(state: str, node: str = "") -> Callable[[Situation, Bid], Bid]:
    return lambda now, bid: seen(bid, request(state, node), now.now)


def _lost(cause: Cause) -> Callable[[Situation, Bid], Bid]:
    def take(_now: Situation, bid: Bid) -> Bid:
        return bid if bid.verdict is View.LOST else lost(bid, cause, "seen by a test")

    return take


def _refused(now: Situation, bid: Bid) -> Bid:
    return replace(_lost(Cause.BAD_NODE)(now, bid), refused=True, lost_cause=None)


LOOKS = (
    Look("unknown", lambda _, bid: bid),
    Look("pending", _shown("WAITING_FOR_RESOURCES")),
    Look("ready", _shown("ACTIVE", "READY")),
    Look("preempted", _shown("SUSPENDING", "PREEMPTED"), is_proof=True),
    Look("suspending", _shown("SUSPENDING")),
    Look("failed", _shown("FAILED")),
    Look("maintenance", _lost(Cause.MAINTENANCE)),
    Look("host lost", _lost(Cause.HOST_LOST)),
    Look("bad node", _lost(Cause.BAD_NODE)),
    Look("deleted", lambda now, bid: absent(bid, now.now)),
    Look("refused", _refused),
)
