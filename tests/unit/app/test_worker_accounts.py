"""Jobs of different teams run under different accounts, and never on one slice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shared.core.codec import from_fields
from shared.core.identity import People, Team
from shared.core.slices import Slice
from shared.core.stages import Stage
from shared.ports import Replace
from tests.identities import ADA, BOB, EVE
from tests.unit.app.records import JOB
from tests.unit.app.signed import CAROL, COMMON, TEXT, VISION, Cloud
from tests.unit.app.world import OTHER_JOB, World, spec_of


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    """Make an installation of several teams."""
    made = Cloud(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize(
    "email, account",
    [
        pytest.param(ADA, VISION, id="vision"),
        pytest.param(EVE, TEXT, id="text"),
        pytest.param(BOB, COMMON, id="no team"),
    ],
)
def test_a_slice_runs_as_its_teams_account(cloud: Cloud, email: str, account: str) -> None:
    """From the settings to the request, by the slice's document."""
    cloud.wish(email)
    cloud.tick()

    (name,) = cloud.slices.names
    assert account == cloud.slices.asked(name).service_account
    assert account == cloud.slice().worker_account


def test_no_spec_chooses_the_account(cloud: Cloud) -> None:
    """Neither by the API's name nor by ours."""
    for key in ("service_account", "worker_account"):
        args = {"job": JOB, "spec": spec_of(**{key: TEXT}), "slice_uid": "uid00001"}
        assert "refused" == cloud.say("submit", args, cloud.token(ADA)).outcome


def test_a_slice_refuses_jobs_of_another_team(cloud: Cloud) -> None:
    """Whatever ran there may have left something behind."""
    name = cloud.held_slice(ADA)

    refused = cloud.wish(EVE, OTHER_JOB, on=name)

    expected = f"slice {name} runs as {VISION}, the job would as {TEXT}: teams share no slices"
    assert expected == refused.reason
    assert "accepted" == cloud.wish(CAROL, OTHER_JOB, on=name).outcome


def test_a_slice_keeps_its_account_when_the_settings_change(cloud: Cloud) -> None:
    """A resumed job moves to a new slice instead."""
    name = cloud.held_slice(ADA)
    teams = (Team("vision", "new@p.iam", frozenset({ADA})),)
    cloud.app = replace(cloud.app, people=People(COMMON, teams))

    args = {"job": JOB, "seen_attempt": 0, "slice_uid": "uid00009"}
    assert "accepted" == cloud.say("rerun", args, cloud.token(ADA)).outcome

    old = from_fields(Slice, cloud.fields(f"slices/{name}"))
    assert (VISION, "new@p.iam") == (old.worker_account, cloud.slice().worker_account)


def test_the_account_outlives_a_preemption(cloud: Cloud) -> None:
    """A new generation is the same slice."""
    cloud.wish(EVE)
    cloud.tick_until(cloud.runs_attempt(0))
    (first,) = cloud.slices.names
    cloud.slices.preempt(first)
    cloud.tick_until(lambda: first not in cloud.slices.names and bool(cloud.slices.names))

    (second,) = cloud.slices.names
    assert TEXT == cloud.slices.asked(second).service_account


def test_documents_of_the_version_before_are_read(world: World) -> None:
    """They know neither accounts nor addresses, and their job goes on."""
    world.run_job()
    new = {"owner_email", "owner_subject", "worker_account", "email", "subject", "folder"}
    for path in (f"jobs/{JOB}", f"slices/{world.job().slice}", "owners/ada"):
        document = world.store.get(path)
        assert document is not None
        assert new & document.fields.keys()
        old = {name: value for name, value in document.fields.items() if name not in new}
        world.store.commit([Replace(path, old, document.token)])

    assert "accepted" == world.submit(OTHER_JOB).outcome
    world.finish_job()
    world.tick_until(world.stands_at(Stage.SUCCEEDED))
    assert "" == world.job().owner_email
