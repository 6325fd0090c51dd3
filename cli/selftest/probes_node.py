"""What is tried on the node: what its host sees, how it is reached, and how it is taken away."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any, Final

from cli.selftest.host import BELL
from cli.selftest.model import MINUTE_S, Finding, NotTriedError, seconds_text
from cli.selftest.rig import Rig
from shared.ports import CloudRequest

NEEDED: Final = (
    "accelerator-type",
    "agent-worker-number",
    "tpu-env",
    "worker-network-endpoints",
)
HOST_NAME: Final = re.compile(r"t1v-n-[0-9a-f]+-w-\d+")
_NODE_ID: Final = re.compile(r"^NODE_ID: '([^']*)'$", re.MULTILINE)
_NONE: Final = "NONE"
_TAKEN: Final = frozenset({"SUSPENDING", "SUSPENDED", "FAILED"})
_GONE_NODE: Final = frozenset({"PREEMPTED", "TERMINATED", "STOPPED", "DELETING", "STOPPING"})
_ERROR: Final = 400


def active_is_not_ready(rig: Rig) -> Finding:
    """Compare when the request was ACTIVE and when its node was READY."""
    active, ready = rig.seen.get("ACTIVE"), rig.seen.get("node READY")
    if active is None or ready is None:
        raise NotTriedError("one of the two was not seen")
    text = f"ACTIVE after {seconds_text(active)}, READY after {seconds_text(ready)}"
    return Finding(text, active <= ready)


def labels_are_on_node(rig: Rig) -> Finding:
    """Look for our labels on the node, and for its request and tier."""
    node = _request(rig).nodes[0]
    missing = rig.request.labels.items() - node.labels.items()
    text = f"{len(missing)} labels missing, tier {node.tier}, request {node.request or 'not said'}"
    is_right = not missing and (node.tier, node.request) == ("spot", rig.request.name)
    return Finding(text, is_right)


def workers_are_listed(rig: Rig) -> Finding:
    """Count the endpoints of a node that is READY."""
    node = _request(rig).nodes[0]
    return Finding(f"{node.hosts} of {rig.hosts}", node.hosts == rig.hosts)


def guest_attributes_are_read(rig: Rig) -> Finding:
    """Wait for what the startup script tells."""
    rig.facts()
    ready = rig.seen.get("node READY", 0.0)
    return Finding(f"told {seconds_text(rig.since_s - ready)} after READY was seen", holds=True)


def attributes_are_there(rig: Rig) -> Finding:
    """Look for the attributes by which a host knows who it is."""
    named = set(rig.facts()["attributes"])
    missing = [name for name in NEEDED if name not in named]
    return Finding(f"missing: {', '.join(missing)}" if missing else "all four", not missing)


def tpu_env_names_node(rig: Rig) -> Finding:
    """Read the node's name as the agent does."""
    found = _NODE_ID.search(rig.facts()["tpu_env"])
    text = found[1] if found else "no line NODE_ID: '…'"
    return Finding(text, text == rig.request.name)


def endpoints_are_readable(rig: Rig) -> Finding:
    """Read who the hosts are as the agent does: three parts each, the last one an address."""
    facts = rig.facts()
    parts = [each.split(":") for each in str(facts["endpoints"]).split(",")]
    is_right = len(parts) == rig.hosts and all(len(each) == len("abc") for each in parts)
    text = f"{facts['endpoints'] or 'nothing'}; worker {facts['worker'] or 'not said'}"
    return Finding(text, is_right and str(facts["worker"]) == "0")


def host_name_is_t1v(rig: Rig) -> Finding:
    """Read what the audit log will call the VM."""
    name = str(rig.facts()["name"])
    return Finding(name or "nothing", HOST_NAME.fullmatch(name) is not None)


def notices_are_there(rig: Rig) -> Finding:
    """Read both notices while there is nothing to say."""
    facts = rig.facts()
    text = f"preempted {facts['preempted'] or '-'}, maintenance {facts['maintenance_event'] or '-'}"
    return Finding(text, (facts["preempted"], facts["maintenance_event"]) == ("FALSE", _NONE))


def no_window_is_an_error(rig: Rig) -> Finding:
    """Read the maintenance window of a host that has none."""
    status = int(rig.facts()["upcoming_status"])
    return Finding(f"HTTP {status}", status >= _ERROR)


def bell_is_heard(rig: Rig) -> Finding:
    """Ring as the control plane does, and wait until the host has heard it."""
    rig.facts()
    began, value = rig.clock(), f"{time.time():.0f}"
    rig.slices.ring(rig.request.zone, rig.request.name, value)
    heard = rig.until(lambda: rig.told("bell").startswith(value), rig.pace.step_s)
    took = rig.clock() - began
    text = f"{'heard' if heard else 'not heard'} after {seconds_text(took)}"
    return Finding(text, bool(heard) and took <= MINUTE_S)


def patch_is_quick(rig: Rig) -> Finding:
    """Time the operation of a patch."""
    began, answer = rig.clock(), _patch(rig, {**_metadata(rig), BELL: "patched"})
    done = rig.finished(answer, rig.pace.step_s)
    took = rig.clock() - began
    text = f"done after {seconds_text(took)}" if done else f"not done in {seconds_text(took)}"
    return Finding(text, done is not None and took <= MINUTE_S)


def patch_replaces_all(rig: Rig) -> Finding:
    """Patch the metadata with one key more, then without it."""
    before = _metadata(rig)
    rig.finished(_patch(rig, {**before, "tpuctl-more": "1"}), rig.pace.step_s)
    rig.finished(_patch(rig, before), rig.pace.step_s)
    after = _metadata(rig)
    left = sorted(set(after) ^ set(before))
    text = f"differs: {', '.join(left)}" if left else "as it was written, and nothing else"
    return Finding(text, not left)


def reset_boots_again(rig: Rig) -> Finding:
    """Reset the request, and wait for its host's next boot."""
    first = rig.facts()["run"]
    answer = rig.rest.post(f"{rig.path}:reset", {})
    if not answer.is_ok:
        return Finding(answer.error, holds=False)
    began = rig.clock()

    def booted() -> bool:
        rig.look()
        return f'"run": "{first}"' not in (rig.told("facts") or f'"run": "{first}"')

    if not rig.until(booted, rig.pace.step_s):
        return Finding(f"no new boot in {seconds_text(rig.pace.step_s)}", holds=False)
    return Finding(f"booted again after {seconds_text(rig.clock() - began)}", holds=True)


def event_reaches_host(rig: Rig) -> Finding:
    """Order a maintenance event, and wait until the host has seen it."""
    rig.facts()
    began = rig.clock()
    answer = rig.rest.post(
        f"{rig.node_path}:simulateMaintenanceEvent", {"workerIds": ["0"]}, version="v2alpha1"
    )
    if not answer.is_ok:
        return Finding(answer.error, holds=False)
    rig.event_at = began
    keys = ("maintenance-event", "preempted")
    heard = rig.until(
        lambda: {key: text for key in keys if (text := rig.told(key))}, rig.pace.step_s
    )
    took = seconds_text(rig.clock() - began)
    if not heard:
        return Finding(f"nothing seen in {took}", holds=False)
    rig.heard_at = rig.clock()
    rig.heard = tuple(heard)
    words = ", ".join(f"{key} {text.partition(' ')[0]}" for key, text in heard.items())
    return Finding(f"{words} after {took}", holds=True)


def spot_is_taken(rig: Rig) -> Finding:
    """Wait until the node is taken away, after the notice."""
    _require_event(rig)
    taken = rig.until(lambda: _loss(rig), rig.pace.step_s)
    if taken is None:
        return Finding(f"READY still, {seconds_text(rig.pace.step_s)} later", holds=False)
    assert rig.event_at is not None, "an event was ordered"
    lead = rig.clock() - (rig.heard_at or rig.event_at)
    rig.is_taken = True
    return Finding(f"{taken}, {seconds_text(lead)} after the notice", holds=True)


def preempted_flips(rig: Rig) -> Finding:
    """Say whether the host's own key told of the loss, too."""
    _require_event(rig)
    if "preempted" in rig.heard:
        return Finding("TRUE before the node went", holds=True)
    raise NotTriedError("no preemption was seen: simulated maintenance may be none")


def suspended_holds_name(rig: Rig) -> Finding:
    """Wait for SUSPENDED, and ask for the name again."""
    _require_suspended(rig)
    again = rig.slices.create(rig.again())
    rig.operation = again or rig.operation
    return Finding("409" if not again else f"a new operation: {again}", not again)


def suspended_is_not_reset(rig: Rig) -> Finding:
    """Try to reset what was taken away."""
    _require_suspended(rig)
    answer = rig.rest.post(f"{rig.path}:reset", {})
    return Finding(answer.error or "accepted", not answer.is_ok)


def _require_event(rig: Rig) -> None:
    if rig.event_at is None:
        raise NotTriedError("no maintenance event was accepted")


def _require_suspended(rig: Rig) -> None:
    if not rig.is_taken:
        raise NotTriedError("the node was not taken away")

    def suspended() -> bool:
        found = rig.look()
        return found is None or found.state == "SUSPENDED"

    if not rig.until(suspended, rig.pace.step_s) or "SUSPENDED" not in rig.seen:
        raise NotTriedError("the request is not SUSPENDED")


def _loss(rig: Rig) -> str:
    """Say by what state the node is lost; "" while it is there."""
    found = rig.look()
    if found is None:
        return "the request is gone"
    states = [found.state, *(node.state for node in found.nodes)]
    lost = [state for state in states if state in _TAKEN | _GONE_NODE]
    if not lost and "preempted" not in rig.heard and rig.told("preempted"):
        rig.heard = (*rig.heard, "preempted")
    return ", ".join(lost)


def _request(rig: Rig) -> CloudRequest:
    found = rig.look()
    if found is None or not found.nodes:
        raise NotTriedError("the node is not there any more")
    return found


def _metadata(rig: Rig) -> Mapping[str, Any]:
    answer = rig.rest.get(rig.node_path)
    if not answer.is_ok:
        raise NotTriedError(answer.error)
    found: Mapping[str, Any] = answer.body.get("metadata", {})
    return found


def _patch(rig: Rig, metadata: Mapping[str, Any]) -> str:
    """Write the whole metadata; return the operation."""
    answer = rig.rest.patch(rig.node_path, {"metadata": dict(metadata)}, updateMask="metadata")
    if not answer.is_ok:
        raise NotTriedError(answer.error)
    return str(answer.body["name"])
