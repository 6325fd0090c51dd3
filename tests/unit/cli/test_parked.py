"""`tpuctl parked`: what nobody could handle, in words, and once more."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shared.topology import DEAD_LETTER_ATTEMPTS
from tests.unit.cli.stage import OWNER, Installed, Launch, Tpuctl, ago, refuse

OLD, NEW, REPORT = "a1" * 16, "b2" * 16, "a1" + "c3" * 15
STOP = json.dumps(
    {"version": 1, "id": "x", "kind": "stop", "owner": "ada", "args": {"job": "j" * 12}}
)


def park(installed: Installed, key: str, source: str, **changes: Any) -> None:
    """Put a message aside."""
    fields = {
        "summary": "a message that nobody could handle",
        "created_at": ago(60.0),
        "source": source,
        "reason": "it used up its attempts",
        "data": STOP,
        "attributes": {"kind": "command"},
        "published_at": ago(61.0),
        "attempts": 1,
    }
    installed.put(f"parked/{key}", {**fields, **changes})


@pytest.fixture
def three(installed: Installed) -> Installed:
    """Have three messages that were put aside, the newest in the middle."""
    park(installed, OLD, "launch-commands", created_at=ago(3600.0))
    park(installed, NEW, "tpuctl-recovery", created_at=ago(5.0), retried_at=ago(2.0))
    park(installed, REPORT, "report", reason="snapshot:\n\x1b[31m junk", data="x\x1b[31m\n two")
    return installed


# --- ls -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("three")
def test_the_newest_comes_first(tpuctl: Tpuctl) -> None:
    """Key, age, source, whether it was retried, and why it was put aside, in one line."""
    lines = tpuctl("parked", "ls").out.splitlines()

    assert ["KEY", "AGE", "SOURCE", "RETRIED", "REASON"] == lines[0].split()
    assert [NEW[:8], REPORT[:8], OLD[:8]] == [line.split()[0] for line in lines[1:]]
    assert [NEW[:8], "5s", "tpuctl-recovery", "2s"] == lines[1].split()[:4]
    assert lines[2].endswith("snapshot: ?[31m junk")


@pytest.mark.usefixtures("installed")
def test_nothing_parked_is_said(tpuctl: Tpuctl) -> None:
    """In words."""
    assert "nothing is parked\nnext: tpuctl ps\n" == tpuctl("parked", "ls").out


@pytest.mark.usefixtures("three")
def test_ls_in_json_holds_the_documents(tpuctl: Tpuctl) -> None:
    """With their keys."""
    found = json.loads(tpuctl("parked", "ls", "--json").out)["parked"]

    assert [NEW, REPORT, OLD] == [each["key"] for each in found]
    assert STOP == found[0]["data"]


def test_a_long_list_says_that_it_is_not_all(tpuctl: Tpuctl, installed: Installed) -> None:
    """The newest hundred are enough to see what happens."""
    for number in range(101):
        park(installed, f"{number:032x}", "launch", created_at=ago(1000.0 - number))

    result = tpuctl("parked", "ls")

    assert 101 == len(result.out.splitlines())
    assert "these are the newest 100" in result.err


# --- show ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("three")
def test_show_says_all_that_can_be_read(tpuctl: Tpuctl) -> None:
    """What it said as JSON with indents, and what can be done."""
    out = tpuctl("parked", "show", OLD[:4]).out

    assert out.startswith(f"parked {OLD}\n")
    assert "  reason    it used up its attempts\n  source    launch-commands\n" in out
    assert "delivered 1 time\n" in out
    assert "  attribute kind=command\n" in out
    assert '  said\n  {\n    "version": 1,\n' in out
    assert f"next: tpuctl parked retry {OLD[:8]}: whoever gave it may give it again" in out


def test_order_that_nobody_can_read_is_left_where_it_is(
    tpuctl: Tpuctl, launch: Launch, installed: Installed
) -> None:
    """To retry it would be refused each time."""
    park(installed, OLD, "launch-commands", data=STOP.replace("j" * 12, "no job"))

    shown = tpuctl("parked", "show", OLD).out
    retried = tpuctl("parked", "retry", "--all")

    assert "next: nothing is to do: nobody can read it; whoever gave it gives a new order" in shown
    assert (0, []) == (retried.code, launch.commands)


@pytest.mark.usefixtures("three")
def test_show_prints_nothing_that_a_terminal_obeys(tpuctl: Tpuctl) -> None:
    """Whoever may publish reports may have written it."""
    out = tpuctl("parked", "show", REPORT).out

    assert "\x1b" not in out
    assert "  said\n  x?[31m\n  two\nnext: nothing is to do: a host's report lost its token" in out


def test_show_counts_the_deliveries_of_the_first_subscription(
    tpuctl: Tpuctl, installed: Installed
) -> None:
    """And says by whom it was retried."""
    park(
        installed,
        NEW,
        "tpuctl-recovery",
        attributes={DEAD_LETTER_ATTEMPTS: "100"},
        retried_at=ago(2.0),
        retried_by="root@example.com",
    )

    out = tpuctl("parked", "show", NEW).out

    assert "delivered 100 times\n" in out
    assert " by root@example.com\n" in out


@pytest.mark.parametrize(
    "key, error",
    [
        pytest.param("a1", "2 keys begin with 'a1': a1", id="not enough of it"),
        pytest.param("b2b2b2bb", "no parked message 'b2b2b2bb'; near: b2b2b2b2", id="mistyped"),
        pytest.param("0" * 32, f"no parked message '{'0' * 32}'", id="a whole key that is none"),
        pytest.param("../jobs/x", "no parked message '../jobs/x'", id="no key"),
    ],
)
@pytest.mark.parametrize("verb", ["show", "retry"])
@pytest.mark.usefixtures("three", "launch")
def test_a_key_that_names_no_message_exits_with_3(
    tpuctl: Tpuctl, verb: str, key: str, error: str
) -> None:
    """With the near ones."""
    result = tpuctl("parked", verb, key)

    assert (3, "tpuctl parked ls") == (result.code, result.next_step)
    assert result.error.startswith(error)


@pytest.mark.usefixtures("three")
def test_show_in_json_is_the_document(tpuctl: Tpuctl) -> None:
    """With its key."""
    told = json.loads(tpuctl("parked", "show", OLD, "--json").out)

    assert (OLD, STOP) == (told["key"], told["data"])


# --- retry --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("three")
def test_an_order_is_given_again(tpuctl: Tpuctl, launch: Launch) -> None:
    """As an order of whoever asks; the command line writes no document."""
    result = tpuctl("parked", "retry", OLD[:4])

    (command,) = launch.commands
    assert ("parked-retry", OWNER, {"key": OLD}) == (
        command["kind"],
        command["owner"],
        command["args"],
    )
    assert (
        f"{OLD[:8]}: the order for job 7 was given again and accepted\nnext: tpuctl show 7\n"
        == result.out
    )


@pytest.mark.usefixtures("three")
def test_an_event_is_sent_again(tpuctl: Tpuctl, launch: Launch) -> None:
    """To the topic of its subscription."""
    result = tpuctl("parked", "retry", NEW)

    assert {"key": NEW} == launch.args
    assert f"{NEW[:8]} is on its way to preemptions again\nnext: tpuctl parked ls\n" == result.out


@pytest.mark.usefixtures("three")
def test_a_report_is_not_sent_again(tpuctl: Tpuctl, launch: Launch) -> None:
    """Nobody is asked for it."""
    result = tpuctl("parked", "retry", REPORT)

    assert 1 == result.code
    assert result.error.startswith("a message of report cannot be sent again: a host's report")
    assert [] == launch.commands


@pytest.mark.usefixtures("three")
def test_a_refused_retry_says_why(tpuctl: Tpuctl, launch: Launch) -> None:
    """And where to look next."""
    launch.answer = refuse("it was carried out already, for job 4")

    result = tpuctl("parked", "retry", OLD)

    assert (1, "refused: it was carried out already, for job 4", "tpuctl parked ls") == (
        result.code,
        result.error,
        result.next_step,
    )


def test_several_are_handed_over_and_one_that_is_refused_keeps_none_back(
    tpuctl: Tpuctl, launch: Launch, three: Installed
) -> None:
    """Each is an order of its own."""
    park(three, (other := "d4" * 16), "tpuctl-recovery")

    result = tpuctl("parked", "retry", REPORT, OLD, other)

    assert [OLD, other] == [command["args"]["key"] for command in launch.commands]
    assert 2 == len({command["id"] for command in launch.commands})
    assert f"{other[:8]} is on its way to preemptions again" in result.out
    assert f"{REPORT[:8]}: a message of report cannot be sent again" in result.err
    assert (1, "1 of 3 were not handed over") == (result.code, result.error)


def test_all_are_those_that_can_be_sent_and_were_not_yet(
    tpuctl: Tpuctl, launch: Launch, three: Installed
) -> None:
    """Reports come by themselves; what was sent once may still be on its way."""
    park(three, (other := "d4" * 16), "tpuctl-recovery", created_at=ago(1.0))

    result = tpuctl("parked", "retry", "--all")

    assert [other, OLD] == [command["args"]["key"] for command in launch.commands]
    assert 0 == result.code
    assert result.out.endswith("next: tpuctl parked ls\n")


@pytest.mark.usefixtures("launch")
def test_nothing_that_is_left_is_said(tpuctl: Tpuctl) -> None:
    """And is no failure."""
    result = tpuctl("parked", "retry", "--all")

    assert (0, "nothing is left to hand over\nnext: tpuctl parked ls\n") == (
        result.code,
        result.out,
    )


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    "words, error",
    [
        ((), "name one KEY or more, or say --all"),
        ((OLD, "--all"), "name one KEY or more, or say --all"),
        ((OLD, NEW, "--command-id", "x"), "--command-id names one order: give one KEY"),
    ],
)
def test_what_shall_be_handed_over_is_said_once(
    tpuctl: Tpuctl, launch: Launch, words: tuple[str, ...], error: str
) -> None:
    """Else nothing is."""
    result = tpuctl("parked", "retry", *words)

    assert (2, error) == (result.code, result.error)
    assert [] == launch.commands
