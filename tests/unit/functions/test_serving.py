"""Push requests become deliveries, and what becomes of them a status that Pub/Sub understands."""

from __future__ import annotations

import json

import pytest
from pytest_mock import MockerFixture

from functions import serving
from shared.app.push import Answer, receiver_of
from shared.errors import Conflict, NotAuthorized, SpecError, Unavailable
from shared.topology import FUNCTIONS, SUBSCRIPTIONS
from tests.unit.app.world import World
from tests.unit.functions.pushes import body_of, client_of, envelope

JUNK = [
    pytest.param(b"", id="nothing"),
    pytest.param(b"[]", id="a list"),
    pytest.param(b"\xff\x00junk", id="bytes"),
    pytest.param(b"[" * 100_000, id="nested without end"),
    pytest.param(b"x" * 2**20, id="a megabyte"),
    pytest.param(b'{"message": 1, "subscription": []}', id="wrong types"),
    pytest.param(body_of(envelope(messageId=17)), id="a number as id"),
    pytest.param(body_of(envelope(publishTime="yesterday")), id="no time"),
    pytest.param(body_of(envelope(attributes={"kind": 1})), id="a number as attribute"),
    pytest.param(body_of({**envelope(), "deliveryAttempt": "often"}), id="no attempt"),
    pytest.param(body_of(envelope() | {"subscription": ""}), id="no subscription"),
    pytest.param(body_of({**envelope(), "message": {}}), id="an empty message"),
    pytest.param(body_of(envelope("report")), id="another function's subscription"),
    pytest.param(body_of(envelope("nobody")), id="an unknown subscription"),
    pytest.param(body_of(envelope(publishTime="2030-01-01T00:00:00")), id="no time zone"),
    pytest.param(body_of(envelope(messageId="")), id="an empty id"),
    pytest.param(body_of(envelope(messageId="\ud800")), id="half a character"),
    pytest.param(body_of(envelope(attributes={"\udfff": "x"})), id="half a character as key"),
    pytest.param(body_of(envelope(attributes=["kind"])), id="a list of attributes"),
    pytest.param(body_of(envelope(data="%")), id="no base64"),
    pytest.param(body_of(envelope(data=b"not JSON")), id="a message that is not JSON"),
    pytest.param(body_of(envelope(data=b'{"slice": 7}')), id="a name that is a number"),
]


@pytest.mark.parametrize("body", JUNK)
def test_junk_is_parked_once_and_never_asked_for_again(world: World, body: bytes) -> None:
    """However often it comes, and whatever it is."""
    with client_of("launch") as client:
        statuses = [client.post("/", data=body).status_code for _ in range(3)]

    assert [204] * 3 == statuses
    (parked,) = world.all("parked")
    assert len(str(parked)) < 20_000


@pytest.mark.parametrize("error", [NotAuthorized("no role"), Unavailable("no bus")])
def test_junk_is_parked_once_where_nobody_can_be_told(
    world: World, mocker: MockerFixture, error: Exception
) -> None:
    """What is wrong with the bus is no reason to ask for it again."""
    mocker.patch.object(world.bus, "publish", side_effect=error)

    with client_of("launch") as client:
        statuses = [client.post("/", data=b"junk").status_code for _ in range(2)]

    assert [204] * 2 == statuses
    assert 1 == len(world.all("parked"))


def test_junk_that_cannot_be_parked_now_comes_again(world: World, mocker: MockerFixture) -> None:
    """It is put aside when the Store is there again."""
    mocker.patch.object(world.store, "commit", side_effect=Unavailable("down"))

    with client_of("launch") as client:
        assert 503 == client.post("/", data=b"junk").status_code


@pytest.mark.parametrize(
    "answer, status",
    [(Answer(), 204), (Answer(retry=True), 503), (Answer(retry=True, retry_after_s=5.0), 503)],
)
def test_pubsub_is_told_done_or_again(
    world: World, mocker: MockerFixture, answer: Answer, status: int
) -> None:
    """By the status alone."""
    receive = mocker.patch("shared.app.push.receive", return_value=answer)

    with client_of("launch") as client:
        response = client.post("/", json=envelope())

    assert status == response.status_code
    assert (world.app, "launch") == (
        receive.call_args.args[0],
        receive.call_args.args[1].subscription,
    )


@pytest.mark.parametrize("name", [subscription.name for subscription in SUBSCRIPTIONS])
def test_every_subscription_has_a_function_that_serves_it(
    world: World, mocker: MockerFixture, name: str
) -> None:
    """Under the name that it is deployed with, by a time that leaves a margin."""
    assert callable(receiver_of(name))
    receive = mocker.patch("shared.app.push.receive", return_value=Answer())
    function = next(each.function for each in SUBSCRIPTIONS if each.name == name)

    with client_of(function) as client:
        client.post("/", json=envelope(name))

    (_, delivery), given = receive.call_args
    assert name == delivery.subscription
    assert 0.0 <= FUNCTIONS[function].timeout_s - given["limit_s"] < 30.0
    assert [] == world.all("parked")


def test_another_functions_message_never_reaches_a_use_case(
    world: World, mocker: MockerFixture
) -> None:
    """Each function has the rights of its own work alone."""
    receive = mocker.patch("shared.app.push.receive", return_value=Answer())

    with client_of("launch") as client:
        client.post("/", json=envelope("recovery"))

    receive.assert_not_called()
    assert 1 == len(world.all("parked"))


def test_an_installations_prefix_is_taken_off(
    world: World, mocker: MockerFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Google's subscriptions have it, the topology has not."""
    tables = {
        "wiring": "google",
        "cloud": {"project": "my-project", "bucket": "b", "prefix": "mine"},
    }
    monkeypatch.setenv("TPUCTL_SETTINGS", json.dumps(tables))
    receive = mocker.patch("shared.app.push.receive", return_value=Answer())

    with client_of("launch") as client:
        client.post("/", json=envelope("mine-launch-commands"))
        client.post("/", json=envelope("theirs-launch"))
        client.post("/", json=envelope("launch"))

    assert ["launch-commands"] == [call.args[1].subscription for call in receive.call_args_list]
    assert len(world.all("parked")) == 1


def test_the_tick_runs(world: World) -> None:
    """And says that it did."""
    with client_of("health_check") as client:
        assert 204 == client.post("/").status_code

    assert world.store.get("control/tick") is not None


@pytest.mark.parametrize("error", [Conflict("two ticks"), SpecError("cloud.bucket", "is missing")])
def test_a_tick_that_cannot_run_says_so(
    world: World, mocker: MockerFixture, error: Exception
) -> None:
    """The next one comes anyway."""
    mocker.patch.object(world.store, "commit", side_effect=error)

    with client_of("health_check") as client:
        assert 503 == client.post("/").status_code


def test_a_wrong_setting_is_one_line_and_loses_no_message(
    mocker: MockerFixture, caplog: pytest.LogCaptureFixture
) -> None:
    """Messages come again until somebody sets it right."""
    mocker.patch.object(serving, "app", side_effect=SpecError("$TPUCTL_SETTINGS", "cannot be read"))

    with client_of("launch") as client:
        assert 503 == client.post("/", json=envelope()).status_code

    assert ["launch cannot work: $TPUCTL_SETTINGS: cannot be read"] == caplog.messages
