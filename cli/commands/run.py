"""`tpuctl run`: submit a job."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli import spec_source as source
from cli.errors import USAGE, CliError, NotFoundError
from cli.installation import Installation, for_orders, say_aside
from cli.orders import Accepted, Order, give, new_order
from cli.project_file import shown
from cli.quick import DASHES
from cli.run_words import Words, sorted_words
from cli.slices import check_name, name_of
from cli.times import seconds_of
from cli.words import CODE, COMMAND_ID, ENV, FILE, GRACE_S, HOLD, I_PAY, ON, RULE, RULE_ON
from shared.core.orders import OrderKind

if TYPE_CHECKING:
    from cli.packing import Bundle
    from shared.core.spec import JobSpec

_EXAMPLE: Final = "tpuctl run --name digits --type v4-16 --zone us-central2-b -- python train.py"


def run(  # noqa: PLR0913 - one parameter a flag
    context: typer.Context,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SLICE] [KEY=VALUE...] | [--] COMMAND...",
            help="With a tpuctl.toml or a file: where, and what is different. Else the program.",
        ),
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
    hold: HOLD = None,
    tag: Annotated[list[str] | None, typer.Option(help="To find it by; may be repeated.")] = None,
    note: Annotated[str | None, typer.Option(help="A text for people.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the job is over.")] = False,
    command_id: COMMAND_ID = None,
) -> None:
    """Run a command on a TPU slice.

    Prints the job's number as soon as the job is accepted. What is typed counts more than the
    file. With a job file, or a tpuctl.toml here or above, its folder is packed as the code;
    without one nothing is, unless --code says so.
    """
    base, words = _understood(context, file, command or ())
    on = _one_slice(on, words.slice)
    flags = source.given(
        name=name,
        command=words.command,
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
        hold_s=seconds_of("--hold", hold),
        tags=tag,
        note=note,
    )
    folder = _code_folder(base, code, no_code=no_code)
    written = base.source(flags, words.overrides, has_slice=on is not None)
    installation = for_orders()
    _tell_base(base)
    if base.knows_command and not context.meta[DASHES]:
        _check_program(installation, words)
    on = _check_slices(installation, on, slice_name, word=words.slice)
    order = new_order(OrderKind.SUBMIT, command_id)
    spec, bundle = _spec_of(written, folder, on)
    accepted = submit(installation, order, spec, bundle, (on, slice_name))
    _say(accepted, spec, folder)
    if wait:
        from cli.commands.wait import wait_for
        from cli.jobs import read_job

        wait_for(installation, [read_job(installation.store, accepted.job)])


def _understood(
    context: typer.Context, file: Path | None, command: Sequence[str]
) -> tuple[source.Base, Words]:
    """Read the file, and what the words mean beside it.  Raises CliError."""
    base = source.base_of(file)
    words = sorted_words(command, is_program=context.meta[DASHES], knows_command=base.knows_command)
    if base.file is None and not words.command:
        raise CliError(
            "COMMAND: is missing, and no tpuctl.toml here or above says what to run",
            next_step=_EXAMPLE,
            code=USAGE,
        )
    return base, words


def pack_folder(folder: Path | None) -> Bundle | None:
    """Pack the code, if there is any."""
    if folder is None:
        return None
    from cli.packing import pack

    return pack(folder)


def _code_folder(base: source.Base, code: Path | None, *, no_code: bool) -> Path | None:
    if code is not None and no_code:
        raise typer.BadParameter("--code and --no-code contradict each other")
    if no_code:
        return None
    return base.code if code is None else code


def _one_slice(on: str | None, word: str | None) -> str | None:
    if on is not None and word is not None:
        raise typer.BadParameter(f"--on {on} and {word} both name a slice: give one")
    return on or word


def _check_program(installation: Installation, words: Words) -> None:
    """Refuse a program that has a slice's name: flags behind a slice would be its arguments."""
    name = words.name_before_flags
    found = None if name is None else installation.store.get(f"slices/{name}")
    if found is not None and found.fields["live"]:
        raise CliError(
            f"{words.command[1]} stands behind {name}, which is a slice: flags come first",
            next_step=f"tpuctl run [FLAGS] {name}; tpuctl run -- {name} for a program of this name",
            code=USAGE,
        )


def _tell_base(base: source.Base) -> None:
    """Say which file is used that nobody named."""
    if base.project is not None:
        say_aside(f"from {shown(base.project.path)}")


def _check_slices(
    installation: Installation, on: str | None, slice_name: str | None, *, word: str | None
) -> str | None:
    """Return the name of the slice that is there, if one was named."""
    if on is not None and slice_name is not None:
        raise typer.BadParameter("--on names a slice that exists, --slice a new one: give one")
    if slice_name is not None:
        check_name("--slice", slice_name)
    return None if on is None else _check_on(installation, on, word)


def _check_on(installation: Installation, on: str, word: str | None) -> str:
    """Refuse a slice that is not there; one word alone may have been meant as a program."""
    try:
        return name_of(installation, on)
    except NotFoundError as error:
        step = error.next_step if word is None else f"{error.next_step}, or tpuctl run -- {word}"
        raise NotFoundError(str(error), next_step=step) from None


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
    if spec.accelerator_type is None and spec.zones and on is not None:
        raise CliError(
            f"--zone: slice {on} is where it is", next_step="leave --zone out, or leave --on out"
        )
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
