"""The job spec: what a user wants to be run, on what, and under which rules.

Parsed once, at the edge, from flags, ``job.yaml`` or a document, and immutable from there on.
All text in it is data: nothing here, and nothing that reads it, may put it into shell code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from shared.core import spec_text as text
from shared.core.catalog import Catalog, Tier
from shared.core.gate import PRIORITY_MAX
from shared.core.spec_errors import found, spec_error
from shared.errors import SpecError

# Generous for arguments and small environment files; whole data sets belong into the bundle.
SPEC_BYTES_MAX = 256 * 1024
ITEMS_MAX = 4096
TAGS_MAX = 32
SECONDS_MAX = 30 * 24 * 3600.0
ATTEMPTS_MAX = 1_000_000

DEFAULT_PROGRESS = r"\bstep[ =:]+(?P<step>\d+)(?:\s*/\s*(?P<total>\d+))?"

Seconds = Annotated[float, Field(ge=0, le=SECONDS_MAX, strict=True, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=ATTEMPTS_MAX, strict=True)]
Priority = Annotated[int, Field(ge=-PRIORITY_MAX, le=PRIORITY_MAX, strict=True)]
Words = Annotated[tuple[text.Text, ...], Field(max_length=ITEMS_MAX)]


def _one_or_more(value: object) -> object:
    """Take a single text for a list of one."""
    return (value,) if isinstance(value, str) else value


def _no_line(value: object) -> object:
    """Point out that a command is words; only a shell takes a line apart."""
    if isinstance(value, str):
        raise ValueError(  # noqa: TRY004 - pydantic collects values, not types
            f"expected a list of words such as [python, train.py], found {found(value)};"
            " a line for a shell goes under shell"
        )
    return value


def _script(value: object) -> object:
    """Take a text for a script that ends at its first failing line."""
    return ("bash", "-ec", value) if isinstance(value, str) else value


def _default_rule(fields: Mapping[str, object]) -> str:
    """Expect spot capacity to be taken away; elsewhere leave a lost slice to its owner."""
    return "pre" if fields.get("tier", Tier.SPOT) is Tier.SPOT else "resume"


class _Frozen(BaseModel):
    # Many functions import this and parse nothing: pydantic prepares when it is asked to.
    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True
    )


class Code(_Frozen):
    """The packed code: an object named by its content, and where it came from."""

    sha256: text.Sha256
    bytes: Annotated[int, Field(ge=0, strict=True)]
    object: text.Text
    git_commit: text.Commit | None = None
    git_dirty: Annotated[bool, Field(strict=True)] = False


class Budgets(_Frozen):
    """How often a job may be restarted before it is left to its owner."""

    preemptions: Count = 1000
    failures: Count = 3


class JobSpec(_Frozen):
    """One revision of what a user submitted; every default is written out in its document."""

    version: Literal[1] = 1
    name: text.Slug
    command: Annotated[Words, BeforeValidator(_no_line)] = ()
    shell: text.Text | None = None
    env: Annotated[Mapping[text.EnvName, text.Text], Field(max_length=ITEMS_MAX, repr=False)] = {}
    setup: Annotated[Words, BeforeValidator(_script)] | None = None
    setup_timeout_s: Seconds = 1800.0
    code: Code | None = None

    accelerator_type: text.Label | None = None
    zones: Annotated[tuple[text.Label, ...], BeforeValidator(_one_or_more)] = ()
    tier: Tier = Tier.SPOT
    i_pay: Annotated[bool, Field(strict=True)] = False
    runtime_version: text.Label | None = None
    slices: Annotated[int, Field(strict=True), AfterValidator(text.only_one)] = 1
    priority: Priority = 0

    rule: text.RulePreset = Field(default_factory=_default_rule)
    on: Mapping[text.RuleCause, text.RuleAction] = {}
    budgets: Budgets = Budgets()
    grace_s: Seconds = 30.0
    finish_grace_s: Seconds = 600.0
    hold_s: Seconds | None = None

    checkpoint_dir: text.Folder | None = None
    progress: Annotated[
        tuple[text.ProgressPattern, ...],
        BeforeValidator(_one_or_more),
        Field(max_length=TAGS_MAX),
    ] = (DEFAULT_PROGRESS,)
    tags: Annotated[
        tuple[text.Tag, ...], BeforeValidator(_one_or_more), Field(max_length=TAGS_MAX)
    ] = ()
    note: text.Text = ""

    @model_validator(mode="after")
    def _has_one_command(self) -> Self:
        """Ask for exactly one way to start the program."""
        if self.shell is not None and self.command:
            raise ValueError("give either a command or a shell line, not both")
        if self.shell is None and not self.command:
            raise ValueError("is missing: say what to run, for example [python, train.py]")
        if "" in {self.shell, *self.command[:1]}:
            raise ValueError("is empty: say what to run, for example [python, train.py]")
        return self

    @property
    def argv(self) -> tuple[str, ...]:
        """What is executed; the text of a shell line is one argument, never a part of code."""
        return self.command if self.shell is None else ("bash", "-c", self.shell)


_KEYS = {"": JobSpec.model_fields, "budgets": Budgets.model_fields, "code": Code.model_fields}


def parse_spec(fields: Mapping[str, object]) -> JobSpec:
    """Parse what a user wrote, or a document, or say which field is wrong and why."""
    if not isinstance(fields, Mapping):
        raise SpecError("job", f"expected a mapping, found {found(fields)}")
    try:
        spec = JobSpec.model_validate(dict(fields))
    except ValidationError as error:
        raise spec_error(error, _KEYS) from None
    size = len(canonical_json(spec).encode())
    if size > SPEC_BYTES_MAX:
        raise SpecError("job", f"is {size} bytes in all; at most {SPEC_BYTES_MAX} are possible")
    return spec


def resolve(spec: JobSpec, catalog: Catalog) -> JobSpec:
    """Check what the spec asks for against the catalog and fill in what follows from it."""
    if spec.accelerator_type is None:
        return spec
    accelerator = catalog.check(spec.accelerator_type, None, spec.runtime_version)
    for zone in spec.zones:
        try:
            catalog.check(spec.accelerator_type, zone)
        except SpecError as error:
            raise SpecError("zones", error.reason) from None
    runtime_version = spec.runtime_version or catalog.runtime_version(spec.accelerator_type)
    return spec.model_copy(
        update={
            "accelerator_type": accelerator.accelerator_type,
            "runtime_version": runtime_version,
        }
    )


def to_document(spec: JobSpec) -> dict[str, object]:
    """Write a spec as plain JSON values, defaults included."""
    return spec.model_dump(mode="json")


def from_document(document: Mapping[str, object]) -> JobSpec:
    """Read a spec that ``to_document`` wrote."""
    return parse_spec(document)


def canonical_json(spec: JobSpec) -> str:
    """Write a spec so that equal specs have equal bytes."""
    document = to_document(spec)
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def spec_sha256(spec: JobSpec) -> str:
    """Name a spec by its content."""
    return sha256(canonical_json(spec).encode()).hexdigest()
