"""What must hold when all is over: nothing is lost, left, owed or waited for without a reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from shared.core.names import parse_cloud_name
from shared.core.slices import Kind
from shared.core.stages import TERMINAL, Stage
from tests.simulation.documents import bids_of

if TYPE_CHECKING:
    from tests.simulation.requested import Request
    from tests.simulation.world import World


def faults_at_the_end(world: World) -> list[str]:
    """Say everything that is wrong with a world that has come to rest."""
    return [
        *world.checks.history.judge(),
        *_bugs(world),
        *_orders(world),
        *_jobs(world),
        *_attempts(world),
        *_left(world),
        *_slices(world),
        *_messages(world),
    ]


def _bugs(world: World) -> Iterator[str]:
    for error in world.bugs:
        yield f"nobody thought of {type(error).__name__}: {error}"


def _orders(world: World) -> Iterator[str]:
    """Each order has its outcome."""
    for order, kind in world.people.expected.items():
        if world.store.get(f"commands/{order}") is None:
            yield f"{order} ({kind}) has no outcome"


def _jobs(world: World) -> Iterator[str]:
    """A job is over, or it works, or there is a true reason why it waits."""
    for job in _all(world, "jobs"):
        if job["stage"] in TERMINAL:
            if job["stage"] != Stage.SUCCEEDED and not job["reason"]:
                yield f"{job['id']} is {job['stage']} without a reason"
            if job["stage"] == Stage.SUCCEEDED and not _is_done(world, job["id"]):
                yield f"{job['id']} succeeded and its work is not done"
        elif job["stage"] == Stage.RUNNING:
            if not world.programs.live[job["id"]]:
                yield f"{job['id']} is said to run and does not"
        elif not _waits_in_line(world, job["id"]) and not _waits_for_its_owner(world, job["id"]):
            yield f"{job['id']} waits: {job['stage']} since {job['stage_since']}, {job['summary']}"


def _waits_in_line(world: World, job: str) -> bool:
    """It asks for a slice in a zone where others have everything."""
    return any(
        held.state == "WAITING_FOR_RESOURCES" and world.cloud.is_full(held.asked.zone)
        for slice_ in _all(world, "slices")
        if slice_["live"] and slice_["job"] == job
        for bid in bids_of(slice_)
        if (held := world.cloud.requests.get(bid["name"])) is not None
    )


def _waits_for_its_owner(world: World, job: str) -> bool:
    """Its slice is other people's, with a host that died before it spoke: we may not mend that."""
    lent = {
        bid["node_uid"]
        for slice_ in _all(world, "slices")
        if slice_["live"] and slice_["job"] == job
        for bid in bids_of(slice_)
        if bid["foreign"] and bid["booted_at"] is None
    }
    return any(host.is_dead for host in world.hosts.values() if host.held.node_uid in lent)


def _all(world: World, collection: str) -> Iterator[Mapping[str, Any]]:
    for document in world.store.documents(collection):
        yield document.fields


def _is_done(world: World, job: str) -> bool:
    steps = world.programs.known[job].steps
    return any(
        step >= steps
        for folder, saves in world.checks.history.saves.items()
        if job in folder
        for _, _, step in saves
    )


def _attempts(world: World) -> Iterator[str]:
    """Attempts are numbered without a gap, and each that is over says why."""
    for job in _all(world, "jobs"):
        found = _all(world, f"jobs/{job['id']}/attempts")
        attempts = {attempt["number"]: attempt for attempt in found}
        if sorted(attempts) != list(range(job["attempt"] + 1)):
            yield f"{job['id']} has attempts {sorted(attempts)}, and is at {job['attempt']}"
        for number, attempt in attempts.items():
            is_over = number < job["attempt"] or job["stage"] in TERMINAL
            if is_over and (attempt["cause"] is None or attempt["ended_at"] is None):
                yield f"{job['id']}: attempt {number} is over and nobody knows why"


def _left(world: World) -> Iterator[str]:
    """Whatever is in the cloud and ours is what a slice has now."""
    for held in orphans(world):
        yield f"{held.asked.name} is left in {held.asked.zone}: {held.state}"


def orphans(world: World) -> Iterator[Request]:
    """Name what is ours, can be seen, and is wanted by nobody."""
    current = {
        bid["name"]
        for slice_ in _all(world, "slices")
        if slice_["live"]
        for bid in bids_of(slice_)
        if bid["gone_at"] is None
    }
    for name, held in world.cloud.requests.items():
        parsed = parse_cloud_name(name)
        is_ours = parsed is not None and parsed[0] == world.app.installation
        if is_ours and name not in current and not held.is_coming:
            yield held


def _slices(world: World) -> Iterator[str]:
    """A temporary slice whose job is over is not kept, and what is condemned is gone."""
    over = {job["id"] for job in _all(world, "jobs") if job["stage"] in TERMINAL}
    for slice_ in _all(world, "slices"):
        for bid in bids_of(slice_):
            if bid["condemned_at"] is not None and bid["gone_at"] is None:
                yield f"{bid['name']} is condemned and not gone"
        is_own = slice_["kind"] != Kind.TEMPORARY and slice_["wanted"]
        if slice_["live"] and not is_own and (slice_["job"] in over or not slice_["job"]):
            yield f"{slice_['name']} is kept for nobody"


def _messages(world: World) -> Iterator[str]:
    """Nothing waits to be published, and only poison was put aside."""
    for document in world.store.documents("outbox"):
        yield f"{document.path} still waits"
    for document in world.store.documents("parked"):
        yield f"parked: {document.fields['summary']}"
