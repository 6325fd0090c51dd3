"""The Ticker in Cloud Scheduler: the job that calls health_check every minute.

Google has no emulator of it; beside the other emulators ``functions.served`` fires the ticks.
Importing this module loads Google's libraries: let only the wiring do it, and late.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC
from typing import Final

import grpc
from google.api_core import exceptions as api
from google.api_core.retry import Retry, if_exception_type
from google.cloud.scheduler_v1 import CloudSchedulerClient
from google.cloud.scheduler_v1.services.cloud_scheduler.transports import (
    CloudSchedulerGrpcTransport,
)
from google.cloud.scheduler_v1.types import Job

from shared.adapters.google_errors import GOOGLE_ERRORS, Failure, failure_of, meaning
from shared.errors import ControlPlaneError, InvalidRequest
from shared.ports import TickAttempt

# Somebody waits at a terminal. A job that ran twice because a reply was lost costs one look more.
CALL_S: Final = 15.0
RETRY: Final = Retry(
    predicate=if_exception_type(api.ServiceUnavailable, api.InternalServerError, api.Aborted),
    initial=0.1,
    maximum=2.0,
    timeout=10.0,
)
RUNNER_ROLE: Final = "roles/cloudscheduler.jobRunner"
VIEWER_ROLE: Final = "roles/cloudscheduler.viewer"
_STATUSES: Final = {each.value[0]: each.name for each in grpc.StatusCode}


def connect(project: str, region: str, prefix: str) -> SchedulerTicker:
    """Open the job of a deployment.  Raises NotAuthorized where there are no credentials."""
    path = job_path(project, region, prefix)
    with _translated(path, role=RUNNER_ROLE):
        transport = CloudSchedulerGrpcTransport()
    return SchedulerTicker(CloudSchedulerClient(transport=transport), path)


def job_path(project: str, region: str, prefix: str) -> str:
    """Return Google's name for the job of a deployment; ``infra/scheduler.tf`` gives it."""
    return f"projects/{project}/locations/{region}/jobs/{prefix}-tick"


class SchedulerTicker:
    """Runs one job of Cloud Scheduler, which Terraform made and fires at its own times.

    Raises InvalidRequest, NotAuthorized, RateLimited or Unavailable.
    """

    def __init__(self, client: CloudSchedulerClient, path: str) -> None:
        self._client = client
        self._path = path

    def fire(self) -> None:
        """Begin a tick now; the job's own times stay as they are."""
        with _translated(self._path, role=RUNNER_ROLE):
            self._client.run_job(name=self._path, timeout=CALL_S, retry=RETRY)

    def last_attempt(self) -> TickAttempt | None:
        """Say when the job last ran and what came of it; None before the first time."""
        with _translated(self._path, role=VIEWER_ROLE):
            job = self._client.get_job(name=self._path, timeout=CALL_S, retry=RETRY)
        written = Job.pb(job)
        if not written.HasField("last_attempt_time"):
            return None
        return TickAttempt(
            written.last_attempt_time.ToDatetime(tzinfo=UTC), _problem(written.status.code)
        )


@contextmanager
def _translated(path: str, *, role: str) -> Iterator[None]:
    """Turn Google's errors into ours; ``role`` is the narrowest of Google's own that will do."""
    try:
        yield
    except GOOGLE_ERRORS as error:
        raise _error_of(failure_of(error), path, role) from error


def _error_of(failure: Failure, path: str, role: str) -> ControlPlaneError:
    if failure.status == "NOT_FOUND":
        return InvalidRequest(f"no scheduler job {path}: was it deployed in this region?")
    return meaning(failure, path, role=f"{role} in the project")


def _problem(code: int) -> str:
    """Name a status as Google does; "" is success."""
    return _STATUSES.get(code, f"status {code}") if code else ""
