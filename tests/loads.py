"""A storm: many slices that serve running jobs get their preemption notices at once.

One job is run in a world of one process; its documents are copied under other names, so that
every copy is a slice as the control plane itself wrote it. The notices go through real Pub/Sub
push to the functions as they are deployed, each twice and in any order.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Final

from sandbox import control
from shared import wiring
from shared.adapters.sqlite_codec import decode, encode
from shared.core.mandates import attempt_token, bid_token
from shared.core.names import mandate_object
from shared.core.policy import Policy
from shared.ports import Create, Fields, Message, Query, Where
from shared.settings import Settings
from shared.topology import Topic
from tests.installations import until
from tests.unit.app.records import JOB
from tests.unit.app.world import ZONE, World

INSTALLATION: Final = "abc123"
SECRET: Final = "a secret"
# Nothing is granted: what is asked for waits, and costs this machine nothing.
CLOUD: Final[Mapping[str, object]] = {"capacity": {f"{ZONE}/v4-16": 0}}
# Google's durations, so that nothing runs out meanwhile; no tick: only messages move anything.
POLICY: Final[Mapping[str, float]] = {**asdict(Policy()), "tick_s": 86_400.0}
UID: Final = f"uid{JOB[-5:]}"
BATCH: Final = 10
WRITERS: Final = 8
# Redeliveries come after two seconds at the earliest.
REST_S: Final = 5.0
STORM_S: Final = 120.0
# Looking costs the emulators time that the storm needs.
LOOK_S: Final = 1.0
LIVE: Final = Query("slices", (Where("live", "==", value=True),), limit=10_000)
_SLICE: Final = "digits-1"


@dataclass(frozen=True, slots=True)
class Copy:
    """One slice with its job, under names of its own."""

    number: int

    @property
    def uid(self) -> str:
        """The slice's id."""
        return f"u{self.number:07}"

    @property
    def job(self) -> str:
        """The job's id."""
        return f"j{self.number:011}"

    @property
    def slice(self) -> str:
        """The slice's name."""
        return f"load-{self.number}"

    def renamed(self, text: str) -> str:
        """Put these names in the place of the original's."""
        return text.replace(UID, self.uid).replace(JOB, self.job).replace(_SLICE, self.slice)


@dataclass(frozen=True, slots=True)
class Original:
    """What one running job consists of."""

    documents: Mapping[str, Fields]
    mandate: bytes
    notice: Mapping[str, Any]

    def documents_of(self, copy: Copy) -> Iterator[Create]:
        """Write the documents of a copy."""
        for path, fields in self.documents.items():
            yield Create(copy.renamed(path), decode(copy.renamed(encode(fields))))

    def notice_of(self, copy: Copy) -> Message:
        """Let the first host of a copy say that it will be taken away."""
        words = json.loads(copy.renamed(json.dumps(self.notice)))
        secret = SECRET.encode()
        words["tokens"] = {
            "bid": bid_token(secret, copy.uid, words["generation"], words["bid"]),
            "attempt": attempt_token(secret, copy.job, words["attempt"]["number"]),
        }
        return Message(json.dumps(words).encode(), {"kind": "snapshot", "version": "1"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a storm."""

    slices: int
    messages: int
    seconds: float
    generations: Mapping[int, int]
    created: Mapping[str, int]
    parked: Sequence[Fields]

    @property
    def is_right(self) -> bool:
        """Every slice has one new generation, under one name; nothing was put aside."""
        return (
            self.generations == {2: self.slices}
            and len(self.created) == self.slices
            and not self.parked
        )


def original(folder: Path) -> Original:
    """Run one job in a world of its own and take down what it consists of."""
    world = World(folder)
    world.clock.advance((datetime.now(UTC) - world.clock.now()).total_seconds())
    world.run_job()
    job, name = world.job(), world.slice().name
    paths = [f"jobs/{JOB}", f"jobs/{JOB}/attempts/0", f"slices/{name}"]
    paths += [f"slices/{name}/hosts/g1-b0-{host}" for host in range(2)]
    host = world.hosts[0]
    host.notice()
    words = json.loads(host.snapshot().data)
    mandate = world.blobs.get(mandate_object(job.slice_uid, 1))
    assert mandate is not None, "a job that runs was told to"
    documents = {path: world.fields(path) for path in paths}
    world.close()
    return Original(documents, mandate.data, {**words, "sequence": words["sequence"] + 1})


def storm(settings: Settings, endpoint: str, count: int, folder: Path, seed: int = 0) -> Outcome:
    """Let so many slices be preempted at once, and wait until all were asked for anew."""
    first, copies = original(folder), [Copy(number) for number in range(count)]
    _plant(settings, endpoint, first, copies)
    messages = [first.notice_of(copy) for copy in copies for _ in range(2)]
    Random(seed).shuffle(messages)
    bus, store = wiring.open_bus(settings), wiring.open_store(settings)
    begun = time.monotonic()
    bus.publish(Topic.REPORTS, messages)
    until(
        lambda: len(_created(endpoint)) >= count,
        lambda: f"{len(_created(endpoint))} of {count} were asked for anew",
        patience_s=STORM_S + count,
        every_s=LOOK_S,
    )
    seconds = time.monotonic() - begun
    _wait_for_rest(settings)
    found = [store.get(f"slices/{copy.slice}") for copy in copies]
    numbers = Counter(int(str(each.fields["generation"])) for each in found if each)
    parked = [each.fields for each in store.query(Query("parked"))]
    return Outcome(count, len(messages), seconds, numbers, _created(endpoint), parked)


def _plant(settings: Settings, endpoint: str, first: Original, copies: Sequence[Copy]) -> None:
    """Write the documents and mandates of all copies."""
    store, blobs = wiring.open_store(settings), wiring.open_blobs(settings, endpoint)

    def plant(batch: Sequence[Copy]) -> None:
        store.commit([write for copy in batch for write in first.documents_of(copy)])
        for copy in batch:
            mandate = copy.renamed(first.mandate.decode()).encode()
            blobs.put(mandate_object(copy.uid, 1), mandate)

    batches = [copies[start : start + BATCH] for start in range(0, len(copies), BATCH)]
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(plant, batches))


def _wait_for_rest(settings: Settings) -> None:
    """Wait until nothing is in the outbox and no document has changed for a while."""
    store, seen, since = wiring.open_store(settings), [-1], [time.monotonic()]

    def at_rest() -> bool:
        now = sum(int(str(each.fields["revision"])) for each in store.query(LIVE))
        if now != seen[0] or store.query(Query("outbox", limit=1)):
            seen[0], since[0] = now, time.monotonic()
        return time.monotonic() - since[0] > REST_S

    until(at_rest, patience_s=STORM_S, every_s=LOOK_S)


def _created(endpoint: str) -> Mapping[str, int]:
    """Count how often each queued resource was asked for; a repeated request grants nothing."""
    calls = control.Client(endpoint).get("calls")["calls"]
    assert isinstance(calls, list), "the log of calls is a list"
    names = [
        call["path"].rpartition("queuedResourceId=")[2].partition("&")[0]
        for call in calls
        if call["http_method"] == "POST" and call["status"] == 200
    ]
    return Counter(names)
