"""Names are functions of what they stand for, and can be read back where that matters."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.core.names import (
    CLOUD_NAME_CHARS_MAX,
    cloud_name,
    code_object,
    labels,
    log_prefix,
    mandate_object,
    parse_cloud_name,
    run_folder,
    spec_object,
    team_folder,
    team_outputs,
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


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(lambda folder: mandate_object("uid", 1, folder), id="mandate"),
        pytest.param(lambda folder: spec_object("5", folder), id="spec"),
        pytest.param(lambda folder: code_object("5", folder), id="code"),
        pytest.param(lambda folder: log_prefix("j", 0, 1, folder=folder), id="logs"),
        pytest.param(
            lambda folder: team_outputs("gs://b/out", "b", folder).removeprefix("gs://b/"),
            id="outputs",
        ),
    ],
)
def test_a_teams_objects_lie_below_its_folder(name: Callable[[str], str]) -> None:
    """Under the same name as without a team, and no two teams' folders begin alike."""
    common = name("")

    assert f"teams/vision/{common}".rstrip("/") == name(team_folder("vision")).rstrip("/")
    assert not name(team_folder("vision-2")).startswith(team_folder("vision"))
    assert not common.startswith("teams/")


@pytest.mark.parametrize(
    "root, expected",
    [
        pytest.param("gs://b/out", "gs://b/teams/vision/out/", id="our bucket"),
        pytest.param("gs://b/out/", "gs://b/teams/vision/out/", id="with a slash"),
        pytest.param("gs://b", "gs://b/teams/vision/", id="all of our bucket"),
        pytest.param("gs://b2/out", "gs://b2/out/teams/vision/", id="another bucket"),
        pytest.param("/outputs", "/outputs/teams/vision/", id="a folder of the machine"),
    ],
)
def test_a_team_writes_where_its_rights_are(root: str, expected: str) -> None:
    """In our bucket rights are given by how a name begins."""
    assert expected == team_outputs(root, "b", team_folder("vision"))
    assert root == team_outputs(root, "b", "")


@pytest.mark.parametrize("root", ["gs://bucket/outputs", "gs://bucket/outputs/"])
def test_each_run_has_a_folder_of_its_own(root: str) -> None:
    """However the root is written."""
    assert "gs://bucket/outputs/job/run-3" == run_folder(root, "job", 3)
