"""The metadata tree of one host, and how it is shown: pure, no server here.

Keys are Google's. In JSON they turn to camelCase, except below ``attributes``, and numbered ones
to a list; as text, a directory is a listing and a value is itself.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from sandbox import guest_attributes, shapes
from sandbox.ledger import node_name
from sandbox.resources import Host, Node, location_of, short, zone_of
from shared.core.catalog import Tier

if TYPE_CHECKING:
    from sandbox.cloud import Cloud

Tree: TypeAlias = Mapping[str, "Tree | str"]

SERVICE_ACCOUNT = "default"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_TPU_PORT = 8470
_MEGASCALE_PORT = 8080


class Attributes(dict[str, str]):
    """A directory whose keys users chose: they are shown as they are."""


@dataclass(frozen=True, slots=True)
class View:
    """One answer: its text, its type, and the tag that tells whether it has changed."""

    text: str
    content_type: str
    etag: str


@dataclass(frozen=True, slots=True)
class Slices:
    """The slices that were asked for as one: how many, which one this is, who coordinates."""

    count: int
    index: int
    coordinator: str

    def variables(self) -> dict[str, str]:
        """Return the words by which libtpu and JAX find the other slices."""
        return {
            "MEGASCALE_COORDINATOR_ADDRESS": f"{self.coordinator}:{_MEGASCALE_PORT}",
            "MEGASCALE_NUM_SLICES": str(self.count),
            "MEGASCALE_SLICE_ID": str(self.index),
        }


def slices_of(cloud: Cloud, node: Node) -> Slices | None:
    """Return what a host knows of its sibling slices; None for a slice by itself."""
    queued = cloud.queued_resources.get(node.queued_resource)
    if queued is None or not node.spec.wish.is_multislice:
        return None
    siblings = [node_name(location_of(node.name), spec) for spec in queued.specs]
    first = cloud.nodes.get(siblings[0])
    host = cloud.hosts.get(first.hosts[0]) if first else None
    return Slices(len(siblings), siblings.index(node.name), host.ip if host else "")


def email_of(project: str) -> str:
    """Return the service account that all hosts of the sandbox run as."""
    return f"tpu-hosts@{project}.iam.gserviceaccount.com"


def tree_of(
    host: Host,
    node: Node,
    endpoints: str,
    slices: Slices | None = None,
    shared: Mapping[str, str] = MappingProxyType({}),
) -> Tree:
    """Build all that a host can read about itself.

    ``endpoints`` lists its node's hosts; ``slices`` is there where the node is one of several;
    ``shared`` is the metadata of the project.
    """
    return {
        guest_attributes.PLACE: guest_attributes.tree_of(host.guest_attributes),
        "instance": _instance(host, node, _attributes(host, node, endpoints, slices)),
        "project": {
            "attributes": Attributes(shared),
            "numeric-project-id": "0",
            "project-id": node.name.split("/")[1],
        },
    }


def find(tree: Tree, path: str) -> Tree | str | None:
    """Return the directory or value at a path, or None."""
    place: Tree | str | None = tree
    for part in filter(None, path.split("/")):
        place = place.get(part) if isinstance(place, Mapping) else None
    return place


def show(place: Tree | str, *, recursive: bool, alt: str) -> View:
    """Show a directory or a value as Google's metadata server does."""
    is_tree = isinstance(place, Mapping)
    if alt == "json" or (is_tree and recursive and alt != "text"):
        text, content_type = json.dumps(_camel(place)), "application/json"
    elif isinstance(place, Mapping):
        lines = _flat(place, "") if recursive else _listing(place)
        text, content_type = "".join(f"{line}\n" for line in lines), "application/text"
    else:
        text, content_type = place, "application/text"
    etag = hashlib.sha256(json.dumps(place, sort_keys=True).encode()).hexdigest()[:16]
    return View(text, content_type, etag)


def _instance(host: Host, node: Node, attributes: Attributes) -> Tree:
    project = node.name.split("/")[1]
    account = {"aliases": "default", "email": email_of(project), "scopes": SCOPE}
    instance: dict[str, Tree | str] = {
        "attributes": attributes,
        "hostname": f"{host.hostname}.{zone_of(node.name)}.c.{project}.internal",
        "id": str(host.id),
        "maintenance-event": host.maintenance_event,
        "name": host.hostname,
        "network-interfaces": {"0": {"ip": host.ip}},
        "preempted": "TRUE" if host.is_preempted else "FALSE",
        "scheduling": {
            "automatic-restart": "FALSE",
            "on-host-maintenance": "TERMINATE",
            "preemptible": "TRUE" if node.spec.tier is Tier.SPOT else "FALSE",
        },
        "service-accounts": {SERVICE_ACCOUNT: account, email_of(project): account},
        "zone": f"projects/0/zones/{zone_of(node.name)}",
    }
    if host.upcoming_maintenance is not None:
        instance["upcoming-maintenance"] = host.upcoming_maintenance
    return instance


def _attributes(host: Host, node: Node, endpoints: str, slices: Slices | None) -> Attributes:
    wish = node.spec.wish
    tpu_env = {**_tpu_env(host, node), **(slices.variables() if slices else {})}
    return Attributes(
        {
            "accelerator-type": wish.accelerator_type,
            "agent-worker-number": str(host.index),
            "instance-id": short(node.name),
            "tpu-env": "".join(f"{key}: '{value}'\n" for key, value in tpu_env.items()),
            "worker-network-endpoints": endpoints,
            **host.attributes,
        }
    )


def _tpu_env(host: Host, node: Node) -> dict[str, str]:
    wish = node.spec.wish
    shape = shapes.config_of(wish.accelerator_type, node.spec.chips) or {}
    known = {key.upper(): str(value) for key, value in shape.items()}
    return {
        "ACCELERATOR_TYPE": wish.accelerator_type,
        "CONSUMER_PROJECT_ID": node.name.split("/")[1],
        "NODE_ID": short(node.name),
        "RUNTIME_VERSION": wish.runtime_version,
        **known,
        "WORKER_ID": str(host.index),
        "ZONE": zone_of(node.name),
    }


def endpoints_of(hosts: list[Host]) -> str:
    """List a node's hosts as JAX reads them: ``id:port:ip``, separated by commas."""
    return ",".join(f"{host.hostname}:{_TPU_PORT}:{host.ip}" for host in hosts)


def _listing(place: Tree) -> list[str]:
    return [f"{key}/" if isinstance(value, Mapping) else key for key, value in place.items()]


def _flat(place: Tree, prefix: str) -> list[str]:
    lines = []
    for key, value in place.items():
        if isinstance(value, Mapping):
            lines += _flat(value, f"{prefix}{key}/")
        else:
            lines.append(f"{prefix}{key} {value}")
    return lines


def _camel(place: Tree | str) -> object:
    if isinstance(place, str):
        return place
    if isinstance(place, Attributes):
        return dict(place)
    if place and all(key.isdecimal() for key in place):
        return [_camel(value) for value in place.values()]
    return {_camel_key(key): _camel(value) for key, value in place.items()}


def _camel_key(key: str) -> str:
    """Turn a key to camelCase, but not an e-mail address."""
    if "@" in key:
        return key
    return re.sub(r"-([a-z])", lambda match: match[1].upper(), key)
