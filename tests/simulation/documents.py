"""Documents as they are written: what more than one check looks for in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def bids_of(slice_: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Give the bids of all generations of a slice."""
    for generation in slice_["generations"]:
        yield from generation["bids"]
