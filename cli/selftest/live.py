"""A self test on a real node: what has to be said before, and what must be left behind: nothing."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from cli.errors import CliError
from cli.installation import PAUSE, Installation, say_aside
from cli.selftest.assumptions import ASSUMPTIONS
from cli.selftest.installation import project_of
from cli.selftest.model import Result, seconds_text
from cli.selftest.plan import Plan, usd_text
from cli.selftest.rest import connect
from cli.selftest.rig import MARK, Rig, new_request
from cli.selftest.run import try_all
from cli.tables import printable
from shared.core.names import LABEL_SLICE, parse_cloud_name
from shared.errors import ControlPlaneError
from shared.ports import BidRequest, CloudRequest


def bound_text(plan: Plan, installation: Installation) -> str:
    """Say what is asked for and what it may cost at most, in one line."""
    what = f"1 {plan.accelerator.accelerator_type} spot in {plan.zone}"
    most = usd_text(plan.bound.usd)
    if plan.bound.usd is not None:
        most = f"at most {most} for its chips"
    place = "the simulated cloud takes no money; at Google " if installation.endpoint else ""
    time = seconds_text(plan.bound.limit_s)
    return f"{what}, for {time} at the very longest: {place}{most}"


def check_before(installation: Installation, zone: str) -> None:
    """Refuse where creation is paused, or where an earlier test has left something."""
    paused = installation.store.get(PAUSE)
    if paused is not None:
        raise CliError(printable(str(paused.fields["summary"])), next_step="tpuctl unpause")
    own = installation.settings.installation
    for request in installation.slices.list([zone]).requests:
        name = parse_cloud_name(request.name)
        is_own = name is not None and name.installation == own
        if is_own and request.labels.get(LABEL_SLICE) == MARK:
            raise CliError(
                f"{request.name} of another self test is there still ({request.state})",
                next_step=f"if that one is over: {delete_command(installation, request)}",
            )


def rig_for(installation: Installation, plan: Plan) -> Rig:
    """Make up the request of a plan; nothing is asked for yet."""
    request = new_request(
        installation.settings.installation,
        plan.zone,
        plan.accelerator.accelerator_type,
        plan.runtime_version,
    )
    rest = connect(project_of(installation), installation.endpoint)
    say_aside(f"asking for {request.name}")
    return Rig(installation.slices, rest, request, plan.accelerator.hosts, plan.pace)


def run(installation: Installation, rig: Rig, plan: Plan, results: list[Result]) -> None:
    """Try everything and delete the request.  Raises CliError when that did not succeed."""

    def tell(result: Result) -> None:
        results.append(result)
        text = f"{result.assumption.id}: {result.verdict}: {printable(result.found)}"
        if result.assumption.probe is not None:
            say_aside(text)

    def farewell() -> None:
        say_aside(f"deleting {rig.request.name}; only another Ctrl-C leaves it there")

    try:
        with ended_by_signals():
            try_all(rig, plan.bound, ASSUMPTIONS, tell, farewell=farewell)
    except ControlPlaneError as error:
        raise left_behind(installation, rig, str(error)) from None
    except KeyboardInterrupt:
        if rig.may_exist:
            raise left_behind(installation, rig, "interrupted before it was gone") from None
        say_aside(f"{rig.request.name} is deleted")
        raise


def left_behind(installation: Installation, rig: Rig, why: str) -> CliError:
    """Say that the request may be there still, and how to get rid of it."""
    return CliError(
        f"{rig.request.name} may be there still, and may cost money: {why}",
        next_step=delete_command(installation, rig.request),
    )


def delete_command(installation: Installation, request: BidRequest | CloudRequest) -> str:
    """Write what deletes a request, for a person."""
    return (
        f"gcloud compute tpus queued-resources delete {request.name} --force --quiet"
        f" --zone {request.zone} --project {project_of(installation)}"
    )


def as_fields(
    rig: Rig, plan: Plan, project: str, results: Sequence[Result], *, is_deleted: bool
) -> dict[str, object]:
    """Show a test for programs."""
    return {
        "project": project,
        "zone": plan.zone,
        "accelerator_type": plan.accelerator.accelerator_type,
        "name": rig.request.name,
        "deleted": is_deleted,
        "seconds": round(rig.since_s, 3),
        "node_seconds": round(rig.paid_s, 3),
        "bound_usd": plan.bound.usd,
        "cost_usd": plan.bound.of(rig.paid_s),
        "assumptions": [_fields(result) for result in results],
    }


def _fields(result: Result) -> dict[str, object]:
    assumption = result.assumption
    return {
        "id": assumption.id,
        "claim": assumption.claim,
        "where": assumption.where,
        "command": assumption.command,
        "expected": assumption.expected,
        "found": result.found,
        "verdict": str(result.verdict),
        "seconds": round(result.seconds, 3),
        "cost_usd": result.cost_usd,
    }


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let a closed terminal and a kill end a test as Ctrl-C does: after the delete."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    ends = (signal.SIGTERM, signal.SIGHUP)
    # What a caller has switched off, as nohup does, stays so.
    heard = [each for each in ends if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, interrupt) for each in heard}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
