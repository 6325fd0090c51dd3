"""What functions are given by terraform is what functions read."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest

from functions.callers import ACCOUNT_VARIABLE, AUDIENCE_VARIABLE
from shared import settings, topology
from shared.settings import SECRET_VARIABLE, SETTINGS_VARIABLE, Wiring
from shared.settings_cloud import CloudSettings
from tests.infra import plans
from tests.infra.plans import Plan

DOMAIN = "example-project.iam.gserviceaccount.com"
# What every installation may leave to its default.
OPTIONAL = {"bucket_region", "outputs"}


@pytest.fixture(scope="module", name="plan")
def _plan() -> Plan:
    return plans.recorded()


def environment(plan: Plan, function: str) -> dict[str, str]:
    """Return the environment of a deployed function, secrets by a stand-in."""
    address = f'module.function["{function}"].google_cloudfunctions2_function.this'
    service = plan.one(address).block("service_config")
    found: dict[str, str] = dict(service["environment_variables"])
    secrets: list[dict[str, Any]] = service.get("secret_environment_variables", [])
    return found | {each["key"]: "https://example.com/a-secret" for each in secrets}


@pytest.mark.parametrize("function", topology.FUNCTIONS)
def test_a_function_reads_the_settings_it_is_given(plan: Plan, function: str) -> None:
    """Every key is known, every value is of its type."""
    read = settings.load(environment(plan, function))

    assert Wiring.GOOGLE is read.wiring
    assert ("example-project", "tpuctl") == (read.google.project, read.google.prefix)
    assert f"tpuctl-w-vision@{DOMAIN}" == read.google.teams["vision"].worker_account


def test_terraform_writes_every_setting_of_the_cloud(plan: Plan) -> None:
    """A setting that is added in code must be added there, or be left out on purpose."""
    written = json.loads(environment(plan, "launch")[SETTINGS_VARIABLE])["cloud"]

    assert {each.name for each in fields(CloudSettings)} - OPTIONAL == set(written)


def test_only_alert_knows_the_webhooks_and_has_their_secrets(plan: Plan) -> None:
    """Each webhook names variables that are there."""
    given = environment(plan, "alert")
    alerts = settings.load(given).alerts
    assert alerts is not None
    others = [settings.load(environment(plan, each)).alerts for each in ("launch", "report")]

    named = {each.url_env for each in alerts.webhooks.values()}
    named |= {each.signing_secret_env for each in alerts.webhooks.values()} - {""}
    assert {"lab", "pipeline"} == set(alerts.webhooks)
    assert named <= set(given)
    assert [None, None] == others


@pytest.mark.parametrize(
    "function, has",
    [
        pytest.param(name, name in {"launch", "report"}, id=name)
        for name in sorted(topology.FUNCTIONS)
    ],
)
def test_the_secret_of_tokens_is_with_two_functions(
    plan: Plan,
    function: str,
    *,
    has: bool,
) -> None:
    """No other one can vouch for a start."""
    assert has == (SECRET_VARIABLE in environment(plan, function))


@pytest.mark.parametrize("function", topology.FUNCTIONS)
def test_a_function_knows_who_calls_it_and_under_which_address(plan: Plan, function: str) -> None:
    """What it checks is what its callers are told to say."""
    given = environment(plan, function)
    pushes = [each.block("push_config") for each in plan.of("google_pubsub_subscription")]
    calls = [(each["push_endpoint"], each["oidc_token"][0]) for each in pushes]
    clock = plan.one("google_cloud_scheduler_job.tick").block("http_target")
    calls.append((clock["uri"], clock["oidc_token"][0]))
    mine = [token for url, token in calls if url == given[AUDIENCE_VARIABLE]]

    assert 1 <= len(mine)
    assert {given[AUDIENCE_VARIABLE]} == {each["audience"] for each in mine}
    assert {given[ACCOUNT_VARIABLE]} == {each["service_account_email"] for each in mine}


def test_indexes_of_several_fields_are_declared(plan: Plan) -> None:
    """In the order and direction in which the use cases search."""
    declared = {
        (
            each.text("collection"),
            tuple((f["field_path"], f["order"]) for f in each.values["fields"]),
        )
        for each in plan.of("google_firestore_index")
    }

    assert {
        ("jobs", (("owner", "ASCENDING"), ("number", "DESCENDING"))),
        ("jobs", (("owner", "ASCENDING"), ("created_at", "DESCENDING"))),
    } == declared


def test_subscriptions_are_those_of_the_other_wirings(plan: Plan) -> None:
    """Same names, same patience."""
    made = {
        (
            each.text("name"),
            each.text("topic"),
            each.values["ack_deadline_seconds"],
            each.block("retry_policy")["minimum_backoff"],
            each.block("dead_letter_policy").get("max_delivery_attempts"),
        )
        for each in plan.of("google_pubsub_subscription")
    }

    assert {
        (
            f"tpuctl-{each.name}",
            f"tpuctl-{each.topic}",
            each.ack_deadline_s,
            f"{each.backoff_min_s}s",
            each.attempts_max if each.dead_letter_topic else None,
        )
        for each in topology.SUBSCRIPTIONS
    } == made
