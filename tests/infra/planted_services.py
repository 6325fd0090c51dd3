"""Faults of functions, data, network and alerts, for the policies to find."""

from __future__ import annotations

from tests.infra.planted import (
    DATA,
    DATABASE,
    DOMAIN,
    FUNCTION,
    added,
    case,
    changed,
    without,
)

FAULTS = [
    case(
        "functions_have_accounts_of_their_own",
        changed(FUNCTION, "service_config", "service_account_email"),
        "run as the default",
        "function without an account",
    ),
    case(
        "functions_have_accounts_of_their_own",
        changed(FUNCTION, "service_config", "service_account_email", to=f"tpuctl-launch@{DOMAIN}"),
        "run as tpuctl-launch",
        "two functions share one",
    ),
    case(
        "functions_listen_inside_only",
        changed(FUNCTION, "service_config", "ingress_settings", to="ALLOW_ALL"),
        "ALLOW_ALL",
        "open to the internet",
    ),
    case(
        "functions_are_bounded",
        changed(FUNCTION, "service_config", "max_instance_count"),
        "may grow",
        "no limit of instances",
    ),
    case(
        "functions_are_bounded",
        changed(FUNCTION, "service_config", "min_instance_count", to=1),
        "never idle",
        "always an instance",
    ),
    case(
        "functions_are_bounded",
        changed(FUNCTION, "service_config", "max_instance_request_concurrency", to=80),
        "several requests",
        "many requests at once",
    ),
    case(
        "functions_are_built_apart",
        changed(FUNCTION, "build_config", "service_account"),
        "the default account",
        "built by the default account",
    ),
    case(
        "functions_are_built_apart",
        changed(
            FUNCTION,
            *("build_config", "source", "storage_source", "bucket"),
            to="example-project-tpuctl",
        ),
        "that jobs write to",
        "code beside outputs",
    ),
    case(
        "secrets_stay_out_of_plain_variables",
        changed(FUNCTION, "service_config", "environment_variables", to={"TPUCTL_SECRET": "x"}),
        "in the open",
        "secret in the open",
    ),
    case(
        "secrets_stay_out_of_plain_variables",
        changed(
            FUNCTION,
            *("service_config", "secret_environment_variables"),
            to=[{"key": "TPUCTL_SECRET", "secret": "tpuctl-token"}],
        ),
        "reads TPUCTL_SECRET",
        "recovery gets the token",
    ),
    case(
        "buckets_are_private",
        changed(DATA, "public_access_prevention", to="inherited"),
        "may be made public",
        "open bucket",
    ),
    case(
        "buckets_are_private",
        changed(DATA, "uniform_bucket_level_access", to=False),
        "access lists",
        "access lists",
    ),
    case(
        "data_can_be_taken_back", changed(DATA, "soft_delete_policy"), "forgets", "no soft delete"
    ),
    case(
        "data_can_be_taken_back",
        changed(DATA, "force_destroy", to=True),
        "destroyed with",
        "bucket goes with its data",
    ),
    case(
        "data_can_be_taken_back",
        changed(
            DATA,
            "lifecycle_rule",
            to=[{"action": [{"type": "Delete"}], "condition": [{"age": 30}]}],
        ),
        "deletes objects",
        "objects expire",
    ),
    case(
        "the_database_is_guarded",
        changed(DATABASE, "delete_protection_state", to="DELETE_PROTECTION_DISABLED"),
        "can be deleted",
        "no delete protection",
    ),
    case(
        "the_database_is_guarded",
        changed(DATABASE, "point_in_time_recovery_enablement"),
        "as it was",
        "no point-in-time recovery",
    ),
    case(
        "the_database_is_guarded",
        changed(DATABASE, "type", to="DATASTORE_MODE"),
        "native",
        "datastore mode",
    ),
    case(
        "browsers_reach_no_document",
        without("google_firebaserules_release.deny_all"),
        "no rules",
        "rules not released",
    ),
    case(
        "browsers_reach_no_document",
        changed(
            "google_firebaserules_ruleset.deny_all",
            *("source", "files"),
            to=[{"content": "match /a { allow read: if true; }"}],
        ),
        "allows something",
        "rules that allow",
    ),
    case(
        "the_network_is_closed",
        changed("google_compute_firewall.slices[0]", "source_ranges", to=["0.0.0.0/0"]),
        "0.0.0.0/0",
        "open to the world",
    ),
    case(
        "the_network_is_closed",
        changed(
            'google_compute_subnetwork.slices["us-central2"]', "private_ip_google_access", to=False
        ),
        "do not reach Google",
        "no private access",
    ),
    case(
        "trouble_is_told",
        without("google_monitoring_alert_policy.missed_ticks"),
        "missed ticks",
        "missed ticks untold",
    ),
    case(
        "trouble_is_told",
        changed("google_monitoring_alert_policy.outbox_age", "enabled", to=False),
        "outbox age",
        "alert switched off",
    ),
    case(
        "everything_is_ours_by_name",
        added("random_id", byte_length=4),
        "another provider",
        "random suffix",
    ),
    case(
        "everything_is_ours_by_name",
        changed('google_pubsub_topic.this["alerts"]', "name", to="alerts"),
        "is named alerts",
        "name without prefix",
    ),
]
