"""What gcloud says against a command, as one line that says what to do about it.

The tables hold what Google's programs really print; what none of them knows is passed on as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

# By the first word of a command: the role that lets whoever deploys run it.
ROLES: Final[Mapping[str, str]] = {
    "compute": "roles/tpu.viewer",
    "firestore": "roles/datastore.owner",
    "functions": "roles/cloudfunctions.admin",
    "projects": "roles/browser",
    "secrets": "roles/secretmanager.admin",
    "services": "roles/serviceusage.serviceUsageAdmin",
    "storage": "roles/storage.admin",
}
# The first that matches counts: an API that is off is refused as a missing right is.
_STEPS: Final[Mapping[str, str]] = {
    r"active account|auth login|[Rr]eauthentication|current auth tokens": "gcloud auth login",
    r"(?i)billing (account|must|is|has)": (
        "gcloud billing accounts list, then"
        " gcloud billing projects link {project} --billing-account=ACCOUNT"
    ),
    r"has not been used in project|SERVICE_DISABLED|it is disabled": (
        "the same again in a minute: the API was enabled just now"
    ),
    r"bucket name is not available|HTTPError 409": "PREFIX=another: somebody else has this name",
    r"PERMISSION_DENIED|does not have|[Pp]ermission|\b403\b": (
        "whoever owns {project} gives you {role}:"
        " gcloud projects add-iam-policy-binding {project} --member=user:YOU --role={role}"
    ),
}
_COMMAND = re.compile(r"^ERROR: (?:\(gcloud[\w.-]*\) )?")
_CHARS_MAX: Final = 300


def complaint(text: str) -> str:
    """Return the line in which a program says what went wrong: not the advice that follows it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    said = errors[0] if errors else (lines[-1] if lines else "it does not say why")
    return _COMMAND.sub("", said)[:_CHARS_MAX].rstrip(" .")


def next_step(text: str, project: str, role: str) -> str:
    """Say what helps, as the end of a line; nothing where nobody knows."""
    for pattern, step in _STEPS.items():
        if re.search(pattern, text):
            return f"; next: {step.format(project=project, role=role)}"
    return ""


def refusal(text: str, project: str, command: str) -> str:
    """Say what went wrong with a command of gcloud, and what to do."""
    role = ROLES.get(command, "roles/owner")
    return f"{complaint(text)}{next_step(text, project, role)}"
