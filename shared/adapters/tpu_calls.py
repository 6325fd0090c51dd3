"""How every call to Cloud TPU is made: its time, its retries, and what its errors become."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import requests.exceptions
from google.api_core import exceptions as api
from google.api_core.retry import Retry, if_exception_type

from shared.adapters.google_errors import GOOGLE_ERRORS, failure_of
from shared.adapters.tpu_errors import classify

# Given to every method; the retry stays far below the 45 s after which an intent is due again.
CALL: Final[dict[str, Any]] = {
    "timeout": 20.0,
    "retry": Retry(
        predicate=if_exception_type(
            api.ServiceUnavailable,
            api.InternalServerError,
            api.GatewayTimeout,
            requests.exceptions.ConnectionError,
        ),
        initial=0.2,
        maximum=2.0,
        timeout=15.0,
    ),
}


@contextmanager
def translated(zone: str) -> Iterator[None]:
    """Turn Google's errors into ours."""
    try:
        yield
    except GOOGLE_ERRORS as error:
        failure = failure_of(error)
        raise classify(failure.status, failure.text, zone=zone) from error
