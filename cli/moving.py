"""Move a running installation from a box to functions: its documents, and nothing twice.

The box is sealed first and for good, the target for as long as it is filled: at no moment do two
control planes act on one slice. Slices come last, so that whatever looks finds them whole.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli import box, moving_file
from cli.errors import CliError
from cli.moving_file import Header, Moved
from shared import wiring
from shared.adapters.sqlite_codec import encode
from shared.app.health_check import TICK
from shared.app.seal import SEALED, Seal, break_seal, find_seal, put_seal
from shared.app.silence import CANARY
from shared.app.troubles import TROUBLES
from shared.errors import Conflict
from shared.ports import COMMIT_WRITES_MAX, Create, Delete, Fields, Query, Store
from shared.settings import Settings, Wiring, secret_text

if TYPE_CHECKING:
    from cli.box_unit import Systemd
    from shared.adapters.sqlite_bus import SqliteBus
    from shared.app.context import App

IMPORTED: Final = "control/imported"
# What is about the machine that it came from: when it ticked, what it heard, that it is sealed.
STAYS: Final = (CANARY, TICK, TROUBLES, SEALED)
COMMANDS: Final = "launch-commands"
# Tried once each before an export: what does not succeed is only told to nobody.
_BESIDE: Final = ("park", "alert")
_DRAIN_S: Final = 60.0
_PULL_MAX: Final = 10
# Firestore takes 10 MiB a commit.
_BATCH_BYTES_MAX: Final = 4 * 2**20
_READERS: Final = 8


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written, and what nobody was told of any more."""

    header: Header
    counts: Mapping[str, int]
    untold: int


@dataclass(frozen=True, slots=True)
class Filled:
    """How many documents were written now, and how many had been before."""

    written: int
    found: int


# --- Leaving a box -------------------------------------------------------------------------------


def export(settings: Settings, path: Path, systemd: Systemd) -> Exported:
    """Seal a box, stop it, carry out the orders that it has, and write its documents to a file.

    Raises CliError; then nothing is sealed that was not before.
    """
    if path.exists():
        raise CliError(f"{path} is there already", next_step="name another file")
    store = wiring.open_local_store(settings)
    was_sealed = find_seal(store) is not None
    seal = put_seal(
        store,
        Seal(datetime.now(UTC), settings.owner, f"its jobs move in the file {path.name}"),
    )
    try:
        box.stop(settings, systemd)
        untold = _drain(
            wiring.open_app(settings, os.environ.get(wiring.CLOUD_VARIABLE, "")), settings
        )
        cloud = settings.google
        header = Header(
            installation=settings.installation,
            project=cloud.project,
            prefix=cloud.prefix,
            bucket=cloud.bucket,
            secret=secret_text(settings.secret),
            exported_at=seal.at.isoformat(),
        )
        staying = (each for each in store.dump() if each.path not in STAYS)
        counts = moving_file.write(path, header, staying)
    except BaseException:
        if not was_sealed:
            break_seal(store)
        raise
    return Exported(header, counts, untold)


def _drain(app: App, settings: Settings) -> int:
    """Carry out the orders that were given; return how many alerts nobody was told of."""
    bus = wiring.open_local_bus(settings)
    bus.release()
    deadline = time.monotonic() + _DRAIN_S
    while bus.backlog()[COMMANDS]:
        if time.monotonic() > deadline:
            raise CliError(
                f"{bus.backlog()[COMMANDS]} orders could not be carried out: Google did not answer",
                next_step="tpuctl box up, and export again when it answers",
            )
        _handle(app, bus, COMMANDS)
    for name in _BESIDE:
        while _handle(app, bus, name):
            pass
    return sum(bus.backlog()[name] for name in _BESIDE)


def _handle(app: App, bus: SqliteBus, subscription: str) -> int:
    """Hand on what is due; return how many there were."""
    from shared.app import push

    bus.wait([subscription], 0.0 if subscription in _BESIDE else 1.0)
    due = bus.pull(subscription, limit=_PULL_MAX)
    for delivery in due:
        answer = push.receive(app, delivery)
        if answer.retry:
            bus.retry(delivery, after_s=answer.retry_after_s)
        else:
            bus.ack(delivery)
    return len(due)


# --- Arriving in Firestore -----------------------------------------------------------------------


def check_header(settings: Settings, path: Path, header: Header) -> None:
    """Refuse a file that does not fit the installation.  Raises CliError."""
    if settings.wiring is not Wiring.GOOGLE:
        raise CliError(
            f"{settings.home} takes no imports: its wiring is {settings.wiring}",
            next_step="tpuctl init --from-terraform DIR in a new folder named by TPUCTL_HOME",
        )
    if header.installation != settings.installation:
        raise CliError(
            f"{path} is of installation {header.installation}, this one is {settings.installation}",
            next_step=f'set installation = "{header.installation}" in terraform.tfvars, apply,'
            " then tpuctl init --from-terraform DIR --force",
        )
    cloud = settings.google
    for name, theirs, ours in (
        ("project", header.project, cloud.project),
        ("prefix", header.prefix, cloud.prefix),
        ("bucket", header.bucket, cloud.bucket),
    ):
        if theirs != ours:
            raise CliError(
                f"{path} is of the {name} {theirs}, this installation's is {ours}",
                next_step=f"its slices know no other: deploy with the {name} {theirs}",
            )


def fill(store: Store, path: Path, moved: Moved) -> Filled:
    """Seal the target and write what is not there yet.  Idempotent: by path.

    Raises CliError when the file was imported before, or other documents are in the way.
    """
    _check_not_imported(store, path)
    there = _found(store, moved)
    _take(store, path, moved)
    missing = (each for each in moved.documents if each not in there)
    written = 0
    for batch in _batches(sorted(missing, key=_order), moved.documents):
        _create(store, batch)
        written += len(batch)
    return Filled(written, len(there))


def begin(store: Store, path: Path, moved: Moved) -> None:
    """Break the seal of a target that is filled: from now on the functions act.

    Raises CliError when it is not filled with this file.
    """
    _check_not_imported(store, path)
    seal, missing = find_seal(store), len(moved.documents) - len(_found(store, moved))
    if seal is None or seal.by != _importer(moved) or missing:
        raise CliError(f"{path} is not imported yet", next_step=f"tpuctl import {path}")
    fields: Fields = {
        "summary": f"{len(moved.documents)} documents of a box came with the file {path.name}",
        "at": datetime.now(UTC),
        "checksum": moved.checksum,
    }
    store.commit([Create(IMPORTED, fields), Delete(SEALED)])


def _importer(moved: Moved) -> str:
    return f"import {moved.checksum[:16]}"


def _check_not_imported(store: Store, path: Path) -> None:
    found = store.get(IMPORTED)
    if found is not None:
        raise CliError(
            f"{path} is not imported: {found.fields['summary']}, at {found.fields['at']:%Y-%m-%d}",
            next_step="tpuctl ps shows its jobs",
        )


def _take(store: Store, path: Path, moved: Moved) -> None:
    """Seal the target for this file.  Raises CliError when it is sealed for another one."""
    summary = f"the jobs of a box come in with the file {path.name}"
    seal = put_seal(store, Seal(datetime.now(UTC), _importer(moved), summary))
    if seal.by != _importer(moved):
        raise CliError(
            f"{path} is not imported: another import is not finished, {seal.summary}",
            next_step="import that file to its end",
        )


def _order(path: str) -> tuple[bool, str]:
    """Put slices last: whatever looks at one then finds all that belongs to it."""
    return path.startswith("slices/") and path.count("/") == 1, path


def _found(store: Store, moved: Moved) -> set[str]:
    """Return the paths that are there already.  Raises CliError for one that says otherwise."""
    paths = [*moved.documents]
    if find_seal(store) is None:
        # Nothing came yet: what is below an empty collection need not be asked for.
        used = {root for root in set(map(_root, paths)) if store.query(Query(root, limit=1))}
        paths = [each for each in paths if _root(each) in used]
    with ThreadPoolExecutor(_READERS) as readers:
        documents = [found for found in readers.map(store.get, paths) if found is not None]
    for found in documents:
        _check_same(found.path, found.fields, moved.documents[found.path])
    return {found.path for found in documents}


def _root(path: str) -> str:
    return path.split("/", 1)[0]


def _batches(paths: Sequence[str], documents: Mapping[str, Fields]) -> Iterator[list[Create]]:
    """Make commits that no Store refuses."""
    batch: list[Create] = []
    size = 0
    for path in paths:
        length = len(path) + len(encode(documents[path]).encode())
        if batch and (len(batch) == COMMIT_WRITES_MAX or size + length > _BATCH_BYTES_MAX):
            yield batch
            batch, size = [], 0
        batch.append(Create(path, documents[path]))
        size += length
    if batch:
        yield batch


def _create(store: Store, batch: Sequence[Create]) -> None:
    """Write documents that are not there; after a lost reply they are, and that is as good."""
    try:
        store.commit(batch)
    except Conflict:
        for write in batch:
            found = store.get(write.path)
            if found is None:
                store.commit([write])
            else:
                _check_same(write.path, found.fields, write.fields)


def _check_same(path: str, theirs: Fields, ours: Fields) -> None:
    if _text(theirs) != _text(ours):
        raise CliError(
            f"the document {path} is there already and says something else",
            next_step="import into an installation in which nothing ran yet",
        )


def _text(fields: Fields) -> str:
    """Write fields in one form: databases keep no order of keys."""
    return json.dumps(json.loads(encode(fields)), sort_keys=True)
