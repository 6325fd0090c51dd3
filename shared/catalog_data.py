"""The catalog that ships with the product; the one place that reads its data file."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from shared.core.catalog import Catalog


@cache
def load_catalog() -> Catalog:
    """Read the catalog, once a process."""
    text = files("shared").joinpath("data/accelerators.json").read_text(encoding="utf-8")
    return Catalog.from_json(json.loads(text))
