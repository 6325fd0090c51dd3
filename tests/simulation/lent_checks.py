"""What must hold of TPUs that other people made: adopted once, and deleted only where they may be.

Raises Violation with a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shared.core.names import parse_cloud_name
from shared.core.slices import Kind
from tests.simulation.claims import claim
from tests.simulation.documents import bids_of

if TYPE_CHECKING:
    from tests.simulation.memory_store import MemoryStore
    from tests.simulation.requested import Request


class LentChecks:
    """The eyes on what is not ours."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def adopted(self, new: Mapping[str, Any]) -> None:
        """What becomes a slice is neither ours nor a slice already."""
        for bid in _bids_of_others(new):
            claim(parse_cloud_name(bid["name"]) is None, f"{bid['name']} is ours and was adopted")
            for slice_ in self._slices():
                is_other = slice_["live"] and slice_["uid"] != new["uid"]
                uids = {each["node_uid"] for each in _bids_of_others(slice_)}
                is_taken = is_other and bid["node_uid"] in uids
                claim(not is_taken, f"{bid['name']} was adopted twice")

    @staticmethod
    def changed(new: Mapping[str, Any]) -> None:
        """What its owner did not give away is never made again."""
        name, is_again = new["name"], new["kind"] == Kind.ADOPTED and new["generation"] > 1
        claim(not is_again or new["disposable"], f"{name} is theirs, and is made again")

    def removing(self, held: Request) -> None:
        """It was given away by its owner, and nobody uses it any more."""
        node = (held.asked.name, held.node_uid)
        found = [
            (slice_, bid)
            for slice_ in self._slices()
            for bid in _bids_of_others(slice_)
            if (bid["name"], bid["node_uid"]) == node
        ]
        claim(len(found) == 1, f"{node} was removed, and is {len(found)} slices")
        slice_, bid = found[0]
        claim(slice_["disposable"], f"{node} was removed, and is not disposable")
        claim(bid["condemned_at"] is not None, f"{node} was removed while it serves")

    def _slices(self) -> list[Mapping[str, Any]]:
        return [document.fields for document in self._store.documents("slices")]


def _bids_of_others(slice_: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [bid for bid in bids_of(slice_) if bid["foreign"]]
