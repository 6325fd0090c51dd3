"""The programs of users: gangs of processes that save checkpoints, and fail as real ones do.

A gang works when all its processes are there. One step is one minute of work. When one process
goes, the others notice after a while and fail with what they know (docs: JAX takes 97 s).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shared.host import agent
from tests.simulation.chance import Chance, Fault
from tests.simulation.engine import Engine
from tests.simulation.storage import Key, Storage

if TYPE_CHECKING:
    from tests.simulation.hosts import Host

STEP_S = 60.0
RENDEZVOUS_S = 20.0
NOTICE_PEER_S = 97.0
LATE_FINISH_S = 610.0
TRANSPORT = "JAX distributed service detected fatal errors"


@dataclass(frozen=True, slots=True)
class Program:
    """What a job's command does: minutes of work, and at which step it fails how often."""

    steps: int
    every: int
    fails_at: int = 0
    failures: int = 0
    how: str = "error"


@dataclass(slots=True)
class Gang:
    """The processes of one attempt on one node."""

    key: Key
    run: agent.Run
    members: dict[int, Host] = field(default_factory=dict)
    is_whole: bool = False
    begun_at: float = 0.0
    first: int = 0

    def step_at(self, now: float) -> int:
        """Return the steps that are done."""
        return self.first + int((now - self.begun_at) / STEP_S + 1e-6)


class Programs:
    """All processes of users, wherever they run; ``started`` and ``saved`` tell the checks."""

    def __init__(self, engine: Engine, chance: Chance, storage: Storage) -> None:
        self.engine, self.chance, self.storage = engine, chance, storage
        self.known: dict[str, Program] = {}
        self.live: dict[str, set[tuple[int, str]]] = defaultdict(set)
        self.started: Callable[[Host, Key], None] = lambda *_: None
        self.saved: Callable[[Gang, int], None] = lambda *_: None
        self.stopped: Callable[[Host, Key], None] = lambda *_: None
        self._gangs: dict[tuple[Key, str], Gang] = {}
        self._failed: dict[str, int] = defaultdict(int)

    # --- What agents do -------------------------------------------------------------------------

    def spawn(self, host: Host, action: agent.Spawn) -> None:
        """Start a process; the gang begins when all are there."""
        key = action.attempt.key
        self.live[key[0]].add((key[1], host.state.config.boot))
        self.started(host, key)
        place = (key, host.held.node_uid)
        gang = self._gangs.setdefault(place, Gang(key, action.run))
        gang.members[host.number] = host
        if len(gang.members) == host.state.config.hosts:
            gang.is_whole = True
            self.engine.after(RENDEZVOUS_S, lambda: self._begin(gang))

    def terminate(self, host: Host) -> None:
        """Ask a process to go: it saves what it has, unless it does not listen."""
        live = host.state.live
        if live is None or self.chance.hits(Fault.STUBBORN, 0.5):
            return
        key, boot = live.key, host.state.config.boot
        wait_s = self.chance.of("goodbyes").uniform(1.0, 15.0)
        self.engine.after(wait_s, lambda: self._leave(host, key, boot))

    def kill(self, host: Host, key: Key) -> None:
        """A machine or an agent takes the process with it."""
        self.ended(host, key)

    def ended(self, host: Host, key: Key) -> None:
        """A process is no more; the others of its gang will notice."""
        self.live[key[0]].discard((key[1], host.state.config.boot))
        self.stopped(host, key)
        gang = self._gangs.get((key, host.held.node_uid))
        if gang is None or gang.members.pop(host.number, None) is None or not gang.is_whole:
            return
        gang.is_whole = False
        self.engine.after(NOTICE_PEER_S, lambda: self._break(gang))

    # --- What programs do -----------------------------------------------------------------------

    def _begin(self, gang: Gang) -> None:
        if not gang.is_whole:
            return
        newest = self.storage.runs[gang.run.checkpoint_dir].newest
        from_step = gang.run.from_step
        gang.first = newest if from_step is None else min(from_step, newest)
        gang.begun_at = self.engine.now
        self._go_on(gang, gang.first)

    def _go_on(self, gang: Gang, step: int) -> None:
        """Work until the next thing happens: a checkpoint, a failure, the end."""
        program = self.known[gang.key[0]]
        following = min(program.steps, (step // program.every + 1) * program.every)
        if program.fails_at >= step and self._failed[gang.key[0]] < program.failures:
            following = min(following, program.fails_at)
        at = gang.begun_at + (following - gang.first) * STEP_S
        self.engine.at(at, lambda: self._reach(gang, following))

    def _reach(self, gang: Gang, step: int) -> None:
        if not gang.is_whole or not all(host.acts for host in gang.members.values()):
            return
        program = self.known[gang.key[0]]
        if step == program.fails_at and self._failed[gang.key[0]] < program.failures:
            self._failed[gang.key[0]] += 1
            self.chance.happens(Fault.ERRORS)
            self._fail(gang, program.how)
            return
        self._save(gang, step)
        if step >= program.steps:
            self._finish(gang)
        elif gang.is_whole:
            self._go_on(gang, step)

    def _save(self, gang: Gang, step: int) -> None:
        self.saved(gang, step)
        self.storage.runs[gang.run.checkpoint_dir].written.append((step, gang.key))
        first = gang.members.get(0)
        if first is None or first.runs != gang.key:
            return
        now, at = first.now, first._at
        saved = agent.Checkpoint(step, f"{gang.run.checkpoint_dir}/{step}")
        first.feed(
            agent.ProgressSeen(gang.key, agent.Progress(step), at, now),
            agent.CheckpointSeen(gang.key, saved, now),
        )

    def _finish(self, gang: Gang) -> None:
        """End well, all at once or one of them much later."""
        members = list(gang.members.values())
        is_late = len(members) > 1 and self.chance.hits(Fault.LATE_FINISHERS, 0.3)
        late = members.pop() if is_late else None
        gang.is_whole = False
        for host in members:
            self._exit(host, gang.key, 0, "")
        if late is not None:
            boot = late.state.config.boot
            self.engine.after(LATE_FINISH_S, lambda: self._exit_if(late, gang.key, boot, 0, ""))

    def _fail(self, gang: Gang, how: str) -> None:
        host = self.chance.of("failures").choice(list(gang.members.values()))
        text = "RESOURCE_EXHAUSTED: out of memory" if how == "oom" else "ValueError: a bug"
        self._exit(host, gang.key, 7, text)

    def _break(self, gang: Gang) -> None:
        for host in list(gang.members.values()):
            self._exit(host, gang.key, 1, TRANSPORT)

    def _leave(self, host: Host, key: Key, boot: str) -> None:
        gang = self._gangs.get((key, host.held.node_uid))
        if host.runs != key or host.state.config.boot != boot:
            return
        if gang is not None and gang.is_whole and host.number == 0 and gang.begun_at:
            step = gang.step_at(self.engine.now)
            if step > self.storage.runs[gang.run.checkpoint_dir].newest:
                self._save(gang, step)
        code = self.chance.of("goodbyes").choice([0, None])
        self._exit_if(host, key, boot, code, "")

    def _exit_if(self, host: Host, key: Key, boot: str, code: int | None, text: str) -> None:
        if host.state.config.boot == boot:
            self._exit(host, key, code, text)

    def _exit(self, host: Host, key: Key, code: int | None, text: str) -> None:
        if host.runs == key:
            host.feed(*host.gone(code, None if code is not None else 15, text))
