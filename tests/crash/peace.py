"""What happens once nothing goes wrong any more: every job ends, and everything goes."""

from __future__ import annotations

from shared.core.codec import from_fields
from shared.core.model import Job
from shared.core.slices import Kind, Slice
from shared.core.stages import TERMINAL
from tests.crash.moments import ORPHAN, finish_setup
from tests.crash.worlds import CheapWorld

ROUNDS_MAX = 200
STEP_S = 4.0


def come_to_rest(world: CheapWorld) -> None:
    """Let every command succeed and every slice go, until nothing is left to do."""
    for _ in range(ROUNDS_MAX):
        # Nobody boots what no agent was meant for.
        world.gives = ORPHAN not in world.slices.names
        for host in world.farm.living:
            host.is_mute = host.cannot_publish = False
            finish_setup(host)
        if not is_restarting(world):
            world.farm.each(lambda host: host.finish(0))
        world.drain()
        _unpause(world)
        if are_all_over(world) and are_all_up(world):
            _release_all(world)
            if is_at_rest(world):
                return
        world.tick(STEP_S)
    raise AssertionError(f"it does not come to rest: {_why(world)}")


def are_all_over(world: CheapWorld) -> bool:
    """Every job has ended."""
    return all(fields["stage"] in set(TERMINAL) for fields in world.all("jobs"))


def is_restarting(world: CheapWorld) -> bool:
    """An owner wants hosts to reboot, and they have not heard of it yet."""
    jobs = [from_fields(Job, fields) for fields in world.all("jobs")]
    return any(job.ending is not None and job.ending.is_ordered for job in jobs)


def are_all_up(world: CheapWorld) -> bool:
    """Every slice that its owner asked for is there, or being let go."""
    slices = [from_fields(Slice, fields) for fields in world.all("slices")]
    asked = [each for each in slices if each.kind is Kind.NAMED and each.live and each.wanted]
    return all(each.current is not None and each.current.claimed for each in asked)


def is_at_rest(world: CheapWorld) -> bool:
    """Nothing lives, nothing is open, nothing is under way."""
    is_idle = not any(fields["live"] for fields in world.all("slices"))
    return is_idle and world.is_quiet() and not sum(world.bus.backlog().values())


def _unpause(world: CheapWorld) -> None:
    """What is paused goes on at last, if anything waits for that."""
    if world.store.get("control/pause") is not None and not are_all_over(world):
        world.order("unpause", {})


def _release_all(world: CheapWorld) -> None:
    for fields in world.all("slices"):
        if fields["live"] and fields["wanted"]:
            world.release(str(fields["name"]))


def _why(world: CheapWorld) -> str:
    told = [f"{each['stage']} ({each['summary']})" for each in world.all("jobs")]
    told += [str(each["summary"]) for each in world.all("slices")]
    return f"{told}, {world.slices.names}, {dict(world.bus.backlog())}, {world.all('outbox')}"
