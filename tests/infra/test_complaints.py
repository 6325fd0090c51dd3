"""What gcloud prints when it refuses, and the line that is made of it."""

from __future__ import annotations

import pytest

from infra.complaints import complaint, next_step, refusal

LOGGED_OUT = """ERROR: (gcloud.a.b) You do not currently have an active account selected.
Please run:

  $ gcloud auth login

to select an already authenticated account to use.
"""
NO_RIGHT = """ERROR: (gcloud.services.enable) PERMISSION_DENIED: Permission denied to enable service
Help Token: AbC
- '@type': type.googleapis.com/google.rpc.ErrorInfo
  reason: AUTH_PERMISSION_DENIED
"""
API_OFF = """ERROR: (gcloud.functions.regions.list) PERMISSION_DENIED: Cloud Functions API has
 not been used in project 7 before or it is disabled.
"""
NO_BILLING = "ERROR: (gcloud.services.enable) FAILED_PRECONDITION: Billing account is not found."


def test_the_line_that_says_it_is_found_between_advice_and_details() -> None:
    """Neither the last line nor the name of the command says anything."""
    told = "PERMISSION_DENIED: Permission denied to enable service"

    assert told == complaint(f"WARNING: something else\n{NO_RIGHT}")


@pytest.mark.parametrize(
    "text, line",
    [
        pytest.param("one\ntwo\n", "two", id="no word ERROR"),
        pytest.param("", "it does not say why", id="nothing"),
        pytest.param("ERROR: " + "x" * 9999, "x" * 300, id="no end"),
    ],
)
def test_whatever_is_said_becomes_one_line(text: str, line: str) -> None:
    """Of a length that fits a screen."""
    assert line == complaint(text)


@pytest.mark.parametrize(
    "text, step",
    [
        pytest.param(LOGGED_OUT, "gcloud auth login", id="logged out"),
        pytest.param(NO_BILLING, "gcloud billing accounts list, then", id="billing"),
        pytest.param(API_OFF, "the same again in a minute", id="API is off"),
        pytest.param("ERROR: HTTPError 409: it is there", "PREFIX=another", id="name is taken"),
    ],
)
def test_a_known_complaint_has_its_own_next_step(text: str, step: str) -> None:
    """An API that is off is refused like a missing right, and is none."""
    assert next_step(text, "my-lab", "roles/any").startswith(f"; next: {step}")


@pytest.mark.parametrize(
    "command, role",
    [
        pytest.param("services", "roles/serviceusage.serviceUsageAdmin", id="services"),
        pytest.param("storage", "roles/storage.admin", id="storage"),
        pytest.param("secrets", "roles/secretmanager.admin", id="secrets"),
        pytest.param("anything", "roles/owner", id="another command"),
    ],
)
def test_the_role_that_is_missing_is_named(command: str, role: str) -> None:
    """With the command that gives it."""
    line = refusal(NO_RIGHT, "my-lab", command)

    assert line.endswith(
        f"next: whoever owns my-lab gives you {role}: gcloud projects add-iam-policy-binding"
        f" my-lab --member=user:YOU --role={role}"
    )


def test_an_unknown_complaint_is_passed_on_alone() -> None:
    """No advice is better than a wrong one."""
    assert "UNAVAILABLE" == refusal("ERROR: (gcloud.x) UNAVAILABLE", "my-lab", "storage")
