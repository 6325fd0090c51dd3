"""A port that is opened when it is first used."""

from pytest_mock import MockerFixture

from shared.late import late
from tests.fakes import FakeBlobs, FakeClock


def test_a_port_is_opened_once_and_only_when_it_is_used(mocker: MockerFixture) -> None:
    """Then it is the port itself that answers."""
    real = FakeBlobs(FakeClock())
    open_port = mocker.Mock(return_value=real)
    blobs = late(open_port)
    assert 0 == open_port.call_count

    blobs.put("a", b"x")
    blobs.put("b", b"y")

    assert 1 == open_port.call_count
    assert ["a", "b"] == [blob.name for blob in real.list("")]
