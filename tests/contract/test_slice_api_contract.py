"""What every SliceApi promises, held by the fake and by Google's client against the sandbox.

A ``Cloud`` is an API together with the power to make things happen behind it.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Protocol
from uuid import uuid4

import pytest
from google.cloud import tpu_v2

from sandbox import control
from shared.adapters import tpu
from shared.adapters.tpu_calls import CALL
from shared.core.names import cloud_name
from shared.errors import Busy, ControlPlaneError, InvalidRequest, NoAccess, Unavailable
from shared.ports import BidRequest, CloudRequest, SliceApi
from tests.fakes import FakeSliceApi
from tests.sandboxes import eventually, running

ZONE, OTHER_ZONE, TYPE = "us-central1-a", "us-east1-c", "v5litepod-16"
LABELS = {"tpuctl-installation": "abcdef", "tpuctl-slice": "s1", "tpuctl-bid": "0"}


class Cloud(Protocol):
    """A cloud in which a test can make things happen."""

    hosts: int

    @property
    def api(self) -> SliceApi:
        """The API under test."""

    def grant(self, name: str) -> None:
        """Give a waiting request its node, and wait until it is ready."""

    def begin_preemption(self, name: str) -> None:
        """Take the node of a request away, silently, and stop at SUSPENDING."""

    def preempt(self, name: str) -> None:
        """Take the node of a request away, silently, until it is SUSPENDED."""

    def make_unreachable(self, *zones: str) -> None:
        """Let some zones not answer, and all others again."""

    def bell(self, name: str) -> str | None:
        """Return what the bell of a node was set to."""

    def plant(self, name: str) -> None:
        """Let somebody else make a node, and wait until it is READY."""


@dataclass
class FakeCloud:
    """The fake, which does everything at once."""

    hosts: int = 4
    api: FakeSliceApi = field(default_factory=lambda: FakeSliceApi(hosts=4))

    def grant(self, name: str) -> None:
        """Give a waiting request its node."""
        self.api.make_ready(name)

    def begin_preemption(self, name: str) -> None:
        """Take the node of a request away."""
        self.api.preempt(name)

    def preempt(self, name: str) -> None:
        """Take the node of a request away to the end."""
        self.api.preempt(name)
        self.api.suspend(name)

    def make_unreachable(self, *zones: str) -> None:
        """Let some zones not answer."""
        self.api.unreachable = set(zones)

    def bell(self, name: str) -> str | None:
        """Return what the bell of a node was set to."""
        return self.api.bells.get(name)

    def plant(self, name: str) -> None:
        """Let somebody else make a node."""
        self.api.plant(name, ZONE, accelerator_type=TYPE)


@dataclass
class SandboxCloud:
    """Google's client against the sandbox: requests wait until there is capacity."""

    client: control.Client
    hosts: int = 4

    def __post_init__(self) -> None:
        self.api = tpu.connect("sandbox", endpoint=self.client.url)
        self.client.change_settings(capacity=self._capacity(0), unreachable=[], suspend_s=0)

    def grant(self, name: str) -> None:
        """Make room, and wait until the request is ACTIVE and its node READY."""
        self.client.change_settings(capacity=self._capacity(1000))
        eventually(lambda: _is_ready(self.api.get(ZONE, name), self.hosts))
        self.client.change_settings(capacity=self._capacity(0))

    def begin_preemption(self, name: str) -> None:
        """Order a silent preemption that takes its time."""
        self.client.change_settings(suspend_s=1)
        self.client.post(f"nodes/{name}:preempt", {"notice": False})
        eventually(lambda: state_of(self, name) == "SUSPENDING")

    def preempt(self, name: str) -> None:
        """Order a silent preemption and wait for its end."""
        self.client.post(f"nodes/{name}:preempt", {"notice": False})
        eventually(lambda: state_of(self, name) == "SUSPENDED")

    def make_unreachable(self, *zones: str) -> None:
        """Let some zones not answer."""
        self.client.change_settings(unreachable=list(zones))

    def bell(self, name: str) -> str | None:
        """Look at the node's metadata."""
        path = f"projects/sandbox/locations/{ZONE}/nodes/{name}"
        metadata = self.api._client.get_node(name=path, timeout=30).metadata
        return metadata.get(tpu.BELL_KEY)

    def plant(self, name: str) -> None:
        """Make a node without a request, and wait until it is READY."""
        self.client.change_settings(capacity=self._capacity(1000))
        node = tpu_v2.Node(accelerator_type=TYPE, runtime_version="v2-alpha-tpuv5-lite")
        parent = f"projects/sandbox/locations/{ZONE}"
        self.api._client.create_node(parent=parent, node_id=name, node=node, timeout=30)
        eventually(lambda: _is_ready(self.api.find(ZONE, name), self.hosts))
        self.client.change_settings(capacity=self._capacity(0))

    def _capacity(self, nodes: int) -> Mapping[str, int]:
        return {f"{ZONE}/{TYPE}": nodes, f"{OTHER_ZONE}/{TYPE}": nodes}


def _is_ready(request: CloudRequest | None, hosts: int) -> bool:
    is_active = request is not None and request.state == "ACTIVE"
    return is_active and [("READY", hosts)] == [(n.state, n.hosts) for n in request.nodes]  # type: ignore[union-attr]  # is_active


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[control.Client]:
    """Run one sandbox for all tests of this file."""
    with running(tmp_path_factory.mktemp("sandbox")) as box:
        yield box.admin


@pytest.fixture(params=["fake", "google"])
def cloud(request: pytest.FixtureRequest) -> Iterator[Cloud]:
    """Give a cloud of every kind."""
    if request.param == "fake":
        yield FakeCloud()
        return
    yield request.getfixturevalue("google")


@pytest.fixture
def google(sandbox: control.Client) -> Iterator[SandboxCloud]:
    """Give Google's client and its sandbox, and leave the sandbox empty."""
    made = SandboxCloud(sandbox)
    yield made
    made.make_unreachable()
    eventually(lambda: _is_emptied(made.api))


def _is_emptied(api: SliceApi) -> bool:
    """Order the deletion of all that is left, and tell whether nothing was."""
    left = api.list([ZONE, OTHER_ZONE]).requests
    for request in left:
        with suppress(Busy):
            api.delete(request.zone, request.name)
    return not left


@pytest.fixture
def bid() -> BidRequest:
    """Give a request that every cloud accepts."""
    return BidRequest(
        name="tpuctl-abcdef-s1-g1-b0",
        zone=ZONE,
        accelerator_type=TYPE,
        runtime_version="v2-alpha-tpuv5-lite",
        tier="spot",
        labels=LABELS,
        metadata={"startup-script": "#!/bin/sh\ntrue\n", "tpuctl-config": "{}"},
        request_id=str(uuid4()),
    )


def state_of(cloud: Cloud, name: str, zone: str = ZONE) -> str:
    """Return the state of a request, "" if there is none."""
    found = cloud.api.get(zone, name)
    return found.state if found else ""


def create(cloud: Cloud, bid: BidRequest) -> str:
    """Create a request and wait until it is there."""
    operation = cloud.api.create(bid)
    eventually(lambda: state_of(cloud, bid.name, bid.zone) == "WAITING_FOR_RESOURCES")
    return operation


def test_what_does_not_exist_is_none(cloud: Cloud) -> None:
    """A true 404."""
    assert cloud.api.get(ZONE, "tpuctl-nothing") is None


def test_a_node_of_others_is_found_listed_and_removed_as_itself(cloud: Cloud) -> None:
    """By its own name; with another identity it is another one, and stays."""
    cloud.plant("theirs")
    found = cloud.api.find(ZONE, "theirs")
    assert found is not None
    (node,) = found.nodes

    listing = cloud.api.list([ZONE])
    cloud.api.remove(ZONE, "theirs", f"{node.uid}0")
    kept = cloud.api.find(ZONE, "theirs")
    cloud.api.remove(ZONE, "theirs", node.uid)
    eventually(lambda: cloud.api.find(ZONE, "theirs") is None)
    cloud.api.remove(ZONE, "theirs", node.uid)

    assert [("theirs", (node,))] == [(each.name, each.nodes) for each in listing.others]
    assert () == listing.requests
    assert found == kept
    assert ("ACTIVE", TYPE, "on-demand", "") == (
        found.state, node.accelerator_type, node.tier, node.request,
    )  # fmt: skip
    assert cloud.api.find(ZONE, "nobody") is None


def test_what_is_ours_is_not_among_the_others(cloud: Cloud, bid: BidRequest) -> None:
    """A request that was missed by the first half of a listing must not look like a lone node."""
    ours = replace(bid, name=cloud_name("abcdef", "aaaaaaaa", 1, "0"))
    create(cloud, ours)
    cloud.grant(ours.name)

    assert () == cloud.api.list([ZONE]).others


def test_a_request_waits_without_nodes(cloud: Cloud, bid: BidRequest) -> None:
    """The operation has a name and no error; the request has no node before its time."""
    operation = create(cloud, bid)

    found = cloud.api.get(ZONE, bid.name)

    assert operation
    assert "" == cloud.api.operation_error(operation)
    assert found is not None
    assert (bid.name, ZONE, "", ()) == (found.name, found.zone, found.reason, found.nodes)
    assert LABELS == found.labels


@pytest.mark.parametrize("tier", ["spot", "on-demand", "reserved"])
def test_a_granted_request_has_one_ready_node(cloud: Cloud, bid: BidRequest, tier: str) -> None:
    """Of the same name, with our labels and all its hosts, in every tier."""
    create(cloud, replace(bid, tier=tier))
    cloud.grant(bid.name)

    found = cloud.api.get(ZONE, bid.name)

    assert found is not None
    [node] = found.nodes
    assert (bid.name, ZONE, "READY", "HEALTHY") == (node.name, node.zone, node.state, node.health)
    assert cloud.hosts == node.hosts
    assert LABELS == node.labels
    assert node.uid


def test_a_repeated_create_is_done_already(cloud: Cloud, bid: BidRequest) -> None:
    """The same request id gives the same operation; another one gives none."""
    operation = create(cloud, bid)

    assert cloud.api.create(bid) in {operation, ""}
    assert "" == cloud.api.create(replace(bid, request_id=str(uuid4())))


def test_a_name_that_is_somebody_elses_is_refused(cloud: Cloud, bid: BidRequest) -> None:
    """The error names the labels of the owner."""
    create(cloud, bid)
    ours = replace(
        bid,
        labels={**LABELS, "tpuctl-installation": "fedcba"},
        request_id=str(uuid4()),
    )

    with pytest.raises(InvalidRequest, match="abcdef"):
        cloud.api.create(ours)


def test_a_preempted_request_is_suspended_and_in_the_way(cloud: Cloud, bid: BidRequest) -> None:
    """Its nodes are gone, the service did it, and its name is not free."""
    create(cloud, bid)
    cloud.grant(bid.name)
    cloud.preempt(bid.name)

    found = cloud.api.get(ZONE, bid.name)

    assert found is not None
    assert ("SUSPENDED", "SERVICE", ()) == (found.state, found.initiator, found.nodes)
    assert cloud.api.create(bid) is not None


def test_a_deleted_request_is_gone_and_deleting_again_succeeds(
    cloud: Cloud, bid: BidRequest
) -> None:
    """With its node, without a second thought."""
    create(cloud, bid)
    cloud.grant(bid.name)

    cloud.api.delete(ZONE, bid.name)
    cloud.api.delete(ZONE, bid.name)

    eventually(lambda: cloud.api.get(ZONE, bid.name) is None)
    cloud.api.delete(ZONE, bid.name)


def test_a_delete_while_suspending_is_busy(cloud: Cloud, bid: BidRequest) -> None:
    """The cloud is at work there; later it will be possible."""
    create(cloud, bid)
    cloud.grant(bid.name)
    cloud.begin_preemption(bid.name)

    with pytest.raises(Busy):
        cloud.api.delete(ZONE, bid.name)


def test_another_node_of_the_same_name_has_another_uid(cloud: Cloud, bid: BidRequest) -> None:
    """A corpse is not the living."""
    uids = []
    for _ in range(2):
        create(cloud, replace(bid, request_id=str(uuid4())))
        cloud.grant(bid.name)
        found = cloud.api.get(ZONE, bid.name)
        uids += [node.uid for node in found.nodes] if found else []
        cloud.api.delete(ZONE, bid.name)
        eventually(lambda: cloud.api.get(ZONE, bid.name) is None)

    assert 2 == len(set(uids))


def test_a_listing_joins_requests_and_nodes_of_all_zones(cloud: Cloud, bid: BidRequest) -> None:
    """Waiting ones have none; every zone is complete."""
    other = replace(
        bid,
        name="tpuctl-abcdef-s2-g1-b0",
        zone=OTHER_ZONE,
        request_id=str(uuid4()),
    )
    create(cloud, bid)
    cloud.grant(bid.name)
    create(cloud, other)

    listing = cloud.api.list([ZONE, OTHER_ZONE])

    assert {ZONE, OTHER_ZONE} == listing.complete
    assert () == listing.problems
    found = {request.name: request for request in listing.requests}
    assert found == {
        bid.name: cloud.api.get(ZONE, bid.name),
        other.name: cloud.api.get(OTHER_ZONE, other.name),
    }


def test_a_zone_that_does_not_answer_is_not_complete(cloud: Cloud, bid: BidRequest) -> None:
    """Nothing of it is listed, the others are, and the problem names it."""
    create(cloud, bid)
    cloud.make_unreachable(OTHER_ZONE)

    listing = cloud.api.list([ZONE, OTHER_ZONE])

    assert {ZONE} == listing.complete
    assert [bid.name] == [request.name for request in listing.requests]
    [problem] = listing.problems
    assert OTHER_ZONE in problem


def test_a_listing_of_no_zones_is_empty(cloud: Cloud) -> None:
    """Nothing asked, nothing said."""
    listing = cloud.api.list([])

    assert ((), frozenset(), ()) == (listing.requests, listing.complete, listing.problems)


def test_an_unknown_operation_is_none(cloud: Cloud) -> None:
    """The cloud forgets them after some days."""
    unknown = f"projects/sandbox/locations/{ZONE}/operations/nothing"

    assert cloud.api.operation_error(unknown) is None


def test_the_bell_of_a_ready_node_is_set(cloud: Cloud, bid: BidRequest) -> None:
    """To the value given last."""
    create(cloud, bid)
    cloud.grant(bid.name)

    cloud.api.ring(ZONE, bid.name, "7")
    eventually(lambda: cloud.bell(bid.name) == "7")
    cloud.api.ring(ZONE, bid.name, "8")

    eventually(lambda: cloud.bell(bid.name) == "8")


def test_a_bell_that_nobody_hears_is_no_error(cloud: Cloud, bid: BidRequest) -> None:
    """No node yet, or never."""
    create(cloud, bid)

    cloud.api.ring(ZONE, bid.name, "1")
    cloud.api.ring(ZONE, "tpuctl-nothing", "1")


# --- Google's client alone --------------------------------------------------------------------


def test_the_rest_of_the_metadata_survives_the_bell(google: SandboxCloud, bid: BidRequest) -> None:
    """A patch replaces the whole map."""
    create(google, bid)
    google.grant(bid.name)

    google.api.ring(ZONE, bid.name, "1")

    path = f"projects/sandbox/locations/{ZONE}/nodes/{bid.name}"
    eventually(lambda: google.bell(bid.name) == "1")
    metadata = dict(google.api._client.get_node(name=path, timeout=30).metadata)
    assert {**bid.metadata, tpu.BELL_KEY: "1"} == metadata


def test_a_failed_operation_says_why(google: SandboxCloud, bid: BidRequest) -> None:
    """Only it knows; the request never came to be."""
    google.client.change_settings(
        failures=[
            {
                "method": "CreateQueuedResource",
                "code": 429,
                "message": "There is no more capacity in the zone",
                "when": "operation",
            }
        ]
    )

    operation = google.api.create(replace(bid, name="tpuctl-abcdef-fails"))

    eventually(lambda: bool(google.api.operation_error(operation)))
    assert (
        "RESOURCE_EXHAUSTED: There is no more capacity in the zone"
        == google.api.operation_error(operation)
    )
    assert google.api.get(ZONE, "tpuctl-abcdef-fails") is None


@pytest.mark.parametrize(
    "zone,accelerator_type,tier,expected",
    [
        pytest.param("mars-north1-a", TYPE, "spot", NoAccess, id="a zone that is not ours"),
        pytest.param(ZONE, "v9-8", "spot", InvalidRequest, id="an unknown type"),
        pytest.param(ZONE, TYPE, "free", InvalidRequest, id="an unknown tier"),
    ],
)
def test_a_create_that_cannot_succeed_says_so(
    google: SandboxCloud,
    bid: BidRequest,
    zone: str,
    accelerator_type: str,
    tier: str,
    expected: type[ControlPlaneError],
) -> None:
    """Different errors, because the reactions are opposite."""
    wrong = replace(
        bid, name="tpuctl-abcdef-bad", zone=zone, accelerator_type=accelerator_type, tier=tier
    )

    with pytest.raises(expected):
        google.api.create(wrong)


def test_a_lost_reply_is_healed_by_the_request_id(google: SandboxCloud, bid: BidRequest) -> None:
    """The effect happened; the repeated call finds it."""
    google.client.change_settings(
        failures=[{"method": "CreateQueuedResource", "code": 503, "when": "after"}]
    )

    create(google, bid)

    assert 1 == len(google.api.list([ZONE]).requests)


def test_no_answer_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens; it is tried again for a while, which is cut short here."""
    monkeypatch.setitem(CALL, "retry", CALL["retry"].with_timeout(0.2))
    api = tpu.connect("sandbox", endpoint="http://127.0.0.1:1")

    with pytest.raises(Unavailable):
        api.get(ZONE, "x")
    assert frozenset() == api.list([ZONE]).complete
