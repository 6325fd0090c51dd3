"""What the Cloud TPU API refuses at once: bad names, types, zones, sizes, quota.

Every check raises the error that the real service answers with, and changes nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from sandbox import shapes
from sandbox.errors import (
    ApiError,
    already_exists,
    bad_field,
    invalid,
    no_access,
    quota_exceeded,
)
from sandbox.ledger import node_name, region_of
from sandbox.resources import NodeSpec, NodeWish, zone_of
from shared.core.catalog import Tier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.ledger import Ledger
    from sandbox.settings import Settings
    from shared.core.catalog import Generation

_ID = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_LABEL_KEY = re.compile(r"[a-z][-_a-z0-9]{0,62}")
_LABEL_VALUE = re.compile(r"[-_a-z0-9]{0,63}")
_METADATA_KEY = re.compile(r"[-_a-zA-Z0-9]{1,128}")

# Compute Engine's limits for instance metadata.
METADATA_VALUE_BYTES_MAX = 256 * 1024
METADATA_BYTES_MAX = 512 * 1024
LABELS_MAX = 64

# How the names of quotas begin and end: those of v4, v5e and v6e were seen, the rest follow.
_QUOTA_WORDS: Mapping[str, tuple[str, str]] = {
    "v2": ("V2", ""),
    "v3": ("V3", ""),
    "v4": ("V4s", "Pod"),
    "v5e": ("V5s", "Litepod"),
    "v5p": ("V5P", ""),
    "v6e": ("V6E", ""),
}

# What can be made with beside the version that the catalogue names first for a generation.
_BASES = ("tpu-vm-base", "tpu-vm-v4-base", "v2-alpha")
RUNTIMES_BESIDE: Mapping[str, tuple[str, ...]] = {
    "v2": _BASES,
    "v3": _BASES,
    "v4": _BASES,
    "v5e": ("v2-alpha-tpuv5",),
}


def check_location(ledger: Ledger, name: str) -> None:
    """Refuse another project's or an unknown zone; fail for one that does not answer."""
    zone = zone_of(name)
    allowed = ledger.settings.zones
    if name.split("/")[1] != ledger.settings.project or zone not in ledger.zones:
        raise no_access(zone)
    if allowed is not None and zone not in allowed:
        raise no_access(zone)
    if zone in ledger.settings.unreachable:
        raise ApiError("UNAVAILABLE", f"Location {zone} is unavailable.")


def check_id(field: str, value: str) -> None:
    """Refuse an id that is not a name in the sense of RFC 1035."""
    if not _ID.fullmatch(value):
        raise invalid(
            f"Invalid {field} '{value}': must start with a lowercase letter followed by up to "
            "62 lowercase letters, numbers, or hyphens, and cannot end with a hyphen."
        )


def check_project(ledger: Ledger, name: str) -> None:
    """Refuse another project's resources."""
    if name.split("/")[1] != ledger.settings.project:
        raise ApiError(
            "PERMISSION_DENIED",
            f"Permission denied on resource project {name.split('/')[1]}.",
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "CONSUMER_INVALID",
                "domain": "googleapis.com",
                "metadata": {
                    "consumer": "/".join(name.split("/")[:2]),
                    "service": "tpu.googleapis.com",
                },
            },
        )


def admit_node(ledger: Ledger, location: str, wish: NodeWish, tier: Tier) -> NodeSpec:
    """Check a node against the catalogue and Google's limits."""
    check_id("node_id", wish.node_id)
    wish = _with_type(ledger, wish)
    _check_hardware(ledger, zone_of(location), wish)
    check_metadata(wish.metadata)
    check_labels(wish.labels)
    shape = ledger.catalog.accelerators[wish.accelerator_type]
    return NodeSpec(wish, tier, hosts=shape.hosts, chips=shape.chips)


def check_names_free(ledger: Ledger, location: str, specs: Sequence[NodeSpec]) -> None:
    """Refuse node names that exist or are promised, or that come twice."""
    taken = ledger.taken_node_names()
    for spec in specs:
        name = node_name(location, spec)
        if name in taken:
            raise already_exists(name)
        taken.add(name)


def check_quota(ledger: Ledger, location: str, specs: Sequence[NodeSpec]) -> None:
    """Refuse more chips than the project may hold: region and zone count, each by itself."""
    zone = zone_of(location)
    wanted: Counter[tuple[str, Tier]] = Counter()
    for spec in specs:
        generation = ledger.catalog.accelerators[spec.accelerator_type].generation
        wanted[generation, spec.tier] += spec.chips
    places = (("Region", region_of(zone)), ("Zone", zone))
    for (generation, tier), (kind, place) in product(wanted, places):
        limit = ledger.quota_of(place, generation, tier)
        if limit is None:
            continue
        if ledger.chips_held(place, generation, tier) + wanted[generation, tier] > limit:
            name, end = _QUOTA_WORDS[generation]
            preemptible = "Preemptible" if tier is Tier.SPOT else ""
            metric = f"TPU{name}{preemptible}{end}PerProjectPer{kind}ForTPUAPI"
            raise quota_exceeded(metric, limit, place)


def runtime_versions(settings: Settings, offer: Generation) -> tuple[str, ...]:
    """Return the runtime versions with which hosts of a generation can be made."""
    beside = RUNTIMES_BESIDE.get(offer.name, ())
    return tuple(dict.fromkeys((offer.runtime_version, *beside, *settings.runtime_versions)))


def check_metadata(metadata: Mapping[str, str]) -> None:
    """Refuse metadata over Compute Engine's limits."""
    total = 0
    for key, value in metadata.items():
        size = len(value.encode())
        total += len(key) + size
        if not _METADATA_KEY.fullmatch(key):
            raise invalid(f"Invalid metadata key '{key}'.")
        if size > METADATA_VALUE_BYTES_MAX:
            raise invalid(
                f"Metadata value for key '{key}' is too large: {size} bytes, "
                f"the maximum is {METADATA_VALUE_BYTES_MAX}."
            )
    if total > METADATA_BYTES_MAX:
        raise invalid(f"Metadata is too large: {total} bytes, the maximum is {METADATA_BYTES_MAX}.")


def check_labels(labels: Mapping[str, str]) -> None:
    """Refuse labels that Google Cloud does not allow."""
    if len(labels) > LABELS_MAX:
        raise invalid(f"Too many labels: {len(labels)}, the maximum is {LABELS_MAX}.")
    for key, value in labels.items():
        if not (_LABEL_KEY.fullmatch(key) and _LABEL_VALUE.fullmatch(value)):
            raise invalid(f"Invalid label '{key}': '{value}'.")


def _with_type(ledger: Ledger, wish: NodeWish) -> NodeWish:
    """Name the accelerator type of a node that was described by its topology."""
    config = wish.accelerator_config
    if not config:
        return wish
    if wish.accelerator_type:
        raise bad_field(
            "accelerator_config", "Only one of accelerator_type and accelerator_config may be set."
        )
    config_type, topology = str(config.get("type", "")), str(config.get("topology", ""))
    found = shapes.type_of(ledger.catalog, config_type, topology)
    if found is None:
        raise bad_field(
            "accelerator_config", f"Invalid accelerator_config: no {config_type} of {topology}."
        )
    return replace(wish, accelerator_type=found)


def _check_hardware(ledger: Ledger, zone: str, wish: NodeWish) -> None:
    shape = ledger.catalog.accelerators.get(wish.accelerator_type)
    offer = ledger.catalog.generations[shape.generation] if shape else None
    if offer is None or zone not in offer.zones:
        raise invalid(
            "Cloud TPU received a bad request. the accelerator "
            f"{wish.accelerator_type} was not found in zone {zone} [EID: 0x7d3f1a0c]"
        )
    if not wish.runtime_version:
        raise bad_field("runtime_version", "Missing required field 'runtime_version'.")
    if wish.runtime_version not in runtime_versions(ledger.settings, offer):
        raise invalid(
            "Cloud TPU received a bad request. Invalid runtimeVersion "
            f"'{wish.runtime_version}' for {wish.accelerator_type} [EID: 0x7d3f1a0d]"
        )
