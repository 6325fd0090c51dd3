"""Every text of the taxonomy, as it was seen in the world, and the class it has."""

import pytest

from shared.adapters.tpu_errors import classify, classify_line, describe
from shared.errors import (
    Busy,
    ControlPlaneError,
    InvalidRequest,
    NoAccess,
    NotAuthorized,
    QuotaExceeded,
    RateLimited,
    Stockout,
    Unavailable,
)

SEEN = [
    pytest.param(
        "RESOURCE_EXHAUSTED",
        'There is no more capacity in the zone "z"; you can try in another zone where Cloud TPU '
        "Nodes are offered [EID: 0x1]",
        Stockout,
        id="no capacity",
    ),
    pytest.param(
        "FAILED_PRECONDITION",
        "Insufficient reserved capacity. Contact customer support to increase your reservation.",
        Stockout,
        id="no reserved capacity",
    ),
    pytest.param(
        "RESOURCE_EXHAUSTED",
        "Quota limit 'TPUV6EPreemptiblePerProjectPerRegionForTPUAPI' has been exceeded. Limit: 64",
        QuotaExceeded,
        id="quota of chips",
    ),
    pytest.param(
        "INVALID_ARGUMENT",
        "no quota: reservation for request queue failed",
        QuotaExceeded,
        id="quota of queued resources",
    ),
    pytest.param(
        "RESOURCE_EXHAUSTED",
        "Quota exceeded for quota metric 'TPU create requests' and limit 'requests per minute'",
        RateLimited,
        id="rate",
    ),
    pytest.param("RESOURCE_EXHAUSTED", "slow down", RateLimited, id="exhausted for no said reason"),
    pytest.param(
        "PERMISSION_DENIED",
        "Location mars-a is not found or access is unauthorized.",
        NoAccess,
        id="no access to the zone",
    ),
    pytest.param("PERMISSION_DENIED", "actAs denied", NotAuthorized, id="a role is missing"),
    pytest.param("UNAUTHENTICATED", "bad token", NotAuthorized, id="no credentials"),
    pytest.param(
        "INVALID_ARGUMENT",
        "update is not supported while in state PREEMPTED",
        Busy,
        id="preempted meanwhile",
    ),
    pytest.param("FAILED_PRECONDITION", "the resource is being deleted", Busy, id="being deleted"),
    pytest.param("ALREADY_EXISTS", "it is in state SUSPENDED", Busy, id="suspended and in the way"),
    pytest.param("INVALID_ARGUMENT", "invalid runtime", InvalidRequest, id="a bad request"),
    pytest.param("NOT_FOUND", "no such network", InvalidRequest, id="something named is missing"),
    pytest.param("INTERNAL", "an internal error has occurred", Unavailable, id="internal"),
    pytest.param("UNAVAILABLE", "try again", Unavailable, id="unavailable"),
    pytest.param("DEADLINE_EXCEEDED", "too slow", Unavailable, id="deadline"),
    pytest.param("SOMETHING_NEW", "?", Unavailable, id="unknown"),
]


@pytest.mark.parametrize("status,text,expected", SEEN)
def test_code_and_text_decide_the_class(
    status: str, text: str, expected: type[ControlPlaneError]
) -> None:
    """The text is kept for people."""
    error = classify(status, text, zone="z")

    assert expected is type(error)
    assert text in str(error)


def test_a_stockout_names_its_zone() -> None:
    """The zone is what is sold out."""
    error = classify("RESOURCE_EXHAUSTED", "There is no more capacity", zone="us-east1-c")

    assert isinstance(error, Stockout)
    assert "us-east1-c" == error.zone


def test_what_an_operation_failed_with_can_be_classified_from_its_line() -> None:
    """Code and text travel together, colons included."""
    line = describe(8, "Quota limit 'X' has been exceeded. Limit: 0")

    assert "RESOURCE_EXHAUSTED: Quota limit 'X' has been exceeded. Limit: 0" == line
    assert isinstance(classify_line(line, zone="z"), QuotaExceeded)
