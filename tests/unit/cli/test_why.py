"""`tpuctl why`: what a job waits for at every stage, from the documents alone."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cli import why_waits
from cli.why_waits import MEANINGS
from shared.core.causes import Cause
from shared.core.codec import to_fields
from shared.core.gate import Gate, Stop
from shared.core.hosts import Checkpoint, Host, Progress
from shared.core.model import Ending, FailedRestore, Job, Spent, Writer
from shared.core.slices import Bid, BidStage, Slice, View
from shared.core.stages import Stage
from tests.unit.cli.stage import (
    Installed,
    Tpuctl,
    ago,
    make_attempt,
    make_job,
    make_slice,
    now,
)

WAITING = (Stage.QUEUED, Stage.PROVISIONING, Stage.RECOVERING)


def bid_of(slice_: Slice) -> Bid:
    """Return the only bid."""
    return slice_.generations[0].bids[0]


def put(installed: Installed, job: Job, claimed: str = "0", **bid: Any) -> Slice:
    """Write a job and its slice, whose only bid is like this."""
    installed.pretend_up()
    installed.put_job(job)
    slice_ = make_slice(job)
    (generation,) = slice_.generations
    changed = replace(generation.bids[0], job=job.id, **bid)
    generation = replace(generation, bids=(changed,), claimed=claimed)
    return installed.put_slice(replace(slice_, generations=(generation,)))


def put_host(installed: Installed, slice_: Slice, host: int, **changes: Any) -> None:
    """Write what a host said last."""
    said = Host(
        slice=slice_.name,
        slice_uid=slice_.uid,
        generation=0,
        bid="0",
        node=bid_of(slice_).name,
        host=host,
        hosts=2,
        hostname="h",
        boot="b",
        sequence=1,
        at=now(),
        seen_sequence=1,
        phase="waiting",
        alive=False,
    )
    installed.put(f"slices/{slice_.name}/hosts/{host}", replace(said, **changes))


def answer(tpuctl: Tpuctl) -> dict[str, str]:
    """Return the answer by its labels, each on one line."""
    found: dict[str, str] = {}
    label = ""
    result = tpuctl("why", "1")
    assert 0 == result.code, result.err
    for line in result.out.splitlines()[1:-1]:
        label = line[2:13].strip() or label
        found[label] = f"{found.get(label, '')}\n{line[13:]}".strip()
    found["next"] = result.out.splitlines()[-1].removeprefix("next: ")
    return found


@pytest.mark.parametrize("stage", WAITING)
def test_a_request_that_google_has_is_waited_for(
    tpuctl: Tpuctl, installed: Installed, stage: Stage
) -> None:
    """What, where, and that nobody knows until when."""
    job = make_job(1, stage=stage, stage_since=ago(125))
    put(installed, job, "", stage=BidStage.PRESENT, state="WAITING_FOR_RESOURCES",
        requested_at=ago(100))  # fmt: skip

    found = answer(tpuctl)

    assert (
        "spot v4-16 in us-central2-b: Google has the request (waiting_for_resources)"
        == (found["waits for"])
    )
    assert "us-central2-b: asked 1m40s ago, waiting_for_resources" == found["tried"]
    assert "Google gives no date" in found["then"]
    assert "tpuctl wait 1, tpuctl stop 1" == found["next"]


@pytest.mark.parametrize(
    "bid, waits_for, then",
    [
        pytest.param({}, "its request for spot v4-16 in us-central2-b to be made",
                     "it is asked at the next look", id="not asked yet"),
        pytest.param({"in_line": True}, "it stands in line, only so many", "by priority and age",
                     id="in line"),
        pytest.param({"detail": "stockout", "tries": 2, "not_before": now() + timedelta(hours=1)},
                     "to be made: stockout (tried 2 times)", "it is asked again at ", id="failed"),
        pytest.param({"stage": BidStage.PRESENT, "unknown_since": ago(1000)},
                     "a look at tpuctl-abc123-a2345678-g0-b0 in us-central2-b, which nobody could",
                     "nothing is taken for lost without proof", id="unseen"),
        pytest.param({"stage": BidStage.PRESENT, "verdict": View.READY, "ready_at": ago(10)},
                     "to boot: 1 of 2 have spoken", "it counts as a bad node", id="boots"),
    ],
)  # fmt: skip
def test_capacity_that_is_not_there_yet(
    tpuctl: Tpuctl, installed: Installed, bid: dict[str, Any], waits_for: str, then: str
) -> None:
    """Each obstacle has its own sentence."""
    slice_ = put(installed, make_job(1, stage=Stage.PROVISIONING), "", **bid)
    put_host(installed, slice_, 0)

    found = answer(tpuctl)

    assert waits_for in found["waits for"]
    assert then in found["then"]


def test_a_pause_and_a_stop_of_everybody_come_first(tpuctl: Tpuctl, installed: Installed) -> None:
    """They keep the request from being made, whatever else is true."""
    put(installed, make_job(1, stage=Stage.QUEUED), "", in_line=True)
    stop = Stop(ago(5), now() + timedelta(minutes=5), 1, "too many requests")
    installed.put("control/creates", to_fields(Gate(stopped=stop)))

    assert "to be made: Google says too many requests" in answer(tpuctl)["waits for"]

    installed.put("control/pause", {"summary": "paused by ada: billing; nothing is created"})
    found = answer(tpuctl)
    assert "to be made: paused by ada: billing" in found["waits for"]
    assert "tpuctl unpause" in found["then"]


def test_what_failed_in_this_wait_is_told_by_zone(tpuctl: Tpuctl, installed: Installed) -> None:
    """Counted, with the last reason; an earlier wait is over."""
    job = make_job(1, stage=Stage.RECOVERING, stage_since=ago(600))
    put(installed, job, "")
    failed = {"event": "BidFailed", "who": "recovery"}
    for seconds, zone in ((9000, "a"), (500, "us-east1-d"), (400, "us-east1-d"), (300, "us-b")):
        text = f"tpuctl-x-g1-b0 in {zone}: stockout {seconds}"
        installed.say(job, f"{9999 - seconds:05d}", text, at=ago(seconds), **failed)

    assert [
        "us-east1-d: 2 times, last 6m40s ago: stockout 400",
        "us-b: 5m00s ago: stockout 300",
        "us-central2-b: not asked yet",
    ] == answer(tpuctl)["tried"].splitlines()


@pytest.mark.parametrize(
    "prepared, dead, waits_for",
    [
        pytest.param(1, True, "its hosts to fetch the code and run the setup: 1 of 2 are ready",
                     id="setup"),
        pytest.param(2, False, "all 2 hosts are prepared; proof that attempt 0 writes no more",
                     id="the last writer"),
    ],
)  # fmt: skip
def test_preparing(
    tpuctl: Tpuctl, installed: Installed, prepared: int, *, dead: bool, waits_for: str
) -> None:
    """Hosts that are not ready, then whoever may still write."""
    writer = Writer(0, "s", "u", 0, "0", {}, 1, 100.0, end_written_at=now(), dead="x" * dead)
    job = make_job(1, stage=Stage.PREPARING, writer=writer, prepare_since=ago(5))
    slice_ = put(installed, job)
    for host in range(2):
        mark = job.spec_sha256 if host < prepared else None
        put_host(installed, slice_, host, prepared=mark, problem="" if mark else "no disk")

    found = answer(tpuctl)

    assert waits_for in found["waits for"]
    assert ("no disk" in found["waits for"]) == (prepared < 2)
    assert ("its lease is over at " in found["then"]) == (not dead)


@pytest.mark.parametrize(
    "changes, waits_for",
    [
        pytest.param({"progress": Progress(140, 300), "checkpoint": Checkpoint(120, "/out")},
                     "nothing: attempt 0 runs in us-central2-b (step 140, saved up to step 120)",
                     id="it runs"),
        pytest.param({"ending": Ending(0, ago(1), "host 1 is gone")},
                     "attempt 0 to end: host 1 is gone", id="it ends"),
        pytest.param({"finishing_since": ago(1)}, "the other hosts to exit: one has finished",
                     id="it finishes"),
        pytest.param({"stage": Stage.STOPPING}, "the last look at its slice", id="it stops"),
    ],
)  # fmt: skip
def test_on_a_slice(
    tpuctl: Tpuctl, installed: Installed, changes: dict[str, Any], waits_for: str
) -> None:
    """Running is no waiting."""
    put(installed, make_job(1, **changes))

    assert waits_for == answer(tpuctl)["waits for"]


def test_a_failure_says_the_cause_the_evidence_and_what_to_type(
    tpuctl: Tpuctl, installed: Installed
) -> None:
    """With the slice that is kept for the fix, and what was spent."""
    job = make_job(
        1, stage=Stage.FAILED, stage_since=ago(65), cause=Cause.ERROR, attempt=1,
        reason="error (host 1, exit code 2): failure budget used up (3 of 3)",
        spent=Spent(preemptions=1, failures=3),
    )  # fmt: skip
    slice_ = put(installed, job, ready_at=ago(3600))
    installed.put_slice(replace(slice_, held_until=now() + timedelta(minutes=20)))
    begun = {"process_at": ago(600), "ended_at": ago(300), "generation": 0}
    installed.put_attempt(make_attempt(job, 0, **begun, last_step=100, cause=Cause.PREEMPTED))
    installed.put_attempt(
        make_attempt(job, 1, **begun, start_step=80, cause=Cause.ERROR, cause_host=1, exit_code=2,
                     evidence="Traceback\n  File x\nValueError: \x1b[31mnan")
    )  # fmt: skip

    found = answer(tpuctl)

    assert "you: it has failed, and is left to its owner" == found["waits for"]
    assert [
        "attempt 1 ended 5m00s ago: error, host 1, exit code 2 (the program exited with an error)",
        "error (host 1, exit code 2): failure budget used up (3 of 3)",
    ] == found["because"].splitlines()
    assert "is held for the fix; at " in found["then"]
    assert ["Traceback", "  File x", "ValueError: ?[31mnan"] == found["evidence"].splitlines()
    assert found["next"].startswith("tpuctl resume 1 --code . (its slice is held for that), or")
    spent = found["spent"].splitlines()
    assert "1 of 1000 preemptions, 3 of 3 failures (rule pre)" == spent[0]
    assert "2 attempts, 10m00s at work, 20 steps done twice" == spent[1]
    assert spent[2].startswith("8.0")  # a v4-16 has 8 chips, and it was held for an hour
    assert "chip-hours" in spent[2]


@pytest.mark.parametrize("sha256, is_told", [("a" * 64, False), ("b" * 64, True)])
def test_a_program_that_changed_is_suspected_before_its_checkpoint(
    tpuctl: Tpuctl, installed: Installed, sha256: str, *, is_told: bool
) -> None:
    """What saved it could read it, as far as anybody knows."""
    job = make_job(1, stage=Stage.FAILED, failed_restore=FailedRestore(10, (1, 2)))
    put(installed, job)
    installed.put_attempt(make_attempt(job, 0, spec_sha256="a" * 64, checkpoint_step=20))
    for number in (1, 2):
        attempt = make_attempt(job, number, spec_sha256=sha256, start_step=10)
        installed.put_attempt(attempt)

    words = "not that of attempt 0, which saved step 10 or a later one: that may be what fails"
    assert is_told == (words in answer(tpuctl).get("because", "").replace("\n", " "))


def test_ledger_lines_and_what_is_held_are_one_bill(tpuctl: Tpuctl, installed: Installed) -> None:
    """Of this job only; an unknown price is said to be missing."""
    job = make_job(1, stage=Stage.SUCCEEDED)
    installed.put_job(job)
    line = {"job": job.id, "ready_at": ago(7200), "gone_at": ago(3600), "chips": 8}
    installed.put(f"ledger/{job.slice_uid}-g0-b0", {**line, "usd_per_chip_hour": 1.5})
    installed.put_attempt(make_attempt(job, 0, ordered_at=ago(7200), ended_at=ago(3600)))
    installed.put("ledger/b", {**line, "usd_per_chip_hour": None})
    installed.put("ledger/c", {**line, "job": "another", "usd_per_chip_hour": 1.5})

    assert (
        "16.00 chip-hours, at least 12.00 USD at list price"
        == (answer(tpuctl)["spent"].splitlines()[-1])
    )


def test_job_on_a_slice_of_others_pays_for_its_own_attempts(
    tpuctl: Tpuctl, installed: Installed
) -> None:
    """Not for what the slice did before and after; what is gone has its price in the ledger."""
    job = make_job(1, stage=Stage.SUCCEEDED)
    slice_ = put(installed, job, ready_at=ago(7200))
    (generation,) = slice_.generations
    named = replace(generation, bids=(replace(generation.bids[0], job=""),))
    installed.put_slice(replace(slice_, generations=(named,)))
    installed.put_attempt(make_attempt(job, 0, ordered_at=ago(3600), ended_at=ago(1800)))
    elsewhere = make_attempt(job, 1, ordered_at=ago(1800), ended_at=ago(900))
    installed.put_attempt(replace(elsewhere, slice_uid="elsewher", generation=3, bid="2"))
    line = {"job": "another", "ready_at": ago(9000), "gone_at": ago(0), "chips": 8}
    installed.put("ledger/elsewher-g3-b2", {**line, "usd_per_chip_hour": 100.0})

    hours, usd = answer(tpuctl)["spent"].splitlines()[-1].split(", ")
    assert "6.00 chip-hours" == hours
    assert 200.0 < float(usd.split()[0]) < 220.0


@pytest.mark.parametrize(
    "changes, then",
    [
        pytest.param({"live": False}, "nothing by itself; its slice is gone", id="gone"),
        pytest.param({"wanted": False, "job": ""}, "is being deleted", id="goes"),
        pytest.param({"job": ""}, "stays until tpuctl slice rm digits-1-s", id="named"),
        pytest.param({"job": "another"}, "works for another job", id="taken"),
    ],
)
def test_what_becomes_of_the_slice_is_said(
    tpuctl: Tpuctl, installed: Installed, changes: dict[str, Any], then: str
) -> None:
    """It costs money."""
    slice_ = put(installed, make_job(1, stage=Stage.CANCELLED, reason="stopped by its owner"))
    installed.put_slice(replace(slice_, **changes))

    assert then in answer(tpuctl)["then"]


def test_every_stage_and_every_cause_has_an_answer() -> None:
    """A new one must be told, too."""
    assert set(Stage) == set(why_waits._ANSWERS)
    assert set(Cause) == set(MEANINGS)


@pytest.mark.parametrize("stage", list(Stage))
def test_a_job_without_any_other_document_has_an_answer(
    tpuctl: Tpuctl, installed: Installed, stage: Stage
) -> None:
    """At every stage."""
    installed.pretend_up()
    installed.put_job(make_job(1, stage=stage, stage_since=ago(5)))

    found = json.loads(tpuctl("why", "1", "--json").out)

    assert f"job 1 digits-1: {stage} for 5s" in found["headline"]
    assert all(found[key] for key in ("waits_for", "next", "spent", "type"))


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_no_line_is_wider_than_the_terminal(
    tpuctl: Tpuctl, installed: Installed, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """Sentences go on below, evidence is cut."""
    monkeypatch.setenv("COLUMNS", str(columns))
    job = make_job(1, name="a" * 40, stage=Stage.FAILED, reason="long " * 60, evidence="x" * 500)
    put(installed, job)

    lines = tpuctl("why", "1").out.splitlines()

    assert max(map(len, lines)) <= columns
