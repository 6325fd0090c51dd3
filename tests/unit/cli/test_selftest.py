"""`tpuctl selftest`: what it says, refuses, and never spends unasked."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest
from pytest_mock import MockerFixture

from cli.selftest import live
from cli.selftest.assumptions import ASSUMPTIONS
from cli.selftest.model import Assumption, Result, Verdict
from cli.selftest.rig import Rig, new_request
from cli.selftest.run import Bound
from shared.errors import Retryable, Unavailable
from tests.fakes import FakeBlobs, FakeSliceApi
from tests.unit.cli.selftest_scene import ZONE, Wire, connected
from tests.unit.cli.stage import Installed, Tpuctl, ago

LIVE = ("selftest", "--live", "--zone", ZONE)
AGREED = (*LIVE, "--yes")
Tell = Callable[[Result], None]


@pytest.fixture
def sky(installed: Installed, mocker: MockerFixture, blobs: FakeBlobs) -> FakeSliceApi:
    """Take the place of everything in the cloud."""
    assert blobs.list("") == []
    installed.pretend_up()
    made = FakeSliceApi(hosts=1)
    mocker.patch("shared.wiring.open_slices", return_value=made)
    for place in ("installation", "live"):
        mocker.patch(f"cli.selftest.{place}.connect", return_value=connected(Wire()))
    # In this cloud nothing would ever come, and it is waited for by a real clock.
    mocker.patch.object(live, "try_all")
    return made


@pytest.fixture
def verdicts(mocker: MockerFixture) -> list[Verdict]:
    """Take the place of what is tried: verdicts for the first assumptions."""
    found: list[Verdict] = []

    def try_all(
        _: Rig, __: Bound, assumptions: Sequence[Assumption], tell: Tell, **___: object
    ) -> None:
        for verdict, assumption in zip(found, assumptions, strict=False):
            tell(Result(assumption, verdict, "what was found", 1.5, 0.25))

    mocker.patch.object(live, "try_all", try_all)
    return found


# --- This installation --------------------------------------------------------------------------


@pytest.mark.usefixtures("sky")
def test_an_installation_that_answers_is_well(tpuctl: Tpuctl) -> None:
    """One line for each thing."""
    result = tpuctl("selftest")

    names = [line.split("  ")[0] for line in result.out.splitlines()]
    assert 0 == result.code, result.out
    assert names[:-1] == [
        "versions",
        "settings",
        "runner",
        "documents",
        "bucket",
        "Cloud TPU",
        "clock",
    ]
    assert "next: tpuctl selftest --live --zone ZONE" == result.out.splitlines()[-1]


def test_what_does_not_answer_is_told_with_what_to_do(tpuctl: Tpuctl, sky: FakeSliceApi) -> None:
    """And exit 1; the others are looked at all the same."""
    sky.fail_next("get", Unavailable("no answer"))

    told = json.loads(tpuctl("selftest", "--json").out)
    bad = [each for each in told["checks"] if each["fix"]]

    assert (False, 7) == (told["ok"], len(told["checks"]))
    assert [("Cloud TPU", "no answer")] == [(each["name"], each["found"]) for each in bad]
    assert "tpuctl local status" in bad[0]["fix"]


@pytest.mark.usefixtures("installed", "blobs")
def test_an_installation_that_is_down_says_how_to_bring_it_up(tpuctl: Tpuctl) -> None:
    """The first thing that is missing is the next step."""
    result = tpuctl("selftest")

    assert 1 == result.code
    assert "next: tpuctl local up" == result.out.splitlines()[-1]


# --- Bad input ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("sky")
@pytest.mark.parametrize(
    "words, error",
    [
        pytest.param(["--zone", ZONE], "--zone is for --live", id="zone-alone"),
        pytest.param(["--yes"], "--yes is for --live", id="yes-alone"),
        pytest.param(["--live"], "--live needs a --zone", id="no-zone"),
        pytest.param(
            ["--live", "--zone", "us-centrl1-a"], "'us-centrl1-a' is not known", id="zone"
        ),
        pytest.param([*LIVE[1:], "--type", "v5litepod-16"], "has 4 hosts", id="pod"),
        pytest.param([*LIVE[1:], "--limit", "soon"], "'soon' is no time such as", id="limit"),
        pytest.param([*LIVE[1:], "--limit", "0"], "no time at all is too little", id="no-time"),
    ],
)
def test_wrong_words_are_one_line(tpuctl: Tpuctl, words: list[str], error: str) -> None:
    """Exit 2, and nothing was asked for."""
    result = tpuctl("selftest", *words)

    assert (2, "") == (result.code, result.out)
    assert error in result.error


# --- Live ---------------------------------------------------------------------------------------


def test_without_yes_the_price_is_said_and_nothing_asked_for(
    tpuctl: Tpuctl, sky: FakeSliceApi
) -> None:
    """The next step is what would spend it."""
    result = tpuctl(*LIVE, "--limit", "105m")

    assert (2, "") == (result.code, result.out)
    assert result.err.startswith(f"1 v5litepod-1 spot in {ZONE}, for 120.0 min at the very longest")
    assert "at most $0.49 for its chips" in result.err
    assert f"tpuctl selftest --live --zone {ZONE} --type v5litepod-1 --yes" == result.next_step
    assert 0 == sky.calls["create"]


def test_where_creation_is_paused_nothing_is_created(
    tpuctl: Tpuctl, installed: Installed, sky: FakeSliceApi
) -> None:
    """The switch is for everybody."""
    installed.put("control/pause", {"by": "ada", "at": ago(1), "summary": "paused by ada"})

    result = tpuctl(*AGREED)

    assert (1, "paused by ada", "tpuctl unpause") == (result.code, result.error, result.next_step)
    assert 0 == sky.calls["create"]


def test_what_an_earlier_test_left_is_named(
    tpuctl: Tpuctl, installed: Installed, sky: FakeSliceApi
) -> None:
    """With what deletes it; no second one is made."""
    left = new_request(installed.settings.installation, ZONE, "v5litepod-1", "runtime")
    sky.create(left)

    result = tpuctl(*AGREED)

    assert 1 == result.code
    assert f"{left.name} of another self test is there still" in result.error
    assert f"queued-resources delete {left.name} --force --quiet --zone {ZONE}" in result.next_step
    assert 1 == sky.calls["create"]


@pytest.mark.usefixtures("sky")
@pytest.mark.parametrize(
    "found, code",
    [
        pytest.param([Verdict.HOLDS, Verdict.NOT_TRIED], 0, id="holds"),
        pytest.param([Verdict.HOLDS, Verdict.DOES_NOT], 1, id="does-not"),
    ],
)
def test_the_table_says_each_verdict(
    tpuctl: Tpuctl, verdicts: list[Verdict], found: list[Verdict], code: int
) -> None:
    """Exit 1 where one does not hold."""
    verdicts += found

    result = tpuctl(*AGREED)

    heading, *lines = result.out.splitlines()[:3]
    assert code == result.code
    assert ["ASSUMPTION", "EXPECTED", "VERDICT", "TIME", "COST", "FOUND"] == heading.split()
    for line, verdict, assumption in zip(lines, found, ASSUMPTIONS, strict=False):
        assert [
            assumption.id,
            assumption.expected,
            verdict,
            "1.5 s",
            "$0.25",
            "what was found",
        ] == [cell.strip() for cell in line.split("  ") if cell.strip()]


@pytest.mark.usefixtures("sky")
def test_programs_get_the_same(tpuctl: Tpuctl, verdicts: list[Verdict]) -> None:
    """One object."""
    verdicts += [Verdict.HOLDS]

    told = json.loads(tpuctl(*AGREED, "--json").out)

    assert (True, "v5litepod-1", 0.0) == (
        told["deleted"],
        told["accelerator_type"],
        told["cost_usd"],
    )
    assert {
        "id": ASSUMPTIONS[0].id,
        "claim": ASSUMPTIONS[0].claim,
        "where": ASSUMPTIONS[0].where,
        "command": ASSUMPTIONS[0].command,
        "expected": ASSUMPTIONS[0].expected,
        "found": "what was found",
        "verdict": "holds",
        "seconds": 1.5,
        "cost_usd": 0.25,
    } == told["assumptions"][0]


@pytest.mark.usefixtures("sky")
@pytest.mark.parametrize(
    "error",
    [
        pytest.param(Retryable("it is not gone after 15.0 min"), id="stuck"),
        pytest.param(KeyboardInterrupt(), id="ctrl-c-twice"),
    ],
)
def test_what_may_be_left_is_said_with_what_deletes_it(
    tpuctl: Tpuctl, mocker: MockerFixture, error: BaseException
) -> None:
    """It may cost money."""

    def try_all(rig: Rig, *_: object, **__: object) -> None:
        rig.may_exist = True
        raise error

    mocker.patch.object(live, "try_all", try_all)

    result = tpuctl(*AGREED)

    assert 1 == result.code
    assert "may be there still, and may cost money" in result.error
    assert result.next_step.startswith("gcloud compute tpus queued-resources delete tpuctl-")
