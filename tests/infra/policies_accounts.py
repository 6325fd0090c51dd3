"""Policies of accounts and rights: everyone has what the security page says, and no more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from tests.infra.plans import PREFIX, PROJECT, Plan, Resource
from tests.infra.policies_messages import DOMAIN

ANYBODY: Final = ("allUsers", "allAuthenticatedUsers")
DATABASE: Final = f'resource.name == "projects/{PROJECT}/databases/{PREFIX}"'
STAGING: Final = 'resource.name.startsWith("projects/_/buckets/gcf-v2-sources-'

# What Cloud TPU lets each function do; queued resources are nodes to IAM.
TPU_PERMISSIONS: Final = {
    "health-check": {"tpu.nodes.get", "tpu.nodes.list", "tpu.operations.get"},
    "launch": {"tpu.nodes.get", "tpu.nodes.update"},
    "recovery": {
        "tpu.nodes.create",
        "tpu.nodes.delete",
        "tpu.nodes.get",
        "tpu.operations.get",
    },
}
COMMANDS: Final = f"{PREFIX}-commands"
WAKING: Final = {"cloudscheduler.jobs.get", "cloudscheduler.jobs.run"}
# In which teams the people of the plan are; the worker of a team says it by its name.
TEAM_OF: Final = {"user:ada@example.com": "vision"}
FUNCTIONS: Final = ("alert", "health-check", "launch", "park", "recovery", "report")
TOKEN_READERS: Final = {"launch", "report"}
TOKEN_SECRET: Final = f"{PREFIX}-token"
LISTER: Final = f"projects/{PROJECT}/roles/{PREFIX}_lister"
NOT_ALLOWED: Final = (
    "google_service_account_key",
    "google_project_iam_binding",
    "google_project_iam_policy",
    "google_storage_bucket_acl",
    "google_storage_default_object_acl",
    "google_storage_object_acl",
)


def nobody_unnamed_has_a_right(plan: Plan) -> Iterator[str]:
    """No right for everybody, anywhere."""
    for each in plan.resources:
        members = [each.text("member"), *each.values.get("members", [])]
        if any(member in ANYBODY for member in members):
            yield f"{each.address} gives {each.text('role')} to everybody"


def nothing_bypasses_single_rights(plan: Plan) -> Iterator[str]:
    """No keys of accounts, no bindings that replace others' rights, no access lists."""
    for each in plan.of(*NOT_ALLOWED):
        yield f"{each.address} is a {each.type}"


def project_rights_are_few_and_narrow(plan: Plan) -> Iterator[str]:
    """Only what Google cannot give on a single resource, with a condition where it can."""
    for each in plan.of("google_project_iam_member"):
        if not _is_narrow(plan, each):
            yield f"{each.address}: {_name(each)} gets {each.text('role')} on the project"


def documents_are_for_functions_and_readers(plan: Plan) -> Iterator[str]:
    """Every function reads and writes the one database; people only read it."""
    able = {_name(each) for each in _rights(plan, "roles/datastore.user")}
    for missing in sorted(set(FUNCTIONS) - able):
        yield f"{missing} may not use the database"
    for other in sorted(able - set(FUNCTIONS)):
        yield f"{other} may write documents"


def tpu_rights_are_exact(plan: Plan) -> Iterator[str]:
    """Observing, creating and ringing are three rights of three functions."""
    found = _permissions(plan, lambda name: name.startswith("tpu."))
    for name in sorted(found.keys() | TPU_PERMISSIONS.keys()):
        if found.get(name, set()) != TPU_PERMISSIONS.get(name, set()):
            yield f"{name} may {sorted(found.get(name, set())) or 'nothing'} in Cloud TPU"


def people_wake_the_tick_and_change_none(plan: Plan) -> Iterator[str]:
    """Whoever gives orders may run the scheduler's job; nobody edits it, no function runs it."""
    found = _permissions(plan, lambda name: not name.startswith("tpu."))
    orders = plan.of("google_pubsub_topic_iam_member")
    people = {_name(each) for each in orders if each.text("topic") == COMMANDS}
    for name in sorted(found.keys() | people):
        if found.get(name, set()) != (WAKING if name in people else set()):
            yield f"{name} may {sorted(found.get(name, set())) or 'nothing'} at the scheduler"


def only_recovery_hands_out_worker_accounts(plan: Plan) -> Iterator[str]:
    """Who creates a slice may give it a worker's account and no stronger one."""
    for each in plan.of("google_service_account_iam_member"):
        role, target = each.text("role"), _short(each.text("service_account_id"))
        if role == "roles/iam.serviceAccountTokenCreator":
            if target != "push-invoker" or not each.text("member").endswith(
                "@gcp-sa-pubsub.iam.gserviceaccount.com"
            ):
                yield f"{each.address}: {each.text('member')} makes tokens of {target}"
        elif role != "roles/iam.serviceAccountUser":
            yield f"{each.address}: {role} on {target}"
        elif _name(each) != "recovery" or not _is_worker(target):
            yield f"{each.address}: {_name(each)} may act as {target}"


def functions_are_called_by_one_account(plan: Plan) -> Iterator[str]:
    """The clock calls one function, Pub/Sub the others, nobody else any."""
    callers: dict[str, list[str]] = {}
    for each in plan.of(
        "google_cloud_run_v2_service_iam_member", "google_cloud_run_service_iam_member"
    ):
        callers.setdefault(_short(each.text("name")), []).append(_name(each))
        if each.text("role") != "roles/run.invoker":
            yield f"{each.address}: {each.text('role')} is more than calling"
    for name in FUNCTIONS:
        wanted = "scheduler-invoker" if name == "health-check" else "push-invoker"
        if callers.get(name) != [wanted]:
            yield f"{name} is called by {callers.get(name) or 'nobody'}, not by {wanted}"


def secrets_are_read_by_those_who_need_them(plan: Plan) -> Iterator[str]:
    """Only two functions can make an attempt's token; only one knows webhooks."""
    readers: dict[str, set[str]] = {}
    for each in plan.of("google_secret_manager_secret_iam_member"):
        readers.setdefault(each.text("secret_id"), set()).add(_name(each))
        if each.text("role") != "roles/secretmanager.secretAccessor":
            yield f"{each.address}: {each.text('role')} is more than reading"
    for secret in plan.of("google_secret_manager_secret"):
        name = secret.text("secret_id")
        wanted = TOKEN_READERS if name == TOKEN_SECRET else {"alert"}
        if readers.get(name, set()) != wanted:
            yield f"{name} is read by {sorted(readers.get(name, set()))}, not by {sorted(wanted)}"


def shared_objects_are_given_by_folder(plan: Plan) -> Iterator[str]:
    """In the bucket that all share, every right but listing names is for a folder."""
    for each in plan.of("google_storage_bucket_iam_member"):
        if each.text("bucket") == f"{PROJECT}-{PREFIX}" and each.text("role") != LISTER:
            when = str(each.block("condition").get("expression"))
            if f"/buckets/{PROJECT}-{PREFIX}/objects/" not in when:
                yield f"{each.address}: {_name(each)} gets the whole bucket"
        if each.text("role").endswith(("admin", "Admin", "legacyBucketOwner")):
            yield f"{each.address}: {each.text('role')} is more than objects"


def workers_cannot_write_orders(plan: Plan) -> Iterator[str]:
    """A slice reads mandates, specs and code; only functions and people write them."""
    for each in plan.of("google_storage_bucket_iam_member"):
        if not _is_worker(_name(each)) or each.text("bucket") != f"{PROJECT}-{PREFIX}":
            continue
        when = str(each.block("condition").get("expression"))
        writes = each.text("role") not in {"roles/storage.objectViewer", LISTER}
        if writes and "/control/" in when and '.extract(".host-{index}.json") != ""' not in when:
            yield f"{each.address}: {_name(each)} may write mandates"
        if writes and "/code/" in when:
            yield f"{each.address}: {_name(each)} may write code"


def teams_share_no_folder(plan: Plan) -> Iterator[str]:
    """Mandates hold tokens: whoever reads another team's can speak for its hosts."""
    for each in _shared_rights(plan):
        name = _name(each)
        team = name.removeprefix("w-") if name.startswith("w-") else TEAM_OF.get(name, "")
        for path in _paths(each):
            if name != "launch" and not _is_inside(path, team):
                yield f"{each.address}: {name} reaches {path or 'everything'}"


def launch_writes_orders_and_nothing_else(plan: Plan) -> Iterator[str]:
    """Every worker's mandates, whichever team it is of."""
    workers = {_short(each.text("account_id")) for each in plan.of("google_service_account")}
    teams = {name.removeprefix("w-") for name in workers if name.startswith("w-")}
    wanted = {"control/", *(f"teams/{team}/control/" for team in teams)}
    rights = [each for each in _shared_rights(plan) if _name(each) == "launch"]
    found = {path for each in rights for path in _paths(each)}
    for path in sorted(wanted ^ found):
        yield f"launch {'writes' if path in found else 'cannot write'} {path or 'everything'}"


def _shared_rights(plan: Plan) -> Iterator[Resource]:
    """Rights to what is in the bucket that all share, not to its names."""
    return (
        each
        for each in plan.of("google_storage_bucket_iam_member")
        if each.text("bucket") == f"{PROJECT}-{PREFIX}" and each.text("role") != LISTER
    )


def _paths(right: Resource) -> list[str]:
    """Name the folders that a right is for; "" is the whole bucket."""
    when = str(right.block("condition").get("expression"))
    return re.findall(r"/objects/([^\"]*)\"", when) or [""]


def _is_inside(path: str, team: str) -> bool:
    if team:
        return path.startswith(f"teams/{team}/")
    return not path.startswith("teams/") and not "teams/".startswith(path)


def _permissions(plan: Plan, wanted: Callable[[str], bool]) -> dict[str, set[str]]:
    """Collect what our own roles let each account do in the project."""
    roles = {
        f"projects/{PROJECT}/roles/{each.text('role_id')}": set(each.values.get("permissions", []))
        for each in plan.of("google_project_iam_custom_role")
    }
    found: dict[str, set[str]] = {}
    for each in plan.of("google_project_iam_member"):
        able = filter(wanted, roles.get(each.text("role"), ()))
        found.setdefault(_name(each), set()).update(able)
    return found


def _rights(plan: Plan, role: str) -> Iterator[Resource]:
    return (each for each in plan.of("google_project_iam_member") if each.text("role") == role)


def _is_narrow(plan: Plan, right: Resource) -> bool:
    condition = str(right.block("condition").get("expression"))
    match right.text("role"):
        case "roles/datastore.user" | "roles/datastore.viewer":
            return condition == DATABASE
        case "roles/logging.logWriter":
            return _name(right) == "builder" or _is_worker(_name(right))
        case "roles/storage.objectViewer":
            return _name(right) == "builder" and condition.startswith(STAGING)
        case role:
            return role in {
                f"projects/{PROJECT}/roles/{each.text('role_id')}"
                for each in plan.of("google_project_iam_custom_role")
            }


def _name(binding: Resource) -> str:
    """Name who gets a right: one of our accounts without its prefix, others as they are."""
    return _short(binding.text("member").removeprefix("serviceAccount:"))


def _short(address: str) -> str:
    return address.rpartition("/")[2].removesuffix(f"@{DOMAIN}").removeprefix(f"{PREFIX}-")


def _is_worker(name: str) -> bool:
    return name == "worker" or name.startswith("w-")


POLICIES = (
    nobody_unnamed_has_a_right,
    nothing_bypasses_single_rights,
    project_rights_are_few_and_narrow,
    documents_are_for_functions_and_readers,
    tpu_rights_are_exact,
    people_wake_the_tick_and_change_none,
    only_recovery_hands_out_worker_accounts,
    functions_are_called_by_one_account,
    secrets_are_read_by_those_who_need_them,
    shared_objects_are_given_by_folder,
    workers_cannot_write_orders,
    teams_share_no_folder,
    launch_writes_orders_and_nothing_else,
)
