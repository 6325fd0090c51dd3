"""What a self test is going to ask for, what that may cost, and how it asks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests

from cli.selftest import plan
from cli.selftest.rest import TpuRest
from shared.catalog_data import load_catalog
from shared.errors import ControlPlaneError, SpecError
from tests.unit.cli.selftest_scene import PACE, ZONE, Wire


def test_the_cheapest_single_host_is_taken() -> None:
    """With the time for the delete in the bound."""
    made = plan.make_plan(load_catalog(), ZONE, "", replace(PACE, total_s=2700.0, gone_s=900.0))

    assert "v5litepod-1" == made.accelerator.accelerator_type
    assert made.bound.usd == made.bound.usd_per_hour
    assert "$0.24" == plan.usd_text(made.bound.usd)


@pytest.mark.parametrize(
    "zone, accelerator_type, error",
    [
        pytest.param("us-centrl1-a", "", "zone: 'us-centrl1-a' is not known; near:", id="zone"),
        pytest.param(ZONE, "v5litepod-16", "has 4 hosts; one is enough", id="pod"),
        pytest.param(ZONE, "v4-8", "v4-8 is not in us-central1-a", id="elsewhere"),
        pytest.param(ZONE, "v9-8", "'v9-8' is not known", id="type"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(zone: str, accelerator_type: str, error: str) -> None:
    """Before anything is asked."""
    with pytest.raises(SpecError, match=error):
        plan.make_plan(load_catalog(), zone, accelerator_type, PACE)


@pytest.mark.parametrize(
    "usd, text",
    [
        pytest.param(None, "price not known", id="unknown"),
        pytest.param(0.0, "$0.00", id="nothing"),
        pytest.param(0.00001, "<$0.0001", id="hardly-anything"),
        pytest.param(0.0012, "$0.0012", id="a-tenth-of-a-cent"),
        pytest.param(1.234, "$1.23", id="dollars"),
    ],
)
def test_an_amount_is_short(usd: float | None, text: str) -> None:
    """And never a nought that is none."""
    assert text == plan.usd_text(usd)


@pytest.mark.parametrize(
    "headers, ahead_s",
    [
        pytest.param({}, None, id="not-told"),
        pytest.param({"Date": "yesterday"}, None, id="no-time"),
        pytest.param({"Date": "-60"}, 60.0, id="a-minute-ahead"),
    ],
)
def test_clocks_are_compared(headers: dict[str, Any], ahead_s: float | None) -> None:
    """To a second: that is what a header tells."""
    wire = Wire()
    if headers.get("Date") == "-60":
        then = datetime.now(UTC) - timedelta(seconds=60)
        headers = {"Date": then.strftime("%a, %d %b %Y %H:%M:%S GMT")}
    answer = wire.request("GET", "http://cloud")
    answer.headers.update(headers)
    wire.request = lambda *_, **__: answer  # type: ignore[method-assign]

    told = TpuRest(wire, "http://cloud", "fake").get("x").ahead_s

    assert ahead_s == (told if told is None else pytest.approx(told, abs=5.0))


def test_an_error_of_the_api_is_one_line() -> None:
    """Status and text."""
    wire = Wire()
    wire.answers["x"] = (409, {"error": {"status": "ABORTED", "message": "not\nnow"}})

    answer = TpuRest(wire, "http://cloud", "fake").get("x")

    assert (False, "ABORTED: not now") == (answer.is_ok, answer.error)


def test_no_answer_is_an_error_of_ours() -> None:
    """Not of a library."""
    with pytest.raises(ControlPlaneError, match="Cloud TPU"):
        TpuRest(requests.Session(), "http://127.0.0.1:9", "fake").get("x")
