"""What no sequence of events may ever make the agent do.

A small world stands around the decisions: commands run, obey or ignore SIGTERM, exit by
themselves, and die of SIGKILL; reads come late, twice, out of order and from other slices; the
agent is restarted. Nothing in it is mocked but time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.host import agent
from tests.unit.host.states import BOOT, CONFIG, OTHER_SPEC, SPEC, mandate

LEASE_S = 20.0

Key = tuple[str, int]


@dataclass
class World:
    """One boot of a host: what the agent believes, and what is really there."""

    now: float = 0.0
    state: agent.State = field(default_factory=lambda: agent.initial(CONFIG, None, 0.0))
    durable: agent.Record | None = None
    running: Key | None = None
    preparing: agent.Prepare | None = None
    started: set[Key] = field(default_factory=set)
    permitted_at: float = 0.0
    highest: int = -1
    is_over: bool = False

    def tell(self, event: agent.Event) -> None:
        """Give an event to the agent and do what it asks."""
        before = self.state.record.seen
        self.state, actions = agent.step(self.state, event)
        assert self.state.record.seen >= before, "a lower sequence is never obeyed"
        for action in actions:
            self.perform(action)
        self.check()

    def perform(self, action: agent.Action) -> None:
        """Do one thing, as the host would."""
        if isinstance(action, agent.Persist):
            self.durable = action.record
        elif isinstance(action, agent.Prepare):
            assert self.running is None, "nothing lives while a host is prepared"
            assert self.preparing is None, "one preparation at a time"
            self.preparing = action
        elif isinstance(action, agent.Spawn):
            self.spawn(action)
        elif isinstance(action, agent.Kill):
            self.leave(None, 9)
        elif isinstance(action, agent.StopPreparing):
            assert self.preparing is not None, "only what runs is stopped"

    def spawn(self, action: agent.Spawn) -> None:
        """Start a command, if nothing speaks against it."""
        key, order = action.attempt.key, self.state.mandate
        assert order is not None, "nothing starts without a mandate"
        assert self.running is None, "two attempts never live at once"
        assert self.preparing is None, "nothing starts while a host is prepared"
        assert key not in self.started, "a boot starts an attempt once"
        assert self.durable is not None, "a start is persisted first"
        assert key in self.durable.started, "and the record names it"
        assert order.boots.get("0") == BOOT, "an unnamed boot starts nothing"
        assert order.sequence == self.highest, "only the newest mandate starts anything"
        assert not self.is_over, "an end is final"
        assert self.now - self.permitted_at < agent.START_READ_AGE_S_MAX, "the read is fresh"
        self.running = key
        self.started.add(key)

    def read(self, order: agent.Mandate, age_s: float) -> None:
        """Let the agent read a mandate that was asked for some seconds ago."""
        sent_at = max(0.0, self.now - age_s)
        is_ours = (order.slice_uid, order.generation) == ("uid", 1)
        if is_ours and order.sequence >= self.highest:
            self.highest = order.sequence
            self.permitted_at = max(self.permitted_at, sent_at)
            self.is_over = self.is_over or order.action == "end"
        self.tell(agent.MandateRead(order, sent_at, self.now))

    def leave(self, exit_code: int | None, signal: int | None) -> None:
        """Let the command end and everything it started with it."""
        if self.running is None:
            return
        key, self.running = self.running, None
        event = agent.CommandExited(key, exit_code, signal, "", self.now, "at", self.now)
        self.state, _ = agent.step(self.state, event)
        self.tell(agent.WorkloadGone(key, "", self.now))

    def end_preparation(self, *, is_success: bool) -> None:
        """Let the preparation end."""
        if self.preparing is None:
            return
        spec, self.preparing = self.preparing.spec.sha256, None
        failure = None if is_success else agent.SetupFailure(spec, 1, None, "")
        grace_s = 5.0 if is_success else None
        self.tell(agent.PreparationEnded(spec, grace_s, failure, self.now))

    def restart_agent(self) -> None:
        """Kill the agent; its supervisor kills the rest and starts it again."""
        self.running = self.preparing = None
        self.state = agent.initial(CONFIG, self.durable, self.now)
        self.permitted_at = 0.0

    def check(self) -> None:
        """Assert what must hold after every event."""
        if self.running is not None:
            assert self.now < self.permitted_at + LEASE_S, "no workload outlives its lease"
            assert self.state.live is not None, "what lives is reported as alive"
        words = agent.snapshot(self.state, sequence=1, at="")
        assert words["alive"] is (self.running is not None), "alive is what is true"


orders = st.builds(
    lambda delta, action, attempt, is_named, spec, uid: (
        delta,
        action,
        attempt,
        is_named,
        spec,
        uid,
    ),
    st.integers(-1, 2),
    st.sampled_from(["idle", "prepare", "prepare", "start", "start", "start", "end"]),
    st.integers(0, 2),
    st.sampled_from([True, True, True, False]),
    st.sampled_from([SPEC, SPEC, OTHER_SPEC]),
    st.sampled_from(["uid", "uid", "uid", "uid", "other"]),
)
deeds = st.one_of(
    st.tuples(st.just("read"), orders, st.sampled_from([0.0, 1.0, 29.0, 31.0])),
    st.tuples(st.just("pass"), st.floats(0.1, 15.0)),
    st.tuples(st.just("prepared"), st.sampled_from([True, True, True, False])),
    st.tuples(st.sampled_from(["exit", "restart", "notice", "fail", "stop"])),
)


def _do(world: World, deed: tuple[object, ...]) -> None:  # noqa: C901 - a table of deeds
    match deed:
        case (
            "read",
            (int(delta), str(action), int(attempt), is_named, agent.Content() as spec, uid),
            float(age_s),
        ):
            order = mandate(max(0, world.highest + delta), action, slice_uid=uid)
            if action == "start":
                boots = {"0": BOOT if is_named else "boot-0"}
                order = replace(order, attempt=attempt, boots=boots, lease_s=LEASE_S)
            if action in ("prepare", "start"):
                order = replace(order, spec=spec)
            world.read(order, age_s)
        case ("pass", float(seconds)):
            _let_pass(world, seconds)
        case ("prepared", bool(is_success)):
            world.end_preparation(is_success=is_success)
        case ("exit",):
            world.leave(0, None)
        case ("restart",):
            world.restart_agent()
        case ("notice",):
            world.tell(agent.NoticeSeen("preempted", world.now))
        case ("fail",):
            world.tell(agent.ReadFailed("503", is_unusable=False, now=world.now))
        case ("stop",):
            world.tell(agent.StopAsked(world.now))


def _let_pass(world: World, seconds: float) -> None:
    """Let time pass in ticks, as the agent's loop does; the lease ends on a tick at the latest."""
    until = world.now + seconds
    while world.now < until:
        next_tick = world.now + agent.TICK_S
        if world.running is not None and world.now < world.permitted_at + LEASE_S < next_tick:
            next_tick = world.permitted_at + LEASE_S
        world.now = min(until, next_tick)
        # The kill that this tick brings is part of the tick: look at the world after it.
        world.tell(agent.Tick(world.now))


@settings(max_examples=300)
@given(st.lists(deeds, max_size=40))
def test_no_sequence_of_events_breaks_a_promise(done: list[tuple[object, ...]]) -> None:
    """Two live attempts, a start of an unnamed boot or after an end, a life past the lease."""
    world = World()

    for deed in done:
        _do(world, deed)


@settings(max_examples=100)
@given(st.lists(deeds, max_size=25))
def test_after_any_history_an_end_leads_to_nothing_alive(done: list[tuple[object, ...]]) -> None:
    """However confused its life was, a host that reads an end acknowledges it."""
    world = World()
    for deed in done:
        _do(world, deed)

    world.read(mandate(world.highest + 1, "end", grace_s=3.0), 0.0)
    _let_pass(world, 3.5)
    world.end_preparation(is_success=True)

    words = agent.snapshot(world.state, sequence=1, at="")
    assert (False, "ended", world.highest) == (
        words["alive"],
        words["phase"],
        words["seen_sequence"],
    )
