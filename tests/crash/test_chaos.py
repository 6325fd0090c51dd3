"""Everything goes wrong at random, then nothing does: the job ends, and nothing is left."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from shared.core.stages import TERMINAL
from shared.errors import Busy, RateLimited, Stockout, Unavailable
from tests.agents import Host
from tests.crash.dying import DyingWorld
from tests.crash.faults import ANYWHERE, IS_DEATH, Fault, Faults
from tests.unit.app.records import JOB
from tests.unit.app.world import ZONE

STEPS = 60
ERRORS = (
    Unavailable("no answer"),
    Busy("not now"),
    RateLimited("too many"),
    Stockout("nothing left", zone=ZONE),
)
POINTS = ("make", "replace", "put", "create", "delete", "ring", "publish", "handle")


class RandomFaults(Faults):
    """Faults of all kinds, at random places."""

    def __init__(self, chance: Random) -> None:
        super().__init__(Fault.FAILS, frozenset(POINTS))
        self.chance = chance

    def choose(self, point: str, place: tuple[str, str]) -> Fault | None:  # noqa: ARG002
        """Let one in fifteen go wrong; a function that has ended can only die."""
        if self.chance.random() > 1 / 15:
            return None
        return self.chance.choice(sorted(IS_DEATH) if point == "handle" else ANYWHERE)


class Chaos:
    """What the cloud, the hosts, the users and the network do at random."""

    def __init__(self, world: DyingWorld, chance: Random) -> None:
        self._world, self._chance = world, chance
        self._saved = self._orders = 0
        self.deeds: list[Callable[[], object]] = [
            *[lambda: None] * 12,
            self._preempt,
            self._vanish,
            self._fail_in_cloud,
            lambda: self._with_host(lambda host: host.notice()),
            lambda: self._with_host(lambda host: host.reboot()),
            lambda: self._with_host(self._save),
            lambda: self._with_host(self._fail),
            lambda: self._with_host(self._toggle),
            lambda: world.ticks(chance.choice([5.0, 15.0, 30.0])),
            self._stop,
            self._go_on,
        ]

    def act(self) -> None:
        """Do one thing."""
        self._chance.choice(self.deeds)()

    def _name(self) -> str | None:
        names = self._world.slices.names
        return self._chance.choice(names) if names else None

    def _preempt(self) -> None:
        name = self._name()
        if name and self._world.slices._held[name].shown.state == "ACTIVE":
            self._world.slices.preempt(name)

    def _vanish(self) -> None:
        name = self._name()
        if name:
            self._world.slices.vanish(name)

    def _fail_in_cloud(self) -> None:
        method = self._chance.choice(["create", "delete", "list", "get"])
        self._world.slices.fail_next(method, self._chance.choice(ERRORS))

    def _with_host(self, do: Callable[[Host], None]) -> None:
        if self._world.farm.living:
            do(self._chance.choice(self._world.farm.living))

    def _stop(self) -> None:
        """Give up, once in a while."""
        if self._chance.random() < 1 / 5:
            self._world.order("stop", {"job": JOB, "kill": self._chance.random() < 1 / 2})

    def _go_on(self) -> None:
        """Change one's mind, on the slice that is there or on another one."""
        job = self._world.job()
        if job.stage in TERMINAL:
            self._orders += 1
            kind = self._chance.choice(["resume", "rerun"])
            uid = f"again{self._orders:03}"
            args = {"job": JOB, "seen_attempt": job.attempt, "slice_uid": uid}
            self._world.order(kind, args)

    def _save(self, host: Host) -> None:
        """Save ever newer checkpoints, or the failures of the program would be its end."""
        self._saved += 1
        if host.runs:
            host.checkpoint(self._saved)

    def _fail(self, host: Host) -> None:
        if host.runs:
            host.finish(1)

    def _toggle(self, host: Host) -> None:
        name = self._chance.choice(["obeys", "is_mute", "is_cut_off", "fails_setup"])
        setattr(host, name, not getattr(host, name))


def come_to_an_end(world: DyingWorld) -> None:
    """Let nothing more go wrong, and the program succeed."""
    world.faults.is_on = False
    for host in world.farm.living:
        host.obeys, host.is_mute, host.is_cut_off, host.fails_setup = True, False, False, False

    def is_over() -> bool:
        world.farm.each(lambda host: host.finish(0))
        return world.job().stage in TERMINAL

    world.tick_until(is_over, limit_s=900.0, every_s=1.0)
    for fields in world.all("slices"):
        world.release(str(fields["name"]))
    world.tick_until_quiet()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_job_comes_to_its_end_whatever_happened(tmp_path: Path, seed: int) -> None:
    """No two attempts at once, no generation without a cause, no orphan, no open intent."""
    chance = Random(seed)
    world = DyingWorld(tmp_path, RandomFaults(chance))
    world.faults.is_on = False
    world.submit(budgets={"failures": 100}, finish_grace_s=20.0, on={"error": "resume:50"})
    world.faults.is_on = True
    world.chance = chance
    chaos = Chaos(world, chance)
    for _ in range(STEPS):
        chaos.act()
        world.tick()
    come_to_an_end(world)

    attempts = world.attempts()
    assert list(range(len(attempts))) == [attempt.number for attempt in attempts]
    assert all(attempt.cause is not None for attempt in attempts)
    assert world.job().attempt == len(attempts) - 1
    assert world.deaths > 0
    assert_generations_were_wanted(world)
    world.close()


def assert_generations_were_wanted(world: DyingWorld) -> None:
    """Generations grow by one, and begin at 1 with each new slice."""
    texts = [str(fields["text"]) for fields in world.all(f"jobs/{JOB}/timeline")]
    newest: dict[str, int] = {}
    for text in texts:
        if text.startswith("asking for generation "):
            *_, number, _, name = text.split()
            assert int(number) in {1, newest.get(name, 0) + 1}, texts
            newest[name] = int(number)
    found = {str(fields["name"]): fields["generation"] for fields in world.all("slices")}
    assert found == newest
