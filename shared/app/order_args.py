"""What stands in a command, checked: a user's order comes from outside."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from shared.core.orders import OrderKind
from shared.core.spec_text import Slug
from shared.errors import InvalidRequest

Id = Annotated[str, Field(pattern=r"^[a-zA-Z0-9][-a-zA-Z0-9_]{0,63}$")]
JobId = Annotated[str, Field(pattern=r"^[a-z0-9]{12}$")]
Names = Annotated[tuple[str, ...], Field(min_length=1, max_length=100)]
Zones = Annotated[tuple[Slug, ...], Field(min_length=1, max_length=100)]
ParkedKey = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
# One line for people, told by every job that waits.
Reason = Annotated[str, Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
SliceUid = Annotated[str, Field(pattern=r"^[a-z0-9]{8}$")]
SpecText = Annotated[str, Field(max_length=64)]
# The form of Google's own names.
CloudText = Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$")]


# Google's tokens have one to two thousand characters.
Token = Annotated[SecretStr, Field(max_length=8192)]


class _Late(BaseModel):
    # Many functions import this and parse nothing: pydantic prepares when it is asked to.
    model_config = ConfigDict(defer_build=True)


class _Order(_Late):
    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1]
    id: Id
    owner: Slug
    id_token: Token | None = None


class SubmitArgs(_Late):
    """A new job, on a new slice or on one that is there."""

    job: JobId
    spec: Mapping[str, object]
    on: Slug | None = None
    slice: Slug | None = None
    slice_uid: SliceUid


class StopArgs(_Late):
    """The end of a job, with its grace or without."""

    job: JobId
    kill: bool = False


class AgainArgs(_Late):
    """A job that is over, once more."""

    job: JobId
    seen_attempt: Annotated[int, Field(ge=-1)]
    spec: Mapping[str, object] | None = None
    on: Slug | None = None
    from_step: Annotated[int, Field(ge=0)] | None = None
    presume_dead: bool = False
    slice_uid: SliceUid


class ReleaseArgs(_Late):
    """A slice that nobody needs any more."""

    slice: Slug


class SliceCreateArgs(_Late):
    """A slice of its own, as a job would ask for one."""

    slice: Slug
    slice_uid: SliceUid
    accelerator_type: SpecText
    zones: Annotated[tuple[SpecText, ...], Field(max_length=100)] = ()
    tier: SpecText = "spot"
    runtime_version: SpecText | None = None
    keep: bool = False
    i_pay: bool = False


class SliceAdoptArgs(_Late):
    """A node that others made, to be used and watched."""

    slice: Slug
    slice_uid: SliceUid
    node: CloudText
    zone: Slug
    disposable: bool = False


class GrantAddArgs(_Late):
    """What may be used without paying; ``core.grant_form`` checks what the words mean."""

    name: Slug
    zones: Names
    types: Names
    tiers: Names
    chips: Annotated[int, Field(strict=True)]
    until: str
    note: str = ""


class GrantRemoveArgs(_Late):
    """A grant that counts no more."""

    name: Slug


class SweepArgs(_Late):
    """Zones in which the tick shall look for orphans."""

    zones: Zones


class ParkedRetryArgs(_Late):
    """A message that was put aside, by the key of its document."""

    key: ParkedKey


class PauseArgs(_Late):
    """From now on nothing is created."""

    reason: Reason = ""


class UnpauseArgs(_Late):
    """All goes on."""


class Submit(_Order):
    """An order to run something."""

    kind: Literal[OrderKind.SUBMIT]
    args: SubmitArgs


class Stop(_Order):
    """An order to stop a job."""

    kind: Literal[OrderKind.STOP]
    args: StopArgs


class RunAgain(_Order):
    """An order to resume or rerun a job."""

    kind: Literal[OrderKind.RESUME, OrderKind.RERUN]
    args: AgainArgs


class Release(_Order):
    """An order to let a slice go."""

    kind: Literal[OrderKind.RELEASE]
    args: ReleaseArgs


class SliceCreate(_Order):
    """An order for a slice that no job asks for."""

    kind: Literal[OrderKind.SLICE_CREATE]
    args: SliceCreateArgs


class SliceChange(_Order):
    """An order to make a slice again, or to reboot its hosts."""

    kind: Literal[OrderKind.SLICE_RECREATE, OrderKind.SLICE_RESTART]
    args: ReleaseArgs


class SliceAdopt(_Order):
    """An order to use and watch what others made."""

    kind: Literal[OrderKind.SLICE_ADOPT]
    args: SliceAdoptArgs


class GrantAdd(_Order):
    """An order to keep a grant."""

    kind: Literal[OrderKind.GRANT_ADD]
    args: GrantAddArgs


class GrantRemove(_Order):
    """An order to forget a grant."""

    kind: Literal[OrderKind.GRANT_REMOVE]
    args: GrantRemoveArgs


class Pause(_Order):
    """An order to create nothing for a while."""

    kind: Literal[OrderKind.PAUSE]
    args: PauseArgs


class Unpause(_Order):
    """An order to create again what is wanted."""

    kind: Literal[OrderKind.UNPAUSE]
    args: UnpauseArgs


class Sweep(_Order):
    """An order to look for orphans."""

    kind: Literal[OrderKind.SWEEP]
    args: SweepArgs


class ParkedRetry(_Order):
    """An order to hand over a parked message again."""

    kind: Literal[OrderKind.PARKED_RETRY]
    args: ParkedRetryArgs


GrantOrder = GrantAdd | GrantRemove
UpkeepOrder = GrantOrder | Pause | Unpause | Sweep | ParkedRetry
OwnSliceOrder = Release | SliceCreate | SliceChange | SliceAdopt
SliceOrder = Submit | Stop | RunAgain | OwnSliceOrder
Order = SliceOrder | UpkeepOrder


class _Envelope(_Late):
    order: Annotated[Order, Field(discriminator="kind")]


def parse_order(data: bytes) -> Order:
    """Read a command.  Raises InvalidRequest with the first field that is wrong."""
    try:
        return _Envelope.model_validate({"order": json.loads(data)}).order
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        raise InvalidRequest(f"command: {where}: {first['msg']}") from None
    except (ValueError, RecursionError):
        raise InvalidRequest("command: it is not JSON") from None
