"""What a box needs of its project, asked of Google once, when its settings are made."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from cli.errors import CliError
from shared import wiring
from shared.errors import ControlPlaneError, InvalidRequest, NoAccess, NotAuthorized
from shared.settings import Settings
from shared.topology import BOX_REPORTS, Topic
from shared.wiring import Endpoints

# Proves that the bucket takes what a box writes; it stays, and says whose bucket it is.
PROBE: Final = "control/box.json"
# Where Cloud TPU is asked something when no zone is named.
ZONE: Final = "us-central2-b"
_API_OFF: Final = re.compile(
    r"SERVICE_DISABLED|has not been used in project|is disabled", re.IGNORECASE
)
_MEMBER: Final = '"user:$(gcloud config get account)"'
_TOLD_CHARS_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, in one line; ``fix`` is the command that mends it, empty for nothing.

    ``may_pass``: it may be good in a minute without anybody's doing.
    """

    text: str
    fix: str = ""
    may_pass: bool = False


@dataclass(frozen=True, slots=True)
class _Check:
    """One thing that is tried, what it is called, and what it needs."""

    label: str
    api: str
    role: str
    grant: str  # the command that gives the role, without member and role
    found: str
    act: Callable[[], object]


def findings(settings: Settings) -> Iterator[Finding]:
    """Try one thing after the other.

    Makes the topic of reports and the subscription of the box, and writes a small object.
    """
    ends = Endpoints.named_in(os.environ)
    if not (ends.cloud and ends.pubsub) and not _is_logged_in():
        yield Finding(
            "no Google account is logged in on this machine",
            "gcloud auth application-default login",
        )
        return
    for check in _checks(settings, ends.cloud):
        try:
            check.act()
        except ControlPlaneError as error:
            yield _problem(settings, check, error)
        else:
            yield Finding(check.found)


def check_reports(settings: Settings) -> Finding:
    """Look whether reports can come, the first of all findings.

    Raises CliError where they never will as things are.
    """
    finding = next(findings(settings))
    if finding.fix and not finding.may_pass:
        raise CliError(finding.text, next_step=finding.fix)
    return finding


def _is_logged_in() -> bool:
    import google.auth
    from google.auth.exceptions import GoogleAuthError

    try:
        google.auth.default()
    except GoogleAuthError:
        return False
    return True


def _checks(settings: Settings, endpoint: str) -> tuple[_Check, ...]:
    cloud = settings.google
    zone = cloud.zones[0] if cloud.zones else ZONE
    on_project = f"gcloud projects add-iam-policy-binding {cloud.project}"

    def write_probe() -> None:
        told = {"installation": settings.installation, "project": cloud.project}
        wiring.open_blobs(settings, endpoint).put(PROBE, json.dumps(told).encode())

    return (
        _Check(
            "Pub/Sub",
            "pubsub.googleapis.com",
            "roles/pubsub.editor",
            on_project,
            f"topic {cloud.prefix}-{Topic.REPORTS},"
            f" subscription {cloud.prefix}-{BOX_REPORTS.name} that never expires",
            lambda: wiring.declare_box(settings),
        ),
        _Check(
            f"the bucket {cloud.bucket}",
            "storage.googleapis.com",
            "roles/storage.objectUser",
            f"gcloud storage buckets add-iam-policy-binding gs://{cloud.bucket}",
            f"bucket {cloud.bucket}, writable",
            write_probe,
        ),
        _Check(
            "Cloud TPU",
            "tpu.googleapis.com",
            "roles/tpu.admin",
            on_project,
            f"Cloud TPU, asked in {zone}",
            lambda: wiring.open_slices(settings, endpoint).get(zone, "tpuctl-box-check"),
        ),
    )


def _problem(settings: Settings, check: _Check, error: ControlPlaneError) -> Finding:
    """Say what is missing and how to get it."""
    cloud, told = settings.google, " ".join(str(error).split())[:_TOLD_CHARS_MAX]
    if isinstance(error, NotAuthorized) and _API_OFF.search(str(error)):
        return Finding(
            f"{check.label}: the API {check.api} is not enabled in {cloud.project}",
            f"gcloud services enable {check.api} --project {cloud.project}",
        )
    if isinstance(error, NotAuthorized):
        return Finding(
            f"{check.label}: the role {check.role} is missing ({told})",
            f"{check.grant} --member {_MEMBER} --role {check.role}",
        )
    if isinstance(error, NoAccess):
        return Finding(f"{check.label}: {told}", "name a zone that the project may use: --zone")
    if isinstance(error, InvalidRequest) and check.label.endswith(cloud.bucket):
        place = f" --location {cloud.region}" if cloud.region else ""
        return Finding(
            f"there is no bucket {cloud.bucket} ({told})",
            f"gcloud storage buckets create gs://{cloud.bucket} --project {cloud.project}{place}"
            " --uniform-bucket-level-access --public-access-prevention",
        )
    if isinstance(error, InvalidRequest):
        return Finding(
            f"{check.label} refuses the project {cloud.project} ({told})", "gcloud projects list"
        )
    return Finding(
        f"{check.label} did not answer ({told})", "try again, or --no-check", may_pass=True
    )
