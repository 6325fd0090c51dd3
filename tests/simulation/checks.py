"""What must hold at every step: the invariants of the design, looked at where they can break.

Each check is about what was just written, started, saved, created or deleted; the rest of the
world cannot have changed. Raises Violation with a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shared.app.pause import PAUSE
from shared.core.causes import Cause
from shared.core.names import parse_cloud_name
from shared.core.slices import View
from shared.core.stages import TERMINAL, TRANSITIONS, Stage
from shared.ports import Create, Document, Replace, Write
from tests.simulation.chance import Fault
from tests.simulation.claims import Violation, claim
from tests.simulation.documents import bids_of
from tests.simulation.history import History
from tests.simulation.lent_checks import LentChecks
from tests.simulation.onward import Onward

if TYPE_CHECKING:
    from shared.core.cloud import BidRequest
    from tests.simulation.hosts import Host
    from tests.simulation.programs import Gang
    from tests.simulation.requested import Request
    from tests.simulation.storage import Key
    from tests.simulation.world import World

HOPS_MAX = 4
# What two calls in a row take at most, where nothing comes between them.
MOMENTS_S = 1.0
# How long after it was read what a decision rests on may be committed: usually, and by a function
# that went on after its time.
LATE_S, LATEST_S = 60.0, 5000.0
_SILENT = re.compile(r"host ([\d, ]+) (?:is silent|silent for)")
_SLOW = frozenset({Fault.ZOMBIES, Fault.INTERLEAVING})
_GONE = frozenset({Cause.PREEMPTED, Cause.MAINTENANCE, Cause.DELETED})


class Checks:
    """The eyes of a world on everything that it does."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.history, self.onward = History(), Onward(world)
        self.lent = LentChecks(world.store)
        self._decided: set[str] = set()

    # --- Commits --------------------------------------------------------------------------------

    def watch(self, writes: Sequence[Write], apply: Callable[[], None]) -> None:
        """Apply a commit, and look at each job and slice that it changed."""
        store = self._world.store
        changed = [
            (write, store.get(write.path))
            for write in writes
            if isinstance(write, (Create, Replace)) and write.path.count("/") == 1
        ]
        replaced = self.onward.read(writes)
        apply()
        self.onward.committed(writes, replaced)
        if not all(write.path.startswith("control/") for write in writes):
            self._world.commits += 1
        told = {
            str(write.fields["event"])
            for write in writes
            if isinstance(write, Create) and "/timeline/" in write.path
        }
        for write, old in changed:
            kind = write.path.partition("/")[0]
            if kind == "jobs":
                self._job(_fields(old), write.fields, told)
            elif kind == "slices":
                self._slice(_fields(old), write.fields)
            elif kind == "outbox":
                owed = (self._world.engine.now, str(write.fields["data"]))
                self.history.owed[write.path] = owed

    def _job(self, old: Mapping[str, Any] | None, new: Mapping[str, Any], told: set[str]) -> None:
        job, now = new["id"], self._world.engine.now
        if old is None:
            claim(new["stage"] in Stage, f"{job} begins at {new['stage']}")
            self.history.stages.append((now, job, "", new["stage"]))
            return
        claim(new["revision"] == old["revision"] + 1, f"{job}: a commit was lost or done twice")
        if new["stage"] != old["stage"]:
            self._stage(job, old, new, told)
        claim(new["attempt"] - old["attempt"] in {0, 1}, f"{job}: attempts grow by one")
        if new["attempt"] > old["attempt"]:
            self._follow(job, old["writer"], told)
        self._writer(job, old["writer"], new["writer"])
        budget = new["spec"]["budgets"]
        spent = new["spent"]
        claim(spent["preemptions"] <= budget["preemptions"], f"{job}: preemptions over budget")
        claim(spent["failures"] <= budget["failures"], f"{job}: failures over budget")

    def _stage(
        self, job: str, old: Mapping[str, Any], new: Mapping[str, Any], told: set[str]
    ) -> None:
        was, is_ = Stage(old["stage"]), Stage(new["stage"])
        self.history.stages.append((self._world.engine.now, job, was, is_))
        claim(is_ in reachable(was), f"{job}: from {was} to {is_}")
        by_user = new["again_at"] != old["again_at"]
        claim(was not in TERMINAL or by_user, f"{job}: left {was} without an order")
        is_stopped = was is not Stage.STOPPING or is_ is Stage.CANCELLED
        claim(is_stopped or by_user, f"{job}: was to stop, and is {is_}")
        claim(bool(told), f"{job}: from {was} to {is_} without a word in its timeline")

    def _follow(self, job: str, old: Any, told: set[str]) -> None:
        """An attempt follows one that is known to be dead, and is."""
        if old is None:
            return
        claim(bool(old["dead"]) or "WriterDead" in told, f"{job}: its last writer is not dead")
        if old["dead"] != "presumed":
            self._none_lives(job, old["attempt"], "is followed by another one")

    def _writer(self, job: str, old: Any, new: Any) -> None:
        """Whoever is said to be dead must be dead."""
        if new is None or not new["dead"] or new["dead"] == "presumed":
            return
        if old is not None and old["dead"] and old["attempt"] == new["attempt"]:
            return
        self._none_lives(job, new["attempt"], f"is said to be dead ({new['dead']})")
        self.history.proofs[new["dead"]] += 1

    def _none_lives(self, job: str, attempt: int, what: str) -> None:
        live = {number for number, _ in self._world.programs.live[job]}
        claim(attempt not in live, f"{job}: attempt {attempt} {what} and runs")

    def _slice(self, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> None:
        name = new["name"]
        self._decided |= {bid["name"] for bid in bids_of(new)}
        if old is None or old["uid"] != new["uid"]:
            self.lent.adopted(new)
            claim(old is None or not old["live"], f"{name} was made again while it was there")
            return
        claim(new["revision"] == old["revision"] + 1, f"{name}: a commit was lost or done twice")
        claim(new["generation"] - old["generation"] in {0, 1}, f"{name}: generations grow by one")
        self.lent.changed(new)
        before = {each["number"]: each for each in old["generations"]}
        if new["generation"] > old["generation"] and old["generations"]:
            last = next((g for g in new["generations"] if g["number"] == old["generation"]), None)
            claim(
                last is None or last["condemned_at"] is not None,
                f"{name}: a new generation while the last one serves",
            )
        for each in new["generations"]:
            known = before.get(each["number"])
            if known is None:
                continue
            if known["claimed"]:
                claim(each["claimed"] == known["claimed"], f"{name}: two bids were claimed")
            self._losses(known["bids"], each["bids"])

    def _losses(self, before: Sequence[Any], after: Sequence[Any]) -> None:
        """What is said to be lost is lost: no error and no gap in a listing is a loss."""
        known = {bid["id"]: bid["verdict"] for bid in before}
        for bid in after:
            is_new = bid["verdict"] == View.LOST and known.get(bid["id"]) != View.LOST
            if is_new and bid["lost_cause"] in _GONE:
                held = self._held_of(bid)
                is_true = held is None or not held.is_well
                claim(is_true, f"{bid['name']} is well and said to be {bid['lost_cause']}")
            if is_new and bid["lost_cause"] == Cause.HOST_LOST:
                self._silence(bid)

    def _silence(self, bid: Any) -> None:
        """Whoever can still be heard in storage was listened to."""
        held = self._held_of(bid)
        named = _SILENT.match(bid["detail"])
        if held is None or named is None:
            return
        has_zombies = Fault.ZOMBIES in self._world.chance.faults
        slack_s = LATEST_S if has_zombies else LATE_S
        given_up = set(map(int, named[1].split(", ")))
        for host in held.hosts:
            is_unheard = host.number in given_up and host.is_readable(slack_s)
            claim(not is_unheard, f"host {host.number} of {bid['name']} was given up unheard")

    def _held_of(self, bid: Any) -> Request | None:
        """Return what a bid stands for; another one of the name that others gave is not it."""
        held = self._world.cloud.requests.get(bid["name"])
        is_another = held is not None and held.is_lent and held.node_uid != bid["node_uid"]
        return None if is_another else held

    # --- The cloud ------------------------------------------------------------------------------

    def created(self, request: BidRequest) -> None:
        """Nothing is asked for that was not decided, and by no other name."""
        # It may be over and forgotten by now: a function went on after its time.
        is_known = request.name in self._decided
        claim(is_known, f"{request.name} was asked for before it was decided")
        self._not_paused()

    def _not_paused(self) -> None:
        """While it is paused nothing is asked for, but by who asked before that."""
        paused = self._world.store.get(PAUSE)
        if paused is None or self._world.chance.faults & _SLOW:
            return
        age_s = (paused.read_at - paused.updated_at).total_seconds()
        claim(age_s < MOMENTS_S, "something was asked for while it was paused")

    def deleting(self, zone: str, name: str) -> None:
        """Nothing current and nothing foreign is deleted."""
        parsed = parse_cloud_name(name)
        ours = parsed is not None and parsed[0] == self._world.app.installation
        claim(ours, f"{name} in {zone} is not ours and was deleted")
        assert parsed is not None
        slice_ = self._slice_of(parsed[1])
        for bid in bids_of(slice_) if slice_ else ():
            is_current = bid["name"] == name and bid["condemned_at"] is None
            claim(not is_current, f"{name} is current and was deleted")

    def _slice_of(self, uid: str) -> Mapping[str, Any] | None:
        for document in self._world.store.documents("slices"):
            if document.fields["uid"] == uid:
                return document.fields
        return None

    # --- Programs -------------------------------------------------------------------------------

    def started(self, host: Host, key: Key) -> None:
        """No two attempts of a job run at the same time, and no superseded one starts."""
        job, attempt = key
        others = {number for number, _ in self._world.programs.live[job]} - {attempt}
        claim(not others, f"{job}: attempt {attempt} starts while {sorted(others)} runs")
        writer = self._job_of(job)["writer"]
        claim(writer is not None, f"{job}: attempt {attempt} starts and was not ordered")
        claim(writer["attempt"] == attempt, f"{job}: attempt {attempt} starts, it is superseded")
        self._not_dead(job, writer, "starts")
        self.history.started(self._world.engine.now, key, host)

    def stopped(self, host: Host, key: Key) -> None:
        """Remember until when a process ran."""
        self.history.stopped(self._world.engine.now, key, host)

    def saved(self, gang: Gang, step: int) -> None:
        """Nobody writes a checkpoint that was superseded, or that is known to be dead."""
        job, attempt = gang.key
        writer = self._job_of(job)["writer"]
        claim(writer["attempt"] == attempt, f"{job}: attempt {attempt} saves, it is superseded")
        self._not_dead(job, writer, "saves")
        self.history.saved(self._world.engine.now, gang, step)

    def _not_dead(self, job: str, writer: Mapping[str, Any], what: str) -> None:
        is_dead = writer["dead"] not in {"", "presumed"}
        claim(not is_dead, f"{job}: attempt {writer['attempt']} {what} and is said to be dead")

    def _job_of(self, job: str) -> Mapping[str, Any]:
        document = self._world.store.get(f"jobs/{job}")
        if document is None:
            raise Violation(f"{job} runs and is not known")
        return document.fields


def reachable(stage: Stage) -> frozenset[Stage]:
    """Return where one commit may take a job: some steps of the table."""
    return _REACHABLE[stage]


def _reach(stage: Stage) -> frozenset[Stage]:
    found = {stage}
    for _ in range(HOPS_MAX):
        found |= {after for (before, _), after in TRANSITIONS.items() if before in found}
    return frozenset(found)


_REACHABLE = {stage: _reach(stage) for stage in Stage}


def _fields(document: Document | None) -> Mapping[str, Any] | None:
    return None if document is None else document.fields
