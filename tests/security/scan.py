"""``python -m tests.security.scan``: hold the source against bandit, semgrep and detect-secrets.

They run side by side, from an environment of their own, and ask no network: semgrep has the rules
of ``semgrep.yaml`` alone. What is found is printed. Exits with 0 when all is well, 1 when
something is found, 3 when a scanner cannot run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SCANNERS: Final = ROOT / "build" / "scanners" / "bin"
NO_SCANNERS: Final = "there is no build/scanners; next: make lint"
RULES: Final = Path(__file__).with_name("semgrep.yaml")
# Every finding in it was looked at; `detect-secrets audit .secrets.baseline` says more.
BASELINE: Final = ROOT / ".secrets.baseline"
# What runs at users'; tests and benchmarks break rules on purpose.
PRODUCT: Final = tuple(ROOT / name for name in ("cli", "functions", "infra", "sandbox", "shared"))
LIMIT_S: Final = 300.0
# What detect-secrets ends with when only lines moved.
MOVED: Final = 3
FOUND, CANNOT = 1, 3


class ScannerError(Exception):
    """A scanner cannot run."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a scanner says; ``text`` is for people."""

    name: str
    is_clean: bool
    text: str


def main() -> int:
    """Run all scanners; print what they find."""
    try:
        reports = scan_all()
    except ScannerError as error:
        print(f"error: {error}", file=sys.stderr)
        return CANNOT
    for report in reports:
        print(f"{report.name}: {'nothing found' if report.is_clean else report.text}")
    return 0 if all(report.is_clean for report in reports) else FOUND


def scan_all() -> list[Report]:
    """Scan the project.  Raises ScannerError."""
    with ThreadPoolExecutor() as pool:
        scans = [
            pool.submit(semgrep, *PRODUCT),
            pool.submit(bandit, *PRODUCT),
            pool.submit(secrets, *files_of_the_project()),
        ]
        return [scan.result() for scan in scans]


def bandit(*paths: Path, options: Sequence[str] = ()) -> Report:
    """Look for what is known to be dangerous in Python.  Raises ScannerError."""
    config = ["--configfile", str(ROOT / "pyproject.toml")]
    return _scan("bandit", ["--quiet", *config, *options, "--recursive", *map(str, paths)])


def semgrep(*paths: Path, options: Sequence[str] = ("--quiet",)) -> Report:
    """Look for what our own rules forbid.  Raises ScannerError."""
    alone = ["--metrics=off", "--disable-version-check", "--error", "--strict"]
    words = ["scan", *alone, f"--config={RULES}", *options, *map(str, paths)]
    return _scan("semgrep", words)


def secrets(*paths: Path, baseline: Path = BASELINE) -> Report:
    """Look for secrets that nobody has judged.  Raises ScannerError."""
    with tempfile.TemporaryDirectory() as folder:
        # It writes numbers of lines into what it is given.
        copy = shutil.copy(baseline, folder)
        words = ["--baseline", str(copy), *map(str, paths)]
        return _scan("detect-secrets-hook", words, passes=(0, MOVED))


def files_of_the_project() -> list[Path]:
    """List what is committed or could be.  Raises ScannerError."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(words, capture_output=True, cwd=ROOT, timeout=LIMIT_S, check=False)
    if done.returncode:
        raise ScannerError(f"git cannot list the files: {done.stderr.decode().strip()}")
    return [Path(name) for name in done.stdout.decode().split("\0") if (ROOT / name).is_file()]


def _scan(name: str, words: Sequence[str], passes: Sequence[int] = (0,)) -> Report:
    """Run a scanner; it keeps nothing outside of its own folder."""
    if not (SCANNERS / name).exists():
        raise ScannerError(NO_SCANNERS)
    own = {
        "SEMGREP_SETTINGS_FILE": str(SCANNERS.parent / "semgrep.yml"),
        "SEMGREP_LOG_FILE": str(SCANNERS.parent / "semgrep.log"),
        "SEMGREP_ENABLE_VERSION_CHECK": "0",
        "PATH": f"{SCANNERS}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(
        [str(SCANNERS / name), *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **own},
        timeout=LIMIT_S,
        check=False,
    )
    text = done.stdout if done.stdout.strip() else done.stderr
    if done.returncode not in {0, FOUND, *passes}:
        raise ScannerError(f"{name} ended with {done.returncode}: {done.stderr.strip()}")
    return Report(name, done.returncode in passes, text)


if __name__ == "__main__":
    sys.exit(main())
