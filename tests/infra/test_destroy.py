"""make destroy: when it refuses, and what it keeps."""

from __future__ import annotations

import json

import pytest

from tests.infra.fake_programs import BUCKET, DATABASE, QUEUED, Programs, run


def test_destroy_refuses_while_slices_live(
    deployed: Programs, capfd: pytest.CaptureFixture[str]
) -> None:
    """They would go on, cost money, and nobody would watch them."""
    queued = [{"name": "projects/p/locations/z/queuedResources/tpuctl-abc123-u1234567-g1-b0"}]
    deployed.answer(f"{QUEUED}us-central2-b", json.dumps(queued))

    code = run("destroy", "--yes=1")

    error = capfd.readouterr().err
    assert 1 == code
    assert "tpuctl-abc123-u1234567-g1-b0 in us-central2-b" in error
    assert "FORCE=1" in error
    assert [] == deployed.called(" destroy |state rm")


def test_destroy_is_forced_out_loud(deployed: Programs, capfd: pytest.CaptureFixture[str]) -> None:
    """Whoever forces it reads what stays."""
    queued = [{"name": "projects/p/locations/z/queuedResources/tpuctl-abc123-u1234567-g1-b0"}]
    deployed.answer(QUEUED, json.dumps(queued))

    code = run("destroy", "--yes=1", "--force=1")

    assert 0 == code
    assert "FORCE=1: 2 slices live" in capfd.readouterr().out
    assert 1 == len(deployed.called("terraform .* destroy "))


def test_slices_of_another_installation_do_not_count(deployed: Programs) -> None:
    """Two installations may share a project."""
    queued = [{"name": "projects/p/locations/z/queuedResources/tpuctl-other1-u1234567-g1-b0"}]
    deployed.answer(QUEUED, json.dumps(queued))

    code = run("destroy", "--yes=1")

    assert 0 == code


def test_a_zone_that_cannot_be_listed_stops_a_destroy(
    deployed: Programs, capfd: pytest.CaptureFixture[str]
) -> None:
    """Unknown is not gone."""
    deployed.fails(f"{QUEUED}us-central2-b", "ERROR: UNAVAILABLE")

    code = run("destroy", "--yes=1")

    assert 1 == code
    assert "us-central2-b (UNAVAILABLE)" in capfd.readouterr().err
    assert [] == deployed.called(" destroy ")


def test_destroy_keeps_data(deployed: Programs, capfd: pytest.CaptureFixture[str]) -> None:
    """Terraform forgets it before it destroys the rest."""
    code = run("destroy", "--yes=1")

    forget, remove = f"state rm {BUCKET} {DATABASE}", "terraform .* destroy "
    places = [deployed.calls.index(deployed.called(each)[0]) for each in (forget, remove)]
    assert 0 == code
    assert sorted(places) == places
    assert "kept: gs://example-project-tpuctl and the database tpuctl" in capfd.readouterr().out
    assert [] == deployed.called("deletion_protection=false")


def test_data_goes_only_when_that_is_said(deployed: Programs) -> None:
    """First the protection comes off, then everything goes."""
    code = run("destroy", "--yes=1", "--delete-data=yes")

    off, gone = deployed.called("deletion_protection=false")
    assert 0 == code
    assert f"-target={BUCKET} -target={DATABASE}" in off
    assert " destroy " in gone
    assert [] == deployed.called("state rm")


@pytest.mark.parametrize("state", ["", "there"], ids=["no state", "empty state"])
def test_nothing_is_destroyed_where_nothing_is_deployed(
    programs: Programs, capfd: pytest.CaptureFixture[str], state: str
) -> None:
    """And no place for its state is made."""
    if state:
        programs.answer("buckets describe", state)

    code = run("destroy", "--yes=1")

    assert 1 == code
    assert "nothing called tpuctl is deployed in example-project" in capfd.readouterr().err
    assert [] == programs.called("buckets create| destroy ")
