"""Owners of jobs: they submit, change their minds, and give an order until it has an outcome."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING

from shared.core.stages import TERMINAL
from shared.errors import Unavailable
from shared.ports import Document, Message
from shared.topology import Topic
from tests.simulation.chance import Chance, Fault
from tests.simulation.programs import Program

if TYPE_CHECKING:
    from tests.simulation.world import World

HOUR_S = 3600.0
ASK_AGAIN_S = 45.0
ASKS_MAX = 40
PRESETS = ("pre", "pre", "pre", "reapply", "rerun", "resume")


class People:
    """Everybody who uses the installation."""

    def __init__(self, world: World, jobs: int) -> None:
        self._world = world
        self._chance: Chance = world.chance
        self.jobs = [f"job{number:09d}" for number in range(jobs)]
        self._orders = self._uids = 0
        self.expected: dict[str, str] = {}
        self._named: set[str] = set()

    def begin(self, chaos_s: float) -> None:
        """Plan everything that people will do."""
        for job in self.jobs:
            chance = self._chance.of(f"owner {job}")
            self._world.programs.known[job] = self._program(chance)
            at = chance.uniform(0.0, min(HOUR_S, chaos_s / 2))
            self._world.engine.at(at, self._submitting(job, chance))
            self._plan_changes(job, chance, chaos_s)
            self._plan_slices(job, chaos_s)

    def _plan_changes(self, job: str, chance: Random, chaos_s: float) -> None:
        plans: tuple[tuple[Fault, Callable[[str, Random], None]], ...] = (
            (Fault.STOPS, self._stop),
            (Fault.GOING_ON, self._go_on),
            (Fault.GOING_ON, self._go_on),
            (Fault.NEW_RULES, self._change_rules),
            (Fault.SECOND_JOBS, self._second_job),
            (Fault.SAME_NAMES, self._same_name),
        )
        for fault, act in plans:
            at, is_drawn = chance.uniform(600.0, chaos_s), chance.random() < 1 / 2
            if fault in self._chance.faults and is_drawn:
                self._world.engine.at(at, self._acting(act, job, chance))

    def _plan_slices(self, job: str, chaos_s: float) -> None:
        """Plan what owners do with slices, from a stream of its own."""
        chance = self._chance.of(f"slices of {job}")
        plans = ((Fault.RESTARTS, self._restart), (Fault.REMAKES, self._remake))
        for fault, act in (*plans, *plans, (Fault.OWN_SLICES, self._own_slice)):
            at, is_drawn = chance.uniform(600.0, chaos_s), chance.random() < 1 / 2
            if fault in self._chance.faults and is_drawn:
                self._world.engine.at(at, self._acting(act, job, chance))

    @staticmethod
    def _acting(act: Callable[[str, Random], None], job: str, chance: Random) -> Callable[[], None]:
        return lambda: act(job, chance)

    def _submitting(self, job: str, chance: Random) -> Callable[[], None]:
        return lambda: self._submit(job, chance)

    # --- What they do ---------------------------------------------------------------------------

    def _submit(self, job: str, chance: Random, *, name: str | None = None) -> None:
        args: dict[str, object] = {
            "job": job,
            "spec": self._spec(chance),
            "slice_uid": self.new_uid(),
        }
        if name is not None:
            args["slice"] = name
        self.order("submit", args)

    def _stop(self, job: str, chance: Random) -> None:
        fields = self._fields(job)
        if fields is not None and fields["stage"] not in TERMINAL:
            self._chance.happens(Fault.STOPS)
            self.order("stop", {"job": job, "kill": chance.random() < 1 / 3})

    def see_start(self, job: str) -> None:
        """Regret a job at the very moment at which it starts."""
        if self._chance.hits(Fault.STOPS, 0.1):
            wait_s = self._chance.of("regrets").uniform(0.0, 3.0)
            self._world.engine.after(wait_s, lambda: self.order("stop", {"job": job}))

    def lose_patience(self, job: str) -> None:
        """Stop a job that gets nowhere, after some minutes."""
        if self._chance.hits(Fault.STOPS, 0.5):
            self._world.engine.after(300.0, lambda: self.order("stop", {"job": job}))

    def _go_on(self, job: str, chance: Random) -> None:
        fields = self._fields(job)
        if fields is None or fields["stage"] not in {*TERMINAL, "stopping"}:
            return
        self._chance.happens(Fault.GOING_ON)
        kind = chance.choice(["resume", "rerun"])
        self.order(kind, self._again(job, fields))

    def _change_rules(self, job: str, chance: Random) -> None:
        """Go on under other rules: stop, and resume with a spec that says so."""
        fields = self._fields(job)
        if fields is not None and fields["stage"] in TERMINAL:
            self._chance.happens(Fault.NEW_RULES)
            self.order("resume", {**self._again(job, fields), "spec": self._spec(chance)})

    def _second_job(self, job: str, chance: Random) -> None:
        """Run another job on the slice that a job has left, if it is still there."""
        fields = self._fields(job)
        if fields is None or fields["stage"] not in TERMINAL:
            return
        second = f"warm{job[-8:]}"
        if second in self.jobs:
            return
        self._chance.happens(Fault.SECOND_JOBS)
        self._submit_on(str(fields["slice"]), second, chance)

    def _same_name(self, job: str, chance: Random) -> None:
        """Let a slice go, and make another of the same name as soon as that is possible."""
        fields = self._fields(job)
        if fields is None or fields["stage"] not in TERMINAL:
            return
        again = f"same{job[-8:]}"
        self._chance.happens(Fault.SAME_NAMES)
        name = str(fields["slice"])
        self.order("release", {"slice": name})
        self.jobs.append(again)
        self._world.programs.known[again] = self._program(chance)
        self._world.engine.after(600.0, lambda: self._submit(again, chance, name=name))

    def _restart(self, job: str, _: Random) -> None:
        fields = self._fields(job)
        if fields is not None and fields["stage"] not in TERMINAL:
            self._chance.happens(Fault.RESTARTS)
            self.order("slice-restart", {"slice": fields["slice"]})

    def _remake(self, job: str, _: Random) -> None:
        fields = self._fields(job)
        if fields is not None and fields["stage"] not in TERMINAL:
            self._chance.happens(Fault.REMAKES)
            self.order("slice-recreate", {"slice": fields["slice"]})

    def _own_slice(self, job: str, chance: Random) -> None:
        """Create a slice, run a job on it some time, and let it go when nothing runs there."""
        name = f"own-{job[-4:]}"
        if name in self._named:
            return
        self._named.add(name)
        self._chance.happens(Fault.OWN_SLICES)
        zones = list(self._world.cloud.capacity)
        shape = {"accelerator_type": chance.choice(["v5p-8", "v5p-16"]), "zones": zones}
        args = {"slice": name, "slice_uid": self.new_uid(), "keep": chance.random() < 1 / 2}
        self.order("slice-create", {**args, **shape})
        self._world.engine.after(900.0, lambda: self.try_out(name, chance))
        for wait_s in (1500.0, 4 * HOUR_S):
            self._world.engine.after(wait_s, lambda: self.order("release", {"slice": name}))

    def try_out(self, name: str, chance: Random) -> None:
        """Run a job on a slice that has a name."""
        self._submit_on(name, f"test{self.new_uid()}", chance)

    def _submit_on(self, name: str, job: str, chance: Random) -> None:
        self.jobs.append(job)
        self._world.programs.known[job] = self._program(chance)
        spec = {**self._spec(chance), "accelerator_type": None}
        args = {"job": job, "spec": spec, "slice_uid": self.new_uid(), "on": name}
        self.order("submit", args)

    def order(self, kind: str, args: Mapping[str, object]) -> None:
        """Give an order, again and again until it has an outcome."""
        self._orders += 1
        order_id = f"order-{self._orders}"
        fields = {"version": 1, "id": order_id, "kind": kind, "owner": "ada", "args": args}
        message = Message(json.dumps(fields).encode(), {"kind": "command", "version": "1"})
        self.expected[order_id] = kind
        self._ask(order_id, message, 0)

    def _ask(self, order_id: str, message: Message, asks: int) -> None:
        if self._world.store.get(f"commands/{order_id}") is not None or asks >= ASKS_MAX:
            return
        with contextlib.suppress(Unavailable):
            self._world.network.publish(Topic.COMMANDS, [message])
        self._world.engine.after(
            ASK_AGAIN_S * (1 + asks / 4), lambda: self._ask(order_id, message, asks + 1)
        )

    # --- What they want -------------------------------------------------------------------------

    def _program(self, chance: Random) -> Program:
        steps, every = chance.choice([25, 45, 70, 100]), chance.choice([10, 15, 30])
        if Fault.ERRORS not in self._chance.faults or chance.random() < 1 / 2:
            return Program(steps, every)
        how, failures = chance.choice(["error", "oom"]), chance.choice([1, 2, 5])
        return Program(steps, every, chance.randrange(steps), failures, how)

    def _spec(self, chance: Random) -> dict[str, object]:
        zones = list(self._world.cloud.capacity)
        chance.shuffle(zones)
        return {
            "name": "digits",
            "command": ["python", "train.py"],
            "accelerator_type": chance.choice(["v5p-8", "v5p-8", "v5p-16"]),
            "zones": zones[: chance.randint(1, len(zones))],
            "grace_s": 20.0,
            "tier": chance.choice(["spot", "spot", "on-demand"]),
            "rule": chance.choice(PRESETS),
            "budgets": {"preemptions": chance.choice([1, 3, 50]), "failures": 2},
            "hold_s": chance.choice([0.0, 600.0]),
        }

    def _again(self, job: str, fields: Mapping[str, object]) -> dict[str, object]:
        return {"job": job, "seen_attempt": fields["attempt"], "slice_uid": self.new_uid()}

    def new_uid(self) -> str:
        """Make an identity that nothing else has."""
        self._uids += 1
        return f"uid{self._uids:05d}"

    def _fields(self, job: str) -> Mapping[str, object] | None:
        document: Document | None = self._world.store.get(f"jobs/{job}")
        return None if document is None else document.fields
