"""Cloud Scheduler when it does not answer as it should, and what we ask it for."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import grpc
import pytest
from google.cloud.scheduler_v1 import CloudSchedulerClient
from google.cloud.scheduler_v1.services.cloud_scheduler.transports import (
    CloudSchedulerGrpcTransport,
)
from google.cloud.scheduler_v1.types import GetJobRequest, Job, RunJobRequest

from shared.adapters import scheduler
from shared.adapters.scheduler import SchedulerTicker
from shared.errors import (
    ControlPlaneError,
    InvalidRequest,
    NotAuthorized,
    RateLimited,
    Unavailable,
)
from shared.ports import TickAttempt
from tests.infra import plans
from tests.unit.adapters.pubsub_server import Scripted, serving

PATH = "projects/p/locations/europe-west4/jobs/pre-tick"
AT = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    """Give a Cloud Scheduler that answers as it is told, and little patience with it."""
    monkeypatch.setattr(scheduler, "CALL_S", 5.0)
    monkeypatch.setattr(scheduler, "RETRY", scheduler.RETRY.with_timeout(1.0))
    with serving() as scripted:
        yield scripted


@pytest.fixture
def ticker(server: Scripted) -> Iterator[SchedulerTicker]:
    """Give the job of a deployment."""
    with grpc.insecure_channel(server.address) as channel:
        transport = CloudSchedulerGrpcTransport(channel=channel)
        yield SchedulerTicker(CloudSchedulerClient(transport=transport), PATH)


def tried(**fields: object) -> bytes:
    """Write the job as Google shows it."""
    return bytes(Job.serialize(Job({"name": PATH, **fields})))


def test_fire_runs_the_job(ticker: SchedulerTicker, server: Scripted) -> None:
    """Once."""
    ticker.fire()

    [(method, request)] = server.asked
    assert ("RunJob", PATH) == (method, RunJobRequest.deserialize(request).name)


def test_job_has_the_name_that_terraform_gives_it() -> None:
    """In the region of the deployment."""
    [job] = plans.recorded().of("google_cloud_scheduler_job")

    asked = scheduler.job_path(plans.PROJECT, job.text("region"), plans.PREFIX)

    assert f"projects/{plans.PROJECT}/locations/europe-west4/jobs/{job.text('name')}" == asked


def test_fire_is_repeated_when_its_reply_was_lost(
    ticker: SchedulerTicker, server: Scripted
) -> None:
    """A tick more costs a look more."""
    server.answers = [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAVAILABLE, b""]

    ticker.fire()

    assert 3 == len(server.asked)


@pytest.mark.parametrize(
    "status, kind, words",
    [
        pytest.param(
            grpc.StatusCode.NOT_FOUND,
            InvalidRequest,
            f"^no scheduler job {PATH}: was it deployed in this region\\?$",
            id="no job",
        ),
        pytest.param(grpc.StatusCode.INVALID_ARGUMENT, InvalidRequest, PATH, id="no such region"),
        pytest.param(grpc.StatusCode.FAILED_PRECONDITION, InvalidRequest, PATH, id="disabled"),
        pytest.param(
            grpc.StatusCode.PERMISSION_DENIED,
            NotAuthorized,
            rf"{PATH}: .* needs roles/cloudscheduler\.jobRunner",
            id="no role",
        ),
        pytest.param(grpc.StatusCode.UNAUTHENTICATED, NotAuthorized, PATH, id="nobody"),
        pytest.param(grpc.StatusCode.RESOURCE_EXHAUSTED, RateLimited, PATH, id="too many"),
        pytest.param(grpc.StatusCode.UNAVAILABLE, Unavailable, PATH, id="away"),
        pytest.param(grpc.StatusCode.DEADLINE_EXCEEDED, Unavailable, PATH, id="late"),
        pytest.param(grpc.StatusCode.INTERNAL, Unavailable, PATH, id="broken"),
        pytest.param(grpc.StatusCode.UNKNOWN, Unavailable, PATH, id="unknown"),
    ],
)
def test_google_errors_become_ours(
    ticker: SchedulerTicker,
    server: Scripted,
    status: grpc.StatusCode,
    kind: type[ControlPlaneError],
    words: str,
) -> None:
    """With the job's name."""
    server.answers = [status]

    with pytest.raises(kind, match=words):
        ticker.fire()


def test_permanent_errors_are_not_repeated(ticker: SchedulerTicker, server: Scripted) -> None:
    """They would only come again."""
    server.answers = [grpc.StatusCode.PERMISSION_DENIED]

    with pytest.raises(NotAuthorized):
        ticker.fire()

    assert 1 == len(server.asked)


def test_no_answer_at_all_is_unavailable(
    ticker: SchedulerTicker, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every call has a limit of time."""
    monkeypatch.setattr(scheduler, "CALL_S", 0.2)
    server.answers = [None]

    with pytest.raises(Unavailable):
        ticker.fire()


@pytest.mark.parametrize(
    "fields, expected",
    [
        pytest.param({}, None, id="never"),
        pytest.param({"last_attempt_time": AT}, TickAttempt(AT, ""), id="well"),
        pytest.param(
            {"last_attempt_time": AT, "status": {"code": 7}},
            TickAttempt(AT, "PERMISSION_DENIED"),
            id="refused",
        ),
        pytest.param(
            {"last_attempt_time": AT, "status": {"code": 99}},
            TickAttempt(AT, "status 99"),
            id="unheard of",
        ),
    ],
)
def test_last_attempt_tells_when_and_how_it_failed(
    ticker: SchedulerTicker,
    server: Scripted,
    fields: dict[str, object],
    expected: TickAttempt | None,
) -> None:
    """In Google's word for it."""
    server.answers = [tried(**fields)]

    assert expected == ticker.last_attempt()
    [(method, request)] = server.asked
    assert ("GetJob", PATH) == (method, GetJobRequest.deserialize(request).name)


def test_looking_needs_a_role_of_its_own(ticker: SchedulerTicker, server: Scripted) -> None:
    """It is named."""
    server.answers = [grpc.StatusCode.PERMISSION_DENIED]

    with pytest.raises(NotAuthorized, match=r"needs roles/cloudscheduler\.viewer"):
        ticker.last_attempt()


def test_without_credentials_nothing_opens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In words, not in a trace."""
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))

    with pytest.raises(NotAuthorized, match=rf"{PATH}: .*none\.json"):
        scheduler.connect("p", "europe-west4", "pre")
