"""The methods that tell what there is to be had: locations, types, versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox import render, shapes
from sandbox.admission import runtime_versions
from sandbox.errors import not_found
from sandbox.listing import in_location, paged
from sandbox.resources import zone_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sandbox.asked import Ask
    from sandbox.cloud import Cloud
    from sandbox.errors import JsonObject

# The last ones that Cloud TPU named; nothing can be made with them any more.
TENSORFLOW_VERSIONS = ("2.10.1", "2.11.1", "2.12.1", "nightly")


def list_locations(cloud: Cloud, ask: Ask) -> JsonObject:
    """List the zones that the project may use."""
    cloud.check_project(ask.location)
    return paged(
        ask,
        "locations",
        sorted(cloud.zones()),
        lambda zone: render.location(ask.project, zone),
    )


def read_location(cloud: Cloud, ask: Ask) -> JsonObject:
    """Read a location."""
    cloud.check_location(ask.location)
    return render.location(ask.project, zone_of(ask.location))


def list_types(cloud: Cloud, ask: Ask) -> JsonObject:
    """List the accelerator types of a location."""
    return _listed(cloud, ask, "acceleratorTypes", _types)


def read_type(cloud: Cloud, ask: Ask) -> JsonObject:
    """Read an accelerator type."""
    return _read(cloud, ask, "acceleratorTypes", _types)


def list_runtimes(cloud: Cloud, ask: Ask) -> JsonObject:
    """List the runtime versions of a location."""
    return _listed(cloud, ask, "runtimeVersions", _runtimes)


def read_runtime(cloud: Cloud, ask: Ask) -> JsonObject:
    """Read a runtime version."""
    return _read(cloud, ask, "runtimeVersions", _runtimes)


def list_tensorflow(cloud: Cloud, ask: Ask) -> JsonObject:
    """List TensorFlow versions, as version 1 does."""
    return _listed(cloud, ask, "tensorflowVersions", _tensorflow)


def read_tensorflow(cloud: Cloud, ask: Ask) -> JsonObject:
    """Read a TensorFlow version."""
    return _read(cloud, ask, "tensorflowVersions", _tensorflow)


def list_reservations(cloud: Cloud, ask: Ask) -> JsonObject:
    """List reservations: the sandbox has none to show."""
    cloud.check_location(ask.location)
    return {}


def make_identity(cloud: Cloud, ask: Ask) -> JsonObject:
    """Return the service's own account."""
    cloud.check_location(ask.location)
    return {"identity": {"email": "service-0@cloud-tpu.iam.gserviceaccount.com"}}


# --- Helpers ----------------------------------------------------------------------------------


def _listed(
    cloud: Cloud, ask: Ask, collection: str, of: Callable[[Cloud, str], Mapping[str, JsonObject]]
) -> JsonObject:
    zones = cloud.zones() if zone_of(ask.location) == "-" else {zone_of(ask.location)}
    rows = {
        name: row
        for zone in zones
        for name, row in _named(cloud, ask, collection, of, zone).items()
    }
    return in_location(cloud, ask, collection, rows, lambda name: rows[name])


def _read(
    cloud: Cloud, ask: Ask, collection: str, of: Callable[[Cloud, str], Mapping[str, JsonObject]]
) -> JsonObject:
    cloud.check_location(ask.location)
    rows = _named(cloud, ask, collection, of, zone_of(ask.location))
    if ask.name(collection) not in rows:
        raise not_found(ask.name(collection))
    return rows[ask.name(collection)]


def _named(
    cloud: Cloud,
    ask: Ask,
    collection: str,
    of: Callable[[Cloud, str], Mapping[str, JsonObject]],
    zone: str,
) -> dict[str, JsonObject]:
    names = {
        key: f"projects/{ask.project}/locations/{zone}/{collection}/{key}"
        for key in of(cloud, zone)
    }
    return {names[key]: {"name": names[key], **row} for key, row in of(cloud, zone).items()}


def _types(cloud: Cloud, zone: str) -> Mapping[str, JsonObject]:
    found: dict[str, JsonObject] = {}
    for row in cloud.catalog.accelerators.values():
        if zone in cloud.catalog.generations[row.generation].zones:
            config = shapes.config_of(row.accelerator_type, row.chips)
            configs: JsonObject = {"acceleratorConfigs": [config]} if config else {}
            found[row.accelerator_type] = {"type": row.accelerator_type, **configs}
    return found


def _runtimes(cloud: Cloud, zone: str) -> Mapping[str, JsonObject]:
    offers = (offer for offer in cloud.catalog.generations.values() if zone in offer.zones)
    versions = {version for offer in offers for version in runtime_versions(cloud.settings, offer)}
    return {version: {"version": version} for version in sorted(versions)}


def _tensorflow(_cloud: Cloud, _zone: str) -> Mapping[str, JsonObject]:
    return {version: {"version": version} for version in TENSORFLOW_VERSIONS}
