"""A plan as the policies read it: what would be there, without what only the provider fills in.

``plan.json`` beside this file holds the plan of ``infra/tests/plan.tftest.hcl``, so that the
policies hold without terraform as well; ``make infra-check`` compares it with the real one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
INFRA = ROOT / "infra"
TOPOLOGY = ROOT / "shared" / "data" / "topology.json"
RECORD = Path(__file__).parent / "plan.json"
PREFIX = "tpuctl"
PROJECT = "example-project"

# Nested blocks of one element read better as the element.
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource that would be there.  ``late`` names what is known only once it is."""

    address: str
    type: str
    values: Values
    late: tuple[str, ...] = ()

    def block(self, *path: str) -> Values:
        """Return the only block at a path, or nothing."""
        found: Any = self.values
        for name in path:
            blocks = found.get(name) or [{}]
            found = blocks[0]
        return found if isinstance(found, dict) else {}

    def text(self, name: str) -> str:
        """Return an attribute, "" when it has no value yet."""
        return str(self.values.get(name) or "")

    @property
    def key(self) -> str:
        """The key of its ``for_each``, or nothing."""
        _, found, key = self.address.rpartition('["')
        return key.removesuffix('"]') if found else ""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that would be there."""

    resources: tuple[Resource, ...]

    def of(self, *types: str) -> Iterator[Resource]:
        """Give the resources of some types."""
        return (each for each in self.resources if each.type in types)

    def one(self, address: str) -> Resource:
        """Return the resource of an address."""
        return next(each for each in self.resources if each.address == address)


def of_changes(changes: list[dict[str, Any]]) -> Plan:
    """Read what ``terraform show -json`` or a verbose test says would change."""
    managed = (each for each in changes if each["mode"] == "managed")
    return Plan(tuple(sorted(map(_resource, managed), key=lambda each: each.address)))


def of_test_output(lines: str) -> Plan:
    """Read the plan out of ``terraform test -json -verbose``.  Raises ValueError without one."""
    for line in lines.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("type") == "test_plan":
            return of_changes(message["test_plan"]["resource_changes"])
    raise ValueError("terraform printed no plan")


def fingerprint() -> str:
    """Identify the source that a plan is made of."""
    digest = sha256(TOPOLOGY.read_bytes())
    also = (INFRA / "firestore.rules", INFRA / "tests" / "plan.tftest.hcl")
    for path in (*sorted(INFRA.rglob("*.tf")), *also):
        digest.update(path.relative_to(INFRA).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def dump(plan: Plan, source: str) -> str:
    """Write a plan as text, one resource a line, so that a change shows as a difference."""
    lines = (
        json.dumps(
            {"address": each.address, "type": each.type, "values": each.values, "late": each.late},
            sort_keys=True,
        )
        for each in plan.resources
    )
    return f'{{"source": "{source}", "resources": [\n' + ",\n".join(lines) + "\n]}\n"


def load(text: str) -> Plan:
    """Read what ``dump`` wrote."""
    return Plan(
        tuple(
            Resource(each["address"], each["type"], each["values"], tuple(each["late"]))
            for each in json.loads(text)["resources"]
        )
    )


def recorded() -> Plan:
    """Return the plan that is kept."""
    return load(RECORD.read_text("utf-8"))


def recorded_source() -> str:
    """Return the fingerprint of what the kept plan was made of."""
    return str(json.loads(RECORD.read_text("utf-8"))["source"])


def _resource(change: dict[str, Any]) -> Resource:
    after = change["change"]["after"] or {}
    unknown = change["change"]["after_unknown"]
    late = ("member",) if unknown.get("member") is True else ()
    return Resource(change["address"], change["type"], _solid(after), late)


def _solid(value: Any) -> Any:
    """Leave out what has no value."""
    if isinstance(value, dict):
        return {key: _solid(each) for key, each in value.items() if each not in (None, [], {})}
    if isinstance(value, list):
        return [_solid(each) for each in value]
    return value
