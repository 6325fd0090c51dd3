"""What is assumed and not tried by `tpuctl selftest --live`: the command for a person, and why."""

from __future__ import annotations

from typing import Final

from cli.selftest.model import Assumption
from cli.selftest.steps import DESCRIBE, OPERATIONS, PLACE, QUEUED, TPUS

_KIND: Final = "--accelerator-type TYPE --runtime-version RUNTIME"
_TWO: Final = f"{QUEUED} create NAME --node-count 2 --node-prefix NAME {_KIND} --spot {PLACE}"
_LOGGED: Final = "gcloud logging read --project PROJECT --freshness 1h"
_LUCK: Final = "it takes luck to see it"
_TWO_NODES: Final = "it takes two nodes, and this makes one"

UNTRIED: Final = (
    Assumption(
        "audit-preempted",
        "the project's audit log tells of the preemption of a TPU VM",
        "docs/audit-events.md",
        f"{_LOGGED} 'protoPayload.methodName=\"compute.instances.preempted\"'",
        "an entry that names t1v-n-…-w-0",
        untried="the test needs no right to read logs: look after `event-takes`",
    ),
    Assumption(
        "audit-maintenance",
        "the project's audit log tells of announced maintenance of a TPU VM",
        "docs/audit-events.md",
        f"{_LOGGED} 'protoPayload.methodName=\"compute.instances.upcomingMaintenance\"'",
        "an entry that names t1v-n-…-w-0",
        untried="maintenance is announced when Google wants it",
    ),
    Assumption(
        "notice-120",
        "a TPU VM gets no longer notice than 30 s",
        "shared/host/agent.py",
        f"{DESCRIBE} --format 'value(state)', every second from the notice on",
        "about 30 s",
        untried=f"{_LUCK}; after a simulated event `event-takes` tells its own time",
    ),
    Assumption(
        "multislice-loss",
        "of several nodes one that is preempted suspends the request as a whole",
        "shared/core/observe.py",
        f"{_TWO}; gcloud alpha compute tpus tpu-vm simulate-maintenance-event NAME-0 --workers 0"
        f" {PLACE}; {DESCRIBE}",
        "SUSPENDED, and no node is left",
        untried=_TWO_NODES,
    ),
    Assumption(
        "multislice-delete",
        "a node of several cannot be deleted alone",
        "sandbox/single.py",
        f"{_TWO}; {TPUS} tpu-vm delete NAME-0 --quiet {PLACE}",
        "refused",
        untried=_TWO_NODES,
        question="whether a node of a multislice can be deleted alone",
    ),
    Assumption(
        "window-end",
        "a request whose window has ended stays, as FAILED with code 4",
        "sandbox/queued.py",
        f"{QUEUED} create NAME --node-id NAME {_KIND} --spot --valid-until-duration 30s {PLACE};"
        f" sleep 60; {DESCRIBE}",
        "FAILED, code 4",
        untried="it needs a type without capacity, which nobody can order",
        question="how the end of a window is reported",
    ),
    Assumption(
        "flex-end",
        "a flex-start request whose time is over is SUSPENDED by the service",
        "sandbox/queued.py",
        f"gcloud alpha compute tpus queued-resources create NAME --node-id NAME {_KIND}"
        f" --provisioning-model flex-start --max-run-duration 10m {PLACE}; sleep 900; {DESCRIBE}",
        "SUSPENDED by SERVICE",
        untried="flex-start has a quota of its own, and costs more than spot",
        question="what becomes of a flex-start request when its time is over",
    ),
    Assumption(
        "reservation-full",
        'a full reservation is told by code 8, "Insufficient reserved capacity"',
        "shared/adapters/tpu_errors.py",
        f"{QUEUED} create NAME --node-id NAME {_KIND} --reserved {PLACE}; {DESCRIBE}",
        "code 8",
        untried="it needs a reservation",
        question="what tells a queued resource in a full reservation",
    ),
    Assumption(
        "delete-while-made",
        "the delete of a node that is being made ends its create with code 1",
        "sandbox/nodes.py",
        f"{TPUS} tpu-vm create NAME --accelerator-type TYPE --version RUNTIME --spot --async"
        f" {PLACE}; {TPUS} tpu-vm delete NAME --quiet {PLACE};"
        f" {OPERATIONS}",
        "code 1",
        untried="it needs a node without a request: another create",
        question="whether `nodes.delete` of a node being made cancels its create",
    ),
    Assumption(
        "guest-attributes-off",
        "without enable-guest-attributes a path is 404, and all of them are none",
        "sandbox/guests.py",
        f"{TPUS} tpu-vm get-guest-attributes NAME --query-path tpuctl-selftest/ {PLACE}",
        "404",
        untried="the one node needs them switched on",
        question="what `getGuestAttributes` says where they are switched off",
    ),
    Assumption(
        "guest-attributes-limits",
        "a guest attribute holds 32 KiB, as on Compute Engine",
        "sandbox/guest_attributes.py",
        f"{TPUS} tpu-vm ssh NAME {PLACE} --command 'printf %032769d 0 > /tmp/a;"
        " curl -sX PUT -H Metadata-Flavor:Google --data-binary @/tmp/a"
        " metadata/computeMetadata/v1/instance/guest-attributes/a/b'",
        "refused; accepted with 32768",
        untried="nothing here writes so much",
    ),
    Assumption(
        "preemption-during-create",
        'a node that is taken while it is made ends its create with "not supported while in state'
        ' PREEMPTED"',
        "shared/adapters/tpu_errors.py",
        f"{OPERATIONS}",
        "that text",
        untried=_LUCK,
    ),
    Assumption(
        "unreachable",
        "a zone that does not answer is named in `unreachable`, or its listing fails",
        "shared/adapters/tpu.py",
        f"{QUEUED} list --zone - --project PROJECT --format json --log-http",
        "`unreachable` names it",
        untried=_LUCK,
    ),
    Assumption(
        "stuck-delete",
        "a delete that is stuck goes on when it is ordered again",
        "shared/adapters/tpu.py",
        f"{QUEUED} delete NAME --force --quiet {PLACE}",
        "404 in the end",
        untried=_LUCK,
    ),
)
