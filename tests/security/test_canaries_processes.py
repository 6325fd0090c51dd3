"""The same with real processes: what they write and print holds no secret, but where said."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli import local_runner
from shared.core.mandates import attempt_token, bid_token
from tests.installations import Installation, Work, running, until
from tests.webhook_servers import CANARY, Heard, serving, status

pytestmark = pytest.mark.slow

ENV_VALUE = "env-value-Canary-7f"
# The secret's own file, what the user wrote, and what jobs write.
LEFT_OUT = ("secret", "settings.toml", "work/", "outputs/", "state.db")
# An agent that is started again goes on as whom it was: on the host's own disk, which is root's.
MAY_STAND = {
    ("attempt token", "boot record of a host"),
    ("bid token", "object"),
    ("attempt token", "object"),
    ("value of env", "object"),
    ("value of env", "document of jobs"),
}


def live(installation: Installation, heard: Heard) -> tuple[Work, list[tuple[str, str]]]:
    """Run a job with a secret in its environment, lose its slice, and finish; look twice."""
    work = installation.run("canary", "--env", f"KEY={ENV_VALUE}")
    work.until_saved(0)
    installation.tpuctl("sandbox", "preempt", work.node, "--silent")
    work.until_saved(1)
    found = list(places(installation, work, heard))
    work.finish()
    until(lambda: len(heard.bodies) >= 3)
    return work, [*found, *places(installation, work, heard)]


def secrets_of(home: Path, work: Work) -> dict[str, set[str]]:
    """Say by what each secret would be recognised."""
    secret, uid = (home / "secret").read_bytes(), work.job.slice_uid
    return {
        "secret": {secret.decode()},
        "bid token": {bid_token(secret, uid, each, "0") for each in range(1, 5)},
        "attempt token": {attempt_token(secret, work.job.id, each) for each in range(5)},
        "address of the webhook": {CANARY},
        "value of env": {ENV_VALUE},
    }


def places(installation: Installation, work: Work, heard: Heard) -> Iterator[tuple[str, str]]:
    """Give everything that was written, printed and asked of the cloud."""
    home = installation.home
    for path in sorted(each for each in home.rglob("*") if each.is_file()):
        name = path.relative_to(home).as_posix()
        if name.startswith(LEFT_OUT):
            continue
        # Versions of objects are written anew all the time: one that was replaced is gone.
        with contextlib.suppress(FileNotFoundError):
            yield kind_of(name), path.read_bytes().decode("utf-8", "replace")
    yield from documents(home / "state.db")
    yield "calls to the cloud", json.dumps(installation.calls())
    yield "webhook", json.dumps([each.decode() for each in heard.bodies])
    for words in (["ps"], ["ps", "--json"], ["show", work.number], ["slice", "ls"]):
        yield f"tpuctl {' '.join(words[:1])}", installation.tpuctl(*words)


def kind_of(name: str) -> str:
    """Say what a file is."""
    if "/data/" in name:
        return "object"
    is_record = re.fullmatch(r"sandbox/hosts/[^/]+/opt/run/boot-[-0-9a-f]+\.json", name)
    return "boot record of a host" if is_record else f"file {name}"


def documents(path: Path) -> Iterator[tuple[str, str]]:
    """Give the documents of a state file, and the messages that wait in it."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        for name, text in connection.execute("SELECT path, fields FROM documents"):
            yield f"document of {name.split('/')[-2]}", f"{name} {text}"
    finally:
        connection.close()


def test_what_processes_leave_behind_holds_no_secret(home: Path) -> None:
    """Log files, notes, objects, documents, the sandbox's own files, and what the CLI prints."""
    with running(home) as installation, serving(status(204)) as (url, heard):
        local_runner.stop(home)
        with (home / "settings.toml").open("a", encoding="utf-8") as file:
            file.write(f'\n[alerts.webhooks.lab]\nurl = "{url}"\n')
        installation.start_runner()
        work, found = live(installation, heard)
        kinds = secrets_of(home, work)

    stands = {
        (kind, place)
        for place, text in found
        for kind, forms in kinds.items()
        if any(form in text for form in forms)
    }
    assert MAY_STAND == stands
    assert {"file runner.log", "object", "webhook", "document of timeline"} <= dict(found).keys()
    assert re.search(r"preempted", dict(found)["file runner.log"])
