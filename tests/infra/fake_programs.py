"""gcloud and terraform as programs on PATH that note what they are told and answer by a table."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

import pytest

from infra import lifecycle, prepare

ASKED = ("--project=example-project", "--region=europe-west4", "--zones=europe-west4-b")
REGIONS = [{"name": f"projects/p/locations/{each}"} for each in ("europe-west4", "us-central1")]
BUCKET, DATABASE = "google_storage_bucket.data", "google_firestore_database.this"
OUTPUTS = {
    "bucket": "example-project-tpuctl",
    "database": "tpuctl",
    "installation": "abc123",
    "region": "europe-west4",
    "webhook_secrets": {"key": ["tpuctl-webhook-key-ci"], "url": ["tpuctl-webhook-url-ci"]},
    "zones": ["europe-west4-b", "us-central2-b"],
}
QUEUED = "gcloud compute tpus queued-resources list --zone="

# Builtins of bash alone: a program like this is run some hundred times.
_PROGRAM = """#!/bin/bash
line="${{0##*/}} $*"
[[ $line == terraform* ]] || IFS= read -r -d '' given
printf '%s\\t%s\\n' "$line" "$given" >> {folder}/calls
. {folder}/answers
"""
_ANSWER = """[[ $line =~ {pattern} ]] && {{
  printf %s {says}
  printf %s {complains} >&2
  exit {code}
}}
"""


@dataclass
class Programs:
    """Both programs; whatever is not in the table succeeds and says nothing."""

    folder: Path
    answers: str = "exit 0\n"

    def answer(self, pattern: str, says: str = "", *, complains: str = "", code: int = 0) -> None:
        """Answer commands that match; what was said last counts first."""
        words = (pattern.replace(" ", "\\ "), shlex.quote(says), shlex.quote(complains))
        made = _ANSWER.format(pattern=words[0], says=words[1], complains=words[2], code=code)
        self.answers = made + self.answers
        (self.folder / "answers").write_text(self.answers, "utf-8")

    def fails(self, pattern: str, complains: str) -> None:
        """Have commands that match fail."""
        self.answer(pattern, complains=complains, code=1)

    def answer_deployed(self, **outputs: object) -> None:
        """Answer as where it is deployed, and no slice lives; ``outputs`` are terraform's."""
        found = {name: {"value": value} for name, value in {**OUTPUTS, **outputs}.items()}
        self.answer("terraform .* output -json", json.dumps(found))
        self.answer("terraform .* state list", f"{BUCKET}\n{DATABASE}\n")
        self.answer("secrets versions list", "1\n")
        self.answer("buckets describe", "there\n")
        self.answer(QUEUED, "[]")

    @property
    def calls(self) -> list[str]:
        """All commands so far, in order."""
        return [line for line, _ in self._noted()]

    def called(self, pattern: str) -> list[str]:
        """Return the commands that match."""
        return [call for call in self.calls if re.search(pattern, call)]

    def given(self, pattern: str) -> list[str]:
        """Return what commands that match were given on standard input."""
        return [given for line, given in self._noted() if re.search(pattern, line)]

    def remove(self, name: str) -> None:
        """Take a program away."""
        (self.folder / "bin" / name).unlink()

    def _noted(self) -> list[tuple[str, str]]:
        path = self.folder / "calls"
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return [(line, given) for line, _, given in (each.partition("\t") for each in lines)]


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Put both programs on PATH, alone."""
    (folder / "bin").mkdir()
    for name in ("gcloud", "terraform"):
        path = folder / "bin" / name
        path.write_text(_PROGRAM.format(folder=shlex.quote(str(folder))), "utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", os.pathsep.join([str(folder / "bin")]))
    programs = Programs(folder)
    programs.answer("never asked")
    return programs


def install_empty(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Put both programs on PATH, alone, in an empty project; what is written lands in a folder."""
    programs = install(folder, monkeypatch)
    for module in (prepare, lifecycle):
        monkeypatch.setattr(module, "ZIP", folder / "functions.zip")
    monkeypatch.setattr(lifecycle, "INFRA", folder)
    programs.answer("regions list", json.dumps(REGIONS))
    programs.fails("buckets describe", "ERROR: gs://b not found: 404.")
    programs.fails("firestore databases describe", "ERROR: NOT_FOUND")
    return programs


def run(*arguments: str) -> int:
    """Run the command line; terraform's own failure ends it as well."""
    try:
        return lifecycle.main([arguments[0], *ASKED, *arguments[1:]])
    except SystemExit as end:
        return int(str(end.code))
