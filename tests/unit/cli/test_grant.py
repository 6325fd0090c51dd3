"""`tpuctl grant`: what may be used without paying; and `--i-pay` for the rest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from shared.catalog_data import load_catalog
from shared.core.grant_form import GrantForm, make_grant
from shared.core.grants import Grant
from shared.core.stages import Stage
from tests.fakes import FakeBlobs
from tests.unit.cli.stage import (
    PLACE,
    Installed,
    Launch,
    Result,
    Tpuctl,
    make_job,
    make_slice,
    refuse,
)

FLAGS = {
    "--zone": "us-central2-b",
    "--type": "v4",
    "--tier": "spot",
    "--chips": "32",
    "--until": "2035-01-31",
}


def words_of(**changes: str | None) -> list[str]:
    """Write the flags of `grant add`; None leaves one out."""
    flags = {**FLAGS, **{f"--{name}": value for name, value in changes.items()}}
    return [word for flag, value in flags.items() if value is not None for word in (flag, value)]


def kept(installed: Installed, name: str = "trc", *, days: float = 30.0) -> Grant:
    """Keep a grant that was added a while ago."""
    begun = datetime.now(UTC) + timedelta(days=days - 30.0)
    until = f"{begun + timedelta(days=30.0):%Y-%m-%d}"
    form = GrantForm(name, ("us-central2-b",), ("v4",), ("spot",), 32, until)
    grant = make_grant(form, load_catalog(), "ada", begun)
    installed.put(f"grants/{grant.id}", grant)
    return grant


def test_a_grant_is_added(tpuctl: Tpuctl, launch: Launch) -> None:
    """And said in words."""
    result = tpuctl("grant", "add", "trc", *words_of(note="for all"), "--zone", "us-central1-a")

    assert 0 == result.code, result.err
    assert "grant-add" == launch.commands[0]["kind"]
    assert {
        "name": "trc",
        "zones": ["us-central2-b", "us-central1-a"],
        "types": ["v4"],
        "tiers": ["spot"],
        "chips": 32,
        "until": "2035-01-31",
        "note": "for all",
    } == launch.args
    assert (
        "grant trc: 32 chips of v4, spot, in us-central2-b or us-central1-a until 2035-01-31\n"
        "next: tpuctl grant ls\n" == result.out
    )


def test_a_grant_for_what_is_not_offered_is_added_with_a_remark(
    tpuctl: Tpuctl, launch: Launch
) -> None:
    """Google may offer more than the catalog knows."""
    result = tpuctl("grant", "add", "trc", *words_of(zone="europe-west4-a"))

    assert 0 == result.code
    assert 1 == len(launch.commands)
    assert "as far as is known there is no v4 there" in result.err


@pytest.mark.parametrize(
    "changes, error",
    [
        pytest.param({"zone": "us-centrl2-b"}, "--zone: 'us-centrl2-b' is not known", id="zone"),
        pytest.param({"type": "v9"}, "--type: 'v9' is not known; near: v", id="type"),
        pytest.param({"tier": "sport"}, "--tier: 'sport' is not known; near: spot", id="tier"),
        pytest.param({"chips": "0"}, "--chips: expected 1 to 100,000, found 0", id="no chips"),
        pytest.param({"chips": "many"}, "invalid value for '--chips'", id="chips"),
        pytest.param({"until": "2020-01-31"}, "--until: 2020-01-31 is over, today is", id="past"),
        pytest.param({"until": "soon"}, "--until: expected a day such as 2027-01-31", id="day"),
        pytest.param({"until": None}, "missing option '--until'", id="missing"),
        pytest.param({"zone": None}, "missing option '--zone'", id="no zone"),
        pytest.param({"note": "a\nb"}, "--note: expected one line", id="note"),
    ],
)
def test_a_wrong_flag_is_named(
    tpuctl: Tpuctl, launch: Launch, changes: dict[str, str | None], error: str
) -> None:
    """In one line, and nothing is ordered."""
    result = tpuctl("grant", "add", "trc", *words_of(**changes))

    assert result.code in {1, 2}
    assert error in result.error
    assert [] == launch.commands


def test_a_wrong_name_is_refused(tpuctl: Tpuctl, launch: Launch) -> None:
    """It becomes a path."""
    assert "NAME: expected at most 40" in tpuctl("grant", "add", "../x", *words_of()).error
    assert [] == launch.commands


def test_a_refused_grant_points_to_the_list(tpuctl: Tpuctl, launch: Launch) -> None:
    """There is one of that name."""
    launch.answer = refuse("there is a grant trc already")

    result = tpuctl("grant", "add", "trc", *words_of())

    assert (1, "refused: there is a grant trc already") == (result.code, result.error)
    assert "tpuctl grant ls" == result.next_step


def test_no_grants_is_said_with_the_next_step(tpuctl: Tpuctl) -> None:
    """It is no error."""
    expected = "no grants: nothing is checked against them\nnext: tpuctl grant add --help\n"

    assert expected == tpuctl("grant", "ls").out


def test_grants_are_listed_with_what_is_used(tpuctl: Tpuctl, installed: Installed) -> None:
    """A grant that has ended is shown as such."""
    grant, over = kept(installed), kept(installed, "old", days=-3.0)
    installed.put_slice(make_slice(installed.put_job(make_job(4))))

    heading, old, line = tpuctl("grant", "ls").out.splitlines()

    assert ["GRANT", "USED", "CHIPS", "TYPES", "TIERS", "ZONES", "UNTIL", "NOTE"] == heading.split()
    assert ["old", "-", "32", "v4", "spot", "us-central2-b", "ended", over.last_day] == old.split()
    assert ["trc", "8", "32", "v4", "spot", "us-central2-b", grant.last_day] == line.split()


def test_grants_are_json(tpuctl: Tpuctl, installed: Installed) -> None:
    """The documents, and what is used of them."""
    kept(installed, "old", days=-3.0)
    kept(installed)
    installed.put_slice(make_slice(installed.put_job(make_job(4))))

    old, trc = json.loads(tpuctl("grant", "ls", "--json").out)["grants"]

    assert ("old", 0, True) == (old["id"], old["chips_used"], old["has_ended"])
    assert ("trc", 8, False) == (trc["id"], trc["chips_used"], trc["has_ended"])
    assert trc["summary"].startswith("32 chips of v4, spot, in us-central2-b until ")


@pytest.mark.parametrize(
    "names, left",
    [
        pytest.param(["trc"], "none is left, so nothing is checked any more", id="the last one"),
        pytest.param(["eu", "trc"], "what runs goes on", id="one of two"),
    ],
)
def test_a_grant_is_removed(
    tpuctl: Tpuctl, launch: Launch, installed: Installed, names: Sequence[str], left: str
) -> None:
    """It is said what that means."""
    for name in names:
        kept(installed, name)

    result = tpuctl("grant", "rm", "trc")

    assert ("grant-remove", {"name": "trc"}) == (launch.commands[0]["kind"], launch.args)
    assert f"grant trc is removed; {left}\nnext: tpuctl grant ls\n" == result.out


def test_an_unknown_grant_exits_with_3(
    tpuctl: Tpuctl, launch: Launch, installed: Installed
) -> None:
    """With the near name."""
    kept(installed)

    result = tpuctl("grant", "rm", "tcr")

    assert (3, "there is no grant 'tcr'; near: trc") == (result.code, result.error)
    assert [] == launch.commands


# --- --i-pay ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("blobs", "project")
@pytest.mark.parametrize("words, pays", [((), False), (("--i-pay",), True)])
def test_only_who_says_so_pays(
    tpuctl: Tpuctl,
    launch: Launch,
    words: tuple[str, ...],
    pays: bool,  # noqa: FBT001 - a row of the table
) -> None:
    """It is a field of the spec."""
    tpuctl("run", *PLACE, *words, "--", "true")

    assert pays is launch.args["spec"]["i_pay"]


@pytest.mark.parametrize("kind", ["resume", "rerun"])
def test_a_job_goes_on_where_it_costs(
    tpuctl: Tpuctl, launch: Launch, installed: Installed, blobs: FakeBlobs, kind: str
) -> None:
    """The flag alone makes a new revision of its spec."""
    installed.put_job(make_job(4, stage=Stage.FAILED))

    tpuctl(kind, "4", "--i-pay")

    assert launch.args["spec"]["i_pay"]
    assert 1 == len(blobs.list(""))


@pytest.mark.usefixtures("blobs", "project")
def test_a_refusal_for_money_points_to_the_grants(tpuctl: Tpuctl, launch: Launch) -> None:
    """Both ways on are named."""
    launch.answer = refuse("no grant covers it, which costs $1 an hour; --i-pay goes ahead")

    result: Result = tpuctl("run", *PLACE, "--", "true")

    assert result.error.endswith("--i-pay goes ahead")
    assert "tpuctl grant ls shows what is free" == result.next_step
