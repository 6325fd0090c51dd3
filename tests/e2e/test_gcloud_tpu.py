"""The real gcloud on the sandbox: every command about TPUs that people type, and its errors."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from google.cloud import tpu_v2

from tests.gcloud_steps import STORIES, V4, Step
from tests.gclouds import Gcloud, pointed_at, program
from tests.sandboxes import PARENT, ZONE, Box, eventually, running

TELLING = """
python3 -c "
import os, urllib.request as http
url = 'http://' + os.environ['GCE_METADATA_HOST'] + '/computeMetadata/v1/instance/guest-attributes/'
headers = {'Metadata-Flavor': 'Google'}
http.urlopen(http.Request(url + 'tpuctl/step', b'seventh', headers, method='PUT'))
"
"""
WINDOW = {"windowStartTime": "2030-01-01T00:00:00Z", "maintenanceStatus": "PENDING"}


@dataclass(frozen=True, slots=True)
class Bench:
    """A sandbox and a gcloud that speaks to it."""

    box: Box
    gcloud: Gcloud


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Give the sandbox that all tests of this file share, with slices in it."""
    program()
    home = tmp_path_factory.mktemp("gcloud")
    quota = {"us-central2/v4/spot": 56}
    with running(home / "sandbox", quota=quota, notice_s=0.02, maintenance_s=0.02) as box:
        for name in ("active", "looked-after", "spare"):
            box.create_slice(name, "true")
        node = tpu_v2.Node(
            accelerator_type="v4-8",
            runtime_version="tpu-ubuntu2204-base",
            metadata={"enable-guest-attributes": "TRUE", "startup-script": TELLING},
        )
        box.tpu.create_node(parent=PARENT, node=node, node_id="single").result(timeout=20)
        for name in ("looked-after", "single"):
            box.admin.post(f"nodes/{name}:maintain", {"window": WINDOW})
        eventually(lambda: told(box))
        yield Bench(box, pointed_at(home, box.url))


def told(box: Box) -> str:
    """Return what the host of ``single`` has told the API."""
    request = {"name": f"{PARENT}/nodes/single"}
    return str(box.tpu.get_guest_attributes(request).guest_attributes[0].query_value)


def run(bench: Bench, step: Step) -> str:
    """Run a step; return what it printed.  Most commands want a zone."""
    zone = [] if step.command.endswith("locations list") else [f"--zone={ZONE}"]
    said = bench.gcloud.run(*step.command.split(), *shlex.split(step.rest), *zone)
    assert (1 if step.fails else 0) == said.code, f"{step}: {said.out}{said.err}"
    return said.err if step.fails else said.out + said.err


@pytest.mark.slow
@pytest.mark.parametrize("story", list(STORIES))
def test_gcloud_does_what_people_type(bench: Bench, story: str) -> None:
    """Each command ends as on the real service and prints what it should."""
    if story == "errors":
        bench.box.admin.change_settings(quota={"us-central2/v4/spot": 0})

    printed = [(step, run(bench, step)) for step in STORIES[story]]

    assert [] == [(step, text) for step, text in printed if step.says not in text]


@pytest.mark.slow
def test_failed_operation_prints_its_error(bench: Bench) -> None:
    """The call itself had succeeded."""
    failure = {"method": "CreateNode", "code": 429, "when": "operation", "message": "no more here"}
    bench.box.admin.change_settings(failures=[failure])

    step = Step("compute tpus tpu-vm create", f"f1 {V4}", "no more here", fails=True)

    assert step.says in run(bench, step)


@pytest.mark.slow
@pytest.mark.parametrize(
    "code, fails", [pytest.param(503, False, id="503"), pytest.param(403, True, id="403")]
)
def test_unavailable_is_tried_again_and_forbidden_is_not(
    bench: Bench, code: int, *, fails: bool
) -> None:
    """As gcloud does with any Google API."""
    bench.box.admin.change_settings(failures=[{"method": "GetNode", "code": code}])

    printed = run(bench, Step("compute tpus tpu-vm describe", "single", "", fails))

    assert fails == ("acceleratorType" not in printed)
    assert not bench.box.admin.get("settings")["failures"]
