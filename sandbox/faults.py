"""Everything that can be made to go wrong in the cloud, as data.

The same words name a fault in a scenario file and in ``tpuctl sandbox inject``; what a fault
does is in ``inject.py``. Durations are the cloud's: its speed divides them.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from sandbox import wrong
from sandbox.errors import SettingsError
from sandbox.places import AcceleratorType, Zone
from sandbox.settings import CallDelay, CallFailure, Count, Seconds
from shared.core.catalog import near_names

# The methods of the Cloud TPU API; the table of them loads what the command line must not.
METHODS = (
    "CancelOperation", "CreateNode", "CreateQueuedResource", "DeleteNode", "DeleteOperation",
    "DeleteQueuedResource", "GenerateServiceIdentity", "GetAcceleratorType", "GetGuestAttributes",
    "GetLocation", "GetNode", "GetOperation", "GetQueuedResource", "GetRuntimeVersion",
    "GetTensorFlowVersion", "ListAcceleratorTypes", "ListLocations", "ListNodes", "ListOperations",
    "ListQueuedResources", "ListReservations", "ListRuntimeVersions", "ListTensorFlowVersions",
    "PerformMaintenance", "PerformMaintenanceQueuedResource", "ResetQueuedResource",
    "SimulateMaintenanceEvent", "StartNode", "StopNode", "UpdateNode", "WaitOperation",
)  # fmt: skip


def fits(name: str, pattern: str) -> bool:
    """Tell whether a name is meant by a pattern, as ``train-*``."""
    return fnmatchcase(name, pattern)


def _listed(value: object) -> object:
    """Take a list as the command line gives it: ``0,1``."""
    if isinstance(value, str):
        return tuple(int(part) if part.isdecimal() else part for part in value.split(","))
    return tuple(value) if isinstance(value, list) else (value,) if type(value) is int else value


def _method(pattern: str) -> str:
    if not any(fits(name, pattern) for name in METHODS):
        small = {name.lower(): name for name in METHODS}
        near = [small[name] for name in near_names(pattern, small)]
        hint = f"near: {', '.join(near)}" if near else "the API has others, such as GetNode"
        raise ValueError(f"there is no method {pattern!r}; {hint}")
    return pattern


Listed = BeforeValidator(_listed)
Method = Annotated[str, AfterValidator(_method)]
Service = Literal["storage", "pubsub", "metadata"]
SkewSeconds = Annotated[float, Field(ge=-10_000_000, le=10_000_000)]


class Fault(BaseModel):
    """One of them.  ``target`` is the field that the command line takes without its name."""

    # Strict: ``true`` is no number.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    target: ClassVar[str] = ""


class OnZone(Fault):
    """A fault of a zone, for a while or until it is called off."""

    target: ClassVar[str] = "zone"

    zone: Zone
    for_s: Seconds | None = None


class OnMethod(Fault):
    """A fault of calls of the methods whose names match."""

    target: ClassVar[str] = "method"

    method: Method


class OnNode(Fault):
    """A fault of READY nodes whose names match; of one of them, unless all are meant."""

    target: ClassVar[str] = "node"

    node: str = "*"
    zone: str = "*"
    pick: Literal["one", "all"] = "one"


class OnHost(OnNode):
    """A fault of hosts: those of this number, else one by luck; or all, with the nodes.

    ``node`` may be the name of a host, too.
    """

    host: Count | None = None


# --- Capacity -----------------------------------------------------------------------------------


class Stockout(OnZone):
    """A zone, or one type in it, has no capacity."""

    accelerator_type: AcceleratorType | None = None
    how: Literal["wait", "fail"] = "wait"


class QuotaCut(Fault):
    """The project may hold only so many chips."""

    target: ClassVar[str] = "region"

    region: str
    generation: str
    tier: Literal["spot", "on-demand", "reserved"] = "spot"
    chips: Count = 0
    for_s: Seconds | None = None


class Preemption(OnNode):
    """A node is taken away, as spot capacity is."""

    silent: bool = False
    notice_s: Seconds | None = None
    hosts: Annotated[tuple[Count, ...] | None, Listed] = None


# --- Calls --------------------------------------------------------------------------------------


class FailingCall(OnMethod, CallFailure):
    """Calls of a method fail."""


class LostReply(OnMethod):
    """A call has its effect, and its answer never arrives."""

    count: Annotated[int, Field(ge=1)] = 1


class SlowCall(OnMethod, CallDelay):
    """The operation of a call takes long."""


class SlowCreate(Fault):
    """The next creates take long.  Really: more than ten minutes, sometimes."""

    delay_s: Seconds = 660.0
    count: Annotated[int, Field(ge=1)] = 1


class SlowPatch(SlowCreate):
    """The next updates of nodes take long."""

    delay_s: Seconds = 60.0


class StuckDelete(Fault):
    """The next deletes never end until they are ordered again."""

    count: Annotated[int, Field(ge=1)] = 1


class Unreachable(OnZone):
    """A zone does not answer: calls fail, listings of everything name it as unreachable."""


class Hidden(OnZone):
    """A zone's resources are left out of listings of everything, without a word."""


# --- Nodes and hosts ----------------------------------------------------------------------------


class MissingNode(Fault):
    """The next requests become ACTIVE without their last node."""

    count: Annotated[int, Field(ge=1)] = 1


class Vanished(OnNode):
    """A node is gone; its request stays ACTIVE."""


class Health(OnNode):
    """The API reports another health of a node."""

    health: str = "UNHEALTHY_TENSORFLOW"
    description: str = ""


class Maintenance(OnNode):
    """Maintenance of a node: announced ``in_s`` ahead, or with no announcement at all.

    Its hosts are off for the setting ``maintenance_s``, those of spot nodes for ever.
    """

    # Cloud TPU announces it seven days ahead.
    in_s: Annotated[float, Field(ge=0, le=30 * 86_400)] | None = None


class DeadHost(OnHost):
    """A host is dead; its node stays READY."""


class SilentHost(OnHost):
    """A host runs, and reaches no service."""

    services: Annotated[tuple[Service, ...], Listed] = ("storage", "pubsub", "metadata")
    for_s: Seconds | None = None


class Reboot(OnHost):
    """A host boots anew; its disk stays."""


class ClockSkew(OnHost):
    """A host's clock goes wrong by so many seconds; the host boots with it."""

    skew_s: SkewSeconds


# --- The audit log ------------------------------------------------------------------------------


class AuditLog(Fault):
    """From now on each entry of the audit log comes so often, and so late."""

    copies: Annotated[int, Field(ge=0, le=10)] = 2
    delay_s: Seconds = 1.0


FAULTS: Mapping[str, type[Fault]] = {
    "audit-log": AuditLog,
    "call": FailingCall,
    "clock-skew": ClockSkew,
    "dead-host": DeadHost,
    "health": Health,
    "hidden": Hidden,
    "lost-reply": LostReply,
    "maintenance": Maintenance,
    "missing-node": MissingNode,
    "preempt": Preemption,
    "quota": QuotaCut,
    "reboot": Reboot,
    "silent-host": SilentHost,
    "slow-call": SlowCall,
    "slow-create": SlowCreate,
    "slow-patch": SlowPatch,
    "stockout": Stockout,
    "stuck-delete": StuckDelete,
    "unreachable": Unreachable,
    "vanish": Vanished,
}

Words: TypeAlias = Mapping[str, object]


def parse(words: Words) -> Fault:
    """Read ``{"fault": name, …}``.  Raises SettingsError that names the field."""
    field, reason, found = read(words)
    if found is None:
        raise SettingsError(f"{field}: {reason}")
    return found


def read(words: Words) -> tuple[str, str, Fault | None]:
    """Read a fault, or return the field that is wrong and why."""
    name = words.get("fault")
    kind = FAULTS.get(name) if isinstance(name, str) else None
    if kind is None:
        return "fault", _unknown(name), None
    given = {key: value for key, value in words.items() if key != "fault"}
    if target := given.pop("target", None):
        if not kind.target or kind.target in given:
            keys = ", ".join(kind.model_fields)
            return "target", f"{name} takes no name here: its keys are {keys}", None
        given[kind.target] = target
    try:
        return "", "", kind.model_validate(given)
    except ValidationError as error:
        place, reason = wrong.with_field(error, {"": kind.model_fields})
        return place or "fault", reason, None


def _unknown(name: object) -> str:
    if name is None:
        return f"is missing; there are: {', '.join(FAULTS)}"
    near = near_names(str(name), FAULTS)
    return f"there is no fault {name}; " + (
        f"did you mean {near[0]}?" if near else f"there are: {', '.join(FAULTS)}"
    )
