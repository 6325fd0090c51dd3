"""`tpuctl resume` and `tpuctl rerun`: run a job that is over once more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import spec_source as source
from cli.commands.run import pack_folder
from cli.installation import Installation, for_orders
from cli.jobs import JobRow, find_job
from cli.orders import give, new_order
from cli.overrides import PLAIN, is_override
from cli.slices import name_of
from cli.times import seconds_of
from cli.words import CODE, COMMAND_ID, ENV, FILE, GRACE_S, HOLD, I_PAY, JOB, ON, RULE, RULE_ON
from shared.core.orders import OrderKind
from shared.errors import SpecError

if TYPE_CHECKING:
    from shared.core.spec import JobSpec

FROM_STEP = Annotated[
    int | None, typer.Option(min=0, metavar="N", help="Go on from this step's checkpoint.")
]
OVERRIDES = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KEY=VALUE...]", help="Arguments of the program to change: lr=3e-5."),
]
PRESUME_DEAD = Annotated[
    bool,
    typer.Option("--presume-dead", help="You know that nothing of the last attempt writes."),
]


@dataclass(frozen=True, slots=True)
class _Wish:
    """How a job shall run once more."""

    kind: OrderKind
    flags: Mapping[str, object]
    overrides: Sequence[str]
    file: Path | None
    code: Path | None
    on: str | None
    from_step: int | None
    presume_dead: bool

    @property
    def changes_the_spec(self) -> bool:
        """Anything of the spec was given anew."""
        return bool(self.flags or self.overrides) or self.file is not None or self.code is not None


def resume(  # noqa: PLR0913 - one parameter a flag
    job: JOB,
    overrides: OVERRIDES = None,
    *,
    from_step: FROM_STEP = None,
    on: ON = None,
    i_pay: I_PAY = False,
    presume_dead: PRESUME_DEAD = False,
    file: FILE = None,
    code: CODE = None,
    env: ENV = None,
    rule: RULE = None,
    rule_on: RULE_ON = None,
    grace_s: GRACE_S = None,
    hold: HOLD = None,
    command_id: COMMAND_ID = None,
) -> None:
    """Go on from the newest checkpoint.

    Without flags the job stays as it was; --code, --file, KEY=VALUE and the others replace parts
    of it: that is a new revision of the same job.
    """
    flags = _flags(
        env, rule, rule_on, i_pay=i_pay or None, grace_s=grace_s, hold_s=seconds_of("--hold", hold)
    )
    values = tuple(overrides or ())
    wish = _Wish(OrderKind.RESUME, flags, values, file, code, on, from_step, presume_dead)
    _again(job, wish, command_id)


def rerun(  # noqa: PLR0913 - one parameter a flag
    job: JOB,
    overrides: OVERRIDES = None,
    *,
    on: ON = None,
    i_pay: I_PAY = False,
    presume_dead: PRESUME_DEAD = False,
    file: FILE = None,
    code: CODE = None,
    env: ENV = None,
    rule: RULE = None,
    rule_on: RULE_ON = None,
    grace_s: GRACE_S = None,
    hold: HOLD = None,
    command_id: COMMAND_ID = None,
) -> None:
    """Start again from the first step.

    It writes into a new folder: what the earlier run left stays.
    """
    flags = _flags(
        env, rule, rule_on, i_pay=i_pay or None, grace_s=grace_s, hold_s=seconds_of("--hold", hold)
    )
    values = tuple(overrides or ())
    wish = _Wish(OrderKind.RERUN, flags, values, file, code, on, None, presume_dead)
    _again(job, wish, command_id)


def _flags(
    env: list[str] | None, rule: str | None, rule_on: list[str] | None, **others: float | None
) -> dict[str, object]:
    return source.given(
        env=source.pairs("--env", env or [], "NAME=VALUE"),
        rule=rule,
        on=source.pairs("--rule-on", rule_on or [], "CAUSE=ACTION, such as hang=stop"),
        **others,
    )


def _again(name: str, wish: _Wish, command_id: str | None) -> None:
    installation = for_orders()
    job = find_job(installation, name)
    wish = _checked(installation, job, wish)
    order = new_order(wish.kind, command_id)
    has_moved = installation.folder_of(job.member) != job.folder
    is_new = wish.changes_the_spec or has_moved
    spec = _new_spec(installation, job, wish) if is_new else None
    args = {
        "job": job.id,
        "seen_attempt": job.attempt,
        "spec": spec,
        "on": wish.on,
        "from_step": wish.from_step,
        "presume_dead": wish.presume_dead,
        "slice_uid": order.slice_uid,
    }
    give(installation, order, args)
    typer.echo(f"job {job.number} {job.name} runs again ({wish.kind})")
    typer.echo(f"next: tpuctl logs -f {job.number}, tpuctl show {job.number}")


def _checked(installation: Installation, job: JobRow, wish: _Wish) -> _Wish:
    """Look up what was named: a slice, values, a step that is there and complete."""
    for word in wish.overrides:
        if not is_override(word):
            raise SpecError(word, "expected KEY=VALUE, such as lr=3e-5")
    on = None if wish.on is None else name_of(installation, wish.on)
    if wish.from_step is not None:
        from cli.checkpoints import check_step

        check_step(installation, job, wish.from_step)
    return replace(wish, on=on)


def _new_spec(installation: Installation, job: JobRow, wish: _Wish) -> dict[str, object]:
    """Change the job's spec, upload what is new, and return it as a document."""
    from cli.upload import copy_code, upload_code, upload_spec
    from shared.core.spec import to_document

    blobs, folder = installation.blobs, installation.folder_of(job.member)
    bundle = pack_folder(wish.code)
    code = bundle.as_code() if bundle else job.fields["spec"]["code"]
    spec = _named(_written(job.fields["spec"], wish).spec(code=code), job)
    if bundle is not None:
        upload_code(blobs, bundle, folder)
    elif spec.code is not None and folder != job.folder:
        copy_code(blobs, spec.code.object, job.folder, folder)
    upload_spec(blobs, spec, folder)
    return to_document(spec)


def _written(was: Mapping[str, Any], wish: _Wish) -> source.Source:
    """Take a new file whole, or the job as it was."""
    if wish.file is not None:
        return replace(source.from_file(wish.file, wish.flags), overrides=wish.overrides)
    project = source.base_of(None).project if wish.overrides else None
    style = project.style if project is not None else PLAIN
    return source.Source(wish.flags, was, overrides=wish.overrides, style=style)


def _named(spec: JobSpec, job: JobRow) -> JobSpec:
    """Refuse another job's file: a job keeps its name."""
    if spec.name != job.name:
        raise typer.BadParameter(f"the file is of {spec.name!r}, job {job.number} is {job.name!r}")
    return spec
