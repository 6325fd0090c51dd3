"""The catalog knows what Cloud TPU offers and names what is near when it is asked for else."""

import pytest

from shared.catalog_data import load_catalog
from shared.core.catalog import Accelerator, Tier
from shared.errors import SpecError

CATALOG = load_catalog()


@pytest.mark.parametrize(
    "name, chips, hosts",
    [
        pytest.param("v2-8", 4, 1, id="cores are counted, not chips"),
        pytest.param("v4-16", 8, 2, id="two hosts"),
        pytest.param("v6e-8", 8, 1, id="eight chips on one host"),
        pytest.param("v5litepod-16", 16, 4, id="four chips a host"),
    ],
)
def test_shapes_are_looked_up_and_not_guessed(name: str, chips: int, hosts: int) -> None:
    """Chips and hosts come from the table."""
    found = CATALOG.accelerator(name)

    assert (chips, hosts) == (found.chips, found.hosts)


@pytest.mark.parametrize(
    "alias, name",
    [("v5e-16", "v5litepod-16"), ("v6-8", "v6e-8"), ("v5-8", "v5p-8"), ("v4-8", "v4-8")],
)
def test_aliases_mean_googles_names(alias: str, name: str) -> None:
    """People write v5e, Google v5litepod."""
    assert name == CATALOG.accelerator(alias).accelerator_type


def test_check_returns_what_the_names_mean() -> None:
    """A good triple is an accelerator."""
    expected = Accelerator("v4-16", "v4", chips=8, hosts=2)

    assert expected == CATALOG.check("v4-16", "us-central2-b", "tpu-ubuntu2204-base")


@pytest.mark.parametrize(
    "accelerator_type, zone, runtime, field, hint",
    [
        pytest.param("v4-9", None, None, "accelerator_type", "near: v4-8, v4-16", id="size"),
        pytest.param("v5e-10", None, None, "accelerator_type", "v5litepod-8", id="alias size"),
        pytest.param("v6f-8", None, None, "accelerator_type", "v6e-8", id="letter"),
        pytest.param("", None, None, "accelerator_type", "''", id="nothing"),
        pytest.param("v4-8", "us-central2-d", None, "zone", "us-central2-b", id="no such zone"),
        pytest.param("v4-8", "us-east5-a", None, "zone", "it is in us-central2-b", id="not there"),
        pytest.param(
            "v6e-8", None, "v2-alpha-tpuv6", "runtime_version", "v2-alpha-tpuv6e", id="runtime"
        ),
        pytest.param("v4-8", None, "cos", "runtime_version", "tpu-ubuntu2204-base", id="default"),
    ],
)
def test_what_is_not_offered_is_refused_with_near_names(
    accelerator_type: str, zone: str | None, runtime: str | None, field: str, hint: str
) -> None:
    """The error says which field is wrong and what would be right."""
    with pytest.raises(SpecError) as caught:
        CATALOG.check(accelerator_type, zone, runtime)

    assert field == caught.value.field
    assert hint in caught.value.reason


def test_of_many_zones_a_few_are_named_those_nearby_first() -> None:
    """They fit in a line, and the rest is counted."""
    with pytest.raises(SpecError) as caught:
        CATALOG.check("v5litepod-16", "us-central2-b", None)

    zones, _, more = caught.value.reason.partition("it is in ")[2].partition(" and ")
    offered = CATALOG.generations["v5e"].zones
    assert 5 == len([zone for zone in zones.split(", ") if zone.startswith("us-")])
    assert set(zones.split(", ")) < set(offered)
    assert f"{len(offered) - 5} more" == more


@pytest.mark.parametrize(
    "name, zone, tier, usd",
    [
        pytest.param("v4-8", "us-central2-b", Tier.SPOT, 0.9215, id="spot"),
        pytest.param("v4-8", "us-central2-b", Tier.ON_DEMAND, 3.22, id="on-demand"),
        pytest.param("v4-8", "us-central2-b", Tier.RESERVED, 3.22, id="reserved"),
        pytest.param("v3-8", "europe-west4-a", Tier.SPOT, 0.561, id="single host"),
        pytest.param("v3-32", "europe-west4-a", Tier.SPOT, 0.66, id="pod"),
        pytest.param("v6e-8", "southamerica-west1-a", Tier.SPOT, None, id="unknown price"),
        pytest.param("v2-8", "us-central1-a", Tier.SPOT, None, id="zone without a price"),
    ],
)
def test_prices_depend_on_zone_tier_and_shape(
    name: str, zone: str, tier: Tier, usd: float | None
) -> None:
    """An unknown price is None, never a guess."""
    assert usd == CATALOG.usd_per_chip_hour(name, zone, tier)


def test_every_default_runtime_and_zone_passes_the_check() -> None:
    """The data is consistent with itself."""
    for name in CATALOG.accelerators:
        for zone in CATALOG.generation(name).zones:
            CATALOG.check(name, zone, CATALOG.runtime_version(name))
