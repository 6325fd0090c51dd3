"""What hosts publish reaches the embedded bus of the machine."""

from pathlib import Path

from sandbox import control
from shared.adapters.sqlite_bus import SqliteBus
from shared.topology import EMBEDDED_SUBSCRIPTIONS
from tests.sandboxes import publish


def test_published_message_reaches_the_bus(tmp_path: Path) -> None:
    """The state file is the one that the control plane reads."""
    info = control.start(tmp_path, bus=tmp_path / "state.db")
    try:
        publish(info.url, "reports", {"data": "aGVsbG8=", "attributes": {"a": "b"}})
    finally:
        control.stop(tmp_path)

    (delivery,) = SqliteBus(tmp_path / "state.db", EMBEDDED_SUBSCRIPTIONS).pull("report")

    assert (b"hello", {"a": "b"}) == (delivery.message.data, dict(delivery.message.attributes))
