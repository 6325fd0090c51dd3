"""Each rule fires on what it forbids and on nothing that it allows; and nothing is waved by."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.security import scan

# Of each rule: what it sees, what it lets be.
SHELL, SCRIPT = "no-shell", "no-built-script"
PROGRAM, REQUEST, GOOGLE = "program-limit", "request-limit", "google-limit"
BAD = [
    (SHELL, "subprocess.run(line, shell=True, timeout=9)"),
    (SHELL, "subprocess.Popen(line, shell=is_shell)"),
    (SHELL, "os.system(line)"),
    (SHELL, "os.popen(line)"),
    (SHELL, "subprocess.getoutput(line)"),
    (SCRIPT, 'run(["bash", "-c", f"train {name}"])'),
    (SCRIPT, 'run(("/bin/sh", "-ec", "train %s" % name))'),
    (SCRIPT, 'run(["bash", "-lc", "train " + name])'),
    (SCRIPT, 'run(["sh", "-c", " ".join(words)])'),
    (SCRIPT, 'make({"startup-script": SCRIPT.format(name=name)})'),
    (SCRIPT, 'metadata["startup-script"] = SCRIPT.replace("NAME", name)'),
    (SCRIPT, 'metadata["shutdown-script"] = f"stop {name}"'),
    (SCRIPT, 'script = f"#!/bin/bash\\ntrain {name}"'),
    (PROGRAM, "subprocess.run(words, check=True)"),
    (PROGRAM, "subprocess.check_output(words)"),
    (REQUEST, "urllib.request.urlopen(request)"),
    (REQUEST, "http.client.HTTPConnection(host)"),
    (REQUEST, "requests.get(url)"),
    (REQUEST, "self._session.post(url, data=data)"),
    (REQUEST, "_DIRECT.open(request)"),
    (GOOGLE, "self._client.get_node(name=name)"),
    (GOOGLE, "blob.upload_from_string(data)"),
]
GOOD = [
    "subprocess.run(words, shell=False, timeout=LIMIT_S)",
    "Spec(shell=text)",
    'run(["bash", "-c", "exec true"])',
    'run(["bash", "-c", SCRIPT, "train", name])',
    'run(["ls", "-c", f"{name}"])',
    'make({"startup-script": SCRIPT, "name": f"job-{name}"})',
    'text = f"# {name}"',
    "subprocess.Popen(words)",
    "urllib.request.urlopen(request, timeout=LIMIT_S)",
    "requests.get(url, timeout=LIMIT_S)",
    "fields.get(name)",
    "self._client.get_node(name=name, **CALL)",
    "self._client.get_node(name=name, timeout=9)",
]
SHOWN_BY_BANDIT = {
    "pickle.loads(data)": "B301",
    "yaml.load(text, Loader=yaml.Loader)": "B506",
    "eval(text)": "B307",
    "tarfile.open(path).extractall(folder)": "B202",
    "requests.get(url, verify=False, timeout=9)": "B501",
    "ssl._create_unverified_context()": "B323",
    "hashlib.md5(data)": "B324",
    "tempfile.mktemp()": "B306",
    "os.system(line)": "B605",
    "subprocess.run(line, shell=True)": "B602",
}
IMPORTS = "import hashlib, os, pickle, requests, ssl, subprocess, tarfile, tempfile, yaml\n"
IMPORTS += "import http.client, urllib.request\n"
# Made up here, so that this file is clean itself.
KEYS = ["AKIA" + "Q3" * 8, "ghp_" + "k0" * 18]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[str]]:
    """Plant all examples, one a file, and say which rules saw which."""
    folder = tmp_path_factory.mktemp("planted") / "shared" / "adapters"
    folder.mkdir(parents=True)
    codes = [*(code for _, code in BAD), *GOOD]
    for number, code in enumerate(codes):
        (folder / f"e{number}.py").write_text(f"{IMPORTS}{code}\n", "utf-8")
    report = scan.semgrep(folder, options=("--json", "--quiet", "--no-git-ignore"))
    seen: dict[str, list[str]] = {code: [] for code in codes}
    for each in json.loads(report.text)["results"]:
        number = int(Path(each["path"]).stem[1:])
        seen[codes[number]].append(each["check_id"].rpartition(".")[2])
    return seen


@pytest.mark.parametrize("rule, code", BAD, ids=[code for _, code in BAD])
def test_a_rule_of_ours_sees_what_it_forbids(
    found: Mapping[str, list[str]], rule: str, code: str
) -> None:
    """Whatever other rules see in it."""
    assert rule in found[code]


@pytest.mark.parametrize("code", GOOD)
def test_what_is_allowed_is_left_alone(found: Mapping[str, list[str]], code: str) -> None:
    """A rule that cries for nothing is soon not heard."""
    assert [] == found[code]


def test_every_rule_has_an_example() -> None:
    """A rule that never fired may be none."""
    rules = re.findall(r"^  - id: (\S+)$", scan.RULES.read_text("utf-8"), re.MULTILINE)

    assert {rule for rule, _ in BAD} == set(rules)


def test_no_rule_is_asked_for_over_the_network() -> None:
    """Names of semgrep's registry begin with p/, r/ or s/."""
    assert scan.RULES.is_file()
    assert "--metrics=off" in Path(scan.__file__).read_text("utf-8")


def test_bandit_sees_what_is_dangerous(tmp_path: Path) -> None:
    """One example for each of what it is there for; none of them is skipped."""
    planted = tmp_path / "planted.py"
    planted.write_text(IMPORTS + "\n".join(SHOWN_BY_BANDIT), "utf-8")
    report = scan.bandit(tmp_path, options=("--format", "json"))

    seen = {each["test_id"] for each in json.loads(report.text)["results"]}
    assert (False, set()) == (report.is_clean, set(SHOWN_BY_BANDIT.values()) - seen)


@pytest.mark.parametrize("key", KEYS, ids=["AWS", "GitHub"])
def test_a_key_that_is_not_in_the_baseline_is_found(tmp_path: Path, key: str) -> None:
    """Even in a test."""
    planted = tmp_path / "planted.py"
    planted.write_text(f'KEY = "{key}"\n', "utf-8")
    report = scan.secrets(planted)

    assert not report.is_clean
    assert str(planted) in report.text


def test_every_finding_in_the_baseline_was_judged() -> None:
    """By a person, who says that it is no secret."""
    results = json.loads(scan.BASELINE.read_text("utf-8"))["results"]
    judged = [each.get("is_secret") for findings in results.values() for each in findings]

    assert {False} == set(judged)
    assert [] == [name for name in results if not (scan.ROOT / name).is_file()]


def test_without_scanners_one_line_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A scanner that did not run has found nothing, and that must not pass for good news."""
    monkeypatch.setattr(scan, "SCANNERS", tmp_path)

    assert scan.CANNOT == scan.main()
    assert f"error: {scan.NO_SCANNERS}\n" == capsys.readouterr().err


def test_a_scanner_that_fails_is_not_taken_for_good_news(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """For instance one that cannot read its rules."""
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: [{id: broken}]\n", "utf-8")
    monkeypatch.setattr(scan, "RULES", rules)

    with pytest.raises(scan.ScannerError, match="semgrep ended with"):
        scan.semgrep(tmp_path)


def test_ruffs_security_rules_are_on_and_none_is_off_without_its_reason() -> None:
    """For the product only single rules are off, never a whole family, and never for a file."""
    text = (scan.ROOT / "pyproject.toml").read_text("utf-8")
    lint = tomllib.loads(text)["tool"]["ruff"]["lint"]
    off = [rule for rule in lint["ignore"] if re.fullmatch(r"S\d*", rule)]
    places = [place for place, rules in lint["per-file-ignores"].items() if any_security(rules)]

    assert ["ALL"] == lint["select"]
    assert ["S101", "S310", "S311", "S404", "S603", "S607"] == off
    assert ["tests/**"] == places
    assert [] == [rule for rule in off if not re.search(rf'"{rule}",\s+# \w+', text)]


def any_security(rules: list[str]) -> bool:
    """Tell whether a security rule is among some."""
    return any(re.fullmatch(r"S\d*", rule) for rule in rules)


WAVED = [path for folder in scan.PRODUCT for path in sorted(folder.rglob("*.py"))]


def test_what_is_waved_by_in_the_source_has_its_reason() -> None:
    """Bandit's own comment is not used; a rule of ours is excused in the line above it."""
    nosec = [path.name for path in WAVED if "# nosec" in path.read_text("utf-8")]
    bare = [
        f"{path.name}: {above}"
        for path in WAVED
        for above, line in lines_of(path)
        if "nosemgrep" in line and not (above.startswith("#") and len(above) > 10)
    ]

    assert ([], []) == (nosec, bare)


def lines_of(path: Path) -> list[tuple[str, str]]:
    """Give every line with the one above it."""
    lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
    return list(zip(["", *lines], lines, strict=False))
