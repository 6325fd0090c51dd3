"""An entry of Google's audit log means one of three things, or nothing."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.core.audit import ENTRY_BYTES_MAX, Meaning, Word, classify, parse
from shared.core.causes import Cause
from shared.core.instances import instance_of
from shared.errors import InvalidRequest
from tests.audit_entries import (
    HOST_ERROR,
    PREEMPTED,
    PROJECT,
    TERMINATED,
    UPCOMING,
    ZONE,
    tpu_entry,
    vm_entry,
)
from tests.unit.core.situations import START
from tests.unit.core.test_snapshot import JSON

VM, NODE = "t1v-n-0a1b2c3d-w-0", "tpuctl-abc123-slice001-g1-b0"
ENTRY = vm_entry(PREEMPTED, VM, START)


def word_of(entry: dict[str, object], **changes: object) -> Word | None:
    """Parse and classify an entry with changes."""
    return classify(parse(json.dumps({**entry, **changes}).encode()), PROJECT)


def with_payload(**changes: object) -> dict[str, object]:
    """Change what the entry of a preemption says."""
    payload = ENTRY["protoPayload"]
    assert isinstance(payload, dict), "an entry has a payload"
    return {**ENTRY, "protoPayload": {**payload, **changes}}


# --- Losses -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["", "v1."])
@pytest.mark.parametrize(
    "method, cause",
    [
        pytest.param(PREEMPTED, Cause.PREEMPTED, id="preempted"),
        pytest.param(HOST_ERROR, Cause.HOST_LOST, id="host error"),
        pytest.param(TERMINATED, Cause.MAINTENANCE, id="host maintenance"),
    ],
)
def test_a_vm_that_is_gone_is_lost_by_the_cause_of_its_method(
    method: str, cause: Cause, version: str
) -> None:
    """In both spellings of the method."""
    word = word_of(vm_entry(version + method, VM, START))

    assert Word(Meaning.LOST, VM, ZONE, START, f"audit log: {method}", cause) == word


@pytest.mark.parametrize("log", ["system_event", "activity"])
def test_both_logs_of_what_was_done_count(log: str) -> None:
    """System events have a log of their own; not all of Google's services use it."""
    word = word_of(ENTRY, logName=f"projects/{PROJECT}/logs/cloudaudit.googleapis.com%2F{log}")

    assert word is not None
    assert Meaning.LOST is word.meaning


def test_a_time_to_the_nanosecond_is_read() -> None:
    """Google writes nine digits."""
    word = word_of(ENTRY, timestamp="2030-01-01T00:00:01.123456789Z")

    assert word is not None
    assert START + timedelta(seconds=1, microseconds=123456) == word.at


# --- Announcements ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "metadata, detail",
    [
        pytest.param(
            {"windowStartTime": "2030-01-08T14:00:00Z", "type": "SCHEDULED"},
            "maintenance is announced for 2030-01-08 14:00 UTC",
            id="with its window",
        ),
        pytest.param(
            {"windowStartTime": "2030-01-08T06:00:00.000-08:00"},
            "maintenance is announced for 2030-01-08 14:00 UTC",
            id="in another time zone",
        ),
        pytest.param({}, "maintenance is announced", id="without a window"),
        pytest.param(
            {"windowStartTime": "0001-01-01T00:00:00+14:00"},
            "maintenance is announced",
            id="before all time",
        ),
        pytest.param({"windowStartTime": "soon"}, "maintenance is announced", id="no time"),
        pytest.param({"windowStartTime": "2030-01-08"}, "maintenance is announced", id="a day"),
        pytest.param({"windowStartTime": {"s": 1}}, "maintenance is announced", id="an object"),
    ],
)
def test_announced_maintenance_is_told_and_loses_nothing(
    metadata: dict[str, object], detail: str
) -> None:
    """It may be days ahead."""
    word = word_of(vm_entry(UPCOMING, VM, START, payload={"metadata": metadata}))

    assert Word(Meaning.AHEAD, VM, ZONE, START, detail) == word


def test_maintenance_that_is_over_is_not_announced() -> None:
    """Its end comes under the same method."""
    status = {"message": "Maintenance window has completed for this instance."}

    assert word_of(vm_entry(UPCOMING, VM, START, payload={"status": status})) is None


# --- What asks for a look -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["nodes", "queuedResources"])
@pytest.mark.parametrize("call", ["DeleteNode", "StopNode", "ResetQueuedResource", "Something"])
def test_whatever_is_done_to_a_tpu_is_worth_a_look(call: str, kind: str) -> None:
    """What came of it the cloud says itself."""
    word = word_of(
        tpu_entry(NODE, START, method=f"google.cloud.tpu.v2alpha1.Tpu.{call}", kind=kind)
    )

    assert Word(Meaning.TOUCHED, NODE, ZONE, START, f"audit log: {call}") == word


@pytest.mark.parametrize("call", ["GetNode", "ListNodes", "GetQueuedResource", "FetchSomething"])
def test_a_read_is_not_worth_a_look(call: str) -> None:
    """Our own looks would make us look for ever."""
    assert word_of(tpu_entry(NODE, START, method=f"google.cloud.tpu.v2.Tpu.{call}")) is None


# --- What means nothing -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(vm_entry("compute.instances.insert", VM, START), id="another method"),
        pytest.param(vm_entry("", VM, START), id="no method"),
        pytest.param(with_payload(resourceName=""), id="no resource"),
        pytest.param(vm_entry(PREEMPTED, "UPPER", START), id="no name of a VM"),
        pytest.param(vm_entry(PREEMPTED, "a/b", START), id="no segment of a path"),
        pytest.param(vm_entry(PREEMPTED, "a" * 64, START), id="a name too long"),
        pytest.param(tpu_entry(NODE, START, kind="operations"), id="no node"),
        pytest.param({**tpu_entry(NODE, START), "logName": "projects/sandbox"}, id="no log"),
        pytest.param(
            {**ENTRY, "logName": "projects/sandbox/logs/cloudaudit.googleapis.com%2Fdata_access"},
            id="the log of reads",
        ),
        pytest.param({**ENTRY, "logName": "projects/sandbox/logs/system_event"}, id="a user's log"),
        pytest.param(
            {**ENTRY, "logName": "projects/other/logs/cloudaudit.googleapis.com%2Fsystem_event"},
            id="the log of another project",
        ),
        pytest.param(
            with_payload(resourceName=f"projects/other/zones/{ZONE}/instances/{VM}"),
            id="a VM of another project",
        ),
        pytest.param(
            {**ENTRY, "resource": {"labels": {"project_id": "other"}}},
            id="a label of another project",
        ),
    ],
)
def test_an_entry_of_something_else_means_nothing(entry: dict[str, object]) -> None:
    """It is no error either: a sink may be widened."""
    assert word_of(entry) is None


def test_a_project_may_be_called_by_its_number() -> None:
    """The log and the label have its id."""
    name = f"projects/123456789/zones/{ZONE}/instances/{VM}"

    assert word_of(with_payload(resourceName=name)) is not None


def test_a_tpus_name_in_another_service_means_nothing() -> None:
    """Only Cloud TPU knows what was done to it."""
    entry = tpu_entry(NODE, START)
    payload = entry["protoPayload"]
    assert isinstance(payload, dict)
    changed = {**payload, "serviceName": "compute.googleapis.com"}

    assert word_of({**entry, "protoPayload": changed}) is None


# --- What is no entry ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes, reason",
    [
        pytest.param({"protoPayload": None}, "audit log: protoPayload: ", id="null"),
        pytest.param({"protoPayload": "text"}, "audit log: protoPayload: ", id="payload no object"),
        pytest.param({"timestamp": 1}, "audit log: timestamp: ", id="a time that is a number"),
        pytest.param({"timestamp": "2030-01-01T00:00:00"}, "audit log: timestamp: ", id="no zone"),
        pytest.param({"logName": ["a"]}, "audit log: logName: ", id="a list for a name"),
        pytest.param({"logName": "a" * 2049}, "audit log: logName: ", id="a name too long"),
        pytest.param(
            {"resource": {"labels": {"project_id": 1}}},
            "audit log: resource.labels.project_id: ",
            id="a number for a label",
        ),
        pytest.param(
            {"resource": {"labels": {"x" * 9999: 1}}},
            f"audit log: resource.labels.{'x' * 84}: ",
            id="a reason of bounded length",
        ),
        pytest.param(
            {"resource": {"labels": {str(n): "" for n in range(65)}}},
            "audit log: resource.labels: ",
            id="too many labels",
        ),
        pytest.param(
            {"protoPayload": {"methodName": {}}},
            "audit log: protoPayload.methodName: ",
            id="an object for a method",
        ),
    ],
)
def test_what_is_no_entry_is_refused_with_the_field(
    changes: dict[str, object], reason: str
) -> None:
    """One line, which says where."""
    with pytest.raises(InvalidRequest) as caught:
        word_of(ENTRY, **changes)

    assert str(caught.value).startswith(reason)


def test_an_entry_over_a_mebibyte_is_refused_before_it_is_read() -> None:
    """It is none of Google's."""
    with pytest.raises(InvalidRequest, match="bytes are no entry"):
        parse(b" " * (ENTRY_BYTES_MAX + 1))


@given(st.binary())
@example(b"")
@example(b"[" * 10_000)
@example(b'{"timestamp":1e999}')
@example('{"logName":"\ud800"}'.encode("utf-8", "surrogatepass"))
def test_any_bytes_are_parsed_or_refused(data: bytes) -> None:
    """Nothing on the topic raises anything else."""
    parsed_or_refused(data)


@given(st.sampled_from(sorted(ENTRY)), JSON)
def test_any_value_of_any_field_is_understood_or_refused(name: str, value: object) -> None:
    """Right shape, wrong types."""
    parsed_or_refused(json.dumps({**ENTRY, name: value}).encode())


@given(st.sampled_from(["methodName", "resourceName", "status", "metadata", "request"]), JSON)
def test_any_value_in_the_payload_is_understood_or_refused(name: str, value: object) -> None:
    """What nobody reads may be anything."""
    parsed_or_refused(json.dumps(with_payload(**{name: value})).encode())


def parsed_or_refused(data: bytes) -> None:
    """Read a message as ``report`` does."""
    try:
        classify(parse(data), PROJECT)
    except InvalidRequest as error:
        assert "\n" not in str(error)  # noqa: PT017 - one of two good outcomes


# --- Names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "hostname, name",
    [
        pytest.param("t1v-n-1-w-0", "t1v-n-1-w-0", id="a VM's name"),
        pytest.param(f"t1v-n-1-w-0.{ZONE}.c.p.internal", "t1v-n-1-w-0", id="with its domain"),
        pytest.param("", "", id="nothing"),
        pytest.param(".c.p.internal", "", id="a domain alone"),
        pytest.param("../../control/tick", "", id="a path"),
        pytest.param("a/b", "", id="two segments"),
        pytest.param("Host-1", "", id="upper case"),
        pytest.param("a" * 64, "", id="too long"),
        pytest.param("a\n", "", id="a line break"),
    ],
)
def test_a_hostname_names_a_vm_or_nothing(hostname: str, name: str) -> None:
    """It becomes the name of a document."""
    assert name == instance_of(hostname)
