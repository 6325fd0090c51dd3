"""What people type at gcloud, and what it has to say: the table that the tests run.

The page about the sandbox lists these commands; a test holds it to this table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

V4: Final = "--accelerator-type=v4-8 --version=tpu-ubuntu2204-base"
QUEUED_V4: Final = "--accelerator-type=v4-8 --runtime-version=tpu-ubuntu2204-base"


@dataclass(frozen=True, slots=True)
class Step:
    """One command: its group's words, the rest of the line, and a text that it prints.

    ``fails`` says that it ends with 1 and prints the text as an error.
    """

    command: str
    rest: str
    says: str
    fails: bool = False


def _vm(command: str, rest: str, says: str, *, fails: bool = False, alpha: bool = False) -> Step:
    track = "alpha " if alpha else ""
    return Step(f"{track}compute tpus tpu-vm {command}", rest, says, fails)


def _queued(
    command: str, rest: str, says: str, *, fails: bool = False, alpha: bool = False
) -> Step:
    track = "alpha " if alpha else ""
    return Step(f"{track}compute tpus queued-resources {command}", rest, says, fails)


# The slices `single` (a node by itself), `active`, `looked-after` and `spare` are there already.
STORIES: Final[Mapping[str, tuple[Step, ...]]] = {
    "a node by itself": (
        _vm("create", f"n1 {V4} --labels=a=b", "Created tpu [n1]"),
        _vm("describe", "n1", "state: READY"),
        _vm("update", "n1 --update-labels=c=d --description=hello", "Updated tpu [n1]"),
        _vm("list", "", "n1"),
        _vm("delete", "n1", "Deleted tpu [n1]"),
    ),
    "a node that is kept": (
        _vm("stop", "single", "state: STOPPED"),
        _vm("start", "single", "state: READY"),
        _vm("get-guest-attributes", "single --query-path=tpuctl/step", "seventh"),
        _vm("perform-maintenance", "single", "done: true", alpha=True),
        _vm("simulate-maintenance-event", "single --workers=0", "done: true", alpha=True),
    ),
    "disks and the newest version": (
        _vm("attach-disk", "single --disk=d1", "disks/d1", alpha=True),
        _vm("detach-disk", "single --disk=d1", "Detaching disk", alpha=True),
        _vm("create", "n2 --type=v4 --topology=2x2x2 --version=v2-alpha --async", "n2", alpha=True),
        _vm("list", "", "single", alpha=True),
        _vm("delete", "n2 --async", "n2", alpha=True),
    ),
    "old commands": (
        Step("compute tpus describe", "single", "tensorflowVersion: tpu-ubuntu2204-base"),
        Step("compute tpus list", "", "single"),
        Step("compute tpus versions list", "", "nightly"),
        Step("compute tpus accelerator-types list", "", "v4-16"),
        Step("compute tpus locations list", "", "us-central2-b"),
    ),
    "a queued resource": (
        _queued(
            "create",
            f"q1 --node-id=q1 {QUEUED_V4} --spot --valid-until-duration=1h",
            "q1",
        ),
        _queued("describe", "active", "state: ACTIVE"),
        _queued("list", "", "active"),
        _queued("reset", "active", "done: true"),
        _queued("delete", "active", "while in state ACTIVE without force", fails=True),
        _queued("delete", "active --force --async", "active"),
    ),
    "several nodes at once": (
        _queued(
            "create",
            f"q2 --node-count=2 --node-prefix=m {QUEUED_V4} --best-effort",
            "q2",
            alpha=True,
        ),
        _queued("describe", "q2", "nodeIdPrefix: m", alpha=True),
        _queued("list", "", "q2", alpha=True),
        _queued(
            "perform-maintenance",
            "looked-after --node-names=looked-after",
            "done: true",
            alpha=True,
        ),
        _queued("delete", "q2 --force --async", "q2", alpha=True),
    ),
    "what is offered": (
        _vm("accelerator-types list", "", "v4-16"),
        _vm("accelerator-types describe", "v4-16", "topology: 2x2x2"),
        _vm("versions list", "", "tpu-ubuntu2204-base"),
        Step("compute tpus topologies list", "", "2x2x2"),
        Step("alpha compute tpus reservations list", "", "Listed 0 items"),
        _vm("service-identity create", "", "cloud-tpu.iam.gserviceaccount.com"),
    ),
    "errors": (
        _vm("describe", "nobody", "nodes/nobody' was not found", fails=True),
        _vm("create", f"single {V4}", "nodes/single' already exists", fails=True),
        _vm(
            "create",
            "n3 --accelerator-type=v4-17 --version=x",
            "the accelerator v4-17 was not found in zone us-central2-b",
            fails=True,
        ),
        _vm("create", f"big {V4} --spot", "PerProjectPerRegionForTPUAPI", fails=True),
        _vm("perform-maintenance", "spare", "no upcoming maintenance", fails=True, alpha=True),
        _vm("stop", "spare", "not supported for nodes of a queued", fails=True),
    ),
}
