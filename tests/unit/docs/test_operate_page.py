"""The page for operators says what infra makes, what the code does, and what was counted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import hcl2.api as hcl2
import pytest

from bench import operation_counts, operation_prices
from bench.operation_world import metered_world
from bench.operations import Measured, as_text, measure
from cli.commands import root
from shared.app.relay import BATCH
from shared.catalog_data import load_catalog
from shared.core.alert_limits import GIVE_UP_S
from shared.core.catalog import Tier
from shared.core.policy import Policy
from shared.topology import FUNCTIONS, RETENTION_S, SUBSCRIPTIONS
from tests.infra.plans import INFRA, PREFIX, Plan, recorded
from tests.unit.app.records import JOB
from tests.unit.app.test_console import KINDS, SAID_AS_TEXT
from tests.unit.docs.rights import Right, rights
from tests.unit.docs.tables import DOCS, page, rows, words

PAGE = page("operate.md")
TEXT = " ".join(PAGE.split())
POLICY = Policy()
# What the bench counts may move by before the page has to be written anew.
TOLERANCE = 0.1


def blocks(text: str = PAGE) -> list[str]:
    """The fenced pieces of the page, without their indents."""
    found = re.findall(r"^( *)```\n(.*?)^\1```$", text, re.DOTALL | re.MULTILINE)
    return [re.sub(f"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


def section(heading: str) -> str:
    """What stands below a heading of the third level."""
    (found,) = re.findall(
        rf"^### {re.escape(heading)}\n(.*?)(?=^##)", PAGE, re.DOTALL | re.MULTILINE
    )
    return str(found)


@pytest.fixture(scope="module", name="plan")
def _plan() -> Plan:
    return recorded()


# --- Alerts -------------------------------------------------------------------------------------


@cache
def policies() -> dict[str, dict[str, Any]]:
    """Read the alert policies of infra by the name they are shown under."""
    found = {}
    for path in sorted(INFRA.rglob("*.tf")):
        for block in hcl2.loads(path.read_text("utf-8")).get("resource", []):
            for body in block.get("google_monitoring_alert_policy", {}).values():
                name = body["display_name"].replace("${var.prefix}", PREFIX)
                found[name.replace("${var.name}", f"{PREFIX}-SUBSCRIPTION")] = body
    return found


def test_every_alert_policy_has_a_section_and_no_other() -> None:
    """Under the very name that the notification shows."""
    alerts = PAGE.partition("## Alerts")[2].partition("\n## ")[0]

    assert set(policies()) == set(re.findall(r"^### `(.*)`$", alerts, re.MULTILINE))


@pytest.mark.parametrize("name", policies())
def test_a_section_says_what_to_do_first_and_what_waiting_costs(name: str) -> None:
    """One command to begin with."""
    text = section(f"`{name}`")

    assert ["You see", "It means", "First", "Then", "If you wait"] == [
        word.rstrip(":,") for word in re.findall(r"^- \*\*(.*?)\*\*", text, re.MULTILINE)
    ]
    assert 1 == len(blocks(text))


def test_the_thresholds_are_those_of_infra(plan: Plan) -> None:
    """And of the topology."""
    absent = policies()[f"{PREFIX}: ticks are missing"]["conditions"][0]["condition_absent"][0]
    unacked = plan.one('module.subscription["park"].google_monitoring_alert_policy.unacked')
    outbox = plan.one("google_monitoring_alert_policy.outbox_age")

    assert "300s" == absent["duration"]
    assert "2xx for 5 min" in section(f"`{PREFIX}: ticks are missing`")
    for found, name in (
        (unacked, f"{PREFIX}-SUBSCRIPTION: messages wait"),
        (outbox, f"{PREFIX}: events are not published"),
    ):
        limit = found.block("conditions", "condition_threshold")["threshold_value"]
        assert f"more than {limit:.0f} s" in section(f"`{name}`")
    assert f"{BATCH} a tick" in PAGE


def test_the_times_of_messages_are_those_of_the_topology() -> None:
    """Attempts, backoff, how long they are kept."""
    last = SUBSCRIPTIONS[-1]
    waits = (
        min(last.backoff_max_s, last.backoff_min_s * 2**n) for n in range(last.attempts_max - 1)
    )

    assert f"delivered {last.attempts_max} times and never handled" in PAGE
    assert f"takes about {sum(waits) / 3600:.0f} h" in PAGE
    assert (
        f"kept for {RETENTION_S / 86400:.0f} days, and repeated by themselves every 10 min" in PAGE
    )
    assert {600.0} == {each.backoff_max_s for each in SUBSCRIPTIONS}
    assert [
        f"{each.retention_s / 86400:.0f} days" for each in SUBSCRIPTIONS if each.name == "park"
    ] == ["14 days"]


def test_every_subscription_is_in_the_table_with_its_function() -> None:
    """In the order of the topology, whatever it is."""
    table = {words(row[0])[0]: words(row[1])[0] for row in rows(PAGE, "subscription", "function")}

    assert {each.name: each.function for each in SUBSCRIPTIONS} == table


def test_parked_messages_come_from_every_subscription_but_the_last() -> None:
    """What parks cannot be parked itself."""
    told = {word for row in rows(PAGE, "source", "what to do") for word in words(row[0])}

    assert {each.name for each in SUBSCRIPTIONS if each.dead_letter_topic} == told


# --- Names and commands -------------------------------------------------------------------------


def test_names_in_commands_are_deployed(plan: Plan) -> None:
    """So that a command can be copied; names of slices have digits in them."""
    form = rf"\b{PREFIX}-[a-z][a-z-]*(?![a-z0-9-])"
    named = {name for block in blocks() for name in re.findall(form, block)}
    keys = ("name", "secret_id", "account_id")
    there = {each.text(key) for each in plan.resources for key in keys}

    assert named
    assert named <= there


def test_commands_of_ours_are_there() -> None:
    """Whatever the page tells to type."""
    told = set(re.findall(r"tpuctl ((?:slice |grant |parked )?[a-z]+)", PAGE))

    assert told
    for command in told:
        name, _, rest = command.partition(" ")
        assert name in root.COMMANDS, command
        assert not rest or rest in root.load(name).commands, command


def test_links_lead_somewhere() -> None:
    """To pages, and to headings of this one."""
    headings = {
        re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)$", PAGE, re.MULTILINE)
    }
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        name, _, anchor = target.partition("#")
        assert not name or (DOCS / name).exists(), target
        assert name or anchor in headings, target


def test_every_collection_is_described() -> None:
    """Those that a life leaves behind, and the sentences about slices that serve no job."""
    told = {word for row in rows(PAGE, "collection", "a document is") for word in words(row[0])}

    assert KINDS | SAID_AS_TEXT == told


# --- Rights -------------------------------------------------------------------------------------


def told_rights() -> Iterator[Right]:
    """Expand the table: each account, each thing."""
    for accounts, role, things, _ in rows(PAGE, "who", "role", "on"):
        for account in words(accounts):
            yield from ((account, words(role)[0], thing) for thing in words(things))


def test_every_right_is_in_the_table_and_every_row_is_a_right(plan: Plan) -> None:
    """Both ways: nobody may more than the page says."""
    told = list(told_rights())

    assert set(rights(plan)) == set(told)
    assert len(told) == len(set(told))


def test_every_account_and_role_of_infra_is_named(plan: Plan) -> None:
    """Those that this plan gives to nobody, too."""
    accounts = {
        each.text("account_id").removeprefix(f"{PREFIX}-")
        for each in plan.of("google_service_account")
    }
    text = "".join(path.read_text("utf-8") for path in INFRA.rglob("*.tf"))
    roles = set(re.findall(r'"roles/([\w.]+)"', text))

    assert {re.sub("^w-.*", "w-TEAM", each) for each in accounts} <= {
        who for who, _, _ in told_rights()
    }
    assert [] == [role for role in roles if f"`{role}`" not in PAGE]


def test_roles_of_our_own_have_the_permissions_of_the_table(plan: Plan) -> None:
    """No more, no fewer."""
    made = {
        each.text("role_id"): each.values["permissions"]
        for each in plan.of("google_project_iam_custom_role")
    }

    assert {words(row[0])[0]: words(row[1]) for row in rows(PAGE, "role", "permissions")} == {
        name: sorted(permissions) for name, permissions in made.items()
    }


# --- Costs --------------------------------------------------------------------------------------


@pytest.fixture(scope="module", name="measured")
def _measured() -> Measured:
    return measure()


def numbers(text: str) -> dict[str, list[float]]:
    """Read the rows of what the bench prints."""
    found = {}
    for line in text.splitlines():
        name, cells = re.fullmatch(r"(.*?)((?: +[\d,.]+)*)", line).groups()  # type: ignore[union-attr]
        if cells:
            found[name.strip()] = [float(cell.replace(",", "")) for cell in cells.split()]
    return found


def test_the_counts_and_costs_are_those_that_the_bench_finds(measured: Measured) -> None:
    """Each cell within a tenth, or one; the heads word for word."""
    (shown,) = [block for block in blocks() if "bench operations" in block]
    printed = as_text(measured)
    told, found = numbers(shown.partition("\n")[2]), numbers(printed)

    assert [
        line for line in printed.splitlines() if "US$" in line or line.startswith("counted")
    ] == [line for line in shown.splitlines() if "US$" in line or line.startswith("counted")]
    assert list(found) == list(told)
    for name, cells in found.items():
        assert cells == pytest.approx(told[name], rel=TOLERANCE, abs=1.0), name


def test_an_idle_installation_costs_next_to_nothing(measured: Measured) -> None:
    """As the page says, and a month of control plane less than half an hour of its slice."""
    idle, one, many = measured.months.values()
    catalog = load_catalog()
    usd = catalog.usd_per_chip_hour("v4-16", "us-central2-b", Tier.SPOT)
    assert usd is not None, "v4 has a price"

    assert idle.total_usd < 1.0
    assert 0.0 == idle.usd_with_free_tiers
    assert one.total_usd < catalog.accelerator("v4-16").chips * usd / 2
    assert operation_prices.STORAGE == max(many.usd, key=lambda service: many.usd[service])


def test_what_is_assumed_is_said() -> None:
    """Each constant of the bench that nobody measured."""
    prepare = 2 * 60 / POLICY.poll_fast_s
    usd = prepare * 60 * 0.004 / 10_000
    said = [
        f"{operation_counts.READ_S * 1000:.0f} ms a read",
        f"{operation_counts.COMMIT_S * 1000:.0f} ms a commit or publish",
        f"{operation_counts.TPU_S} s a request to Cloud TPU",
        f"{operation_counts.COLD_S} s a cold start",
        f"rounded up to {operation_counts.BILLED_S} s",
        f"Months are {operation_prices.HOURS:.0f} h",
        f"{operation_prices.PREEMPTIONS_A_DAY} preemptions a day each",
        f"{prepare:.0f} reads a minute for 2 hosts, ${usd:.3f} an hour",
    ]

    assert [] == [each for each in said if each not in TEXT]
    assert operation_counts.COMMIT_S == operation_counts.PUBLISH_S
    assert POLICY.log_s * 5 == float(*re.findall(r"`log_s = (\d+)` leaves a fifth", PAGE))


def test_what_is_counted_in_words_is_so(plan: Plan) -> None:
    """Conditions that are billed, and instances that may run at once."""
    conditions = sum(
        len(each.values["conditions"]) for each in plan.of("google_monitoring_alert_policy")
    )

    assert f"a deployment has {conditions}" in TEXT
    assert (
        f"| {sum(each.instances_max for each in FUNCTIONS.values())}: what the functions may"
        in PAGE
    )


# --- What the code does -------------------------------------------------------------------------


def test_the_times_are_those_of_the_policy() -> None:
    """And of what else has a constant."""
    said = [
        f"(`hold_s`, {POLICY.hold_s / 60:.0f} min)",
        f"after {POLICY.silent_host_s / 60:.0f} min its hosts count as silent",
        f"after {POLICY.canary_s / 60:.0f} min of unbroken canaries",
        f"over {POLICY.command_s / 60:.0f} min is refused",
    ]

    assert [] == [each for each in said if each not in TEXT]
    assert (3600.0, 3600.0) == (POLICY.lease_s, GIVE_UP_S)
    assert "for another hour (`lease_s`)" in TEXT
    assert "given up after an hour" in TEXT


def test_another_secret_costs_a_running_slice_a_recovery() -> None:
    """Its hosts are not believed, so they are silent; the next generation's are heard again."""
    with metered_world() as world:
        world.run(POLICY.canary_s)
        world.start(JOB)
        world.run(POLICY.canary_s)

        world.app = replace(world.app, secret=b"another secret")
        world.run(POLICY.silent_host_s)
        reasons = {str(fields["reason"]) for fields in world.all("parked")}
        world.run_until(world.runs_attempt(1))
        world.run(2 * POLICY.progress_s)

        assert {"snapshot: the bid token does not match"} == reasons
        assert "host_lost" == world.attempts()[0].cause
        assert world.job().summary.startswith("step ")
