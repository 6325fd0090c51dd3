"""Everything about the simulated cloud that can be turned, with defaults fit for a laptop.

Durations of the real cloud stand beside the fields where they are known; the defaults are
scaled down so that a preemption and its recovery can be watched.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sandbox.errors import STATUS_OF_HTTP, SettingsError
from shared.topology import Topic

Seconds = Annotated[float, Field(ge=0, le=86_400)]
Count = Annotated[int, Field(ge=0)]


class CallFailure(BaseModel):
    """An order to fail the next ``count`` calls of one API method.

    ``when`` says where it breaks: ``before`` the call has an effect, ``after`` it (a lost
    reply), or in the long-running ``operation`` that it started.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: str
    code: Literal[*STATUS_OF_HTTP] = 503  # type: ignore[valid-type]  # keys are int literals
    count: Annotated[int, Field(ge=1)] = 1
    message: str = "The service is currently unavailable."
    when: Literal["before", "after", "operation"] = "before"


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

    zones: tuple[str, ...] | None = None
    """The zones the project may use; None: all of the catalogue."""
    unreachable: tuple[str, ...] = ()
    """Zones that do not answer: listings name them, other calls fail."""
    capacity: Mapping[str, Count] = {}
    """Nodes that fit, by ``zone/accelerator type``."""
    stockout: Literal["wait", "fail"] = "wait"
    """What becomes of a request without capacity: it stays WAITING, or FAILS with code 8."""
    quota: Mapping[str, Count] = {}
    """Chips the project may hold, by ``region/generation/tier``; a tier is spot, on-demand or
    reserved.
    """
    runtime_versions: tuple[str, ...] = ()
    """Runtime versions accepted beside those of the catalogue."""
    stuck_deletes: Count = 0
    """So many of the next deletes never end until they are ordered again."""
    failures: tuple[CallFailure, ...] = ()
    """API calls that shall fail."""

    @classmethod
    def parse(cls, values: Mapping[str, object]) -> Settings:
        """Make settings of what a user wrote.  Raises SettingsError."""
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            raise SettingsError(_explain(error)) from None

    def updated(self, values: Mapping[str, object]) -> Settings:
        """Return a copy with some values replaced.  Raises SettingsError."""
        return self.parse({**self.model_dump(), **values})


def _explain(error: ValidationError) -> str:
    """Turn the first complaint into a sentence that names the setting."""
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] != "extra_forbidden":
        return f"setting {name}: {first['msg']}"
    near = get_close_matches(name, Settings.model_fields, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"there is no setting {name}{hint}"
