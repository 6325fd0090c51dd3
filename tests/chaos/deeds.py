"""What chaos does: each deed breaks one thing, and what lasts is undone some seconds later."""

from __future__ import annotations

import os
import signal
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, Final

from cli.emulator_jars import Kind
from sandbox.control import ControlError
from shared.topology import FUNCTIONS
from tests.chaos import counting
from tests.chaos.found import has_saved, pids
from tests.chaos.owners import Owners
from tests.chaos.stage import Stage
from tests.chaos.wire import Wire
from tests.installations import AGENT

# How often what runs a job is hit, and not what is still on its way.
AT_WORK: Final = 0.7
STORM: Final = 0.5
NOTICE_S: Final = (0.5, 15.0)
REDELIVERED_MAX: Final = 12
_METHODS: Final = (
    "CreateQueuedResource",
    "DeleteQueuedResource",
    "GetNode",
    "GetQueuedResource",
    "ListNodes",
    "ListQueuedResources",
    "UpdateNode",
)


@dataclass
class Chaos:
    """Breaks things by chance, and counts what it broke."""

    stage: Stage
    owners: Owners
    chance: Random
    script: Iterator[str]
    lasts_s: tuple[float, float]
    counts: Counter[str] = field(default_factory=Counter)
    # How often each deed was tried in a row without breaking anything.
    in_vain: Counter[str] = field(default_factory=Counter)
    _undo: list[tuple[float, Callable[[], object]]] = field(default_factory=list)
    _hit: set[str] = field(default_factory=set)
    _turns: list[str] = field(default_factory=list)
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(16))

    def one(self) -> str:
        """Do the next deed; return which.  Nothing happens where there is nothing to break."""
        name, before = next(self.script), self.counts.total()
        # What was to be broken may have ended by itself a moment ago.
        with suppress(ControlError, OSError):
            getattr(self, name)()
        self.in_vain[name] = self.in_vain[name] + 1 if self.counts.total() == before else 0
        return name

    def heal(self, *, all_: bool = False) -> None:
        """Undo what has lasted long enough, or everything."""
        now = time.monotonic()
        due = [undo for at, undo in self._undo if all_ or at <= now]
        self._undo = [] if all_ else [each for each in self._undo if each[0] > now]
        for undo in due:
            with suppress(ControlError, OSError):
                undo()

    def close(self) -> None:
        """Heal everything and wait for what was sent."""
        self.heal(all_=True)
        self.owners.close()
        self._pool.shutdown()

    # Nodes and hosts.

    def preempt_silently(self) -> None:
        """A node is gone from one moment to the next."""
        self._preempt(self._targets()[:1], "silently")

    def preempt_with_notice(self) -> None:
        """Its hosts are told a little before."""
        self._preempt(self._targets()[:1], "notice", self.chance.uniform(*NOTICE_S))

    def storm(self) -> None:
        """Half of all nodes at once."""
        targets = self._targets()
        if len(targets) > 1:
            self.counts["spot storms"] += 1
            self._preempt(targets[: max(2, round(len(targets) * STORM))], "storm")

    def vanish(self) -> None:
        """Somebody deletes the request, with its nodes, by hand."""
        for node in self._targets()[:1]:
            zone, name = node["zone"], node["queued_resource"]
            project = self.stage.settings.google.project
            path = f"v2/projects/{project}/locations/{zone}/queuedResources/{name}?force=true"
            url = f"{self.stage.installation.url}/{path}"
            with urllib.request.urlopen(urllib.request.Request(url, method="DELETE"), timeout=10):
                self._hit.add(node["name"])
                self.counts["nodes deleted by hand"] += 1

    def kill_host(self) -> None:
        """A host is dead, and the API calls its node READY."""
        for host in self._hosts()[:1]:
            self.stage.installation.admin.kill_host(host["name"])
            self.counts["hosts killed"] += 1

    def reboot_host(self) -> None:
        """A host boots anew."""
        for host in self._hosts()[:1]:
            self.stage.installation.admin.reboot_host(host["name"])
            self.counts["hosts rebooted"] += 1

    def cut_host_off(self) -> None:
        """A host reaches some services of Google no more, for some seconds."""
        for host in self._hosts()[:1]:
            services = self.chance.sample(["storage", "pubsub", "metadata"], 2)
            cut_off = partial(self.stage.installation.admin.cut_off, host["name"])
            cut_off(*services)
            self.counts["hosts cut off"] += 1
            self._later(cut_off)

    def kill_agent(self) -> None:
        """Kill -9 for the agent of a host."""
        self._kill_on_host(AGENT, "agents killed")

    def kill_workload(self) -> None:
        """Kill -9 for the program of a job that has got further: else it is a crash loop."""
        self._kill_on_host(counting.__file__, "workloads killed", has_saved)

    # Functions and what wakes them.

    def kill_function(self) -> None:
        """Kill -9 for one of the six, in turn."""
        if not self._turns:
            self._turns = self.chance.sample(sorted(FUNCTIONS), len(FUNCTIONS))
        self._kill_function(self._turns.pop())

    def kill_all_functions(self) -> None:
        """All six at once, as a bad deploy would."""
        for name in FUNCTIONS:
            self._kill_function(name)

    def skip_ticks(self) -> None:
        """No tick comes for a while, and no dead function is started again."""
        pid = self.stage.scheduler
        os.kill(pid, signal.SIGSTOP)
        self.counts["times without ticks"] += 1
        self._later(lambda: os.kill(pid, signal.SIGCONT))

    def tick_twice(self) -> None:
        """Two ticks at once, beside the one of the scheduler."""
        for _ in range(2):
            self._pool.submit(self.stage.send, "health_check", b"")
        self.counts["ticks doubled"] += 1

    def redeliver(self) -> None:
        """Messages of the last minutes come again, in any order."""
        seen = self.stage.copies.recent()
        for by, delivery in self.chance.sample(seen, min(len(seen), REDELIVERED_MAX)):
            body = self.stage.copies.body(by, delivery)
            for _ in range(self.chance.choice((1, 1, 2))):
                self._pool.submit(self.stage.send, by.function, body)
                self.counts["messages delivered again"] += 1

    # What owners order.

    def stop_job(self) -> None:
        """Somebody stops a job, and mostly wants it back."""
        self.owners.stop(kill=False)

    def kill_job(self) -> None:
        """Or does not even let it save."""
        self.owners.stop(kill=True)

    def pause_all(self) -> None:
        """Nothing is created for some seconds."""
        self.owners.pause(self.chance.uniform(*self.lasts_s))

    # What the functions stand on.

    def cut_wire(self) -> None:
        """Reset all connections to an emulator."""
        self.counts["connections cut"] += self._wire().cut()

    def hold_wire(self) -> None:
        """Nothing goes through, and nobody is told."""
        wire = self._wire()
        wire.hold()
        self.counts["wires held up"] += 1
        self._later(wire.heal)

    def refuse_wire(self) -> None:
        """Connections are cut, and no new one comes to be."""
        wire = self._wire()
        self.counts["connections cut"] += wire.refuse()
        self.counts["wires refused"] += 1
        self._later(wire.heal)

    def freeze_emulator(self) -> None:
        """An emulator stops, for users and hosts too."""
        pid = self.stage.installation.emulators[self.chance.choice(list(Kind))].pid
        os.kill(pid, signal.SIGSTOP)
        self.counts["emulators frozen"] += 1
        self._later(lambda: os.kill(pid, signal.SIGCONT))

    def fail_calls(self) -> None:
        """The Cloud TPU API fails, or does what it is asked and loses the reply."""
        count = self.chance.randint(1, 3)
        failure = {
            "method": self.chance.choice(_METHODS),
            "code": self.chance.choice((429, 500, 503)),
            "count": count,
            "when": self.chance.choice(("before", "after")),
        }
        self.stage.installation.admin.change_settings(failures=[failure])
        self.counts["API calls failed"] += count

    def stick_delete(self) -> None:
        """The next delete never ends."""
        self.stage.installation.admin.change_settings(stuck_deletes=1)
        self.counts["deletes stuck"] += 1

    def stock_out(self) -> None:
        """Nothing is granted for a while."""
        admin = self.stage.installation.admin
        zone = {f"us-central2-b/{type_}": 0 for type_ in ("v4-8", "v4-16")}
        admin.change_settings(capacity=zone)
        self.counts["stockouts"] += 1
        self._later(lambda: admin.change_settings(capacity={}))

    def _preempt(
        self, nodes: Sequence[Mapping[str, Any]], how: str, notice_s: float | None = None
    ) -> None:
        for node in nodes:
            body = {"notice": notice_s is not None} | ({"notice_s": notice_s} if notice_s else {})
            self.stage.installation.admin.post(f"nodes/{node['name']}:preempt", body)
            self._hit.add(node["name"])
            self.counts["preemptions"] += 1
            self.counts[f"preemptions, {how}"] += 1

    def _targets(self) -> list[Mapping[str, Any]]:
        """Return the nodes that may be lost, each once; mostly those first that work."""
        status = self.stage.status
        left = [
            node
            for node in status["nodes"]
            if node["state"] == "READY" and node["name"] not in self._hit
        ]
        mixed = self.chance.sample(left, len(left))
        if self.chance.random() > AT_WORK:
            return mixed
        busy = {host["node"] for host in status["hosts"] if pids(host, counting.__file__)}
        return sorted(mixed, key=lambda node: node["name"] not in busy)

    def _hosts(self) -> list[Mapping[str, Any]]:
        on = [host for host in self.stage.status["hosts"] if host["pid"]]
        return self.chance.sample(on, len(on))

    def _kill_on_host(
        self, program: str, what: str, is_ripe: Callable[[int], bool] = lambda _: True
    ) -> None:
        for host in self._hosts():
            found = [pid for pid in pids(host, program) if is_ripe(pid)]
            for pid in found:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if found:
                self.counts[what] += 1
                return

    def _kill_function(self, name: str) -> None:
        found = self.stage.functions(name)
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if found:
            self.counts["functions killed"] += 1
            self.counts[f"functions killed, {name}"] += 1

    def _wire(self) -> Wire:
        return self.stage.wires[self.chance.choice(list(Kind))]

    def _later(self, undo: Callable[[], object]) -> None:
        self._undo.append((time.monotonic() + self.chance.uniform(*self.lasts_s), undo))
