"""Google's audit log speaks of a VM by its name, and the slice behind it is replaced."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from shared.adapters.sqlite_bus import SqliteBus
from shared.topology import EMBEDDED_SUBSCRIPTIONS
from tests.audit_entries import PREEMPTED, ZONE, as_message, vm_entry
from tests.installations import Installation, Work, assert_never_two, running

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Give an installation that is up."""
    with running(tmp_path_factory.mktemp("audit") / "home") as installation:
        yield installation


def test_a_preemption_that_only_the_log_knows_of_is_replaced(installation: Installation) -> None:
    """The cloud still says READY, and no host was told; both hosts have their entry."""
    work = installation.run("logged")
    work.until_saved(0)
    node = work.node

    says(installation, *(hostname(work, host) for host in range(2)))
    work.until_saved(1)
    job = work.finish()

    assert_never_two(work)
    assert (2, 1) == (work.slice.generation, job.spent.preemptions)
    assert [f"{node} is gone (audit log: {PREEMPTED})"] == work.told("NoticeGiven")
    assert 2 == installation.creates(node.rpartition("-g")[0])


def hostname(work: Work, host: int) -> str:
    """Name a host's VM as the log does."""
    hosts = work.installation.admin.get("status")["hosts"]
    assert isinstance(hosts, list), "hosts are a list"
    wanted = work.host_name(host)
    return next(str(each["hostname"]) for each in hosts if each["name"] == wanted)


def says(installation: Installation, *names: str) -> None:
    """Let the log say that VMs were preempted just now."""
    bus = SqliteBus(installation.home / "state.db", EMBEDDED_SUBSCRIPTIONS)
    now = datetime.now(UTC)
    bus.publish("audit", [as_message(vm_entry(PREEMPTED, name, now, zone=ZONE)) for name in names])
    bus.close()
