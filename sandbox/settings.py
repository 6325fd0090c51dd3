"""Everything about the simulated cloud that can be turned, with defaults fit for a laptop.

Durations of the real cloud stand beside the fields where they are known; the defaults are
scaled down so that a preemption and its recovery can be watched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sandbox import wrong
from sandbox.errors import STATUS_OF_HTTP, SettingsError
from sandbox.luck import Lifetime
from shared.topology import Topic

Seconds = Annotated[float, Field(ge=0, le=86_400)]
Count = Annotated[int, Field(ge=0)]


class CallFailure(BaseModel):
    """An order to fail the next ``count`` calls of one API method.

    ``method`` may be a pattern, as ``Create*``. ``when`` says where it breaks: ``before`` the
    call has an effect, ``after`` it, or in the long-running ``operation`` that it started;
    ``dropped`` breaks the connection after the effect, so that there is no reply at all.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: str
    code: Literal[*STATUS_OF_HTTP] = 503  # type: ignore[valid-type]  # keys are int literals
    count: Annotated[int, Field(ge=1)] = 1
    message: str = "The service is currently unavailable."
    when: Literal["before", "after", "operation", "dropped"] = "before"


class CallDelay(BaseModel):
    """An order to let the operations of the next ``count`` calls take another time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: str
    delay_s: Seconds
    count: Annotated[int, Field(ge=1)] = 1


class Settings(BaseModel):
    """How the cloud behaves.  Capacity counts nodes; without an entry it is unlimited."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    project: str = "sandbox"
    buckets: tuple[str, ...] = ("tpuctl-sandbox",)
    topics: tuple[str, ...] = tuple(topic.value for topic in Topic)

    create_operation_s: Seconds = 0.3
    """From the create call until the queued resource exists.  Really: seconds to minutes."""
    creating_s: Seconds = 0.05
    """In CREATING, before the request is queued."""
    waiting_s: Seconds = 0.3
    """In WAITING_FOR_RESOURCES at least.  Really: seconds to days."""
    provisioning_s: Seconds = 0.5
    """From PROVISIONING to ACTIVE.  Really: one to ten minutes."""
    ready_lag_s: Seconds = 0.0
    """From ACTIVE to the nodes being READY: they are not the same."""
    host_cores: Annotated[int, Field(ge=0, le=1024)] = 0
    """Cores of this machine that one host may use, from its next boot on; 0: all (Linux)."""
    host_memory_mib: Annotated[int, Field(ge=0, le=1 << 20)] = 0
    """Memory that all processes of one host may hold, from its next boot on, before the largest
    is killed; 0: as much as there is (Linux).
    """
    boot_s: Seconds = 0.3
    """From power-on to the startup script."""
    delete_s: Seconds = 0.5
    """From DELETING to the resource being gone.  Really: minutes, sometimes days."""
    suspend_s: Seconds = 0.5
    """From SUSPENDING to SUSPENDED."""
    patch_s: Seconds = 0.2
    """How long the operation of a node update takes."""
    metadata_lag_s: Seconds = 0.05
    """From the end of a node update to the hosts' metadata servers knowing it."""
    notice_s: Seconds = 30.0
    """From a preemption notice to the kill, if the order does not say otherwise."""
    maintenance_s: Seconds = 5.0
    """How long hosts are off for maintenance.  Really: minutes to hours."""
    speed: Annotated[float, Field(gt=0, le=1_000_000)] = 1.0
    """How much faster than a clock the cloud is: it divides every duration of the cloud."""

    seed: int | None = None
    """What the cloud's luck is drawn from; None: another one at every start."""
    lifetimes: tuple[Lifetime, ...] = ()
    """How long spot nodes live; the first that fits a node counts.  Without one: for ever."""

    zones: tuple[str, ...] | None = None
    """The zones the project may use; None: all of the catalogue."""
    unreachable: tuple[str, ...] = ()
    """Zones that do not answer: listings name them, other calls fail."""
    capacity: Mapping[str, Count] = {}
    """Nodes that fit, by ``zone/accelerator type``."""
    stockout: Literal["wait", "fail"] = "wait"
    """What becomes of a request without capacity: it stays WAITING, or FAILS with code 8."""
    sold_out: Mapping[str, Literal["wait", "fail"]] = {}
    """Zones, or ``zone/accelerator type``, without any capacity, whatever ``capacity`` says."""
    hidden: tuple[str, ...] = ()
    """Zones that listings of everything leave out without a word."""
    quota: Mapping[str, Count] = {}
    """Chips the project may hold, by ``region/generation/tier`` or ``zone/generation/tier``; a
    tier is spot, on-demand or reserved.
    """
    quota_cuts: Mapping[str, Count] = {}
    """Less than ``quota`` for a while, by the same names."""
    runtime_versions: tuple[str, ...] = ()
    """Runtime versions accepted beside those of the catalogue."""
    stuck_deletes: Count = 0
    """So many of the next deletes never end until they are ordered again."""
    failures: tuple[CallFailure, ...] = ()
    """API calls that shall fail."""
    delays: tuple[CallDelay, ...] = ()
    """API calls whose operations shall take long, or no time at all."""
    missing_nodes: Count = 0
    """So many of the next requests become ACTIVE without their last node."""
    audit_copies: Annotated[int, Field(ge=0, le=10)] = 0
    """How often each entry of the audit log is published on its topic; 0: there is no sink."""
    audit_lag_s: Seconds = 1.0
    """From an event to its entry in the audit log.  Really: seconds."""

    @classmethod
    def parse(cls, values: Mapping[str, object]) -> Settings:
        """Make settings of what a user wrote.  Raises SettingsError."""
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            raise SettingsError(wrong.with_setting(error, KEYS)) from None

    def dumped(self) -> dict[str, object]:
        """Return what ``parse`` makes these settings of."""
        return self.model_dump(mode="json")

    def updated(self, values: Mapping[str, object]) -> Settings:
        """Return a copy with some values replaced.  Raises SettingsError."""
        return self.parse({**self.model_dump(), **values})


# The keys of every level, by the setting that holds the level.
KEYS: Mapping[int | str, tuple[str, ...]] = {
    "": tuple(Settings.model_fields),
    "delays": tuple(CallDelay.model_fields),
    "failures": tuple(CallFailure.model_fields),
    "lifetimes": tuple(Lifetime.model_fields),
}
