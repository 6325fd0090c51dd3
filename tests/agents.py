"""Hosts in memory: the real decisions of the host agent, without processes and without a network.

A host reads its mandate from ``FakeBlobs`` and publishes true snapshots. Preparations succeed at
once, a command runs until the test ends it or something tells it to go.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256

from shared.host import agent
from shared.ports import Blobs, Bus, Clock, Message
from tests.fake_slices import FakeSliceApi
from tests.fake_world import FAKE_START

SNAPSHOT = {"kind": "snapshot", "version": "1"}
GRACE_S = 5.0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a host stands on."""

    blobs: Blobs
    clock: Clock

    @property
    def now(self) -> float:
        """Seconds on the clock of every host."""
        return (self.clock.now() - FAKE_START).total_seconds()


class Host:
    """One host of one bid.

    ``obeys`` says whether its command goes when it is told to, ``is_cut_off`` whether it can
    read its mandate, ``is_dead`` whether it does nothing any more while its node looks well,
    ``is_mute`` whether its snapshots arrive, ``cannot_publish`` whether it has
    to leave them beside its mandate, ``fails_setup`` and ``is_slow`` whether its setup fails, or
    does not come to an end; ``boots`` counts its lives, ``hostname`` is its VM's own name, like
    none of another node.
    """

    def __init__(self, config: str, number: int, around: Surroundings) -> None:
        self.obeys = True
        self.is_cut_off = False
        self.is_dead = False
        self.is_mute = False
        self.cannot_publish = False
        self.fails_setup = False
        self.is_slow = False
        self.reboots = True
        self.wants_reboot = False
        self.setups = 0
        self.boots = 0
        self._raw, self._number, self._around = config, number, around
        node = sha256(json.loads(config)["node"].encode()).hexdigest()[:8]
        self.hostname = f"t1v-n-{node}-w-{number}"
        self._sequence = 0
        self._wants_report = False
        self.state = self._boot()

    # What the test makes happen.

    def progress(self, step: int) -> None:
        """Let the command reach a step."""
        attempt = self._live
        self._take(agent.ProgressSeen(attempt.key, agent.Progress(step), self._at, self._now))

    def checkpoint(self, step: int) -> None:
        """Let the command complete a checkpoint."""
        attempt = self._live
        saved = agent.Checkpoint(step, f"{attempt.checkpoint_dir}/{step}")
        self._take(agent.CheckpointSeen(attempt.key, saved, self._now))

    def finish(
        self,
        exit_code: int | None = 0,
        *,
        signal: int | None = None,
        text: str = "",
        flushes: bool = True,
    ) -> None:
        """Let the command end of its own accord; its logs are shipped, or not yet."""
        attempt, now = self._live, self._now
        self._take(
            agent.CommandExited(attempt.key, exit_code, signal, text, now, self._at, now),
            agent.WorkloadGone(attempt.key, text, now),
        )
        if flushes:
            self.flush()

    def flush(self) -> None:
        """Ship all logs of the newest attempt."""
        attempt = self.state.attempt
        assert attempt is not None, "something ran on this host"
        self._take(agent.LogsShipped(attempt.key, self._now))

    def notice(self, kind: str = "preempted") -> None:
        """Tell the machine that it will be taken away."""
        self._take(agent.NoticeSeen(kind, self._now))

    def reboot(self) -> None:
        """Restart the machine: what ran is gone, and so is what the agent knew."""
        self.state = self._boot()

    # What it does.

    @property
    def config(self) -> agent.Config:
        """Who it is."""
        return self.state.config

    @property
    def runs(self) -> tuple[str, int] | None:
        """The job and attempt that live here."""
        return self.state.live.key if self.state.live and not self.is_dead else None

    def act(self) -> Message | None:
        """Look at the mandate once, do what follows, and return what it says, if anything."""
        if self.is_dead:
            return None
        before = self._words
        self._take(self._read())
        self._sequence += 1
        is_due = self._words != before or self._wants_report
        self._wants_report = False
        if self.cannot_publish:
            self.leave_beside_mandate()
            return None
        return None if self.is_mute or not is_due else self.snapshot()

    def snapshot(self) -> Message:
        """Say everything that is true now."""
        words = agent.snapshot(self.state, sequence=self._sequence, at=self._at)
        return Message(json.dumps(words).encode(), SNAPSHOT)

    def leave_beside_mandate(self) -> None:
        """Put what it would say where launch looks for it; it tries again and again."""
        if not self.is_cut_off:
            self._around.blobs.put(agent.left_report(self.config), self.snapshot().data)

    @property
    def _words(self) -> object:
        return agent.snapshot(self.state, sequence=0, at="")

    @property
    def _now(self) -> float:
        return self._around.now

    @property
    def _at(self) -> str:
        return self._around.clock.now().isoformat()

    @property
    def _live(self) -> agent.Attempt:
        attempt = self.state.live
        assert attempt is not None, "something runs on this host"
        return attempt

    def _boot(self) -> agent.State:
        self.boots += 1
        boot = f"host-{self._number}-boot-{self.boots}"
        machine = agent.Machine("", self._number, self.hostname, boot, "127.0.0.1")
        self._sequence = 0
        self._wants_report = False
        return agent.initial(agent.parse_config(self._raw.encode(), machine), None, self._now)

    def _read(self) -> agent.Event:
        if self.is_cut_off:
            return agent.ReadFailed("cut off", is_unusable=False, now=self._now)
        stored = self._around.blobs.get(self.config.mandate)
        if stored is None:
            return agent.ReadFailed("it does not exist", is_unusable=True, now=self._now)
        return agent.MandateRead(agent.parse_mandate(stored.data), self._now, self._now)

    def _take(self, *events: agent.Event) -> None:
        """Take in facts, and those that follow from what was decided on them."""
        if self.wants_reboot:
            self.wants_reboot = False
            self.reboot()
        waiting = list(events)
        while waiting:
            self.state, actions = agent.step(self.state, waiting.pop(0))
            for action in actions:
                waiting += self._perform(action)

    def _perform(self, action: agent.Action) -> list[agent.Event]:
        if isinstance(action, agent.Prepare):
            self.setups += 1
            return [] if self.is_slow else [self._prepared(action)]
        if isinstance(action, agent.StopPreparing):
            return [agent.PreparationEnded("", None, None, self._now)]
        if isinstance(action, agent.Spawn):
            return [agent.WorkloadStarted(action.attempt.key, self._at, self._now)]
        if isinstance(action, agent.Terminate):
            return self._gone(15) if self.obeys else []
        if isinstance(action, agent.Kill):
            return self._gone(9)
        if isinstance(action, agent.Reboot):
            self.wants_reboot = self.reboots
        self._wants_report = self._wants_report or isinstance(action, agent.Report)
        return []

    def _prepared(self, action: agent.Prepare) -> agent.Event:
        spec = action.spec.sha256
        if not self.fails_setup:
            return agent.PreparationEnded(spec, GRACE_S, None, self._now)
        failure = agent.SetupFailure(spec, 3, None, "no such package", action.tries)
        return agent.PreparationEnded(spec, None, failure, self._now)

    def _gone(self, signal: int) -> list[agent.Event]:
        attempt = self.state.live
        if attempt is None:
            return []
        key, now = attempt.key, self._now
        return [
            agent.CommandExited(key, None, signal, "", now, self._at, now),
            agent.WorkloadGone(key, "", now),
            agent.LogsShipped(key, now),
        ]


class Farm:
    """All hosts of a fake cloud: they boot when they are told to and die with their node."""

    def __init__(self, slices: FakeSliceApi, blobs: Blobs, clock: Clock) -> None:
        self._slices = slices
        self._around = Surroundings(blobs, clock)
        self._hosts: dict[str, list[Host]] = {}

    def install(self, name: str, config: str) -> list[Host]:
        """Run the installer on the hosts of a node that others made."""
        count = json.loads(config)["hosts"]
        self._hosts[name] = [Host(config, number, self._around) for number in range(count)]
        return self._hosts[name]

    def boot(self, name: str, *, hosts: int | None = None) -> list[Host]:
        """Boot the hosts of a node, or only the first of them."""
        config = self._slices.asked(name).metadata["tpuctl-config"]
        count = json.loads(config)["hosts"]
        booted = [Host(config, number, self._around) for number in range(count)]
        self._hosts[name] = booted[:hosts]
        return self._hosts[name]

    def of(self, name: str) -> list[Host]:
        """The hosts that live on a node."""
        return self._hosts[name] if name in self._hosts and self._has_power(name) else []

    @property
    def living(self) -> list[Host]:
        """All hosts that live."""
        return [host for name in self._hosts for host in self.of(name)]

    def each(self, do: Callable[[Host], None]) -> None:
        """Do something to every living host on which a command runs."""
        for host in self.living:
            if host.runs is not None:
                do(host)

    def act(self, bus: Bus) -> int:
        """Let every host look around once; return how many had something to say."""
        said = [message for message in (host.act() for host in self.living) if message]
        self._check_one_writer()
        if said:
            bus.publish("reports", said)
        return len(said)

    def _has_power(self, name: str) -> bool:
        held, other = self._slices._held.get(name), self._slices.others.get(name)
        nodes = held.shown.nodes if held else other.nodes if other else ()
        return any(node.state == "READY" for node in nodes)

    def _check_one_writer(self) -> None:
        """No two attempts of a job ever run at the same time."""
        running = {host.runs for host in self.living if host.runs is not None}
        jobs = [job for job, _ in running]
        assert len(jobs) == len(set(jobs)), f"two attempts of one job run: {sorted(running)}"


def forged(message: Message, **changes: object) -> Message:
    """Change what a snapshot says, as somebody who holds no secret could."""
    return replace(message, data=json.dumps({**json.loads(message.data), **changes}).encode())
