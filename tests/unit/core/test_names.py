"""Names are functions of what they stand for, and can be read back where that matters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.core.names import (
    CLOUD_NAME_CHARS_MAX,
    cloud_name,
    labels,
    log_prefix,
    mandate_object,
    parse_cloud_name,
    run_folder,
)

CHARS = "abcdefghijklmnopqrstuvwxyz0123456789"
NUMBERS = st.integers(0, 10**9)


def word(length: int) -> st.SearchStrategy[str]:
    """Draw an id of ours."""
    return st.text(CHARS, min_size=length, max_size=length)


@given(word(6), word(8), NUMBERS, NUMBERS)
def test_a_cloud_name_says_what_it_stands_for(
    installation: str, uid: str, generation: int, bid: int
) -> None:
    """And it fits Google's limit."""
    name = cloud_name(installation, uid, generation, str(bid))

    assert (installation, uid, generation, str(bid)) == parse_cloud_name(name)
    assert len(name) <= CLOUD_NAME_CHARS_MAX


@pytest.mark.parametrize(
    "name",
    [
        "my-tpu",
        "tpuctl-abc123-slice001-g1",
        "tpuctl-abc12-slice001-g1-b0",
        "tpuctl-abc123-slice001-g1-b0-2",
        "xtpuctl-abc123-slice001-g1-b0",
        "tpuctl-ABC123-slice001-g1-b0",
        "tpuctl-abc123-slice001-g1-b0\n",
        "",
    ],
)
def test_a_name_that_is_not_ours_is_left_alone(name: str) -> None:
    """Whatever does not parse is never deleted."""
    assert parse_cloud_name(name) is None


def test_labels_tell_whose_a_node_is() -> None:
    """The same four words as the name."""
    assert {
        "tpuctl-installation": "abc123",
        "tpuctl-slice": "slice001",
        "tpuctl-generation": "2",
        "tpuctl-bid": "0",
    } == labels("abc123", "slice001", 2, "0")


def test_objects_of_different_things_never_share_a_name() -> None:
    """Slices, generations, attempts and hosts each have a place of their own."""
    names = [mandate_object(uid, number) for uid in ("a", "b") for number in (1, 11)]
    names += [log_prefix("j", attempt, host) for attempt in (1, 11) for host in (1, 11)]
    names += [log_prefix("j"), log_prefix("j", 1)]

    assert len(set(names)) == len(names)
    assert all(name.endswith(("/", ".json")) for name in names)


@pytest.mark.parametrize("root", ["gs://bucket/outputs", "gs://bucket/outputs/"])
def test_each_run_has_a_folder_of_its_own(root: str) -> None:
    """However the root is written."""
    assert "gs://bucket/outputs/job/run-3" == run_folder(root, "job", 3)
