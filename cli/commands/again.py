"""`tpuctl resume` and `tpuctl rerun`: run a job that is over once more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import spec_source as source
from cli.commands.run import pack_folder
from cli.installation import Installation, for_orders
from cli.jobs import JobRow, find_job
from cli.orders import give, new_order
from cli.slices import find_slice
from cli.words import CODE, COMMAND_ID, ENV, FILE, GRACE_S, HOLD_S, I_PAY, JOB, ON, RULE, RULE_ON
from shared.core.orders import OrderKind

if TYPE_CHECKING:
    from shared.core.spec import JobSpec

FROM_STEP = Annotated[
    int | None, typer.Option(min=0, metavar="N", help="Go on from this step's checkpoint.")
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
    file: Path | None
    code: Path | None
    on: str | None
    from_step: int | None
    presume_dead: bool

    @property
    def changes_the_spec(self) -> bool:
        """Anything of the spec was given anew."""
        return bool(self.flags) or self.file is not None or self.code is not None


def resume(  # noqa: PLR0913 - one parameter a flag
    job: JOB,
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
    hold_s: HOLD_S = None,
    command_id: COMMAND_ID = None,
) -> None:
    """Go on from the newest checkpoint.

    Without flags the job stays as it was; --code, --file and the others replace parts of it.
    """
    flags = _flags(env, rule, rule_on, i_pay=i_pay or None, grace_s=grace_s, hold_s=hold_s)
    wish = _Wish(OrderKind.RESUME, flags, file, code, on, from_step, presume_dead)
    _again(job, wish, command_id)


def rerun(  # noqa: PLR0913 - one parameter a flag
    job: JOB,
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
    hold_s: HOLD_S = None,
    command_id: COMMAND_ID = None,
) -> None:
    """Start again from the first step.

    It writes into a new folder: what the earlier run left stays.
    """
    flags = _flags(env, rule, rule_on, i_pay=i_pay or None, grace_s=grace_s, hold_s=hold_s)
    wish = _Wish(OrderKind.RERUN, flags, file, code, on, None, presume_dead)
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
    if wish.on is not None:
        find_slice(installation, wish.on)
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
        return source.from_file(wish.file, wish.flags)
    return source.Source(wish.flags, was)


def _named(spec: JobSpec, job: JobRow) -> JobSpec:
    """Refuse another job's file: a job keeps its name."""
    if spec.name != job.name:
        raise typer.BadParameter(f"the file is of {spec.name!r}, job {job.number} is {job.name!r}")
    return spec
