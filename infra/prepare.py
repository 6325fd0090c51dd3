"""What must be there before terraform runs: programs, a project, a region, a place for state.

Everything that is made here is said out loud, because terraform does not know of it.
"""

from __future__ import annotations

import json
import shutil
import sys
from difflib import get_close_matches
from typing import Final

from infra.arguments import Asked
from infra.complaints import refusal
from infra.programs import INFRA, Problem, attempt, gcloud, run, terraform

ZIP: Final = INFRA.parent / "build" / "functions.zip"
# What terraform and the checks before it need; terraform enables the rest.
BOOTSTRAP_APIS: Final = (
    "cloudfunctions.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "pubsub.googleapis.com",
    "secretmanager.googleapis.com",
    "serviceusage.googleapis.com",
    "storage.googleapis.com",
)
INSTALL: Final = {
    "gcloud": "install the Google Cloud CLI (cloud.google.com/sdk/docs/install)",
    "terraform": "install terraform 1.9 or newer (developer.hashicorp.com/terraform/install)",
}


def prepare(asked: Asked, *, fresh: bool = True) -> None:
    """Check what can be checked, and make what terraform itself stands on.

    Without ``fresh`` there must be a deployment already.  Raises Problem.
    """
    for program, how in INSTALL.items():
        if shutil.which(program) is None:
            raise Problem(f"{program} is not on PATH; next: {how}")
    _check_project(asked)
    print(f"enabling what terraform needs: {', '.join(BOOTSTRAP_APIS)}", flush=True)
    gcloud(asked.project, "services", "enable", *BOOTSTRAP_APIS)
    _make_agent(asked)
    _check_region(asked)
    if not _has_state_bucket(asked):
        if not fresh:
            raise nothing_there(asked)
        _make_state_bucket(asked)
    run([sys.executable, str(INFRA / "package.py"), "--output", str(ZIP)])
    terraform(
        "init",
        "-input=false",
        "-reconfigure",
        f"-backend-config=bucket={asked.state_bucket}",
        f"-backend-config=prefix={asked.prefix}",
    )


def _check_project(asked: Asked) -> None:
    found = attempt(["gcloud", "projects", "describe", asked.project, "--format=value(projectId)"])
    if found.returncode:
        said = refusal(found.stderr, asked.project, "projects")
        step = "" if said.endswith("auth login") else "; gcloud projects list shows yours"
        raise Problem(f"project {asked.project} cannot be read: {said}{step}")
    if attempt(["gcloud", "auth", "application-default", "print-access-token"]).returncode:
        raise Problem("terraform has no credentials; next: gcloud auth application-default login")


def _make_agent(asked: Asked) -> None:
    """Have Google make Pub/Sub's own account, which otherwise comes with the first message.

    Where gcloud lacks its beta commands, a second deploy finds the account.
    """
    make = ["gcloud", "beta", "services", "identity", "create", "--quiet"]
    attempt([*make, "--service=pubsub.googleapis.com", f"--project={asked.project}"])


def _check_region(asked: Asked) -> None:
    listed = json.loads(
        gcloud(asked.project, "functions", "regions", "list", "--gen2", "--format=json")
    )
    regions = sorted(str(each["name"]).rpartition("/")[2] for each in listed)
    if asked.region not in regions:
        near = get_close_matches(asked.region, regions, 1)
        hint = f"did you mean {near[0]}?" if near else "next: gcloud functions regions list --gen2"
        raise Problem(f"region {asked.region} has no Cloud Run functions; {hint}")


def nothing_there(asked: Asked) -> Problem:
    """Say that there is no such deployment."""
    return Problem(f"nothing called {asked.prefix} is deployed in {asked.project}")


def _has_state_bucket(asked: Asked) -> bool:
    url = f"gs://{asked.state_bucket}"
    found = attempt(["gcloud", "storage", "buckets", "describe", url, "--format=value(name)"])
    if found.returncode and "404" not in found.stderr and "not found" not in found.stderr.lower():
        said = refusal(found.stderr, asked.project, "storage")
        raise Problem(f"{url} cannot be read: {said}; or PREFIX=another, if that name is not yours")
    return found.returncode == 0


def _make_state_bucket(asked: Asked) -> None:
    url = f"gs://{asked.state_bucket}"
    print(f"making {url} for terraform's state", flush=True)
    options = ("--uniform-bucket-level-access", "--public-access-prevention")
    gcloud(
        asked.project, "storage", "buckets", "create", url, f"--location={asked.region}", *options
    )
    gcloud(asked.project, "storage", "buckets", "update", url, "--versioning")
