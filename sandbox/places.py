"""Zones and accelerator types as the catalogue knows them: a misspelled one never comes true."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator

from shared.catalog_data import load_catalog
from shared.core.catalog import near_names


def _known(kind: str, name: str, known: Iterable[str]) -> str:
    names = list(known)
    if name not in names:
        near = near_names(name, names)
        hint = f"; near: {', '.join(near)}" if near else ""
        raise ValueError(f"there is no {kind} {name!r}{hint}")
    return name


def _zone(name: str) -> str:
    return _known("zone", name, load_catalog().zones)


def _accelerator_type(name: str) -> str:
    return _known("accelerator type", name, load_catalog().accelerators)


def _shop(name: str) -> str:
    """Check ``zone/accelerator type``."""
    zone, slash, accelerator_type = name.partition("/")
    if not slash:
        raise ValueError(f"expected zone/accelerator type, found {name!r}")
    _zone(zone)
    _accelerator_type(accelerator_type)
    return name


Zone = Annotated[str, AfterValidator(_zone)]
AcceleratorType = Annotated[str, AfterValidator(_accelerator_type)]
Shop = Annotated[str, AfterValidator(_shop)]
