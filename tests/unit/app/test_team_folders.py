"""What a team's slices read and write lies in the team's folder, and nothing of it elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shared.core.identity import People, Team
from shared.core.names import mandate_object
from shared.core.stages import Stage
from tests.identities import ADA, BOB, EVE
from tests.unit.app.records import JOB
from tests.unit.app.signed import CAROL, COMMON, ROOT, VISION, Cloud
from tests.unit.app.world import OTHER_JOB, World, spec_of

OURS, THEIRS = "teams/vision/", "teams/text/"


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    """Make an installation of several teams, which write into the bucket."""
    made = Cloud(tmp_path)
    made.app = replace(made.app, outputs_root="gs://bucket/outputs")
    yield made
    made.close()


def mandates(world: World, folder: str) -> list[str]:
    """List the mandates of a folder."""
    return [info.name for info in world.blobs.list(f"{folder}control/mandates/")]


def order_of(world: World, job: str = JOB) -> dict[str, Any]:
    """Read the newest mandate of the slice of a job."""
    slice_ = world.slice(job)
    blob = world.blobs.get(mandate_object(slice_.uid, slice_.generation, slice_.folder))
    assert blob is not None, "its mandate is where it belongs"
    found: dict[str, Any] = json.loads(blob.data)
    return found


def again(cloud: Cloud, kind: str, email: str, **args: object) -> Any:
    """Order a job to run once more, as somebody."""
    fields = {"job": JOB, "seen_attempt": cloud.job().attempt, "slice_uid": "uid00009"}
    return cloud.say(kind, {**fields, **args}, cloud.token(email))


def test_mandates_of_two_teams_lie_apart(cloud: Cloud) -> None:
    """They hold tokens: who reads them can speak for the hosts."""
    cloud.wish(ADA)
    cloud.wish(EVE, OTHER_JOB)
    cloud.tick()

    assert [f"{OURS}control/mandates/uid00001/g1.json"] == mandates(cloud, OURS)
    assert [f"{THEIRS}control/mandates/uid00002/g1.json"] == mandates(cloud, THEIRS)
    assert [] == mandates(cloud, "")


def test_people_without_a_team_have_the_top_of_the_bucket(cloud: Cloud) -> None:
    """As it was before there were teams."""
    cloud.wish(BOB)
    cloud.tick_until(cloud.runs_attempt(0))

    assert ["control/mandates/uid00001/g1.json"] == mandates(cloud, "")
    assert f"gs://bucket/outputs/{JOB}/run-0/output" == order_of(cloud)["run"]["output_dir"]


def test_a_start_names_only_what_the_team_may_use(cloud: Cloud) -> None:
    """Spec, outputs and checkpoints."""
    cloud.wish(ADA)
    cloud.tick_until(cloud.runs_attempt(0))

    order = order_of(cloud)
    sha256 = cloud.job().spec_sha256
    run = f"gs://bucket/{OURS}outputs/{JOB}/run-0"
    assert f"{OURS}control/specs/{sha256}.json" == order["spec"]["object"]
    places = order["run"]["output_dir"], order["run"]["checkpoint_dir"]
    assert (f"{run}/output", f"{run}/checkpoints") == places
    assert (OURS, OURS) == (cloud.job().folder, cloud.slice().folder)


def test_no_spec_and_no_order_chooses_the_folder(cloud: Cloud) -> None:
    """It follows from the identity alone."""
    spec = {"job": JOB, "spec": spec_of(folder=THEIRS), "slice_uid": "uid00001"}
    order = {"job": JOB, "spec": spec_of(), "slice_uid": "uid00001", "folder": THEIRS}

    refused = cloud.say("submit", spec, cloud.token(ADA))
    cloud.say("submit", order, cloud.token(ADA))

    assert "refused" == refused.outcome
    assert OURS == cloud.job().folder


@pytest.mark.parametrize("kind", ["resume", "rerun"])
@pytest.mark.parametrize(
    "email", [pytest.param(CAROL, id="team-mate"), pytest.param(ROOT, id="admin")]
)
def test_whoever_takes_a_job_over_it_stays_in_its_folder(
    cloud: Cloud, kind: str, email: str
) -> None:
    """Also on a new slice: its checkpoints are there."""
    cloud.wish(ADA)
    cloud.tick_until(cloud.runs_attempt(0))
    cloud.finish_job()
    cloud.tick_until_quiet()

    outcome = again(cloud, kind, email)

    assert "accepted" == outcome.outcome, outcome.reason
    cloud.tick_until(cloud.runs_attempt(1))
    assert ("uid00009", OURS) == (cloud.job().slice_uid, cloud.job().folder)
    assert f"gs://bucket/{OURS}outputs/{JOB}/" in order_of(cloud)["run"]["checkpoint_dir"]


def test_the_folder_outlives_a_preemption(cloud: Cloud) -> None:
    """A new generation is the same slice."""
    cloud.wish(ADA)
    cloud.tick_until(cloud.runs_attempt(0))
    (first,) = cloud.slices.names
    cloud.slices.preempt(first)
    cloud.tick_until(cloud.runs_attempt(1))

    names = [f"{OURS}control/mandates/uid00001/g{number}.json" for number in (1, 2)]
    assert names == mandates(cloud, OURS)


def test_a_slice_of_another_folder_is_refused(cloud: Cloud) -> None:
    """Two teams of one account share no slice either."""
    name = cloud.held_slice(ADA)
    teams = (Team("other", VISION, frozenset({EVE})), *cloud.app.people.teams[:1])
    cloud.app = replace(cloud.app, people=People(COMMON, teams))

    refused = cloud.wish(EVE, OTHER_JOB, on=name)

    expected = "reads and writes in teams/vision/, the job would in teams/other/"
    assert expected in refused.reason


def test_a_job_whose_owner_changed_teams_is_not_resumed_without_its_checkpoints(
    cloud: Cloud,
) -> None:
    """It would begin from the first step, silently; a rerun does that on purpose."""
    cloud.held_slice(ADA)
    teams = (Team("text", "text@p.iam", frozenset({ADA, EVE})),)
    cloud.app = replace(cloud.app, people=People(COMMON, teams))

    refused = again(cloud, "resume", ADA)
    rerun = again(cloud, "rerun", ADA)

    expected = "job 1 kept its checkpoints in teams/vision/ and would go on in teams/text/"
    assert expected in refused.reason
    assert ("accepted", THEIRS) == (rerun.outcome, cloud.job().folder)


def test_a_slice_of_before_there_were_folders_goes_on_without_one(cloud: Cloud) -> None:
    """Its agents look where they always looked; only its end is written."""
    cloud.wish(BOB)
    cloud.tick_until(cloud.runs_attempt(0))
    teams = (Team("vision", COMMON, frozenset({BOB})),)
    cloud.app = replace(cloud.app, people=People(COMMON, teams))
    cloud.finish_job()
    cloud.tick_until(cloud.stands_at(Stage.SUCCEEDED))
    cloud.tick_until_quiet()

    assert ["control/mandates/uid00001/g1.json"] == mandates(cloud, "")
    assert [] == mandates(cloud, OURS)
