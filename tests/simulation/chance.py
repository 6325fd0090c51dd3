"""What goes wrong in a seed, and when: one stream of chance for each kind of fault.

A seed has some kinds of faults and not others: many failures need that something works. A kind
that is left out changes nothing of what the others do, so a failing seed can be made smaller by
leaving kinds out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from random import Random


class Fault(StrEnum):
    """Everything that can go wrong in the world."""

    # Messages.
    DUPLICATES = "messages that come twice or more"
    REORDERING = "messages that overtake each other"
    LOSS = "messages that never come"
    LATE_MESSAGES = "messages that come an hour late"
    BUS_OUTAGE = "no message is taken or delivered for twenty minutes"
    # Functions.
    DEATHS = "functions that die before or after an effect"
    ZOMBIES = "functions that go on after their time"
    INTERLEAVING = "functions that overtake each other between two calls"
    LOST_REPLIES = "calls that succeed and fail"
    STORE_ERRORS = "a Store that does not answer"
    CONTROL_PLANE_DOWN = "no function runs for an hour"
    TICK_TWICE = "ticks that come twice"
    DEPLOYS = "an older version that runs beside the new one"
    CLOCK_SKEW = "clocks that are minutes off"
    # The cloud.
    API_ERRORS = "a cloud that answers with errors of every class"
    STALE_LISTINGS = "listings that are a minute old"
    PARTIAL_LISTINGS = "listings that leave zones out"
    STOCKOUTS = "zones that have nothing for an hour"
    QUOTA_CUT = "a quota that is cut"
    SLOW_CREATES = "requests that appear minutes after they were made"
    FAILED_CREATES = "requests that fail before they are served"
    STUCK_DELETES = "deletes that hang"
    PREEMPTIONS = "slices that are taken away"
    NOTICES = "notices half a minute before that"
    STORMS = "zones that lose all slices at once"
    BY_HAND = "requests that somebody deletes by hand"
    GLITCHES = "requests that are not found for some seconds"
    FLAPPING = "nodes that are repaired and come back"
    MAINTENANCE = "nodes that are terminated or stopped"
    # Hosts.
    SILENT_HOSTS = "hosts that die while their node is READY"
    MUTE_HOSTS = "hosts whose reports do not come through"
    CUT_OFF_HOSTS = "hosts that cannot read their orders"
    STUBBORN = "programs that do not go when they are told"
    REBOOTS = "hosts that restart"
    AGENT_DEATHS = "agents that die with their program"
    NEVER_BOOTS = "hosts that never boot"
    SLOW_SETUP = "hosts that never get prepared"
    SETUP_FAILS = "setups that fail"
    STORAGE_DOWN = "no object can be read or written for an hour"
    ERASED_BELL = "metadata that is put back to an older value"
    LOST_ENDS = "last reports that are lost or come late"
    # Programs and people.
    ERRORS = "programs that fail"
    LATE_FINISHERS = "a host that ends long after the others"
    STOPS = "owners who stop and kill"
    GOING_ON = "owners who resume and rerun"
    NEW_RULES = "owners who change the rules"
    PAUSES = "an admin who pauses everything for half an hour"
    SECOND_JOBS = "a second job on a slice that is warm"
    SAME_NAMES = "a name that is removed and made again"
    # Added last: what is drawn for those above stays as it was.
    OFF_THE_BUS = "hosts that reach storage and cannot publish"
    RESTARTS = "owners who have hosts rebooted"
    REMAKES = "owners who have slices made again"
    OWN_SLICES = "slices of their own, kept or not, with jobs on them"
    ADOPTIONS = "nodes of other people that owners adopt, and that may vanish at any time"


class Chance:
    """The chance of one seed: which faults it has, how often each comes."""

    def __init__(self, seed: int, *, without: frozenset[Fault] = frozenset()) -> None:
        self.seed = seed
        self.met: Counter[Fault] = Counter()
        self.is_on = True
        choice = Random(f"{seed}")
        share = choice.choice([0.15, 0.4, 0.7])
        drawn = {fault: choice.random() < share for fault in Fault}
        self.faults = frozenset(fault for fault in Fault if drawn[fault] and fault not in without)
        self._streams: dict[str, Random] = {}

    def of(self, what: str) -> Random:
        """Return the stream of one kind of thing; it is nobody else's."""
        stream = self._streams.get(what)
        if stream is None:
            stream = self._streams[what] = Random(f"{self.seed} {what}")
        return stream

    def has(self, fault: Fault) -> bool:
        """Tell whether this seed has a kind of fault, and is in its chaos."""
        return self.is_on and fault in self.faults

    def hits(self, fault: Fault, probability: float) -> bool:
        """Draw whether a fault happens here and now."""
        if not self.is_on or fault not in self.faults:
            return False
        if self.of(fault).random() >= probability:
            return False
        self.met[fault] += 1
        return True

    def happens(self, fault: Fault) -> None:
        """Count a fault that was planned."""
        self.met[fault] += 1


def exponential(mean: float) -> Callable[[Random], float]:
    """Draw from an exponential distribution: what a Poisson process leaves between events."""
    return lambda chance: chance.expovariate(1 / mean)
