"""How the chips of a slice are arranged: the words of ``acceleratorConfig``, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox.errors import JsonObject
    from shared.core.catalog import Catalog

# Topologies by chips: flat generations are meshes, the others tori of three dimensions.
_FLAT: Mapping[int, str] = {
    1: "1x1",
    4: "2x2",
    8: "2x4",
    16: "4x4",
    32: "4x8",
    64: "8x8",
    128: "8x16",
    256: "16x16",
    512: "16x32",
    1024: "32x32",
}
_CUBIC: Mapping[int, str] = {
    4: "2x2x1",
    8: "2x2x2",
    16: "2x2x4",
    32: "2x4x4",
    64: "4x4x4",
    128: "4x4x8",
    256: "4x8x8",
    512: "8x8x8",
    1024: "8x8x16",
    2048: "8x16x16",
    6144: "16x16x24",
}
# The API's own names of the generations, by the first part of an accelerator type.
_GENERATIONS: Mapping[str, tuple[str, Mapping[int, str]]] = {
    "v2": ("V2", _FLAT),
    "v3": ("V3", _FLAT),
    "v4": ("V4", _CUBIC),
    "v5litepod": ("V5LITE_POD", _FLAT),
    "v5p": ("V5P", _CUBIC),
    "v6e": ("V6E", _FLAT),
}


def config_of(accelerator_type: str, chips: int) -> JsonObject | None:
    """Return the ``acceleratorConfig`` of a type; None where its topology is not known."""
    name, topologies = _GENERATIONS.get(accelerator_type.partition("-")[0], ("", {}))
    return {"type": name, "topology": topologies[chips]} if chips in topologies else None


def type_of(catalog: Catalog, config_type: str, topology: str) -> str | None:
    """Return the accelerator type that an ``acceleratorConfig`` means."""
    wanted = {"type": config_type, "topology": topology}
    for row in catalog.accelerators.values():
        if config_of(row.accelerator_type, row.chips) == wanted:
            return row.accelerator_type
    return None
