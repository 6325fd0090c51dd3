"""Rights as the page for operators names them: who may do what, on what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tests.infra.plans import PREFIX, PROJECT, Plan, Resource

Right = tuple[str, str, str]

DATABASE: Final = "the database"
ON_PROJECT: Final = "the project"
_ON: Final = {
    "google_artifact_registry_repository_iam_member": "repository",
    "google_cloud_run_v2_service_iam_member": "name",
    "google_pubsub_subscription_iam_member": "subscription",
    "google_pubsub_topic_iam_member": "topic",
    "google_secret_manager_secret_iam_member": "secret_id",
    "google_service_account_iam_member": "service_account_id",
}
_FOLDER: Final = re.compile(r'/objects/([\w/]+/)"')


def rights(plan: Plan) -> Iterator[Right]:
    """Give every right of a plan as (account, role, on what)."""
    for each in plan.resources:
        if each.type.endswith("_iam_member"):
            yield _account(each), each.text("role").rpartition("/")[2], _thing(each)


def short(name: str) -> str:
    """Leave out what depends on the installation; one team stands for all, one webhook too."""
    name = name.rpartition("/")[2].partition("@")[0].removeprefix(f"{PREFIX}-")
    for one, every in (("w-", "w-TEAM"), ("webhook-", "webhooks")):
        name = every if name.startswith(one) else name
    return name


def _account(right: Resource) -> str:
    kind, _, address = right.text("member").partition(":")
    if not address:
        return "the sink"
    if kind != "serviceAccount":
        return "users"
    return "Pub/Sub" if "@gcp-sa-pubsub." in address else short(address)


def _thing(right: Resource) -> str:
    if right.type in _ON:
        return short(right.text(_ON[right.type]))
    condition = str(right.block("condition").get("expression", ""))
    if right.type == "google_project_iam_member":
        if "/databases/" in condition:
            return DATABASE
        return "gcf-v2-sources" if "gcf-v2-sources" in condition else ON_PROJECT
    bucket = right.text("bucket")
    if bucket != f"{PROJECT}-{PREFIX}":
        return "source" if bucket.endswith("-source") else "a team's buckets"
    folder = _FOLDER.search(condition)
    return re.sub(r"^teams/[^/]+/", "teams/TEAM/", folder[1]) if folder else "the bucket"
