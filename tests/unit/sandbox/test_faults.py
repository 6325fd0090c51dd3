"""Faults as words: what is wrong in them, that each has an effect, and which are in force."""

from collections.abc import Mapping

import pytest
from flask import Flask

from sandbox import admin, inject, methods, scenario
from sandbox.errors import ApiError, SettingsError
from sandbox.faults import FAULTS, METHODS
from tests.clouds import BOOTED_AT, active_cloud, make_cloud, world_of

ZONE = "us-central2-b"
Words = Mapping[str, object]


@pytest.mark.parametrize(
    "words, expected",
    [
        pytest.param({}, "fault: is missing; there are: audit-log, call,", id="none"),
        pytest.param(
            {"fault": "stockot"}, "there is no fault stockot; did you mean stockout?", id="near"
        ),
        pytest.param({"fault": "xyz"}, "there is no fault xyz; there are: audit-log", id="far"),
        pytest.param(
            {"fault": "reboot", "nod": "a"},
            "nod: there is no such key; did you mean node?",
            id="key",
        ),
        pytest.param({"fault": "stockout"}, "zone: is missing", id="missing"),
        pytest.param(
            {"fault": "stockout", "target": "mars"}, "zone: there is no zone 'mars'", id="zone"
        ),
        pytest.param(
            {"fault": "slow-create", "target": "a"}, "slow-create takes no name here", id="target"
        ),
        pytest.param(
            {"fault": "call", "target": "GetNode", "code": 418},
            "or 504, found the number 418",
            id="code",
        ),
        pytest.param(
            {"fault": "clock-skew", "skew_s": "much"},
            "skew_s: expected a number, found the text 'much'",
            id="number",
        ),
        pytest.param(
            {"fault": "stockout", "target": ZONE, "for_s": True},
            "for_s: expected a number, found true",
            id="truth for a number",
        ),
        pytest.param(
            {"fault": "slow-create", "count": "abc"},
            "count: expected a whole number, found the text 'abc'",
            id="whole number",
        ),
        pytest.param(
            {"fault": "reboot", "host": True},
            "host: expected a whole number, found true",
            id="truth for a whole number",
        ),
        pytest.param(
            {"fault": "preempt", "hosts": "0,x"},
            "hosts[1]: expected a whole number, found the text 'x'",
            id="in a list",
        ),
        pytest.param(
            {"fault": "preempt", "silent": "yes"},
            "silent: expected true or false, found the text 'yes'",
            id="truth",
        ),
        pytest.param(
            {"fault": "stockout", "target": ZONE, "for_s": -1},
            "for_s: expected at least 0, found -1",
            id="negative",
        ),
        pytest.param(
            {"fault": "maintenance", "in_s": 1e8},
            "in_s: expected at most 2592000, found 100000000.0",
            id="far away",
        ),
    ],
)
def test_wrong_words_are_refused_with_their_place(words: Words, expected: str) -> None:
    """One line, and the nearest good one."""
    with pytest.raises(SettingsError) as error:
        make_cloud().weather.inject(words)

    assert expected in str(error.value)
    assert 1 == len(str(error.value).splitlines())


@pytest.mark.parametrize("fault", ["call", "lost-reply", "slow-call"])
@pytest.mark.parametrize(
    "method, expected",
    [
        pytest.param("GetNod", "there is no method 'GetNod'; near: GetNode,", id="near"),
        pytest.param("createnode", "there is no method 'createnode'; near: CreateNode,", id="case"),
        pytest.param("Make*", "there is no method 'Make*'; the API has others", id="pattern"),
        pytest.param("Nope", "there is no method 'Nope'; the API has others", id="far"),
    ],
)
def test_method_that_does_not_exist_is_refused(fault: str, method: str, expected: str) -> None:
    """Here and in scenarios: it would never be called."""
    words = {"fault": fault, "method": method, **({"delay_s": 1} if fault == "slow-call" else {})}

    with pytest.raises(SettingsError) as now:
        make_cloud().weather.inject(words)
    with pytest.raises(SettingsError) as play:
        scenario.parse({"faults": [words]})

    assert str(now.value).startswith(f"method: {expected}")
    assert f"faults[0].{now.value}" == str(play.value)


def test_methods_are_those_of_the_api() -> None:
    """The names stand twice: the table of them is too heavy for the command line."""
    assert sorted(methods.METHODS) == list(METHODS)


@pytest.mark.parametrize(
    "words, expected",
    [
        pytest.param(
            {"fault": "reboot", "target": "b"}, "no node that is READY is named b", id="node"
        ),
        pytest.param({"fault": "reboot", "host": 7}, r"\* has no host 7", id="host"),
        pytest.param({"fault": "vanish", "zone": "europe-*"}, "no node that is READY", id="zone"),
        pytest.param({"fault": "health", "health": "FINE"}, "no such health: FINE", id="health"),
    ],
)
def test_fault_without_anybody_to_hit_is_refused(words: Words, expected: str) -> None:
    """The cloud stays as it is."""
    with pytest.raises(ApiError, match=expected):
        active_cloud().weather.inject(words)


def test_every_fault_has_an_effect() -> None:
    """No name in the table is without one."""
    needed: dict[str, Words] = {
        "call": {"target": "GetNode"},
        "clock-skew": {"skew_s": 3},
        "hidden": {"target": ZONE},
        "lost-reply": {"target": "GetNode"},
        "quota": {"target": "us-central2", "generation": "v4"},
        "slow-call": {"target": "GetNode", "delay_s": 3},
        "stockout": {"target": ZONE},
        "unreachable": {"target": ZONE},
    }

    hits = {
        name: active_cloud().weather.inject({"fault": name, **needed.get(name, {})})
        for name in FAULTS
    }

    assert [] == [name for name, hit in hits.items() if not hit]


# --- What is in force ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, expected",
    [
        pytest.param(
            {"fault": "stockout", "target": ZONE, "accelerator_type": "v4-8", "for_s": 9},
            {"target": f"{ZONE}/v4-8", "how": "wait", "until": 4.5},
            id="stockout",
        ),
        pytest.param(
            {"fault": "quota", "target": "us-central2", "generation": "v4", "chips": 4},
            {"target": "us-central2/v4/spot", "chips": 4, "until": None},
            id="quota",
        ),
        pytest.param(
            {"fault": "unreachable", "target": ZONE, "for_s": 8},
            {"target": ZONE, "until": 4},
            id="unreachable",
        ),
        pytest.param(
            {"fault": "hidden", "target": ZONE}, {"target": ZONE, "until": None}, id="hidden"
        ),
        pytest.param(
            {"fault": "call", "target": "Get*", "code": 429, "count": 2},
            {"target": "Get*", "code": 429, "when": "before", "count": 2},
            id="call",
        ),
        pytest.param(
            {"fault": "lost-reply", "target": "GetNode"},
            {"target": "GetNode", "count": 1},
            id="lost reply",
        ),
        pytest.param(
            {"fault": "slow-call", "target": "StopNode", "delay_s": 3},
            {"target": "StopNode", "delay_s": 3, "count": 1},
            id="slow call",
        ),
        pytest.param({"fault": "missing-node", "count": 3}, {"count": 3}, id="missing node"),
        pytest.param({"fault": "stuck-delete"}, {"count": 1}, id="stuck delete"),
    ],
)
def test_fault_is_in_force_until_it_ends(words: Words, expected: Words) -> None:
    """With what is left of it: until when, or how often."""
    cloud = make_cloud(speed=2)

    cloud.weather.inject(words)

    assert [{"fault": words["fault"], **expected}] == inject.in_force(cloud)


def test_status_of_the_sandbox_says_what_is_in_force() -> None:
    """Beside what there is."""
    app = Flask("admin")
    app.register_blueprint(admin.blueprint(world_of(make_cloud(stuck_deletes=2))))

    answer = app.test_client().get("/sandbox/v1/status")

    assert [{"fault": "stuck-delete", "count": 2}] == answer.get_json()["faults"]


def test_fault_is_no_longer_in_force_when_its_time_is_over() -> None:
    """Or when it has happened as often as was ordered."""
    cloud = make_cloud()
    cloud.weather.inject({"fault": "stockout", "target": ZONE, "for_s": 9})
    cloud.weather.inject({"fault": "call", "target": "GetNode", "count": 2})
    cloud.take_failure("GetNode")
    cloud.advance(8)
    early = inject.in_force(cloud)
    cloud.take_failure("GetNode")
    cloud.advance(9)

    assert [9, 1] == [fault.get("until", fault.get("count")) for fault in early]
    assert [] == inject.in_force(cloud)


def test_host_that_is_cut_off_is_in_force_until_it_is_heard_again() -> None:
    """The settings do not know of it."""
    cloud = active_cloud()
    cloud.weather.inject({"fault": "silent-host", "host": 1, "for_s": 60, "services": "storage"})
    during = inject.in_force(cloud)

    cloud.advance(BOOTED_AT + 60)

    until = BOOTED_AT + 60
    silent = {"fault": "silent-host", "target": "a-w-1", "services": ["storage"], "until": until}
    assert [silent] == during
    assert [] == inject.in_force(cloud)
