"""Policies of functions, data, network and alerts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from tests.infra.plans import PREFIX, PROJECT, Plan, Resource
from tests.infra.policies_messages import DOMAIN

INSTANCES_MAX: Final = 40
SECRET_VARIABLES: Final = {
    "alert": ("TPUCTL_WEBHOOK_URL_", "TPUCTL_WEBHOOK_KEY_"),
    "launch": ("TPUCTL_SECRET",),
    "report": ("TPUCTL_SECRET",),
}
# What must reach somebody even when no function runs: a part of its condition.
ALERTS: Final = {
    "missed ticks": 'resource.labels.service_name = "tpuctl-health-check"',
    "dead letters": "subscription/dead_letter_message_count",
    "waiting messages": "subscription/oldest_unacked_message_age",
    "outbox age": f"user/{PREFIX}/outbox_age_s",
    "failed jobs": f"user/{PREFIX}/jobs_failed",
}
PROVIDER_TYPES: Final = "google_"


def functions_have_accounts_of_their_own(plan: Plan) -> Iterator[str]:
    """What one function may do, no other one may."""
    made = {f"{each.text('account_id')}@{DOMAIN}" for each in plan.of("google_service_account")}

    def account(each: Resource) -> str:
        return str(each.block("service_config").get("service_account_email") or "the default")

    functions = sorted(_functions(plan), key=account)
    for email, sharers in groupby(functions, key=account):
        names = [each.address for each in sharers]
        if email not in made or len(names) > 1:
            yield f"{' and '.join(names)} run as {email}"


def functions_listen_inside_only(plan: Plan) -> Iterator[str]:
    """Pub/Sub and the clock get in, the internet does not."""
    for each in _functions(plan):
        ingress = each.block("service_config").get("ingress_settings")
        if ingress != "ALLOW_INTERNAL_ONLY":
            yield f"{each.address} listens to {ingress or 'everybody'}"


def functions_are_bounded(plan: Plan) -> Iterator[str]:
    """Nothing runs when nothing happens, and a storm has a price."""
    for each in _functions(plan):
        limits = each.block("service_config")
        if not 1 <= limits.get("max_instance_count", 0) <= INSTANCES_MAX:
            yield f"{each.address} may grow to {limits.get('max_instance_count')} instances"
        if limits.get("min_instance_count") != 0:
            yield f"{each.address} is never idle"
        if limits.get("max_instance_request_concurrency") != 1:
            yield f"{each.address} takes several requests at once"
        if limits.get("available_cpu") != "1":
            yield f"{each.address} has {limits.get('available_cpu')} CPUs"


def functions_are_built_apart(plan: Plan) -> Iterator[str]:
    """By an account that runs nothing, from a source named by its content."""
    runs = {each.block("service_config").get("service_account_email") for each in _functions(plan)}
    for each in _functions(plan):
        builder = str(each.block("build_config").get("service_account", "")).rpartition("/")[2]
        if not builder or builder in runs:
            yield f"{each.address} is built by {builder or 'the default account'}"
        source = each.block("build_config", "source", "storage_source")
        if source.get("bucket") == f"{PROJECT}-{PREFIX}":
            yield f"{each.address} is built from the bucket that jobs write to"


def secrets_stay_out_of_plain_variables(plan: Plan) -> Iterator[str]:
    """A secret is a reference, and only where it is needed."""
    for each in _functions(plan):
        name, service = each.text("name").removeprefix(f"{PREFIX}-"), each.block("service_config")
        allowed = SECRET_VARIABLES.get(name, ())
        for secret in service.get("secret_environment_variables", []):
            if not secret["key"].startswith(allowed):
                yield f"{each.address} reads {secret['key']}"
        for variable in service.get("environment_variables", {}):
            if variable.startswith(("TPUCTL_SECRET", "TPUCTL_WEBHOOK")):
                yield f"{each.address} holds {variable} in the open"


def buckets_are_private(plan: Plan) -> Iterator[str]:
    """By construction, whatever an object's own list says."""
    for each in plan.of("google_storage_bucket"):
        if each.text("public_access_prevention") != "enforced":
            yield f"{each.address} may be made public"
        if each.values.get("uniform_bucket_level_access") is not True:
            yield f"{each.address} has access lists of its own"


def data_can_be_taken_back(plan: Plan) -> Iterator[str]:
    """What was deleted or written over stays for a week, and nothing is deleted in passing."""
    data = plan.one("google_storage_bucket.data")
    if int(data.block("soft_delete_policy").get("retention_duration_seconds", 0)) < 7 * 86400:
        yield f"{data.address} forgets at once what is deleted"
    if data.values.get("force_destroy") is not False:
        yield f"{data.address} is destroyed with what is in it"
    for rule in data.values.get("lifecycle_rule", []):
        if rule["action"][0]["type"] == "Delete":
            yield f"{data.address} deletes objects by itself"


def the_database_is_guarded(plan: Plan) -> Iterator[str]:
    """It is not deleted by mistake, and yesterday's documents can be had."""
    for each in plan.of("google_firestore_database"):
        if each.text("type") != "FIRESTORE_NATIVE":
            yield f"{each.address} is not in native mode"
        if each.text("delete_protection_state") != "DELETE_PROTECTION_ENABLED":
            yield f"{each.address} can be deleted"
        if each.text("point_in_time_recovery_enablement") != "POINT_IN_TIME_RECOVERY_ENABLED":
            yield f"{each.address} cannot be read as it was"


def browsers_reach_no_document(plan: Plan) -> Iterator[str]:
    """The rules that are released for our database allow nothing."""
    released = {each.text("name") for each in plan.of("google_firebaserules_release")}
    for each in plan.of("google_firestore_database"):
        if f"cloud.firestore/{each.text('name')}" not in released:
            yield f"{each.address} has no rules"
    for each in plan.of("google_firebaserules_ruleset"):
        for file in each.block("source").get("files", []):
            allows = file["content"].split("allow ")[1:]
            if not allows or any("if false;" not in rule for rule in allows):
                yield f"{each.address} allows something"


def the_network_is_closed(plan: Plan) -> Iterator[str]:
    """Nobody gets in from outside; hosts without an address get out to Google."""
    for each in plan.of("google_compute_firewall"):
        if each.text("direction") != "EGRESS":
            sources = each.values.get("source_ranges", [])
            if not sources or any(not str(range_).startswith("10.") for range_ in sources):
                yield f"{each.address} lets {sources or 'everybody'} in"
    for each in plan.of("google_compute_subnetwork"):
        if each.values.get("private_ip_google_access") is not True:
            yield f"{each.address}: its hosts do not reach Google"
    for each in plan.of("google_compute_network"):
        if each.values.get("auto_create_subnetworks") is not False:
            yield f"{each.address} makes subnetworks by itself"


def trouble_is_told(plan: Plan) -> Iterator[str]:
    """The alerts that work when nothing else does."""
    filters = " ".join(
        str(found[0].get("filter"))
        for policy in plan.of("google_monitoring_alert_policy")
        if policy.values.get("enabled") is not False
        for condition in policy.values.get("conditions", [])
        for kind, found in condition.items()
        if kind.startswith("condition_")
    )
    for what, part in ALERTS.items():
        if part not in filters:
            yield f"nobody is told of {what}"


def everything_is_ours_by_name(plan: Plan) -> Iterator[str]:
    """The prefix stands first, nothing is random, and only one provider is needed."""
    for each in plan.resources:
        if not each.type.startswith(PROVIDER_TYPES):
            yield f"{each.address} is of another provider"
    for each in plan.of(
        "google_pubsub_topic", "google_pubsub_subscription", "google_service_account"
    ):
        name = each.text("name") or each.text("account_id")
        if not name.startswith(f"{PREFIX}-"):
            yield f"{each.address} is named {name}"


def _functions(plan: Plan) -> Iterator[Resource]:
    return plan.of("google_cloudfunctions2_function")


POLICIES = (
    functions_have_accounts_of_their_own,
    functions_listen_inside_only,
    functions_are_bounded,
    functions_are_built_apart,
    secrets_stay_out_of_plain_variables,
    buckets_are_private,
    data_can_be_taken_back,
    the_database_is_guarded,
    browsers_reach_no_document,
    the_network_is_closed,
    trouble_is_told,
    everything_is_ours_by_name,
)
