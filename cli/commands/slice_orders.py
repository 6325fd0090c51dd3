"""`tpuctl slice create`, `recreate`, `restart`, `adopt` and `installer`."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from cli.errors import INTERRUPTED, CliError
from cli.installation import Installation, for_orders, here, say_aside
from cli.orders import give, new_order
from cli.slices import check_name, find_slice, name_of
from cli.words import COMMAND_ID, I_PAY, SLICE
from shared.core.orders import OrderKind

_LOOK_AGAIN_S: Final = 0.1
_TIERS: Final = {"--spot": "spot", "--on-demand": "on-demand", "--reserved": "reserved"}
ZONE = Annotated[
    list[str] | None,
    typer.Option(metavar="ZONE[,ZONE]", help="Where it may be; may be repeated."),
]
WAIT = Annotated[bool, typer.Option("--wait", help="Wait until the slice is there.")]


def create(  # noqa: PLR0913 - one parameter a flag
    name: Annotated[str, typer.Argument(metavar="NAME", help="What you call it.")],
    *,
    accelerator_type: Annotated[
        str, typer.Option("--type", "-t", metavar="TYPE", help="For example v4-16.")
    ],
    zone: ZONE = None,
    spot: Annotated[bool, typer.Option("--spot", help="May be taken away (default).")] = False,
    on_demand: Annotated[bool, typer.Option("--on-demand", help="Stays until you go.")] = False,
    reserved: Annotated[bool, typer.Option("--reserved", help="Of your reservation.")] = False,
    runtime: Annotated[str | None, typer.Option(help="The image of the hosts.")] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Make it again by itself whenever it is lost.")
    ] = False,
    i_pay: I_PAY = False,
    wait: WAIT = False,
    command_id: COMMAND_ID = None,
) -> None:
    """Create a slice that stays until you remove it.

    Jobs run on it one after the other: tpuctl run --on NAME.
    """
    check_name("NAME", name)
    tier = _tier({"--spot": spot, "--on-demand": on_demand, "--reserved": reserved})
    installation = for_orders()
    order = new_order(OrderKind.SLICE_CREATE, command_id)
    args = {
        "slice": name,
        "slice_uid": order.slice_uid,
        "accelerator_type": accelerator_type,
        "zones": [each for text in zone or () for each in text.split(",") if each],
        "tier": tier,
        "runtime_version": runtime,
        "keep": keep,
        "i_pay": i_pay,
    }
    give(installation, order, args)
    typer.echo(f"slice {name} ({accelerator_type}, {tier}) is asked for")
    if wait:
        _wait_until_up(installation, name)
    typer.echo(f"next: tpuctl run --on {name} …, tpuctl slice show {name}")


def recreate(name: SLICE, *, wait: WAIT = False, command_id: COMMAND_ID = None) -> None:
    """Delete what a slice has and make it again; its job goes on on the new one."""
    installation = for_orders()
    found = name_of(installation, name)
    generation = int(find_slice(installation, found).fields["generation"])  # type: ignore[arg-type]
    give(installation, new_order(OrderKind.SLICE_RECREATE, command_id), {"slice": found})
    typer.echo(f"slice {found} is made again, generation {generation + 1}")
    if wait:
        _wait_until_up(installation, found)
    typer.echo(f"next: tpuctl slice show {found}")


def restart(name: SLICE, *, command_id: COMMAND_ID = None) -> None:
    """Reboot all hosts of a slice; its job goes on from its newest checkpoint."""
    installation = for_orders()
    found = name_of(installation, name)
    give(installation, new_order(OrderKind.SLICE_RESTART, command_id), {"slice": found})
    typer.echo(f"the hosts of slice {found} reboot\nnext: tpuctl slice show {found}")


def adopt(
    node: Annotated[str, typer.Argument(metavar="TPU", help="Its name in the cloud.")],
    *,
    zone: Annotated[str, typer.Option(metavar="ZONE", help="Where it is.")],
    name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="What you call it, by default TPU.")
    ] = None,
    disposable: Annotated[
        bool, typer.Option("--disposable", help="It may be deleted and made again.")
    ] = False,
    command_id: COMMAND_ID = None,
) -> None:
    """Use and watch a TPU that others made.

    It is never deleted or made again unless it is disposable. It is only watched until the
    installer was run on its hosts: the command for that is printed.
    """
    chosen = name or node
    check_name("TPU" if name is None else "--as", chosen)
    installation = for_orders()
    order = new_order(OrderKind.SLICE_ADOPT, command_id)
    args = {
        "slice": chosen,
        "slice_uid": order.slice_uid,
        "node": node,
        "zone": zone,
        "disposable": disposable,
    }
    give(installation, order, args)
    typer.echo(f"slice {chosen} is watched; to use it, run the installer on its hosts once:")
    typer.echo(f"  {_by_ssh(installation, chosen, node, zone)}")
    typer.echo(f"next: tpuctl slice show {chosen}")


def installer(name: SLICE) -> None:
    """Print the installer of an adopted slice: one line of shell for each of its hosts."""
    installation = here()
    document = find_slice(installation, name)
    typer.echo(_script(installation, document.fields))


def _tier(flags: Mapping[str, bool]) -> str:
    given = [flag for flag, is_given in flags.items() if is_given]
    if len(given) > 1:
        raise typer.BadParameter(f"{' and '.join(given)} contradict each other")
    return _TIERS[given[0]] if given else "spot"


def _by_ssh(installation: Installation, name: str, node: str, zone: str) -> str:
    """Write the one command that brings the installer to all hosts, as the user."""
    cloud = installation.settings.cloud
    project = f" --project={shlex.quote(cloud.project)}" if cloud is not None else ""
    return (
        f"gcloud compute tpus tpu-vm ssh {node} --zone={zone}{project} --worker=all"
        f' --command="$(tpuctl slice installer {name})"'
    )


def _script(installation: Installation, fields: Mapping[str, Any]) -> str:
    """Write the installer of the node that was adopted.  Raises CliError for any other slice."""
    from shared import wiring
    from shared.core.codec import from_fields
    from shared.core.mandates import agent_config
    from shared.core.slices import Slice
    from shared.host import installer as installer_of

    slice_ = from_fields(Slice, fields)
    current = slice_.current
    bid = current.foreign_bid if current else None
    if current is None or bid is None:
        raise CliError(
            f"slice {slice_.name} needs no installer: it was not adopted",
            next_step="tpuctl slice ls",
        )
    place, policy = wiring.agent_place(installation.settings), installation.settings.policy
    return installer_of(agent_config(slice_, current, bid, place, policy))


def _wait_until_up(installation: Installation, name: str) -> None:
    """Wait until a slice serves.  Raises CliError when nobody waits any more, or it is not made."""
    try:
        _tell_until_up(installation, name)
    except KeyboardInterrupt:
        raise CliError(
            f"interrupted: slice {name} is still being made",
            next_step=f"tpuctl slice show {name}, or tpuctl slice rm {name}",
            code=INTERRUPTED,
        ) from None


def _tell_until_up(installation: Installation, name: str) -> None:
    """Say what a slice waits for whenever that changes, until it serves."""
    said = ""
    while True:
        document = installation.store.get(f"slices/{name}")
        fields: Mapping[str, Any] = document.fields if document else {"live": False}
        if not (fields["live"] and fields["wanted"]):
            why = fields.get("reason") or "somebody removed it"
            raise CliError(f"slice {name} is not made: {why}", next_step="tpuctl slice ls")
        newest = fields["generations"][-1] if fields["generations"] else None
        if newest and newest["number"] == fields["generation"] and newest["claimed"]:
            typer.echo(f"slice {name} is there: {fields['summary']}")
            return
        if fields["summary"] != said:
            said = str(fields["summary"])
            say_aside(said)
        time.sleep(installation.pause_s(_LOOK_AGAIN_S))
