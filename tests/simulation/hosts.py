"""Hosts: the agent's own state machine on a machine that can die, be cut off, or go silent.

A host acts when something happened to it, not at every poll: reading an unchanged mandate renews
its lease and does nothing else, so that is done when it next matters.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from shared.errors import Unavailable
from shared.host import agent
from tests.simulation.chance import Fault
from tests.simulation.voices import Voice

if TYPE_CHECKING:
    from tests.simulation.requested import Request
    from tests.simulation.surroundings import Surroundings

RESTART_S = 3.0
_parse_mandate = lru_cache(maxsize=256)(agent.parse_mandate)
_parse_config = lru_cache(maxsize=256)(agent.parse_config)


class Host:
    """One host of one node, from its first boot to the end of its power."""

    def __init__(self, held: Request, number: int, around: Surroundings) -> None:
        self.held, self.number, self.around = held, number, around
        self.has_power = True
        self.is_dead = self.is_cut_off = False
        self.obeys = True
        self.boots = 0
        self.voice = Voice(self)
        self._looks_at = -1.0
        self._stirred_at = 0.0
        self.state = self._boot()

    # --- What happens to it ---------------------------------------------------------------------

    def begin(self) -> None:
        """Boot: the agent looks for its mandate."""
        self.look()

    def power_off(self) -> None:
        """Lose everything at once."""
        self.voice.fall_silent()
        self.has_power = False
        self._kill_program()

    def die(self) -> None:
        """Stop doing anything while the node still looks well."""
        self.voice.fall_silent()
        self.is_dead = True
        self._kill_program()

    def reboot(self) -> None:
        """Restart the machine."""
        if self.acts:
            self._kill_program()
            self.stir()
            self.state = self._boot()
            self.around.engine.after(RESTART_S, self._begin_again)

    def restart_agent(self) -> None:
        """Let the agent die with its program, and come back within the same boot."""
        if self.acts:
            self._kill_program()
            self.stir()
            record, now = self.state.record, self.around.engine.now
            self.state = agent.initial(self.state.config, record, now)
            self.around.engine.after(RESTART_S, self._begin_again)

    def notice(self) -> None:
        """Tell the machine that it will be taken away."""
        if self.acts:
            self.feed(agent.NoticeSeen("preempted", self.now))

    def cut_off(self, *, is_cut: bool) -> None:
        """Take storage away from this host, or give it back."""
        if is_cut and not self.is_cut_off:
            self._renew()
            self.is_cut_off = True
            self._watch_lease()
        self.is_cut_off = is_cut
        self.stir()
        if not is_cut:
            self.look()

    def stir(self) -> None:
        """Remember when something last happened to it that takes a moment to get over."""
        self._stirred_at = self.now

    def _begin_again(self) -> None:
        if self.acts:
            self.look()

    def _kill_program(self) -> None:
        live = self.state.live
        if live is not None:
            self.around.programs.kill(self, live.key)

    # --- What it does ---------------------------------------------------------------------------

    @property
    def acts(self) -> bool:
        """It is a machine that runs."""
        return self.has_power and not self.is_dead

    @property
    def now(self) -> float:
        """The agent's clock: it counts from no particular moment."""
        return self.around.engine.now

    @property
    def runs(self) -> tuple[str, int] | None:
        """The job and attempt that live here."""
        return self.state.live.key if self.acts and self.state.live else None

    @property
    def has_spoken(self) -> bool:
        """It has said something since its first boot, to whomever."""
        return self.voice.has_spoken or self.boots > 1

    @property
    def is_out_of_reach(self) -> bool:
        """It is cut off from something, whatever that is."""
        return self.is_cut_off or self.voice.is_mute or self.voice.is_off_the_bus

    def is_readable(self, slack_s: float) -> bool:
        """It cannot publish, and has long been able to say in storage what is true."""
        storage = self.around.storage
        since = max(self._stirred_at, storage.up_since)
        can_speak = self.acts and agent._has_token(self.state)
        can_reach = not self.is_cut_off and not storage.is_down
        return self.voice.is_off_the_bus and can_speak and can_reach and self.now - since > slack_s

    def changed(self) -> None:
        """The mandate changed: it is read at the next poll."""
        if self.acts:
            poll_s = agent.poll_s(self.state)
            self._look_after(self.around.chance.of("polls").uniform(0.0, poll_s))

    def hear_bell(self) -> None:
        """Read the mandate now."""
        if self.acts:
            self._look_after(1.0)

    def look(self) -> None:
        """Read the mandate, and do what follows."""
        if self.acts:
            self.feed(self._read())

    def feed(self, *events: agent.Event) -> None:
        """Take in facts, and those that follow from what was decided on them."""
        if not self.acts:
            return
        self._renew()
        waiting = list(events)
        while waiting:
            event = waiting.pop(0)
            self.state, actions = agent.step(self.state, event)
            for action in actions:
                waiting += self._perform(action)
        self._watch_end()

    @property
    def _at(self) -> str:
        return self.around.clock.now().isoformat()

    def _boot(self) -> agent.State:
        self.boots += 1
        self.voice.begin()
        boot = f"{self.held.node_uid}-{self.number}-boot-{self.boots}"
        hostname = f"t1v-{self.held.node_uid}-w-{self.number}"
        machine = agent.Machine("", self.number, hostname, boot, "10.0.0.1")
        config = self.held.asked.metadata["tpuctl-config"].encode()
        return agent.initial(_parse_config(config, machine), None, self.now)

    def _read(self) -> agent.Event:
        if self.is_cut_off:
            return agent.ReadFailed("cut off", is_unusable=False, now=self.now)
        try:
            stored = self.around.storage.get(self.state.config.mandate)
        except Unavailable as error:
            self._look_after(agent.READ_RETRY_S_MAX * 12)
            return agent.ReadFailed(str(error), is_unusable=False, now=self.now)
        if stored is None:
            self._look_after(60.0)
            return agent.ReadFailed("it does not exist", is_unusable=True, now=self.now)
        return agent.MandateRead(_parse_mandate(stored.data), self.now, self.now)

    def _renew(self) -> None:
        """Do what the polls did since: an unchanged mandate renews the lease."""
        is_reading = not self.is_cut_off and not self.around.storage.is_down
        if is_reading and self.state.read_sent_at is not None:
            self.state = replace(self.state, read_sent_at=self.now)

    def _look_after(self, seconds: float) -> None:
        """Read soon, once; a sooner look makes a later one needless."""
        at = self.now + seconds
        if not self.now <= self._looks_at <= at:
            self._looks_at = at
            self.around.engine.at(at, self._look_if_due)

    def _look_if_due(self) -> None:
        if self.now >= self._looks_at:
            self.look()

    def _watch_end(self) -> None:
        """Look again when the grace of what was told to go is over."""
        live = self.state.live
        if live is not None and live.kill_at is not None:
            self.around.engine.at(live.kill_at, self._tick)

    def _watch_lease(self) -> None:
        """Look at the moments at which a host that cannot read has to do something."""
        live = self.state.live
        begun, engine = self.now, self.around.engine
        times = [agent.READ_SILENCE_S_MAX + 1.0]
        if live is not None:
            times += [agent._safe_age_s(live), live.lease_s]
        for seconds in times:
            engine.at(begun + seconds, self._fail_to_read)

    def watch_outage(self) -> None:
        """Storage is down for everybody: count the lease from the last read."""
        if self.acts:
            self._watch_lease()

    def _fail_to_read(self) -> None:
        if self.acts and (self.is_cut_off or self.around.storage.is_down):
            self.feed(agent.ReadFailed("no answer", is_unusable=False, now=self.now))

    def _tick(self) -> None:
        live = self.state.live
        if self.acts and live is not None and live.kill_at is not None:
            self.feed(agent.Tick(self.now))

    def _perform(self, action: agent.Action) -> list[agent.Event]:
        match action:
            case agent.Prepare():
                return self._prepare(action)
            case agent.StopPreparing():
                return [agent.PreparationEnded("", None, None, self.now)]
            case agent.Spawn():
                self.around.programs.spawn(self, action)
                return [agent.WorkloadStarted(action.attempt.key, self._at, self.now)]
            case agent.Terminate():
                self.around.programs.terminate(self)
            case agent.Kill():
                return self.gone(signal=9)
            case agent.Reboot():
                self.reboot()
            case agent.Report():
                self.voice.say()
        return []

    def gone(
        self, exit_code: int | None = None, signal: int | None = None, text: str = ""
    ) -> list[agent.Event]:
        """Say that the program ended, all of it, and that its logs are shipped."""
        live = self.state.live
        if live is None:
            return []
        self.around.programs.ended(self, live.key)
        key, now = live.key, self.now
        return [
            agent.CommandExited(key, exit_code, signal, text, now, self._at, now),
            agent.WorkloadGone(key, text, now),
            agent.LogsShipped(key, now),
        ]

    def _prepare(self, action: agent.Prepare) -> list[agent.Event]:
        around, spec = self.around, action.spec.sha256
        if around.chance.hits(Fault.SLOW_SETUP, 0.05):
            return []
        if around.chance.hits(Fault.SETUP_FAILS, 0.08):
            failure = agent.SetupFailure(spec, 3, None, "no such package", action.tries)
            ended = agent.PreparationEnded(spec, None, failure, self.now)
        else:
            ended = agent.PreparationEnded(spec, around.grace_s, None, self.now)
        boot = self.state.config.boot
        wait_s = around.chance.of("setups").uniform(5.0, 60.0)
        around.engine.after(wait_s, lambda: self._prepared(boot, ended))
        return []

    def _prepared(self, boot: str, ended: agent.PreparationEnded) -> None:
        preparing = self.state.preparing
        is_its = preparing is not None and preparing.spec == ended.spec
        if self.acts and self.state.config.boot == boot and is_its:
            self.feed(replace(ended, now=self.now))
