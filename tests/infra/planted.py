"""Plans with one fault each, for the tests of the policies."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from tests.infra import plans, policies
from tests.infra.plans import PREFIX, PROJECT, Plan, Resource

DOMAIN = "example-project.iam.gserviceaccount.com"
SUBSCRIPTION = 'module.subscription["recovery"].google_pubsub_subscription.this'
FUNCTION = 'module.function["recovery"].google_cloudfunctions2_function.this'
INVOKER = 'module.function["recovery"].google_cloud_run_v2_service_iam_member.invoker'
WORKER_TOPIC = 'google_pubsub_topic_iam_member.worker["vision"]'
TPU_ROLE = 'google_project_iam_member.tpu["recovery"]'
DOCUMENTS = 'google_project_iam_member.documents["launch"]'
ACT_AS = 'google_service_account_iam_member.act_as_worker["default"]'
DATA, DATABASE = "google_storage_bucket.data", "google_firestore_database.this"
WORKER_CONTROL = 'google_storage_bucket_iam_member.worker["vision/control"]'
COMMON_CONTROL = 'google_storage_bucket_iam_member.worker["default/control"]'
USER_SPECS = 'google_storage_bucket_iam_member.user["user:ada@example.com/specs"]'
LAUNCH_CONTROL = 'google_storage_bucket_iam_member.launch["vision"]'
WORKER_OUTPUTS = 'google_storage_bucket_iam_member.worker["vision/outputs"]'
WORKER_REPORTS = 'google_storage_bucket_iam_member.worker["vision/reports"]'

Break = Callable[[Plan], Plan]


def without(address: str) -> Break:
    """Leave a resource out."""
    return lambda plan: Plan(tuple(each for each in plan.resources if each.address != address))


def added(type_: str, **values: Any) -> Break:
    """Add a resource."""
    return lambda plan: Plan((*plan.resources, Resource(f"{type_}.planted", type_, values)))


def changed(address: str, *path: str, to: Any = None) -> Break:
    """Set a value inside a resource; None removes it."""

    def change(plan: Plan) -> Plan:
        old = plan.one(address)
        values: Any = deepcopy(dict(old.values))
        place = values
        for name in path[:-1]:
            place = place[name][0]
        place.pop(path[-1], None)
        if to is not None:
            place[path[-1]] = to
        new = replace(old, values=values)
        return Plan(tuple(new if each is old else each for each in plan.resources))

    return change


def under(address: str, folder: str) -> Break:
    """Give a right for another folder of the bucket."""
    place = f'"projects/_/buckets/{PROJECT}-{PREFIX}/objects/{folder}"'
    return changed(address, "condition", "expression", to=f"resource.name.startsWith({place})")


def case(policy: str, planted: Break, says: str, name: str) -> Any:
    """Put one row into the table of faults."""
    return pytest.param(policy, planted, says, id=name.replace(" ", "-"))


def account(name: str) -> str:
    """Write an account as an IAM member."""
    return f"serviceAccount:tpuctl-{name}@{DOMAIN}"


def found(policy: str, planted: Break) -> str:
    """Plant a fault in the plan that is kept, and return what one policy says of it."""
    findings = policies.findings(planted(plans.recorded()))
    return "; ".join(each.problem for each in findings if each.policy == policy)
