"""`tpuctl run`: submit a job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli import spec_source as source
from cli.errors import CliError
from cli.installation import Installation, for_orders
from cli.orders import Accepted, Order, give, new_order
from cli.slices import check_name, find_slice
from cli.words import CODE, COMMAND_ID, ENV, FILE, GRACE_S, HOLD_S, I_PAY, ON, RULE, RULE_ON
from shared.core.orders import OrderKind

if TYPE_CHECKING:
    from cli.packing import Bundle
    from shared.core.spec import JobSpec

_EXAMPLE: Final = "tpuctl run --name digits --type v4-16 --zone us-central2-b -- python train.py"


def run(  # noqa: PLR0913 - one parameter a flag
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[--] [COMMAND...]", help="The program and its arguments."),
    ] = None,
    *,
    name: Annotated[str | None, typer.Option(help="The job's name.")] = None,
    accelerator_type: Annotated[
        str | None, typer.Option("--type", "-t", metavar="TYPE", help="For example v4-16.")
    ] = None,
    zone: Annotated[
        list[str] | None, typer.Option(help="Where it may run; may be repeated.")
    ] = None,
    tier: Annotated[
        str | None, typer.Option(metavar="TIER", help="spot (default), on-demand or reserved.")
    ] = None,
    i_pay: I_PAY = False,
    priority: Annotated[
        int | None, typer.Option(metavar="N", help="-100 to 100: who is asked for first.")
    ] = None,
    runtime: Annotated[str | None, typer.Option(help="The image of the hosts.")] = None,
    on: ON = None,
    slice_name: Annotated[
        str | None, typer.Option("--slice", metavar="NAME", help="Name the new slice.")
    ] = None,
    file: FILE = None,
    code: CODE = None,
    no_code: Annotated[
        bool, typer.Option("--no-code", help="Pack nothing, not even the folder of the file.")
    ] = False,
    env: ENV = None,
    setup: Annotated[
        str | None, typer.Option(metavar="TEXT", help="bash, once before the first start.")
    ] = None,
    rule: RULE = None,
    rule_on: RULE_ON = None,
    checkpoint_dir: Annotated[
        str | None, typer.Option(metavar="DIR", help="A checkpoint folder to go on with.")
    ] = None,
    grace_s: GRACE_S = None,
    hold_s: HOLD_S = None,
    tag: Annotated[list[str] | None, typer.Option(help="To find it by; may be repeated.")] = None,
    note: Annotated[str | None, typer.Option(help="A text for people.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the job is over.")] = False,
    command_id: COMMAND_ID = None,
) -> None:
    """Run a command on a TPU slice.

    Prints the job's number as soon as the job is accepted. A flag counts more than the file.
    With a file its folder is packed as the code, without one nothing is, unless --code says so.
    """
    flags = source.given(
        name=name,
        command=command,
        accelerator_type=accelerator_type,
        zones=zone,
        tier=tier,
        i_pay=i_pay or None,
        priority=priority,
        runtime_version=runtime,
        env=source.pairs("--env", env or [], "NAME=VALUE"),
        setup=setup,
        rule=rule,
        on=source.pairs("--rule-on", rule_on or [], "CAUSE=ACTION, such as hang=stop"),
        checkpoint_dir=checkpoint_dir,
        grace_s=grace_s,
        hold_s=hold_s,
        tags=tag,
        note=note,
    )
    folder = _code_folder(file, code, no_code=no_code)
    installation = for_orders()
    _check_slices(installation, on, slice_name)
    order = new_order(OrderKind.SUBMIT, command_id)
    spec, bundle = _spec_of(source.from_file(file, flags), folder, on)
    accepted = submit(installation, order, spec, bundle, (on, slice_name))
    _say(accepted, spec, folder)
    if wait:
        from cli.commands.wait import wait_for
        from cli.jobs import read_job

        wait_for(installation, [read_job(installation.store, accepted.job)])


def pack_folder(folder: Path | None) -> Bundle | None:
    """Pack the code, if there is any."""
    if folder is None:
        return None
    from cli.packing import pack

    return pack(folder)


def _code_folder(file: Path | None, code: Path | None, *, no_code: bool) -> Path | None:
    if code is not None and no_code:
        raise typer.BadParameter("--code and --no-code contradict each other")
    if no_code:
        return None
    return code if code is not None or file is None else file.absolute().parent


def _check_slices(installation: Installation, on: str | None, slice_name: str | None) -> None:
    if on is not None and slice_name is not None:
        raise typer.BadParameter("--on names a slice that exists, --slice a new one: give one")
    if on is not None:
        find_slice(installation, on)
    if slice_name is not None:
        check_name("--slice", slice_name)


def _spec_of(
    written: source.Source, folder: Path | None, on: str | None
) -> tuple[JobSpec, Bundle | None]:
    """Check the spec before the code is packed: that takes longer."""
    spec = written.spec()
    _check_place(spec, on)
    bundle = pack_folder(folder)
    return (written.spec(code=bundle.as_code()) if bundle else spec), bundle


def _check_place(spec: JobSpec, on: str | None) -> None:
    """Refuse a job that names no TPU."""
    if spec.accelerator_type is None and spec.zones:
        raise CliError("--zone: needs the type too; give --type", next_step=_EXAMPLE)
    if spec.accelerator_type is None and on is None:
        raise CliError(
            "--type: is missing: say which TPU, or --on SLICE for one that is there",
            next_step=_EXAMPLE,
        )


def submit(
    installation: Installation,
    order: Order,
    spec: JobSpec,
    bundle: Bundle | None,
    place: tuple[str | None, str | None] = (None, None),
) -> Accepted:
    """Upload what a job needs and order it: on a slice that is there, or a new one's name."""
    from cli.upload import upload_code, upload_spec
    from shared.core.spec import to_document

    folder = installation.folder_of()
    if bundle is not None:
        upload_code(installation.blobs, bundle, folder)
    upload_spec(installation.blobs, spec, folder)
    args = {
        "job": order.job_id,
        "spec": to_document(spec),
        "on": place[0],
        "slice": place[1],
        "slice_uid": order.slice_uid,
    }
    return give(installation, order, args)


def _say(accepted: Accepted, spec: JobSpec, folder: Path | None) -> None:
    number = accepted.number
    code = f"code of {folder}" if folder else "no code (--code . packs this folder)"
    typer.echo(f"job {number} {spec.name} accepted, {code}")
    typer.echo(f"next: tpuctl logs -f {number}, tpuctl show {number}, tpuctl wait {number}")
