"""What Cloud TPU is asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pytest_mock import MockerFixture

from shared.adapters.tpu import WORKER_SCOPE, GoogleSliceApi
from shared.ports import BidRequest

BID = BidRequest("n", "us-central2-b", "v4-8", "tpu-ubuntu2204-base", "spot", {}, {}, "r")


@pytest.mark.parametrize(
    "account, asked",
    [
        pytest.param("vision@p.iam", ("vision@p.iam", [WORKER_SCOPE]), id="named"),
        pytest.param("", ("", []), id="the project's default"),
    ],
)
def test_a_node_runs_as_the_account_of_its_bid(
    mocker: MockerFixture, account: str, asked: tuple[str, list[str]]
) -> None:
    """With the whole scope: roles say what it may do."""
    client = mocker.Mock()
    client.create_queued_resource.return_value.operation.name = "operation"

    GoogleSliceApi(client, "proj-1").create(replace(BID, service_account=account))

    (request,) = client.create_queued_resource.call_args.args
    (spec,) = request.queued_resource.tpu.node_spec
    assert asked == (spec.node.service_account.email, list(spec.node.service_account.scope))
