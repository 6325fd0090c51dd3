"""A host's metadata server, as Google's: attributes, hanging reads, tokens, notices."""

import base64
import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from google.cloud import tpu_v2
from google.protobuf.field_mask_pb2 import FieldMask

from tests.sandboxes import PATIENCE_S, Box, eventually, running


@dataclass(frozen=True, slots=True)
class Answer:
    """What a metadata server answered."""

    code: int
    text: str
    etag: str


@dataclass(frozen=True, slots=True)
class Guest:
    """A process on a host, as far as metadata goes."""

    box: Box
    node: str
    address: str
    index: int

    def get(self, path: str, *, flavor: bool = True) -> Answer:
        """Read a path below ``/computeMetadata/v1/``."""
        request = urllib.request.Request(
            f"http://{self.address}/computeMetadata/v1/{path}",
            headers={"Metadata-Flavor": "Google"} if flavor else {},
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                etag = answer.headers.get("ETag", "")
                return Answer(answer.status, answer.read().decode(), etag)
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.read().decode(), "")


@pytest.fixture(scope="module")
def guests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Guest]]:
    """Give both hosts of a slice."""
    with running(tmp_path_factory.mktemp("metadata")) as box:
        box.create_slice("m", 'echo "$GCE_METADATA_HOST" > "$HOME/address"', tags=["x"])
        yield [Guest(box, "m", address_of(box, f"m-w-{index}"), index) for index in (0, 1)]


def address_of(box: Box, host: str) -> str:
    """Return where a host finds its metadata server, once it has told."""
    return eventually(lambda: box.host_file(host, "address")).strip()


def test_header_is_required(guests: list[Guest]) -> None:
    """What keeps a browser, or a proxy, from reading tokens."""
    assert 403 == guests[0].get("instance/id", flavor=False).code


@pytest.mark.parametrize(
    "path, expected",
    [
        ("instance/attributes/accelerator-type", "v4-16"),
        ("instance/attributes/agent-worker-number", "1"),
        ("instance/preempted", "FALSE"),
        ("instance/maintenance-event", "NONE"),
        ("instance/zone", "projects/0/zones/us-central2-b"),
        ("project/project-id", "sandbox"),
        ("instance/service-accounts/default/email", "tpu-hosts@sandbox.iam.gserviceaccount.com"),
    ],
)
def test_values_are_plain_text(guests: list[Guest], path: str, expected: str) -> None:
    """One value, nothing around it."""
    assert expected == guests[1].get(path).text


def test_workers_find_each_other(guests: list[Guest]) -> None:
    """JAX reads the third field of each; names are Google's."""
    endpoints = guests[0].get("instance/attributes/worker-network-endpoints").text.split(",")

    assert 2 == len({endpoint.split(":")[2] for endpoint in endpoints})
    name = guests[1].get("instance/name").text
    assert name.startswith("t1v-n-")
    assert name.endswith("-w-1")
    assert f"{name}.us-central2-b.c.sandbox.internal" == guests[1].get("instance/hostname").text


def test_recursive_is_json_with_camel_case_but_for_attributes(guests: list[Guest]) -> None:
    """Keys that users chose stay as they are."""
    tree = json.loads(guests[0].get("?recursive=true").text)

    assert "sandbox" == tree["project"]["projectId"]
    assert "NONE" == tree["instance"]["maintenanceEvent"]
    assert "startup-script" in tree["instance"]["attributes"]
    assert "startup-script\n" in guests[0].get("instance/attributes/").text


def test_missing_things_are_not_found(guests: list[Guest]) -> None:
    """Maintenance answers an error of its own while none is announced."""
    assert 404 == guests[0].get("instance/attributes/nothing").code
    assert 503 == guests[0].get("instance/upcoming-maintenance").code


def test_hanging_read_wakes_on_a_change(guests: list[Guest]) -> None:
    """On the change that it waits for, with the new etag."""
    guest = guests[0]
    path = "instance/attributes/?recursive=true"
    before = guest.get(path)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(guest.get, f"{path}&wait_for_change=true&last_etag={before.etag}")
        name = f"projects/sandbox/locations/us-central2-b/nodes/{guest.node}"
        guest.box.tpu.update_node(
            node=tpu_v2.Node(name=name, metadata={"tpuctl-bell": "1"}),
            update_mask=FieldMask(paths=["metadata"]),
        ).result(timeout=PATIENCE_S)
        after = waiting.result(timeout=PATIENCE_S)

    assert "1" == json.loads(after.text)["tpuctl-bell"]
    assert before.etag != after.etag
    assert after == guest.get(path)


def test_hanging_read_answers_at_once_when_it_is_behind(guests: list[Guest]) -> None:
    """A change between two reads is not missed."""
    answer = guests[0].get("instance/preempted?wait_for_change=true&last_etag=0")

    assert (200, "FALSE") == (answer.code, answer.text)


def test_hanging_read_gives_up_after_its_time(guests: list[Guest]) -> None:
    """And answers what is there."""
    answer = guests[0].get("instance/preempted?wait_for_change=true&timeout_sec=0.05")

    assert (200, "FALSE") == (answer.code, answer.text)


def test_tokens_tell_hosts_apart(guests: list[Guest]) -> None:
    """Access tokens are opaque; identity tokens say who and for whom."""
    account = "instance/service-accounts/default"
    tokens = {json.loads(guest.get(f"{account}/token").text)["access_token"] for guest in guests}
    identity = guests[0].get(f"{account}/identity?audience=https://x&format=full").text
    payload = identity.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))

    assert 2 == len(tokens)
    assert "https://x" == claims["aud"]
    instance = claims["google"]["compute_engine"]
    assert guests[0].get("instance/name").text == instance["instance_name"]
    assert 400 == guests[0].get(f"{account}/identity").code


def test_host_that_is_cut_off_gets_no_answer(guests: list[Guest]) -> None:
    """The others do; and it does again when it is connected again."""
    cut, other = guests
    token = json.loads(cut.get("instance/service-accounts/default/token").text)["access_token"]
    cut.box.admin.cut_off("m-w-0", "metadata", "storage")
    try:
        with pytest.raises((OSError, http.client.HTTPException)):
            cut.get("instance/id")
        request = urllib.request.Request(
            f"{cut.box.url}/storage/v1/b/tpuctl-sandbox/o",
            headers={"Authorization": f"Bearer {token}"},
        )
        with pytest.raises((OSError, http.client.HTTPException)):
            urllib.request.urlopen(request, timeout=PATIENCE_S)
        assert 200 == other.get("instance/id").code
    finally:
        cut.box.admin.cut_off("m-w-0")

    assert 200 == cut.get("instance/id").code
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        assert 200 == answer.status


def test_maintenance_is_announced_to_all_hosts(guests: list[Guest]) -> None:
    """And called off again."""
    window = {"windowStartTime": "2030-01-01T00:00:00Z", "maintenanceStatus": "PENDING"}
    guests[0].box.admin.post("nodes/m:maintain", {"window": window})

    for guest in guests:
        seen = guest.get("instance/upcoming-maintenance?recursive=true&alt=json")
        assert window == json.loads(seen.text)
    guests[0].box.admin.post("nodes/m:maintain", {"window": None})
    assert 503 == guests[0].get("instance/upcoming-maintenance").code


def test_notice_wakes_whoever_waits_for_it(guests: list[Guest]) -> None:
    """On the host that it is for; the last test of this file, for it ends the slice."""
    path = "instance/preempted?wait_for_change=true"
    etag = guests[1].get("instance/preempted").etag
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(guests[1].get, f"{path}&last_etag={etag}")
        order = {"notice": True, "notice_s": 600, "hosts": [1]}
        guests[0].box.admin.post("nodes/m:preempt", order)
        answer = waiting.result(timeout=PATIENCE_S)

    assert "TRUE" == answer.text
    assert "FALSE" == guests[0].get("instance/preempted").text
