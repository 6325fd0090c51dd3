"""The page on security names tests and policies that there are, and times that are true."""

from __future__ import annotations

import ast
import re

import pytest

from shared import topology
from shared.app import instances
from shared.core import alert_limits
from tests.infra import plans, policies
from tests.unit.docs.tables import DOCS, page

PAGE = page("security.md")
THREATS = PAGE.partition("## Threats and controls")[2].partition("\n## ")[0]
SECTIONS = {each.partition("\n")[0]: each for each in THREATS.split("\n### ")[1:]}
TESTS = re.findall(r"^- `([\w/]+\.py)::(\w+)`$", PAGE, re.MULTILINE)
NAMED = {
    name for line in re.findall(r"^- (`.*`)$", THREATS, re.MULTILINE) for name in line.split("`")
}
# Held for what people get out of it, not against anybody.
NOT_SECURITY = {
    "everything_is_ours_by_name",
    "subscriptions_never_expire",
    "the_mover_of_dead_letters_may_move_them",
    "topics_have_receivers",
}


@pytest.mark.parametrize("path, name", TESTS, ids=[name for _, name in TESTS])
def test_a_test_on_the_page_is_there(path: str, name: str) -> None:
    """By its file and its name."""
    tree = ast.parse((plans.ROOT / path).read_text("utf-8"))

    assert name in {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}


def test_a_policy_on_the_page_is_there() -> None:
    """Under its name; and every policy that guards something is on the page."""
    named = {name for name in NAMED if re.fullmatch(r"\w+", name)}

    assert named | NOT_SECURITY == set(policies.POLICIES)


@pytest.mark.parametrize("title", SECTIONS)
def test_every_threat_is_held_by_something(title: str) -> None:
    """A control that nothing checks is a hope."""
    assert re.search(r"^- `\w", SECTIONS[title], re.MULTILINE)


def test_every_line_under_a_threat_is_read() -> None:
    """A test that is named in another form would not be looked for."""
    lines = re.findall(r"^- .*::.*$", PAGE, re.MULTILINE)

    assert len(lines) == len(TESTS) > len(SECTIONS)


def test_times_on_the_page_are_those_of_the_code() -> None:
    """And of the topology."""
    retention_s = {each.topic: each.retention_s for each in topology.SUBSCRIPTIONS}

    assert f"| {alert_limits.KEPT.days} days after the last change |" in PAGE
    assert f"| {instances.KEPT.days} days after it was last heard |" in PAGE
    assert (7 * 86_400, 14 * 86_400) == (retention_s["commands"], retention_s["dead-letters"])


def anchors(text: str) -> set[str]:
    """Return what a link may name on a page, as hosts of repositories make it of headings."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("name", ["deploy.md", "security.md"])
def test_links_lead_somewhere(name: str) -> None:
    """To a file of the repository, and to a heading in it."""
    links = re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page(name))
    targets = [((DOCS / (path or name)).resolve(), anchor) for path, anchor in links]

    assert [] == [path for path, _ in targets if not path.exists()]
    assert [] == [
        anchor
        for path, anchor in targets
        if anchor and anchor not in anchors(path.read_text("utf-8"))
    ]
