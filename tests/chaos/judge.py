"""What must hold when chaos is over, each complaint one sentence that says what and where."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from shared.core.names import parse_cloud_name
from shared.core.stages import Stage as JobStage
from shared.ports import Query
from tests.chaos.crew import Crew, Task
from tests.chaos.stage import Stage
from tests.installations import Entry, Work

# How names in the cloud begin.
CLOUD_PREFIX = "tpuctl-"
_CREATED = re.compile(r"queuedResourceId=([^&]+)")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found wrong, by kind; ``attempts`` and ``generations`` are what there were."""

    lost: Sequence[str] = ()
    duplicates: Sequence[str] = ()
    wrong: Sequence[str] = ()
    orphans: Sequence[str] = ()
    parked: Sequence[str] = ()
    totals: Mapping[str, int] = field(default_factory=dict)

    @property
    def complaints(self) -> list[str]:
        """All that is wrong."""
        return [*self.lost, *self.duplicates, *self.wrong, *self.orphans, *self.parked]


def judge(stage: Stage, crew: Crew, scratch: Path) -> Verdict:
    """Look at every job, its diary, its output, and at what the cloud still holds."""
    lost, duplicates, wrong = list(crew.problems), list[str](), list[str]()
    totals: Counter[str] = Counter()
    for task in crew.tasks:
        work = crew.works.get(task.name)
        if work is None:
            lost.append(f"{task.name} was never accepted")
            continue
        lost += _unfinished(task, work, may_stop=task.name in crew.stopped)
        is_ordered = task.name in crew.ordered
        duplicates += [f"{task.name}: {each}" for each in _doubled(work, is_ordered=is_ordered)]
        if work.job.stage is JobStage.SUCCEEDED:
            wrong += _wrong(crew, task, scratch / task.name)
        totals["attempts"] += len(work.attempts)
        totals["generations"] += _generations(work)
        totals["checkpoints saved"] += sum(entry.what == "saved" for entry in work.diary)
    duplicates += _asked_for_others(stage, crew)
    return Verdict(lost, duplicates, wrong, left(stage), _parked(stage), totals)


def _generations(work: Work) -> int:
    """Count those of all slices that the job had: one more for each time it was resumed."""
    newest = {work.job.slice_uid: work.view.slice.generation} if work.view.slice else {}
    for attempt in work.attempts:
        newest[attempt.slice_uid] = max(newest.get(attempt.slice_uid, 0), attempt.generation)
    return sum(newest.values())


def left(stage: Stage) -> list[str]:
    """Say what is still there that nobody wants."""
    status = stage.status
    found = [
        f"{kind}: {each['name']}"
        for kind in ("queuedResources", "nodes", "hosts")
        for each in status[kind]
    ]
    store = stage.installation.opened.store
    slices = store.query(Query("slices", limit=1000))
    found += [f"slice {each.fields['name']} is live" for each in slices if each.fields["live"]]
    return found + [f"unsent: {each.path}" for each in store.query(Query("outbox"))]


def keep_documents(crew: Crew, path: Path) -> None:
    """Write down what is known of every job: emulators forget it when they end."""
    found = {name: work.view.stored for name, work in crew.works.items()}
    path.write_text(json.dumps(found, indent=1, default=str), encoding="utf-8")


def overlaps(diary: Sequence[Entry]) -> list[str]:
    """Prove from the diary that attempts of a job, and of a checkpoint, never lived at once."""
    found = [
        f"attempt {entry.attempt} on host {entry.host}: {entry.what}"
        for entry in diary
        if entry.what in {"overlap", "torn"}
    ]
    times: dict[int, list[float]] = defaultdict(list)
    pids: dict[tuple[int, int], set[int]] = defaultdict(set)
    for entry in diary:
        times[entry.attempt].append(entry.at)
        pids[entry.attempt, entry.host].add(entry.pid)
    for older, newer in pairwise(sorted(times)):
        if max(times[older]) >= min(times[newer]):
            found.append(f"attempt {older} wrote after attempt {newer} had started")
    twice = [key for key, started in pids.items() if len(started) > 1]
    return found + [f"attempt {attempt} ran twice on host {host}" for attempt, host in twice]


def _unfinished(task: Task, work: Work, *, may_stop: bool) -> Iterator[str]:
    """A job ends by itself, or as its owner wanted it to in the end."""
    job = work.job
    wanted = {JobStage.SUCCEEDED, JobStage.CANCELLED} if may_stop else {JobStage.SUCCEEDED}
    if job.stage not in wanted:
        yield f"{task.name} (job {job.number}) is {job.stage}: {job.summary or job.reason}"


def _doubled(work: Work, *, is_ordered: bool) -> Iterator[str]:
    """Attempts and generations grow by one; each new generation has its loss."""
    view = work.view
    numbers = [attempt.number for attempt in view.attempts]
    if numbers != list(range(len(numbers))):
        yield f"attempts are {numbers}"
    for uid in {attempt.slice_uid for attempt in view.attempts}:
        generations = [each.generation for each in view.attempts if each.slice_uid == uid]
        if generations != sorted(generations):
            yield f"attempts are of generations {generations}"
    causeless = [each.number for each in view.attempts if each.ended_at and each.cause is None]
    if causeless:
        yield f"attempts {causeless} ended without a cause"
    told = [entry.text for entry in view.timeline if entry.event == "SliceLost"]
    # The other entry of that name says what the job does about it.
    losses = [text for text in told if text.startswith(CLOUD_PREFIX) and work.job.slice_uid in text]
    # What is lost while its job is being stopped is not asked for again.
    expected = {len(losses) + 1, len(losses)} if is_ordered else {len(losses) + 1}
    if view.slice and view.slice.generation not in expected:
        yield f"{view.slice.generation} generations for {len(losses)} losses"
    yield from overlaps(work.diary)


def _asked_for_others(stage: Stage, crew: Crew) -> Iterator[str]:
    """Each generation was asked for, and no other: a request for more would be another slice."""
    asked = asked_generations(stage.installation.calls())
    for name, work in crew.works.items():
        numbers, slice_ = asked.get(work.job.slice_uid, set()), work.view.slice
        known = set(range(1, slice_.generation + 1)) if slice_ else set[int]()
        # Who stops a job may do so before anything was asked for.
        if not numbers <= known or (numbers != known and name not in crew.ordered):
            yield f"{name}: generations {sorted(numbers)} were asked for"


def asked_generations(calls: Sequence[Mapping[str, Any]]) -> Mapping[str, set[int]]:
    """Return which generations of each slice were asked for: also a call that failed may count."""
    asked: dict[str, set[int]] = defaultdict(set)
    for call in calls:
        match = _CREATED.search(call["path"]) if call["http_method"] == "POST" else None
        if match and (parts := parse_cloud_name(match[1])):
            asked[parts.slice_uid].add(parts.generation)
    return asked


def _wrong(crew: Crew, task: Task, scratch: Path) -> Iterator[str]:
    expected = task.undisturbed(scratch)
    for host, found in enumerate(crew.outputs(task)):
        if found != expected:
            yield f"{task.name}: host {host} wrote {found!r}, not {expected!r}"


def _parked(stage: Stage) -> list[str]:
    found = stage.installation.opened.store.query(Query("parked"))
    return [f"parked: {each.fields.get('summary') or each.path}" for each in found]
