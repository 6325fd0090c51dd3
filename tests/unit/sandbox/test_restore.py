"""The state of a cloud in a file: all of it is there again, and goes on."""

from pathlib import Path

import pytest

from sandbox import restore
from sandbox.cloud import Cloud
from sandbox.nodes import NodeUpdate
from sandbox.resources import Power, QueuedState
from sandbox.saved import Saved, StateError
from tests.clouds import BOOTED_AT, LOCATION, active_cloud, ask, make_cloud, queued_name, state


def save(cloud: Cloud, path: Path) -> None:
    """Write a cloud once."""
    saved = Saved(path)
    saved.save(restore.tables_of(cloud), restore.plain_of(cloud))
    saved.close()


def again(path: Path) -> Cloud:
    """Return the cloud that is in a file."""
    saved = Saved(path)
    cloud = make_cloud()
    restore.restore(cloud, *saved.load(restore.KINDS))
    saved.close()
    return cloud


def busy_cloud() -> Cloud:
    """Make a cloud in which something of everything is under way."""
    cloud = active_cloud(
        capacity={"us-central2-b/v4-16": 1}, lifetimes=[{"kind": "fixed", "values_s": [900]}]
    )
    ask(cloud, "waits", request_id="r1")
    cloud.advance(BOOTED_AT + 30)
    ask(cloud, "comes")
    cloud.update_node(f"{LOCATION}/nodes/a", NodeUpdate(metadata={"bell": "1"}))
    cloud.write_guest_attribute("a-w-0", "ns/key", "value")
    cloud.cut_off("a-w-1", frozenset({"storage"}))
    cloud.announce_maintenance(f"{LOCATION}/nodes/a", {"windowStartTime": "x"})
    cloud.weather.play(
        {"seed": 3, "faults": [{"at_s": 50, "fault": "stockout", "zone": "us-central2-b"}]}
    )
    return cloud


def test_everything_is_there_again(tmp_path: Path) -> None:
    """Every record, every timer and every plain value, but for the boots."""
    cloud = busy_cloud()
    save(cloud, tmp_path / "cloud.db")

    found = again(tmp_path / "cloud.db")

    before, after = dict(restore.tables_of(cloud)), dict(restore.tables_of(found))
    hosts, new_hosts = before.pop("hosts"), after.pop("hosts")
    timers, new_timers = before.pop("timers"), after.pop("timers")
    assert before == after
    assert restore.plain_of(cloud) == restore.plain_of(found)
    assert timers.items() <= new_timers.items()
    assert ["host-booted"] * 2 == [
        new_timers[number].kind  # type: ignore[attr-defined]  # timers
        for number in new_timers.keys() - timers.keys()
    ]
    assert hosts.keys() == new_hosts.keys()


def test_hosts_that_ran_boot_again_and_dead_ones_stay_dead(tmp_path: Path) -> None:
    """As after a power cut: another boot id, the same machine."""
    cloud = busy_cloud()
    cloud.kill_host("a-w-1")
    save(cloud, tmp_path / "cloud.db")

    found = again(tmp_path / "cloud.db")
    powers = [host.power for host in found.hosts.values()]
    found.advance(BOOTED_AT + 60)

    before, after = cloud.host("a-w-0"), found.host("a-w-0")
    assert [Power.BOOTING, Power.DEAD] == powers
    assert Power.ON == after.power
    assert before.boot_id != after.boot_id
    assert (before.hostname, before.ip, before.id) == (after.hostname, after.ip, after.id)
    assert {"ns/key": "value"} == after.guest_attributes


def test_what_was_under_way_goes_on(tmp_path: Path) -> None:
    """Requests, updates, scenario; a repeated request still finds its operation."""
    save(busy_cloud(), tmp_path / "cloud.db")

    found = again(tmp_path / "cloud.db")
    found.advance(BOOTED_AT + 90)

    assert "1" == found.host("a-w-0").attributes["bell"]
    assert QueuedState.WAITING_FOR_RESOURCES == state(found, "comes")
    assert {"us-central2-b": "wait"} == found.settings.sold_out
    assert found.ledger.repeated("create", queued_name("waits"), "r1") is not None


def test_only_what_has_changed_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look costs no write; one changed host costs one."""
    saved, cloud = Saved(tmp_path / "cloud.db"), busy_cloud()
    saved.save(restore.tables_of(cloud), restore.plain_of(cloud))
    written: list[tuple[int, int]] = []
    monkeypatch.setattr(
        saved, "_write", lambda puts, drops: written.append((len(puts), len(drops)))
    )

    saved.save(restore.tables_of(cloud), restore.plain_of(cloud))
    cloud.change_host("a-w-0", is_preempted=True)
    saved.save(restore.tables_of(cloud), restore.plain_of(cloud))
    cloud.vanish(f"{LOCATION}/nodes/a")
    saved.save(restore.tables_of(cloud), restore.plain_of(cloud))

    assert [(1, 0), (0, 3)] == written


def test_gone_records_do_not_come_back(tmp_path: Path) -> None:
    """They are taken out of the file."""
    cloud, saved = busy_cloud(), Saved(tmp_path / "cloud.db")
    saved.save(restore.tables_of(cloud), restore.plain_of(cloud))
    cloud.vanish(f"{LOCATION}/nodes/a")
    saved.save(restore.tables_of(cloud), restore.plain_of(cloud))

    found = again(tmp_path / "cloud.db")

    assert ({}, {}) == (dict(found.nodes), dict(found.hosts))


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda path: path.write_bytes(b"no database at all" * 99), id="no database"),
        pytest.param(
            lambda path: Saved(path).save({"hosts": {"x": {"no": "host"}}}, {}), id="no host"
        ),
    ],
)
def test_unreadable_state_is_one_line_with_the_way_out(tmp_path: Path, spoil: object) -> None:
    """Which file, and how to be rid of it."""
    assert callable(spoil)
    spoil(tmp_path / "cloud.db")

    with pytest.raises(
        StateError, match=r"cloud.db cannot be read: .*tpuctl sandbox forget"
    ) as error:
        Saved(tmp_path / "cloud.db").load(restore.KINDS)

    assert 1 == len(str(error.value).splitlines())
