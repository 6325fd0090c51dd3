"""What a home keeps of its cloud: settings unless others are given, the port, the network."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from sandbox.errors import ApiError
from sandbox.keeper import Keeper
from sandbox.pubsub import Memory, Publish
from sandbox.saved import Saved, StateError
from sandbox.settings import Settings
from tests.clouds import LOCATION, SLOW


@contextmanager
def keeping(home: Path, publish: Publish | None = None) -> Iterator[Keeper]:
    """Keep a cloud for the time of a block."""
    with closing(Keeper(home, publish or Memory())) as keeper:
        yield keeper


def keep(home: Path) -> None:
    """Keep a cloud in which a scenario is on."""
    faults = [{"at_s": 9, "fault": "reboot"}]
    with keeping(home) as keeper:
        cloud = keeper.open(SLOW)
        cloud.weather.play({"settings": {"notice_s": 3}, "faults": faults})
        keeper.port = 4321
        keeper.changed(cloud)


@pytest.mark.parametrize(
    "settings, expected",
    [
        pytest.param(None, (3, True), id="former settings"),
        pytest.param(Settings(notice_s=7), (7, False), id="other settings"),
    ],
)
def test_scenario_goes_on_unless_other_settings_are_given(
    tmp_path: Path, settings: Settings | None, expected: tuple[float, bool]
) -> None:
    """Settings that somebody gave are not to be taken back by a scenario of long ago."""
    keep(tmp_path)

    with keeping(tmp_path) as keeper:
        cloud = keeper.open(settings)

    assert expected == (cloud.settings.notice_s, cloud.weather.show() is not None)
    assert expected[1] == bool(cloud.ledger.timers.of("scenario-moment"))


def test_new_home_has_default_settings(tmp_path: Path) -> None:
    """And no former port."""
    with keeping(tmp_path) as keeper:
        found = keeper.open(None).settings

    assert (Settings(), 0) == (found, keeper.port)


def test_former_port_is_known(tmp_path: Path) -> None:
    """To whoever listens then."""
    keep(tmp_path)

    with keeping(tmp_path) as keeper:
        keeper.open(None)

    assert 4321 == keeper.port


def test_state_of_another_version_is_one_line_with_the_way_out(tmp_path: Path) -> None:
    """Nothing is guessed."""
    keep(tmp_path)
    with closing(Saved(tmp_path / "cloud.db")) as saved:
        saved.save({}, {"settings": {"no_such_setting": 1}})

    with keeping(tmp_path) as keeper, pytest.raises(StateError, match="another version: there is"):
        keeper.open(None)


def test_audit_log_goes_to_the_topic_of_that_name(tmp_path: Path) -> None:
    """Whatever its prefix, with the time that Google's sink adds."""
    sink = Memory()
    settings = SLOW.updated({"audit_copies": 1, "topics": ["x-reports", "x-audit"]})
    with keeping(tmp_path, sink) as keeper:
        cloud = keeper.open(settings)
        cloud.ledger.audit.called("delete", f"{LOCATION}/nodes/a")
        cloud.advance(cloud.ledger.now + 2)

        keeper.changed(cloud)
        keeper.changed(cloud)

    (message,) = sink.messages
    assert "x-audit" == message.topic
    at = json.loads(message.data)["timestamp"]
    assert {"logging.googleapis.com/timestamp": at} == message.attributes


def test_bus_that_fails_costs_an_entry_and_no_change(tmp_path: Path) -> None:
    """The cloud goes on."""

    def broken(_topic: str, _data: bytes, _attributes: Mapping[str, str]) -> str:
        raise ApiError("UNAVAILABLE", "busy")

    with keeping(tmp_path, broken) as keeper:
        cloud = keeper.open(SLOW.updated({"audit_copies": 1, "audit_lag_s": 0}))
        cloud.ledger.audit.called("delete", f"{LOCATION}/nodes/a")
        cloud.advance(cloud.ledger.now)

        keeper.changed(cloud)

    assert [] == cloud.take_audit_entries()
