"""Who gives an order is who Google says, and what is theirs is nobody else's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.emulated.identity import subject_of
from shared.core.identity import TOKEN_REFUSED, Person, owner_names
from shared.core.stages import Stage
from shared.ports import Create, Fields, Message, Replace
from tests.identities import ADA, BOB, EVE, mint
from tests.unit.app.records import JOB
from tests.unit.app.signed import CAROL, COMMON, ROOT, STRANGER, VISION, Cloud
from tests.unit.app.world import OTHER_JOB, World, grant_of, spec_of


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    """Make an installation of several teams."""
    made = Cloud(tmp_path)
    yield made
    made.close()


# --- Owners -------------------------------------------------------------------------------------


def test_the_owner_is_who_google_says(cloud: Cloud) -> None:
    """Not the name in the order, which anybody can type."""
    outcome = cloud.wish(ADA)
    job = cloud.job()

    assert ("ada-example-com", ADA, subject_of(ADA)) == (
        job.owner,
        job.owner_email,
        job.owner_subject,
    )
    assert ("ada-example-com", ADA, subject_of(ADA)) == (
        outcome.owner,
        outcome.owner_email,
        outcome.owner_subject,
    )
    assert "ada-example-com" == cloud.slice().owner


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"by": "other"}, id="forged"),
        pytest.param({"aud": "another"}, id="another audience"),
        pytest.param({"email_verified": False}, id="not verified"),
        pytest.param({"exp": 1}, id="expired"),
    ],
)
def test_an_order_without_proof_is_refused(cloud: Cloud, changes: dict[str, Any]) -> None:
    """In nobody's name, with the reason."""
    args = {"job": JOB, "spec": spec_of(), "slice_uid": "uid00001"}

    outcome = cloud.say("submit", args, cloud.token(**changes), claimed="ada-example-com")

    assert ("refused", "", "") == (outcome.outcome, outcome.owner, outcome.owner_email)
    assert outcome.reason.startswith(TOKEN_REFUSED)
    assert [] == [*cloud.all("jobs"), *cloud.all("slices"), *cloud.all("owners")]


def test_an_order_without_a_token_is_refused(cloud: Cloud) -> None:
    """Whatever name it claims."""
    outcome = cloud.stop()

    assert ("refused", "") == (outcome.outcome, outcome.owner)
    assert outcome.reason.startswith("the identity token is missing")


def test_a_late_redelivery_is_still_its_owners(cloud: Cloud) -> None:
    """The token was valid when the order was published; the keys were away for hours."""
    cloud.keys_are_away = True
    args = {"job": JOB, "spec": spec_of(), "slice_uid": "uid00001"}
    fields = {"version": 1, "id": "late", "kind": "submit", "owner": "x", "args": args}
    data = json.dumps({**fields, "id_token": cloud.token()}).encode()
    cloud.publish("commands", Message(data))
    assert cloud.store.get("commands/late") is None

    cloud.keys_are_away = False
    cloud.clock.advance(3 * 3600.0)
    cloud.drain()

    assert ("accepted", ADA) == (
        cloud.outcome("late").outcome,
        cloud.outcome("late").owner_email,
    )


def test_an_order_that_comes_too_late_is_refused_without_keys(cloud: Cloud) -> None:
    """It must not be carried out because the keys were away when it came."""
    fields = {"version": 1, "id": "old", "kind": "stop", "owner": "x", "args": {"job": JOB}}
    data = json.dumps({**fields, "id_token": cloud.token()}).encode()
    cloud.keys_are_away = True
    cloud.bus.publish("commands", [Message(data)])
    cloud.clock.advance(cloud.policy.command_s + 1.0)
    cloud.drain()

    assert ("refused", "") == (cloud.outcome("old").outcome, cloud.outcome("old").owner)


@pytest.mark.parametrize("account", [VISION, COMMON, "VISION@p.iam"])
def test_what_runs_on_slices_gives_no_orders(cloud: Cloud, account: str) -> None:
    """Any process on a slice can have a token of its account."""
    outcome = cloud.wish(account)

    assert "refused" == outcome.outcome
    assert "worker account" in outcome.reason


def test_two_subjects_never_share_an_owner(cloud: Cloud) -> None:
    """Different addresses can make the same name: the second one gets another."""
    first, second = "ada.b@example.com", "ada-b@example.com"
    cloud.wish(first)
    cloud.wish(second, OTHER_JOB)

    owners = [cloud.job().owner, cloud.job(OTHER_JOB).owner]
    assert [
        "ada-b-example-com",
        owner_names(Person(subject_of(second), second))[1],
    ] == owners
    assert [1, 1] == [cloud.job().number, cloud.job(OTHER_JOB).number]
    assert "refused" == cloud.say("stop", {"job": JOB}, cloud.token(second)).outcome
    assert "accepted" == cloud.say("stop", {"job": JOB}, cloud.token(first)).outcome


def test_an_address_that_somebody_else_has_now_is_another_owner(cloud: Cloud) -> None:
    """Addresses are given away again, subjects are not."""
    cloud.wish(BOB)

    outcome = cloud.say("stop", {"job": JOB}, cloud.token(BOB, sub="999"))

    assert "refused" == outcome.outcome
    assert outcome.owner != cloud.job().owner


def test_an_owner_is_numbered_on_by_subject(cloud: Cloud) -> None:
    """Whichever name they have."""
    cloud.wish("ada.b@example.com")
    cloud.wish("ada-b@example.com", OTHER_JOB)
    cloud.wish("ada-b@example.com", "job000000003")

    assert [1, 2] == [cloud.job(OTHER_JOB).number, cloud.job("job000000003").number]


def test_a_third_account_with_all_names_taken_is_refused(cloud: Cloud) -> None:
    """Rather than made one with somebody else."""
    person = Person("999", BOB)
    for name in owner_names(person):
        fields: Fields = {"owner": name, "number": 1, "email": "x@y.z", "subject": "1"}
        cloud.store.commit([Create(f"owners/{name}", fields)])

    outcome = cloud.say("stop", {"job": JOB}, cloud.token(BOB, sub="999"))

    assert ("refused", "") == (outcome.outcome, outcome.owner)


# --- Whose things -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "email, verdict",
    [
        pytest.param(ADA, "accepted", id="owner"),
        pytest.param(CAROL, "accepted", id="same team"),
        pytest.param(ROOT, "accepted", id="admin"),
        pytest.param(EVE, "refused", id="another team"),
        pytest.param(STRANGER, "refused", id="no team"),
    ],
)
def test_a_job_is_stopped_and_resumed_by_its_people_only(
    cloud: Cloud, email: str, verdict: str
) -> None:
    """Its owner, their team, admins."""
    cloud.wish(ADA)
    stopped = cloud.say("stop", {"job": JOB}, cloud.token(email))
    if verdict == "refused":
        cloud.say("stop", {"job": JOB}, cloud.token(ADA))
    cloud.tick_until(cloud.stands_at(Stage.CANCELLED))
    cloud.tick()
    args = {"job": JOB, "seen_attempt": -1, "slice_uid": "uid00009"}
    rerun = cloud.say("rerun", args, cloud.token(email))

    assert [verdict, verdict] == [stopped.outcome, rerun.outcome]


def test_a_refusal_says_whose_it_is(cloud: Cloud) -> None:
    """And who may, so that one knows whom to ask."""
    cloud.wish(ADA)

    expected = (
        f"job 1 belongs to {ADA}: only its owner, members of their team and admins may do this,"
        f" not {EVE}"
    )
    assert expected == cloud.say("stop", {"job": JOB}, cloud.token(EVE)).reason


def test_who_stopped_it_stands_in_the_reason(cloud: Cloud) -> None:
    """Its owner is told that it was not them."""
    cloud.wish(ADA)
    cloud.say("stop", {"job": JOB}, cloud.token(CAROL))

    assert f"stopped by {CAROL}" == cloud.job().reason


@pytest.mark.parametrize(
    "email, verdict",
    [
        pytest.param(ADA, "accepted", id="owner"),
        pytest.param(CAROL, "accepted", id="same team"),
        pytest.param(EVE, "refused", id="another team"),
        pytest.param(STRANGER, "refused", id="no team"),
    ],
)
def test_a_slice_is_released_by_its_people_only(cloud: Cloud, email: str, verdict: str) -> None:
    """Nobody gives away what another one holds."""
    name = cloud.held_slice(ADA)

    assert verdict == cloud.say("release", {"slice": name}, cloud.token(email)).outcome


def test_what_came_without_an_owner_is_anybodys(cloud: Cloud) -> None:
    """A box that moved here knew no accounts; somebody must be able to stop its jobs."""
    cloud.wish(ADA)
    document = cloud.store.get("owners/ada-example-com")
    assert document is not None
    cloud.store.commit([Replace(document.path, {"owner": "ada", "number": 1}, document.token)])

    assert "accepted" == cloud.say("stop", {"job": JOB}, cloud.token(EVE)).outcome


def test_grants_are_changed_by_admins_only(cloud: Cloud) -> None:
    """They say what costs nothing."""
    outcomes = [
        cloud.say("grant-add", grant_of(name=name), cloud.token(email)).outcome
        for name, email in (("mine", ADA), ("ours", ROOT))
    ]

    assert ["refused", "accepted"] == outcomes


def test_without_identities_the_user_of_the_machine_is_believed(world: World) -> None:
    """The embedded wiring: whoever can write the state file is let do everything."""
    world.submit()
    job = world.job()

    assert ("ada", "", "") == (job.owner, job.owner_email, job.owner_subject)
    args = {"job": JOB, "kill": False}
    fields = {"version": 1, "id": "hers", "kind": "stop", "owner": "eve", "args": args}
    world.publish("commands", Message(json.dumps({**fields, "id_token": mint(EVE)}).encode()))
    assert ("accepted", "eve", "") == (
        world.outcome("hers").outcome,
        world.outcome("hers").owner,
        world.outcome("hers").owner_email,
    )
