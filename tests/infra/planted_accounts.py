"""Faults of accounts and rights, for the policies to find."""

from __future__ import annotations

from tests.infra.planted import (
    ACT_AS,
    COMMON_CONTROL,
    DOCUMENTS,
    DOMAIN,
    INVOKER,
    LAUNCH_CONTROL,
    TPU_ROLE,
    USER_SPECS,
    WORKER_CONTROL,
    WORKER_OUTPUTS,
    WORKER_REPORTS,
    account,
    added,
    case,
    changed,
    under,
    without,
)

FAULTS = [
    case(
        "nobody_unnamed_has_a_right",
        changed(INVOKER, "member", to="allUsers"),
        "to everybody",
        "allUsers",
    ),
    case(
        "nobody_unnamed_has_a_right",
        added(
            "google_storage_bucket_iam_binding",
            members=["allAuthenticatedUsers"],
            role="roles/storage.objectViewer",
        ),
        "to everybody",
        "everybody with an account",
    ),
    case(
        "nothing_bypasses_single_rights",
        added("google_service_account_key", service_account_id="x"),
        "google_service_account_key",
        "key of an account",
    ),
    case(
        "project_rights_are_few_and_narrow",
        changed(DOCUMENTS, "role", to="roles/editor"),
        "launch gets roles/editor",
        "wrong role",
    ),
    case(
        "project_rights_are_few_and_narrow",
        changed(DOCUMENTS, "condition"),
        "launch gets roles/datastore.user",
        "every database",
    ),
    case(
        "project_rights_are_few_and_narrow",
        changed('google_project_iam_member.worker_logs["vision"]', "role", to="roles/tpu.admin"),
        "w-vision gets roles/tpu.admin",
        "worker as TPU admin",
    ),
    case(
        "documents_are_for_functions_and_readers",
        changed(DOCUMENTS, "member", to=account("worker")),
        "worker may write documents",
        "worker writes documents",
    ),
    case(
        "documents_are_for_functions_and_readers",
        without(DOCUMENTS),
        "launch may not use",
        "function without documents",
    ),
    case(
        "tpu_rights_are_exact",
        changed(TPU_ROLE, "member", to=account("alert")),
        "alert may",
        "alert creates slices",
    ),
    case(
        "tpu_rights_are_exact",
        changed(
            'google_project_iam_custom_role.this["observer"]',
            "permissions",
            to=["tpu.nodes.get", "tpu.nodes.list", "tpu.operations.get", "tpu.nodes.delete"],
        ),
        "health-check may",
        "observer deletes",
    ),
    case(
        "people_wake_the_tick_and_change_none",
        changed(
            'google_project_iam_custom_role.this["waker"]',
            "permissions",
            to=["cloudscheduler.jobs.get", "cloudscheduler.jobs.run", "cloudscheduler.jobs.update"],
        ),
        "user:ada@example.com may",
        "user edits the tick",
    ),
    case(
        "people_wake_the_tick_and_change_none",
        without('google_project_iam_member.user_poke["user:ada@example.com"]'),
        "user:ada@example.com may nothing",
        "user who cannot poke",
    ),
    case(
        "people_wake_the_tick_and_change_none",
        changed(
            'google_project_iam_member.user_poke["user:ada@example.com"]',
            "member",
            to=account("alert"),
        ),
        "alert may",
        "function pokes",
    ),
    case(
        "only_recovery_hands_out_worker_accounts",
        changed(ACT_AS, "member", to=account("launch")),
        "launch may act as worker",
        "launch hands out accounts",
    ),
    case(
        "only_recovery_hands_out_worker_accounts",
        changed(
            ACT_AS, "service_account_id", to=f"projects/p/serviceAccounts/tpuctl-launch@{DOMAIN}"
        ),
        "recovery may act as launch",
        "slice with a strong account",
    ),
    case(
        "only_recovery_hands_out_worker_accounts",
        changed(
            "google_service_account_iam_member.push_tokens",
            "service_account_id",
            to=f"projects/p/serviceAccounts/tpuctl-worker@{DOMAIN}",
        ),
        "makes tokens of worker",
        "tokens of a worker",
    ),
    case(
        "functions_are_called_by_one_account",
        changed(INVOKER, "member", to=account("worker")),
        "called by ['worker']",
        "worker calls a function",
    ),
    case(
        "functions_are_called_by_one_account",
        changed(INVOKER, "role", to="roles/run.admin"),
        "more than calling",
        "caller may redeploy",
    ),
    case(
        "secrets_are_read_by_those_who_need_them",
        changed(
            'google_secret_manager_secret_iam_member.token["report"]', "member", to=account("park")
        ),
        "tpuctl-token is read by",
        "park reads the token",
    ),
    case(
        "shared_objects_are_given_by_folder",
        changed(WORKER_OUTPUTS, "condition"),
        "gets the whole bucket",
        "worker gets the bucket",
    ),
    case(
        "shared_objects_are_given_by_folder",
        changed(WORKER_OUTPUTS, "role", to="roles/storage.admin"),
        "more than objects",
        "worker administers the bucket",
    ),
    case(
        "workers_cannot_write_orders",
        changed(
            WORKER_REPORTS,
            "condition",
            "expression",
            to='resource.name.startsWith("projects/_/buckets/b/objects/control/mandates/")',
        ),
        "may write mandates",
        "worker writes mandates",
    ),
    case(
        "teams_share_no_folder",
        under(WORKER_CONTROL, "control/"),
        "w-vision reaches control/",
        "worker reads everybodys mandates",
    ),
    case(
        "teams_share_no_folder",
        under(WORKER_CONTROL, "teams/vision-2/control/"),
        "w-vision reaches teams/vision-2/control/",
        "worker reads another teams mandates",
    ),
    case(
        "teams_share_no_folder",
        under(COMMON_CONTROL, "teams/"),
        "worker reaches teams/",
        "common worker reads all teams",
    ),
    case(
        "teams_share_no_folder",
        under(COMMON_CONTROL, ""),
        "worker reaches everything",
        "common worker reads the bucket",
    ),
    case(
        "teams_share_no_folder",
        under(USER_SPECS, "control/specs/"),
        "user:ada@example.com reaches control/specs/",
        "member reads everybodys specs",
    ),
    case(
        "launch_writes_orders_and_nothing_else",
        without(LAUNCH_CONTROL),
        "launch cannot write teams/vision/control/",
        "team without mandates",
    ),
    case(
        "launch_writes_orders_and_nothing_else",
        under(LAUNCH_CONTROL, "teams/"),
        "launch writes teams/",
        "launch writes outputs",
    ),
]
