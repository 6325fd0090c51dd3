"""``make infra-check``: hold ``infra/`` against everything that can be known without an account.

One line a check. ``--plant`` proves that the checks can fail: it breaks a copy in every way
that matters and says which check saw it. ``--record`` keeps the plan for the tests that have no
terraform. Exits with 0 when all is well, 1 when something is found, 3 when a check cannot run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.infra import faults, plans, policies
from tests.infra.terraform import NoTerraform, Workspace, workspace

CHECKOV: Final = plans.ROOT / "build" / "checkov" / "bin" / "checkov"
NO_CHECKOV: Final = f"there is no {CHECKOV.relative_to(plans.ROOT)}; next: make infra-check"
CHECKOV_OPTIONS: Final = (
    "--framework",
    "terraform",
    "--skip-download",
    "--compact",
    "--output",
    "json",
)
NO_REASON: Final = "No comment provided"  # checkov's own words
LINES_MAX: Final = 12
FOUND, CANNOT = 1, 3

Results = Mapping[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Result:
    """What a check found: a few words when all is well, lines when not."""

    ok: bool
    words: str
    lines: tuple[str, ...] = ()


def formatted(space: Workspace) -> Result:
    """Hold the files against terraform's own format."""
    done = space.terraform("fmt", "-check", "-recursive", "-no-color")
    files = len(list((space.folder / "infra").rglob("*.tf")))
    return _result(done.code == 0, f"{files} files", done.output + done.problem)


def valid(space: Workspace) -> Result:
    """Hold the files against the provider's schema."""
    done = space.terraform("validate", "-no-color")
    return _result(done.code == 0, "against the provider's schema", done.problem + done.output)


def planned(space: Workspace) -> Result:
    """Plan an empty project, and compare with the plan that is kept for the tests."""
    try:
        plan = plan_of(space)
    except ValueError as error:
        return Result(ok=False, words="", lines=tuple(str(error).splitlines()))
    kept = {each.address: each for each in plans.recorded().resources}
    now = {each.address: each for each in plan.resources}
    changed = sorted(name for name in kept | now if kept.get(name) != now.get(name))
    hint = "the plan differs from tests/infra/plan.json; next: make infra-check ARGS=--record"
    lines = (hint, *changed) if changed else ()
    return Result(not changed, f"{len(now)} resources", lines)


def tested(space: Workspace) -> Result:
    """Run the tests in infra/tests."""
    done = space.terraform("test", "-json")
    messages = [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]
    summary: Mapping[str, int] = next(
        (each["test_summary"] for each in messages if "test_summary" in each), {}
    )
    failed = (each for each in messages if each.get("@level") == "error" or "diagnostic" in each)
    text = "\n".join(_sentence(each) for each in failed) or done.problem
    return _result(done.code == 0, f"{summary.get('passed', 0)} tests", text)


def allowed(space: Workspace) -> Result:
    """Hold the plan against the policies."""
    try:
        found = policies.findings(plan_of(space))
    except ValueError as error:
        return Result(ok=False, words="", lines=tuple(str(error).splitlines()))
    lines = tuple(f"{each.policy}: {each.problem}" for each in found)
    return Result(not found, f"{len(policies.POLICIES)} assertions", lines)


def scanned(space: Workspace) -> Result:
    """Run checkov."""
    if not CHECKOV.exists():
        raise NoTerraform(NO_CHECKOV)
    done = subprocess.run(
        [CHECKOV, "--directory", str(space.folder / "infra"), *CHECKOV_OPTIONS],
        check=False,
        capture_output=True,
        encoding="utf-8",
    )
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return _result(ok=False, words="", text=done.stderr + done.stdout)
    summary, results = report["summary"], report["results"]
    lines = tuple(f"{_title(each)} ({each['resource']})" for each in results["failed_checks"])
    lines += tuple(f"cannot be read: {each}" for each in results.get("parsing_errors", []))
    lines += tuple(f"{_title(each)} is skipped without a reason" for each in _unreasoned(results))
    words = f"{summary['passed']} passed, {summary['skipped']} skipped with a reason"
    return Result(not lines and done.returncode == 0, words, lines)


CHECKS: Final[Mapping[str, Callable[[Workspace], Result]]] = {
    "fmt": formatted,
    "validate": valid,
    "plan": planned,
    "terraform test": tested,
    "policies": allowed,
    "checkov": scanned,
}


def plan_of(space: Workspace) -> plans.Plan:
    """Plan an empty project.  Raises ValueError with what terraform says against it."""
    done = space.terraform("test", "-json", "-verbose", "-filter=tests/plan.tftest.hcl")
    if done.code == 0:
        return plans.of_test_output(done.output)
    messages = [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]
    said = [_sentence(each) for each in messages if "diagnostic" in each]
    raise ValueError("\n".join(said) or done.problem or "terraform made no plan")


def run_checks() -> int:
    """Run every check and print one line each."""
    code = 0
    with workspace() as space:
        for name, check in CHECKS.items():
            result = check(space)
            print(f"{name:<16}{'ok' if result.ok else 'FAILED':<8}{result.words}", flush=True)
            for line in result.lines[:LINES_MAX]:
                print(f"    {line}")
            if len(result.lines) > LINES_MAX:
                print(f"    and {len(result.lines) - LINES_MAX} more")
            code = code if result.ok else FOUND
    return code


def run_faults() -> int:
    """Break a copy in every way that matters; every one must be seen."""
    code = 0
    for name, fault in faults.FAULTS.items():
        with workspace() as space:
            space.edit(fault.file, fault.old, fault.new)
            result = CHECKS[fault.seen_by](space)
        seen = not result.ok and any(fault.says in line for line in result.lines)
        print(f"{name:<32}{'seen' if seen else 'MISSED':<8}by {fault.seen_by}", flush=True)
        for line in result.lines[:1]:
            print(f"    {line}")
        code = code if seen else FOUND
    return code


def record() -> int:
    """Keep the plan for the tests that have no terraform."""
    with workspace() as space:
        plan = plan_of(space)
    plans.RECORD.write_text(plans.dump(plan, plans.fingerprint()), "utf-8")
    print(f"{plans.RECORD.relative_to(plans.ROOT)}: {len(plan.resources)} resources")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="make infra-check", description="Check infra/.")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--plant", action="store_true", help="prove that the checks can fail")
    what.add_argument("--record", action="store_true", help="keep the plan for the tests")
    asked = parser.parse_args(arguments)
    try:
        return run_faults() if asked.plant else record() if asked.record else run_checks()
    except (NoTerraform, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return CANNOT


def _result(ok: bool, words: str, text: str) -> Result:  # noqa: FBT001 - the answer itself
    lines = () if ok else tuple(line.strip("│╷╵ ") for line in text.splitlines())
    return Result(ok, words, tuple(line for line in lines if line))


def _sentence(message: Mapping[str, object]) -> str:
    """Say in one line what terraform reports in a tree."""
    found = message.get("diagnostic")
    if not isinstance(found, dict):
        return str(message.get("@message", ""))
    where = found.get("range") or {}
    place = f" ({where['filename']}:{where['start']['line']})" if where else ""
    return f"{found['summary']}: {' '.join(found.get('detail', '').split())}{place}"


def _title(found: Mapping[str, object]) -> str:
    return f"{found['check_id']} {found['check_name']}"


def _unreasoned(results: Results) -> list[dict[str, Any]]:
    return [
        each
        for each in results.get("skipped_checks", [])
        if each["check_result"].get("suppress_comment", NO_REASON) == NO_REASON
    ]


if __name__ == "__main__":
    sys.exit(main())
