"""The page on grants shows what is really printed."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shared.catalog_data import load_catalog
from shared.core import placing
from shared.core.grant_form import GrantForm, make_grant
from shared.core.grants import Grant, Terms, Use, need_of
from shared.core.ordering import Refused

PAGE = (Path(__file__).parents[2] / "docs" / "grants.md").read_text(encoding="utf-8")
CATALOG = load_catalog()
NOW = datetime(2030, 1, 1, tzinfo=UTC)
ZONE = "us-central2-b"


def the_grant() -> Grant:
    """Make the grant of the page from the command on it."""
    (line,) = re.findall(r"^\$ tpuctl grant add (.*)$", PAGE, re.MULTILINE)
    name, *_ = line.split()
    pairs = re.findall(r'--(\w+) (?:"([^"]*)"|(\S+))', line)
    flags = {flag: quoted or plain for flag, quoted, plain in pairs}
    form = GrantForm(
        name,
        (flags["zone"],),
        (flags["type"],),
        (flags["tier"],),
        int(flags["chips"]),
        flags["until"],
        flags["note"],
    )
    return make_grant(form, CATALOG, "ada", NOW)


def refusal(terms: Terms, accelerator_type: str, tier: str = "spot") -> str:
    """Return what a job is told that asks for a slice in the zone of the page."""
    with pytest.raises(Refused) as refused:
        placing.hold(terms, need_of(CATALOG, accelerator_type, tier), (ZONE,), i_pay=False)
    return f"error: refused: {refused.value}\n"


def test_the_grant_is_the_one_on_the_page() -> None:
    """In the words of the answer."""
    grant = the_grant()

    assert f"\ngrant {grant.id}: {grant.terms}\n" in PAGE


def test_the_refusals_are_real() -> None:
    """All of them, and there are no others on the page."""
    grant = the_grant()
    used = Use("digits-1", need_of(CATALOG, "v4-16", "spot"), ZONE, True, NOW)

    told = {
        refusal(Terms(NOW, CATALOG, (grant,)), "v4-16", "on-demand"),
        refusal(Terms(NOW, CATALOG, (grant,), (used,)), "v4-32"),
        refusal(Terms(NOW, CATALOG, region="us-central1"), "v4-16"),
    }

    assert told == set(re.findall(r"^error: .*\n", PAGE, re.MULTILINE))
