"""What is tried without a node: the offer, the create, listings, what a delete leaves."""

from __future__ import annotations

from statistics import median
from typing import Final

from cli.selftest.model import Finding, NotTriedError, seconds_text
from cli.selftest.rig import Rig

_CALLS: Final = 5
CALL_S_ASSUMED: Final = 0.3
CREATE_S_ASSUMED: Final = 600.0
_ALREADY_THERE: Final = 409
_NOT_FOUND: Final = 404
KNOWN_STATES: Final = (
    "CREATING",
    "ACCEPTED",
    "WAITING_FOR_RESOURCES",
    "PROVISIONING",
    "ACTIVE",
    "FAILED",
    "SUSPENDING",
    "SUSPENDED",
    "DELETING",
)


def type_is_offered(rig: Rig) -> Finding:
    """Ask for the type in the zone."""
    return _offered(rig, f"acceleratorTypes/{rig.request.accelerator_type}")


def runtime_is_offered(rig: Rig) -> Finding:
    """Ask for the runtime version in the zone."""
    return _offered(rig, f"runtimeVersions/{rig.request.runtime_version}")


def missing_is_404(rig: Rig) -> Finding:
    """Read a request that was never made."""
    answer = rig.rest.get(rig.path)
    return Finding(f"HTTP {answer.status}", answer.status == _NOT_FOUND)


def call_time(rig: Rig) -> Finding:
    """Measure a small call."""
    times = [rig.rest.get(rig.path).seconds for _ in range(_CALLS)]
    middle = median(times)
    text = f"{middle:.2f} s, at most {max(times):.2f} s ({_CALLS} calls)"
    return Finding(text, middle <= CALL_S_ASSUMED)


def create_is_operation(rig: Rig) -> Finding:
    """Follow the operation of the create, and look whether the request is there before."""
    if not rig.operation:
        return Finding("no operation: 409, it was there at once", holds=False)
    before = "there" if rig.look() else "not there"
    called = seconds_text(rig.create_seconds)
    done = rig.finished(rig.operation, CREATE_S_ASSUMED)
    if done is None:
        return Finding(f"not done after {seconds_text(rig.since_s)}", holds=False)
    took, after = seconds_text(rig.since_s), rig.look()
    then = after.state if after else "not there"
    text = f"answered after {called}, {before}; done after {took}, {then}"
    failed = "error" in done.body or not done.is_ok
    return Finding(f"{text}, with an error" if failed else text, after is not None and not failed)


def repeated_id_answers_the_same(rig: Rig) -> Finding:
    """Give the same order again."""
    if not rig.operation:
        raise NotTriedError("the create gave no operation")
    again = rig.slices.create(rig.request)
    if again == rig.operation:
        return Finding("the same operation", holds=True)
    return Finding("another operation" if again else "409, and no operation", holds=False)


def same_name_conflicts(rig: Rig) -> Finding:
    """Give another order for a name that is taken."""
    again = rig.slices.create(rig.again())
    return Finding(f"a new operation: {again}" if again else "409", not again)


def listing_names_it(rig: Rig) -> Finding:
    """List the zone as the tick does."""
    zone = rig.request.zone
    listing = rig.slices.list([zone])
    if zone not in listing.complete:
        return Finding("; ".join(listing.problems), holds=False)
    count = sum(each.name == rig.request.name for each in listing.requests)
    return Finding(f"named {count} times among {len(listing.requests)}", count == 1)


def listing_of_all_zones(rig: Rig) -> Finding:
    """List all zones in one call, to the last page."""
    names: list[str] = []
    unreachable: list[str] = []
    token = ""
    while True:
        path = f"{rig.rest.location('-')}/queuedResources"
        answer = rig.rest.get(path, **({"pageToken": token} if token else {}))
        if not answer.is_ok:
            return Finding(answer.error, holds=False)
        names += [str(each["name"]) for each in answer.body.get("queuedResources", ())]
        unreachable += answer.body.get("unreachable", ())
        token = str(answer.body.get("nextPageToken", ""))
        if not token:
            break
    is_named = any(name.endswith(f"/{rig.request.name}") for name in names)
    text = f"{'named' if is_named else 'not named'}; {len(unreachable)} unreachable"
    return Finding(text, is_named)


def states_are_known(rig: Rig) -> Finding:
    """Say which states the request went through, and when."""
    states = {name: at for name, at in rig.seen.items() if not name.startswith("node ")}
    text = ", ".join(f"{name} {seconds_text(at)}" for name, at in states.items())
    return Finding(text, set(states) <= set(KNOWN_STATES))


def delete_ends(rig: Rig) -> Finding:
    """Say how long the delete took, and how often it had to be ordered."""
    orders = "one order" if rig.delete_orders == 1 else f"{rig.delete_orders} orders"
    return Finding(
        f"gone {seconds_text(rig.gone_after_s)} after it, {orders}", rig.delete_orders == 1
    )


def node_went_with_it(rig: Rig) -> Finding:
    """Look for the node of a request that is gone."""
    answer = rig.rest.get(rig.node_path)
    return Finding(f"HTTP {answer.status}", answer.status == _NOT_FOUND)


def absence_stays(rig: Rig) -> Finding:
    """Look twice, as far apart as what proves a writer dead."""
    first = rig.look()
    rig.pause(rig.pace.looks_apart_s)
    found = [first, rig.look()]
    # What came back has to be deleted once more.
    rig.may_exist = found != [None, None]
    text = " and ".join("404" if each is None else each.state for each in found)
    return Finding(f"{text}, {seconds_text(rig.pace.looks_apart_s)} apart", found == [None, None])


def name_is_free(rig: Rig) -> Finding:
    """Ask for the same name once more, and take it back at once."""
    rig.require_time()
    rig.request = rig.again()
    rig.ask()
    seen = rig.until(rig.look, rig.pace.step_s)
    rig.clear()
    text = f"accepted, then {seen.state}" if seen else "accepted, and it never came"
    return Finding(text, seen is not None)


def _offered(rig: Rig, name: str) -> Finding:
    answer = rig.rest.get(f"{rig.zone_path}/{name}")
    return Finding("offered" if answer.is_ok else answer.error, answer.is_ok)
