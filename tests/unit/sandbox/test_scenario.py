"""Scenarios as files: what they say, and the line of what is wrong in them."""

from pathlib import Path

import pytest

from sandbox import scenario_file
from sandbox.errors import SettingsError
from sandbox.scenario import Moment, ScenarioError, parse
from sandbox.settings import Settings

GOOD = """\
title: a bad evening
seed: 7
speed: 60
settings:
  notice_s: 30
  quota: {us-central2/v4/spot: 64}
capacity:
  us-central2-b/v4-16: [{at_s: 0, nodes: 2}, {at_s: 900, nodes: 0}]
  us-central2-b/v4-8: 3
lifetimes:
  - {kind: exponential, mean_s: 3600}
faults:
  - {at_s: 60, fault: stockout, zone: us-central2-b, for_s: 300}
  - fault: preempt
    at_s: 10
    every_s: 5
    times: 2
"""


def written(folder: Path, text: str) -> Path:
    """Write a scenario."""
    path = folder / "evening.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_scenario_tells_what_happens_in_its_order(tmp_path: Path) -> None:
    """Repeated faults and changes of capacity among the others."""
    scenario, _ = scenario_file.load(written(tmp_path, GOOD))

    stockout = {"fault": "stockout", "zone": "us-central2-b", "for_s": 300}
    stock = {"us-central2-b/v4-16": 0, "us-central2-b/v4-8": 3}
    assert [
        Moment(10.0, fault={"fault": "preempt"}),
        Moment(15.0, fault={"fault": "preempt"}),
        Moment(60.0, fault=stockout),
        Moment(900.0, capacity=stock),
    ] == scenario.moments()


def test_scenario_begins_with_its_settings(tmp_path: Path) -> None:
    """On top of those before; its capacity replaces theirs."""
    scenario, _ = scenario_file.load(written(tmp_path, GOOD))
    before = Settings(boot_s=9, capacity={"us-central2-b/v4-32": 1})

    found = scenario.settings_on(before)

    assert (9, 30, 7, 60) == (found.boot_s, found.notice_s, found.seed, found.speed)
    assert {"us-central2-b/v4-16": 2, "us-central2-b/v4-8": 3} == found.capacity
    assert ["exponential"] == [law.kind for law in found.lifetimes]


@pytest.mark.parametrize(
    "good, bad, words",
    [
        pytest.param(
            "speed:", "sped:", ":3: sped: there is no such key; did you mean speed?", id="key"
        ),
        pytest.param("at_s: 900", "at: 900", ":8: capacity.us-central2-b/v4-16[1].at:", id="stock"),
        pytest.param(
            "b/v4-8", "b/v4-9", "there is no accelerator type 'v4-9'; near: v4-8", id="type"
        ),
        pytest.param(
            "zone: us-central2-b",
            "zone: us-central2",
            ":13: faults[0].zone: there is no zone",
            id="zone",
        ),
        pytest.param(
            "for_s",
            "for",
            ":13: faults[0].for: there is no such key; did you mean for_s?",
            id="key of a fault",
        ),
        pytest.param(
            "fault: preempt",
            "fault: preemt",
            ":14: faults[1].fault: there is no fault preemt; did you mean preempt?",
            id="fault",
        ),
        pytest.param(
            "  notice_s",
            "  notice",
            ":5: settings.notice: there is no such key; did you mean notice_s?",
            id="setting",
        ),
        pytest.param(
            "  notice_s: 30",
            "  seed: 3",
            ":5: settings.seed: cannot be set here",
            id="setting of its own",
        ),
        pytest.param(
            "mean_s",
            "mean",
            ":11: lifetimes[0].mean: there is no such key; did you mean mean_s?",
            id="law",
        ),
        pytest.param(
            "seed: 7",
            "seed: often",
            ":2: seed: expected a whole number, found the text 'often'",
            id="number",
        ),
        pytest.param(
            "    every_s: 5\n", "", ": faults: fault preempt: times needs every_s", id="times"
        ),
        pytest.param(
            "nodes: 0",
            "nodes: -1",
            "nodes: expected at least 0, found -1",
            id="negative",
        ),
        pytest.param("seed: 7", "seed: 7\nseed: 8", ":3: seed: stands twice", id="twice"),
        pytest.param(
            "speed: 60", "speed: 0", ":3: speed: expected more than 0, found 0", id="no speed"
        ),
        pytest.param("faults:", "faults: [", "cannot be read as YAML", id="no YAML"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(
    tmp_path: Path, good: str, bad: str, words: str
) -> None:
    """The file, the line, the field, and the nearest good one."""
    path = written(tmp_path, GOOD.replace(good, bad))

    with pytest.raises(SettingsError) as error:
        scenario_file.load(path)

    assert words in str(error.value)
    assert str(error.value).startswith(str(path))
    assert 1 == len(str(error.value).splitlines())


def test_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Before anything else."""
    with pytest.raises(SettingsError, match=r"nothing\.yaml cannot be read: No such file"):
        scenario_file.load(tmp_path / "nothing.yaml")


def test_what_a_scenario_does_not_say_stays() -> None:
    """Capacity, laws of life and zones of the settings before it."""
    before = Settings(
        capacity={"us-central2-b/v4-32": 1},
        lifetimes=({"kind": "bathtub", "max_s": 9},),
        zones=("us-central2-b",),
    )

    found = parse({"settings": {"notice_s": 3}}).settings_on(before)

    assert before.updated({"notice_s": 3, "seed": 0}) == found


def test_before_its_first_word_nothing_is_limited() -> None:
    """And a stock without a number lifts the limit."""
    shop = "us-central2-b/v4-16"
    stocks = [{"at_s": 10, "nodes": 1}, {"at_s": 20, "nodes": None}]
    scenario = parse({"capacity": {shop: stocks}})

    assert [{}, {shop: 1}, {}] == [scenario.stock(at_s) for at_s in (0, 10, 20)]


def test_fields_of_a_caller_are_checked_like_a_file() -> None:
    """Without lines."""
    with pytest.raises(ScenarioError, match=r"^faults\[0\]\.fault: there is no fault x"):
        parse({"faults": [{"fault": "x"}]})
