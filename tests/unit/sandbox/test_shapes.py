"""How the chips of a slice are arranged."""

import math

import pytest

from sandbox import shapes
from shared.catalog_data import load_catalog
from shared.core.catalog import Accelerator

CATALOG = load_catalog()


@pytest.mark.parametrize(
    "accelerator_type, config_type, topology",
    [
        ("v2-8", "V2", "2x2"),
        ("v3-32", "V3", "4x4"),
        ("v4-8", "V4", "2x2x1"),
        ("v4-32", "V4", "2x2x4"),
        ("v5litepod-16", "V5LITE_POD", "4x4"),
        ("v5p-8", "V5P", "2x2x1"),
        ("v6e-8", "V6E", "2x4"),
        ("v6e-256", "V6E", "16x16"),
    ],
)
def test_types_and_topologies_name_each_other(
    accelerator_type: str, config_type: str, topology: str
) -> None:
    """As in Google's tables."""
    row = CATALOG.accelerators[accelerator_type]

    assert {"type": config_type, "topology": topology} == shapes.config_of(
        accelerator_type, row.chips
    )
    assert accelerator_type == shapes.type_of(CATALOG, config_type, topology)


@pytest.mark.parametrize("row", CATALOG.accelerators.values(), ids=lambda row: row.accelerator_type)
def test_topology_of_every_type_has_its_chips(row: Accelerator) -> None:
    """No type is without one."""
    config = shapes.config_of(row.accelerator_type, row.chips)

    assert config
    assert row.chips == math.prod(map(int, str(config["topology"]).split("x")))


def test_topology_that_nobody_offers_names_no_type() -> None:
    """Nor a generation that is none."""
    assert [None, None] == [
        shapes.type_of(CATALOG, "V4", "3x3x3"),
        shapes.type_of(CATALOG, "V99", "2x2"),
    ]
