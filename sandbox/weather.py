"""What happens to the cloud by itself: how long spot nodes live, scenarios, and faults in time.

Everything is drawn from the seed and kept as timers and plain values, so that it is the same
again with the same seed, and goes on after a restart.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from sandbox import inject
from sandbox.errors import ApiError, JsonObject, SettingsError, precondition
from sandbox.faults import Words
from sandbox.faults import parse as parse_fault
from sandbox.luck import chance_of
from sandbox.maintenance import Maintenance
from sandbox.resources import NodeState, zone_of
from sandbox.scenario import parse as parse_scenario
from sandbox.settings import Settings
from shared.core.catalog import Tier

if TYPE_CHECKING:
    from sandbox.cloud import Cloud
    from sandbox.ledger import Ledger
    from sandbox.nodes import NodePool

_log = logging.getLogger("sandbox")
_MOMENT = "scenario-moment"
_END = "end-of-life"


@dataclass(slots=True)
class Played:
    """The scenario that is on: ``before`` are the settings to go back to."""

    title: str
    began_at: float
    before: JsonObject
    done: list[JsonObject] = field(default_factory=list)


class Weather:
    """Luck and faults of one cloud."""

    def __init__(self, cloud: Cloud, ledger: Ledger, pool: NodePool) -> None:
        self._cloud = cloud
        self._ledger = ledger
        self.maintenance = Maintenance(ledger, pool, cloud.reclaim)
        # How many nodes were born by each law's zone and type, and how often luck was asked.
        self.born: Counter[str] = Counter()
        self.asked = 0
        self.seed = ledger.chance.getrandbits(32)
        self.played: Played | None = None
        self.handlers: Mapping[str, Callable[[str, str], None]] = {
            **self.maintenance.handlers,
            _END: self._end_life,
            _MOMENT: lambda _, moment: self._happen(json.loads(moment)),
            inject.OVER: lambda _, cure: inject.undo(cloud, json.loads(cure)),
        }

    # --- Spot nodes ---------------------------------------------------------------------------

    def node_is_ready(self, name: str) -> None:
        """Draw how long a spot node lives, from the moment at which it is READY."""
        node, settings = self._ledger.nodes[name], self._ledger.settings
        zone, kind = zone_of(name), node.spec.accelerator_type
        law = next((law for law in settings.lifetimes if law.fits(zone, kind)), None)
        if law is None or node.spec.tier is not Tier.SPOT:
            return
        number = self.born[f"{zone}/{kind}"]
        self.born[f"{zone}/{kind}"] += 1
        chance = chance_of(self._seed(), zone, kind, number)
        is_silent = chance.random() < law.silent_share
        life_s = law.draw(chance, number)
        if life_s is not None:
            end = json.dumps([str(node.id), is_silent])
            self._ledger.after(life_s, _END, name, end)

    def chance(self) -> Random:
        """Return the luck of the next fault that has to choose."""
        self.asked += 1
        return Random(f"{self._seed()}/fault/{self.asked}")

    def _end_life(self, name: str, end: str) -> None:
        node_id, is_silent = json.loads(end)
        node = self._ledger.nodes.get(name)
        if node and (str(node.id), node.state) == (node_id, NodeState.READY):
            self._cloud.preempt(name, notice=not is_silent)

    def _seed(self) -> int:
        seed = self._ledger.settings.seed
        return self.seed if seed is None else seed

    # --- Faults -------------------------------------------------------------------------------

    def inject(self, words: Words) -> list[str]:
        """Let a fault happen now; return what it hit.  Raises SettingsError or ApiError."""
        return inject.apply(self._cloud, parse_fault(words))

    # --- Scenarios ----------------------------------------------------------------------------

    def play(self, fields: Mapping[str, object]) -> None:
        """Begin a scenario.  Raises SettingsError, or FAILED_PRECONDITION while one is on."""
        if self.played is not None:
            raise precondition(f"a scenario is on ({self._title()}): stop it first")
        scenario = parse_scenario(fields)
        before = self._ledger.settings
        self._ledger.settings = scenario.settings_on(before)
        self.played = Played(scenario.title, self._ledger.now, before.dumped())
        self.born.clear()
        self.asked = 0
        for moment in scenario.moments():
            detail = {"at_s": moment.at_s, "fault": moment.fault, "capacity": moment.capacity}
            self._ledger.after(moment.at_s, _MOMENT, "", json.dumps(detail))

    def stop(self) -> None:
        """End the scenario: nothing of it happens any more, the settings are as before it.

        What it has broken stays broken, and nodes keep the end that was drawn for them.
        """
        if self.played is None:
            raise precondition("no scenario is on")
        self._ledger.settings = Settings.parse(self.played.before)
        self.forget()

    def forget(self) -> None:
        """Let no scenario be on, and leave the settings alone."""
        self._ledger.timers.drop(_MOMENT)
        self.played = None

    def show(self) -> JsonObject | None:
        """Say what has happened and what is to come; None when no scenario is on."""
        if self.played is None:
            return None
        ahead = [json.loads(timer.detail) for timer in self._ledger.timers.of(_MOMENT)]
        return {
            "title": self.played.title,
            "began_at": self.played.began_at,
            "seed": self._ledger.settings.seed,
            "speed": self._ledger.settings.speed,
            "done": list(self.played.done),
            "ahead": ahead,
        }

    def _happen(self, moment: JsonObject) -> None:
        """Let one moment come true; a fault that finds nobody to hit is no error."""
        assert self.played, "moments end with their scenario"
        if moment["capacity"] is not None:
            self._ledger.settings = self._ledger.settings.updated({"capacity": moment["capacity"]})
            self.played.done.append(moment)
            return
        words = moment["fault"]
        assert isinstance(words, dict), "a moment is a fault or capacities"
        try:
            hit, trouble = self.inject(words), ""
        except (ApiError, SettingsError) as error:
            hit, trouble = [], str(error)
            _log.warning("scenario, %s s: %s: %s", moment["at_s"], words["fault"], error)
        self.played.done.append({**moment, "hit": hit, "trouble": trouble})

    def _title(self) -> str:
        return self.played.title or "without a title" if self.played else ""
