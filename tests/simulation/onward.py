"""What is known only grows: nothing older is ever written over what is newer.

Looked at with each commit, and with each mandate that is put. Raises Violation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shared.core.mandates import sequence_of
from shared.ports import Create, Document, Guard, Replace, Write
from tests.simulation.claims import claim
from tests.simulation.documents import bids_of

if TYPE_CHECKING:
    from tests.simulation.world import World

_LOOKS = ("observed_at", "absent_again_at")
_Pair = tuple[Write, Mapping[str, Any] | None]


class Onward:
    """Holds what is written against what it replaces."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._events: set[str] = set()
        self._mandates: dict[str, int] = {}

    def read(self, writes: Sequence[Write]) -> list[_Pair]:
        """Return what is about to be written over, of slices and of hosts."""
        store = self._world.store
        return [
            (write, _fields(store.get(write.path)))
            for write in writes
            if isinstance(write, Replace) and write.path.startswith("slices/")
        ]

    def committed(self, writes: Sequence[Write], replaced: Sequence[_Pair]) -> None:
        """Look at a commit that was applied."""
        for write, old in replaced:
            assert isinstance(write, Replace), "nothing else takes the place of something"
            if old is None:
                continue
            if "/hosts/" in write.path:
                _snapshot(write.path, old, write.fields)
            elif old["uid"] == write.fields["uid"]:
                _held(writes, write.path, old["job"])
                self._slice(old, write.fields)
        for write in writes:
            if isinstance(write, Create) and write.path.startswith("outbox/"):
                claim(write.path not in self._events, f"{write.path} is the id of two events")
                self._events.add(write.path)

    def put(self, name: str) -> None:
        """Look at a mandate that was written: it is never taken back by a lower one."""
        stored = self._world.storage.get(name)
        if stored is None or ".host-" in name:
            return
        sequence, before = sequence_of(stored.data), self._mandates.get(name, 0)
        claim(sequence >= before, f"{name}: sequence {sequence} took the place of {before}")
        self._mandates[name] = sequence

    def _slice(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        before = {bid["name"]: bid for bid in bids_of(old)}
        for bid in bids_of(new):
            known = before.get(bid["name"])
            if known is None:
                continue
            for look in _LOOKS:
                is_older = known[look] and bid[look] and bid[look] < known[look]
                claim(not is_older, f"{bid['name']}: an older look took the place of a newer one")
            if bid["booted_at"] and not known["booted_at"]:
                self._booted(bid)

    def _booted(self, bid: Mapping[str, Any]) -> None:
        """A bid has booted when all its own hosts have spoken."""
        everybody, uid = self._world.hosts.values(), bid["node_uid"]
        hosts = [host for host in everybody if host.held.node_uid == uid]
        have_spoken = bool(hosts) and all(host.has_spoken for host in hosts)
        claim(
            have_spoken, f"{bid['name']} is said to have booted, and not all its hosts have spoken"
        )


def _snapshot(path: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Within a boot, what a host said later is not replaced by what it said before."""
    is_same_boot = (old["slice_uid"], old["boot"]) == (new["slice_uid"], new["boot"])
    is_older = is_same_boot and new["sequence"] < old["sequence"]
    claim(not is_older, f"{path}: an older snapshot took the place of a newer one")


def _held(writes: Sequence[Write], path: str, job: str) -> None:
    """What was decided on is compared, though it is only read."""
    is_held = any(
        write.path == f"jobs/{job}" and isinstance(write, (Replace, Guard)) for write in writes
    )
    claim(not job or is_held, f"{path} was changed, and {job} that was read with it was not held")


def _fields(document: Document | None) -> Mapping[str, Any] | None:
    return None if document is None else document.fields
