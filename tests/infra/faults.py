"""Faults to plant in a copy of ``infra/``: each must turn one check red, in words about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Fault:
    """A text to replace, the check that must see it, and what that check must say."""

    file: str
    old: str
    new: str
    seen_by: str
    says: str


FAULTS: Final[Mapping[str, Fault]] = {
    "bad format": Fault(
        "infra/topics.tf", "  for_each = toset", "      for_each = toset", "fmt", "topics.tf"
    ),
    "typo": Fault(
        "infra/topics.tf", "kms_key_name", "kms_key_nam", "validate", "Unsupported argument"
    ),
    "missing dead letter": Fault(
        "infra/modules/subscription/subscription.tf",
        "var.dead_letter_topic == null\n",
        "true\n",
        "policies",
        "has no dead-letter topic",
    ),
    "allUsers": Fault(
        "infra/modules/function/function.tf",
        "member   = var.invoker",
        'member   = "allUsers"',
        "policies",
        "to everybody",
    ),
    "timeout above ack deadline": Fault(
        "shared/data/topology.json",
        '"report": {"timeout_s": 120',
        '"report": {"timeout_s": 700',
        "plan",
        "set timeout_s below",
    ),
    "ack deadline below timeout": Fault(
        "infra/modules/subscription/subscription.tf",
        "= var.ack_deadline_s\n",
        "= 100\n",
        "policies",
        "may run 120 s",
    ),
    "wrong role": Fault(
        "infra/accounts.tf",
        '"roles/datastore.user"',
        '"roles/datastore.owner"',
        "policies",
        "gets roles/datastore.owner on the project",
    ),
    "one folder for all teams": Fault(
        "infra/storage.tf",
        'name => "teams/${name}/"',
        'name => ""',
        "policies",
        "w-vision reaches control/",
    ),
    "missing identity": Fault(
        "infra/modules/subscription/subscription.tf",
        "      audience              = var.url\n",
        "",
        "policies",
        "does not say whom its tokens are for",
    ),
    "open bucket": Fault(
        "infra/storage.tf",
        'public_access_prevention    = "enforced"',
        'public_access_prevention    = "inherited"',
        "checkov",
        "CKV_GCP_114",
    ),
    "skip without a reason": Fault(
        "infra/storage.tf",
        "CKV_GCP_78: soft delete keeps a week; versions would keep every checkpoint twice",
        "CKV_GCP_78",
        "checkov",
        "without a reason",
    ),
    "prefix without a rule": Fault(
        "infra/variables.tf",
        'can(regex("^[a-z][a-z0-9-]{2,10}[a-z0-9]$", var.prefix))',
        'var.prefix != ""',
        "terraform test",
        "prefix",
    ),
}
