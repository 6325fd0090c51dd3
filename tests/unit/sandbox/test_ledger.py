"""The bookkeeping: what is kept, and what is forgotten."""

from pytest_mock import MockerFixture

from sandbox import ledger
from tests.clouds import ask, make_cloud, queued_name


def test_oldest_operations_that_ended_make_room(mocker: MockerFixture) -> None:
    """Those under way stay, and so does what a repeated request would ask for."""
    mocker.patch.object(ledger, "OPERATIONS_KEPT", 10)
    cloud = make_cloud()
    old = [ask(cloud, f"old{number}", request_id=f"r{number}") for number in range(8)]
    cloud.advance(11)
    under_way = [ask(cloud, f"new{number}", request_id=f"n{number}") for number in range(4)]

    left = [name for name in (*old, *under_way) if name in cloud.operations]

    assert [*old[2:], *under_way] == left
    assert cloud.ledger.repeated("create", queued_name("old0"), "r0") is None
    repeated = cloud.ledger.repeated("create", queued_name("new0"), "n0")
    assert under_way[0] == getattr(repeated, "name", "")
