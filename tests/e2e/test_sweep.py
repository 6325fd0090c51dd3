"""What nothing wants is found and deleted by real processes; what was parked is handed over again.

Whoever ticks does so once an hour here: what happens, happens because it was asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from shared import wiring
from shared.core.names import cloud_name, labels
from shared.ports import BidRequest, Message, SliceApi
from shared.topology import DEAD_LETTER_SUBSCRIPTION, Topic
from tests.installations import Installation, running, running_google, until
from tests.sandboxes import ZONE

pytestmark = pytest.mark.slow

POLICY = {"tick_s": 3600.0}
THEIRS = "zzz999"
Run = Callable[..., AbstractContextManager[Installation]]


@pytest.fixture(
    params=[
        pytest.param(running, id="embedded"),
        pytest.param(running_google, id="google, over the emulators"),
    ]
)
def up(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Installation]:
    """Have an installation that ticks once an hour."""
    run: Run = request.param
    with run(tmp_path / "rare", policy=POLICY) as installation:
        yield installation


@pytest.fixture
def cloud(up: Installation) -> SliceApi:
    """The cloud, as Google's own client shows it."""
    return wiring.open_slices(up.opened.settings, up.url)


def put(cloud: SliceApi, name: str, tags: Mapping[str, str]) -> str:
    """Let somebody make something in the cloud that no document knows."""
    runtime = "tpu-ubuntu2204-base"
    cloud.create(BidRequest(name, ZONE, "v4-16", runtime, "spot", tags, {}, request_id=""))
    until(lambda: (found := cloud.get(ZONE, name)) and found.state == "ACTIVE", lambda: name)
    return name


def orphan_of(up: Installation, cloud: SliceApi, uid: str) -> str:
    """Let there be something of ours that no slice wants."""
    ours = up.opened.settings.installation
    return put(cloud, cloud_name(ours, uid, 1, "0"), labels(ours, uid, 1, "0"))


def names(found: list[dict[str, Any]]) -> set[str]:
    """Name what a command shows."""
    return {each["name"] for each in found}


def test_an_orphan_is_shown_then_deleted_and_nothing_else(
    up: Installation, cloud: SliceApi
) -> None:
    """Foreign names, foreign labels and no labels at all stay."""
    ours = up.opened.settings.installation
    orphan = orphan_of(up, cloud, "deadbeef")
    others = {
        put(cloud, "my-own-node", {}),
        put(cloud, cloud_name(ours, "cafecafe", 1, "0"), {}),
        put(cloud, cloud_name(THEIRS, "deadbeef", 1, "0"), labels(THEIRS, "deadbeef", 1, "0")),
    }

    plan = json.loads(up.tpuctl("sweep", "--dry-run", "--json", "--zone", ZONE))
    before = {each.name for each in cloud.list([ZONE]).requests}
    swept = json.loads(up.tpuctl("sweep", "--json", "--zone", ZONE))

    assert ({orphan}, others) == (names(plan["orphans"]), names(plan["kept"]))
    assert {orphan, *others} == before
    assert ({orphan}, others) == (names(swept["orphans"]), names(swept["kept"]))
    assert {each["became"] for each in swept["orphans"]} <= {"deleted", "is being deleted"}
    until(lambda: cloud.get(ZONE, orphan) is None, lambda: f"{orphan} is still there")
    assert others == {each.name for each in cloud.list([ZONE]).requests}


def test_a_parked_order_is_carried_out_for_whoever_gave_it(
    up: Installation, cloud: SliceApi
) -> None:
    """A sweep that used up its attempts is given again; the tick that follows finds the orphan."""
    orphan = orphan_of(up, cloud, "deadbeef")
    order = {"version": 1, "id": "lost1", "kind": "sweep", "owner": up.opened.owner}
    data = json.dumps({**order, "args": {"zones": [ZONE]}}).encode()
    attributes = {"kind": "command", DEAD_LETTER_SUBSCRIPTION: "tpuctl-launch-commands"}
    up.opened.bus.publish(Topic.DEAD_LETTERS, [Message(data, attributes)])
    (parked,) = until(lambda: json.loads(up.tpuctl("parked", "ls", "--json"))["parked"])

    told = up.tpuctl("parked", "retry", parked["key"][:8])
    up.tpuctl("poke", "--wait")

    assert "the order was given again and accepted\n" in told
    until(lambda: cloud.get(ZONE, orphan) is None, lambda: f"{orphan} is still there")
    shown = json.loads(up.tpuctl("parked", "show", parked["key"], "--json"))
    assert shown["retried_at"] > shown["created_at"]
    assert shown["retried_by"]
