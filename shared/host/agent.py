"""What runs on every host of a slice: obeys the mandate, runs the workload, reports snapshots.

A node carries this file in its metadata, so it is one file, uses only the standard library and
speaks Python 3.8 (hence no ``slots``, no ``match``, ``Optional``): that is why it is longer than
other files here. It comes in sections, the first three of them without any effect:

    1 values      what the protocol says: config, mandate, spec
    2 decisions   ``step(state, event) -> (state, actions)``: no clock, no I/O, no randomness
    3 words       snapshots, environment, placeholders, progress, all pure
    4 disk        atomic files, code bundles, log chunks, checkpoints
    5 google      metadata server, Cloud Storage, Pub/Sub by plain HTTP
    6 processes   spawning, signalling and clearing whole process trees
    7 agent       threads feed one inbox; one loop alone applies ``step`` and performs actions
    8 supervisor  the parent for machines without systemd; speaks the same sd_notify protocol

It must never start an attempt twice in one boot, never leave a process of an attempt behind,
and never hand text written by a user to a shell.
"""

from __future__ import annotations

import base64
import collections
import contextlib
import ctypes
import fcntl
import hashlib
import http.client
import io
import json
import logging
import logging.handlers
import os
import queue
import re
import secrets
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath
from typing import (
    IO,
    Callable,
    Deque,
    Dict,
    FrozenSet,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    NoReturn,
    Optional,
    Pattern,
    Sequence,
    Set,
    Tuple,
    Type,
    Union,
)

PROTOCOL_VERSION = 1

START_READ_AGE_S_MAX = 30.0  # docs/protocol.md §5: older reads start nothing
READ_SILENCE_S_MAX = 300.0  # without a mandate for this long, the snapshot says so
READ_RETRY_S_MAX = 5.0  # after a failed read, whatever the slow interval is
MAINTENANCE_LEAD_S = 300.0  # SIGTERM at most this long before a maintenance window
LEASE_MARGIN_S = 5.0  # how long after the lease the agent still pings its supervisor
REBOOT_AFTER_S = 60.0  # a process that survives SIGKILL for this long needs a reboot
RESTART_FLUSH_S = 10.0  # a reboot that was ordered waits so long for the last logs
GRACE_S_DEFAULT = 30.0

EVIDENCE_BYTES_MAX = 6_000
LINE_BYTES_MAX = 64 * 1024
PROGRESS_LINE_CHARS_MAX = 2_000  # patterns are users' and may be slow: bound what they see
CHUNK_BYTES_MAX = 1024 * 1024
SPOOL_BYTES_MAX = 256 * 1024 * 1024
BUNDLE_FILES_MAX = 200_000
BUNDLE_BYTES_MAX = 4 * 1024**3
ANSWER_BYTES_MAX = 16 * 1024 * 1024
LOG_BYTES_MAX = 1024 * 1024

TICK_S = 0.25
PROGRESS_EVERY_S = 0.2
REQUEST_TIMEOUT_S = 10.0
DOWNLOAD_TIMEOUT_S = 60.0
HANGING_GET_S = 60
TOKEN_MARGIN_S = 60.0
FETCH_TRIES = 3
PACKAGE_LOCK_WAIT_S_MAX = 600.0
FINAL_REPORT_S_MAX = 5.0
RESTART_S = 1.0
SUPERVISE_S_DEFAULT = 60.0

SETUP_FILES_MAX = 200  # a setup that names more is run every time

_SEPARATORS = re.compile(r"[^\w./@+-]+")  # what stands between words that may be paths
COORDINATOR_PORTS = range(20_000, 30_000)
CODE_NONE = "none"  # working directory of jobs that bring no code

log = logging.getLogger("tpuctl.agent")


# === 1 values =================================================================================


class Malformed(ValueError):  # noqa: N818 - reads as a claim about the data
    """A document from outside is not what the protocol says."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__("{}: {}".format(where, reason))


class Fields:
    """Typed reads from one JSON object; whatever is wrong raises ``Malformed`` with its name."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise Malformed(where, "is not an object")
        self._values: Dict[str, object] = value
        self._where = where

    @classmethod
    def of_json(cls, data: bytes, where: str) -> Fields:
        """Read an object from bytes."""
        try:
            return cls(json.loads(data.decode("utf-8")), where)
        except (ValueError, RecursionError) as error:
            if isinstance(error, Malformed):
                raise
            raise Malformed(where, "is not JSON") from error

    def has(self, name: str) -> bool:
        """Tell whether a field is there and not null."""
        return self._values.get(name) is not None

    def text(self, name: str, default: Optional[str] = None) -> str:
        """Read a string."""
        value = self._get(name, default)
        if not isinstance(value, str):
            raise self._wrong(name, "a string")
        return value

    def number(self, name: str, default: Optional[float] = None) -> float:
        """Read a number that is not negative."""
        value = self._get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._wrong(name, "a number >= 0")
        if not 0 <= value <= sys.float_info.max:
            raise self._wrong(name, "a number >= 0")
        return float(value)

    def integer(self, name: str, default: Optional[int] = None) -> int:
        """Read a whole number."""
        value = self._get(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(name, "an integer")
        return value

    def texts(self, name: str) -> Tuple[str, ...]:
        """Read a list of strings; empty when it is not there."""
        value = self._get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._wrong(name, "a list of strings")
        return tuple(value)

    def mapping(self, name: str) -> Dict[str, str]:
        """Read an object of strings; empty when it is not there."""
        value = self._get(name, {})
        if not isinstance(value, dict) or not all(isinstance(x, str) for x in value.values()):
            raise self._wrong(name, "an object of strings")
        return dict(value)

    def fields(self, name: str) -> Fields:
        """Read an inner object."""
        return Fields(self._values.get(name), "{}.{}".format(self._where, name))

    def _get(self, name: str, default: object) -> object:
        value = self._values.get(name)
        return default if value is None else value

    def _wrong(self, name: str, expected: str) -> Malformed:
        return Malformed("{}.{}".format(self._where, name), "is not {}".format(expected))


@dataclass(frozen=True)
class Config:
    """Who this host is and how often it does things; fixed for the life of the process."""

    project: str
    bucket: str
    mandate: str
    topic: str
    slice: str
    slice_uid: str
    generation: int
    bid: str
    node: str
    host: int
    hosts: int
    hostname: str
    boot: str
    coordinator_ip: str = "127.0.0.1"
    poll_fast_s: float = 0.5
    poll_slow_s: float = 30.0
    snapshot_s: float = 300.0
    progress_s: float = 60.0
    log_s: float = 60.0
    supervise_s: float = SUPERVISE_S_DEFAULT
    folder: str = ""


@dataclass(frozen=True)
class Machine:
    """What a host knows of itself without its config."""

    node: str
    host: int
    hostname: str
    boot: str
    coordinator_ip: str


def parse_config(data: bytes, machine: Machine) -> Config:
    """Read the metadata attribute ``tpuctl-config``."""
    fields = Fields.of_json(data, "config")
    if fields.integer("version") != PROTOCOL_VERSION:
        raise Malformed("config.version", "is not spoken by this agent")
    return Config(
        project=fields.text("project"),
        bucket=fields.text("bucket"),
        mandate=fields.text("mandate"),
        topic=fields.text("topic", "reports"),
        slice=fields.text("slice"),
        slice_uid=fields.text("slice_uid"),
        generation=fields.integer("generation"),
        bid=fields.text("bid"),
        node=fields.text("node", machine.node),
        host=machine.host,
        hosts=fields.integer("hosts"),
        hostname=machine.hostname,
        boot=machine.boot,
        coordinator_ip=machine.coordinator_ip,
        poll_fast_s=fields.number("poll_fast_s", 0.5),
        poll_slow_s=fields.number("poll_slow_s", 30.0),
        snapshot_s=fields.number("snapshot_s", 300.0),
        progress_s=fields.number("progress_s", 60.0),
        log_s=fields.number("log_s", 60.0),
        supervise_s=fields.number("supervise_s", SUPERVISE_S_DEFAULT),
        folder=fields.text("folder", ""),
    )


@dataclass(frozen=True)
class Content:
    """An object in the bucket, by name and by what must be in it."""

    object: str
    sha256: str


@dataclass(frozen=True)
class Run:
    """What a start mandate tells the workload about itself."""

    number: int
    resumes: int
    checkpoint_dir: str
    output_dir: str
    shard: int
    shards: int
    from_step: Optional[int] = None


@dataclass(frozen=True)
class Mandate:
    """The orders for a slice generation; ordered by ``sequence`` and by nothing else."""

    slice_uid: str
    generation: int
    sequence: int
    action: str
    grace_s: float = GRACE_S_DEFAULT
    lease_s: float = 0.0
    job: str = ""
    attempt: int = -1
    spec: Optional[Content] = None
    bid: str = ""
    boots: Mapping[str, str] = field(default_factory=dict)
    run: Optional[Run] = None
    bid_tokens: Mapping[str, str] = field(default_factory=dict)
    attempt_token: Optional[str] = None
    restart: Mapping[str, str] = field(default_factory=dict)  # boots that shall end, by host


ACTIONS = ("idle", "prepare", "start", "end")


def parse_mandate(data: bytes) -> Mandate:
    """Read a mandate; one that this agent does not fully understand is refused as a whole."""
    fields = Fields.of_json(data, "mandate")
    if fields.integer("version") != PROTOCOL_VERSION:
        raise Malformed("mandate.version", "is not spoken by this agent")
    action = fields.text("action")
    if action not in ACTIONS:
        raise Malformed("mandate.action", "is unknown")
    needs_spec, is_start = action in ("prepare", "start"), action == "start"
    tokens = fields.fields("tokens") if fields.has("tokens") else Fields({}, "mandate.tokens")
    return Mandate(
        slice_uid=fields.text("slice_uid"),
        generation=fields.integer("generation"),
        sequence=fields.integer("sequence"),
        action=action,
        grace_s=fields.number("grace_s", GRACE_S_DEFAULT),
        lease_s=fields.number("lease_s", None if is_start else 0.0),
        job=fields.text("job", None if needs_spec else ""),
        attempt=fields.integer("attempt", None if is_start else -1),
        spec=parse_content(fields.fields("spec")) if needs_spec else None,
        bid=fields.text("bid", None if is_start else ""),
        boots=fields.mapping("boots"),
        run=_parse_run(fields.fields("run")) if is_start else None,
        bid_tokens=tokens.mapping("bids"),
        attempt_token=tokens.text("attempt") if tokens.has("attempt") else None,
        restart=fields.mapping("restart"),
    )


def parse_content(fields: Fields) -> Content:
    """Read a reference by content."""
    sha256 = fields.text("sha256")
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        raise Malformed("sha256", "is not 64 hexadecimal digits")
    return Content(fields.text("object"), sha256)


def _parse_run(fields: Fields) -> Run:
    return Run(
        number=fields.integer("number"),
        resumes=fields.integer("resumes", 0),
        checkpoint_dir=fields.text("checkpoint_dir"),
        output_dir=fields.text("output_dir"),
        shard=fields.integer("shard", 0),
        shards=fields.integer("shards", 1),
        from_step=fields.integer("from_step") if fields.has("from_step") else None,
    )


@dataclass(frozen=True)
class Spec:
    """What to run, as far as a host has to know."""

    command: Tuple[str, ...]
    is_shell: bool
    env: Mapping[str, str]
    setup: Tuple[str, ...]
    setup_timeout_s: float
    code: Optional[Content]
    grace_s: float
    progress: Tuple[Pattern[str], ...]


def parse_spec(data: bytes) -> Spec:
    """Read the spec object that a mandate refers to."""
    fields = Fields.of_json(data, "spec")
    is_shell = fields.has("shell")
    command = ("bash", "-c", fields.text("shell")) if is_shell else fields.texts("command")
    if not command:
        raise Malformed("spec.command", "is empty")
    try:
        progress = tuple(re.compile(pattern) for pattern in fields.texts("progress"))
    except (re.error, OverflowError, RecursionError) as error:
        raise Malformed("spec.progress", "is no regular expression: {}".format(error)) from error
    return Spec(
        command=command,
        is_shell=is_shell,
        env=fields.mapping("env"),
        setup=fields.texts("setup"),
        setup_timeout_s=fields.number("setup_timeout_s", 1800.0),
        code=parse_content(fields.fields("code")) if fields.has("code") else None,
        grace_s=fields.number("grace_s", GRACE_S_DEFAULT),
        progress=progress,
    )


# === 2 decisions ==============================================================================
#
# Events are facts with the time at which they were seen (``now``, seconds on a clock that counts
# suspend time). Handlers write them into the state; rules then derive what has to be done, from
# the state alone, so the order in which facts arrive does not matter. ``step`` adds what follows
# from every change: what must survive a restart is persisted *before* other actions, and what
# others may see is reported after them.


@dataclass(frozen=True)
class Progress:
    """How far the workload says it is."""

    step: int
    total: Optional[int] = None
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Checkpoint:
    """The newest complete checkpoint."""

    step: int
    path: str


@dataclass(frozen=True)
class SetupFailure:
    """Why this host could not be prepared for a spec."""

    spec: str
    exit_code: Optional[int]
    signal: Optional[int]
    evidence: str
    tries: int = 1


@dataclass(frozen=True)
class Attempt:
    """The newest attempt of this boot, from the decision to start it until its logs are safe."""

    job: str
    number: int
    token: Optional[str]
    lease_s: float
    grace_s: float
    checkpoint_dir: str
    is_live: bool = True
    has_exited: bool = False
    started_at: Optional[str] = None
    ended_at: Optional[str] = None
    exit_code: Optional[int] = None
    signal: Optional[int] = None
    killed_by: str = ""
    told_by: str = ""  # who told it to go first, while its command still ran
    told_at: float = 0.0
    kill_at: Optional[float] = None
    evidence: str = ""
    first_step_at: Optional[str] = None
    is_flushed: bool = False

    @property
    def key(self) -> Tuple[str, int]:
        """What tells one attempt from another."""
        return (self.job, self.number)


@dataclass(frozen=True)
class Prepared:
    """A spec whose code and setup are in place on this host."""

    spec: str
    grace_s: float


@dataclass(frozen=True)
class Preparing:
    """A preparation under way."""

    spec: str
    is_stopping: bool = False


@dataclass(frozen=True)
class Record:
    """What must survive a restart of the agent within one boot."""

    seen: int = -1
    is_over: bool = False
    started: FrozenSet[Tuple[str, int]] = frozenset()
    attempt: Optional[Attempt] = None


@dataclass(frozen=True)
class State:
    """Everything the agent knows; changed by ``step`` alone."""

    config: Config
    began_at: float
    record: Record = Record()
    mandate: Optional[Mandate] = None
    read_sent_at: Optional[float] = None
    read_failure: str = ""
    is_mandate_unusable: bool = False
    preparing: Optional[Preparing] = None
    prepared: Optional[Prepared] = None
    setup: Optional[SetupFailure] = None
    setup_sequence: int = -1
    progress: Optional[Progress] = None
    checkpoint: Optional[Checkpoint] = None
    notice: str = ""
    maintenance_at: Optional[float] = None
    maintenance: str = ""
    is_stopping: bool = False
    problem: str = ""
    reported_at: Optional[float] = None
    progress_reported: Optional[Progress] = None

    @property
    def attempt(self) -> Optional[Attempt]:
        """The newest attempt of this boot."""
        return self.record.attempt

    @property
    def live(self) -> Optional[Attempt]:
        """The attempt of which something lives, if any."""
        attempt = self.record.attempt
        return attempt if attempt is not None and attempt.is_live else None


@dataclass(frozen=True)
class MandateRead:
    """The mandate was read; ``sent_at`` is when the request went out."""

    mandate: Mandate
    sent_at: float
    now: float


@dataclass(frozen=True)
class ReadFailed:
    """The mandate could not be read, or (``is_unusable``) is missing or not understood."""

    reason: str
    is_unusable: bool
    now: float


@dataclass(frozen=True)
class NoticeSeen:
    """The machine will be taken away: ``preempted`` or ``maintenance``."""

    kind: str
    now: float


@dataclass(frozen=True)
class MaintenanceAnnounced:
    """A maintenance window was announced; it opens at ``starts_at`` on the agent's clock."""

    starts_at: float
    text: str
    now: float


@dataclass(frozen=True)
class PreparationEnded:
    """A preparation succeeded, failed, or (neither ``grace_s`` nor ``failure``) was stopped."""

    spec: str
    grace_s: Optional[float]
    failure: Optional[SetupFailure]
    now: float


@dataclass(frozen=True)
class WorkloadStarted:
    """The command of an attempt was spawned."""

    key: Tuple[str, int]
    at: str
    now: float


@dataclass(frozen=True)
class CommandExited:
    """The main process of an attempt ended; some of its descendants may still live."""

    key: Tuple[str, int]
    exit_code: Optional[int]
    signal: Optional[int]
    evidence: str
    exited_at: float
    at: str
    now: float


@dataclass(frozen=True)
class WorkloadGone:
    """Nothing of an attempt lives any more."""

    key: Tuple[str, int]
    evidence: str
    now: float


@dataclass(frozen=True)
class LogsShipped:
    """Everything an attempt ever printed is in storage."""

    key: Tuple[str, int]
    now: float


@dataclass(frozen=True)
class ProgressSeen:
    """The workload reported a step."""

    key: Tuple[str, int]
    progress: Progress
    at: str
    now: float


@dataclass(frozen=True)
class CheckpointSeen:
    """A newer complete checkpoint is on disk."""

    key: Tuple[str, int]
    checkpoint: Checkpoint
    now: float


@dataclass(frozen=True)
class StopAsked:
    """The agent itself was told to stop, by its supervisor or a shutdown."""

    now: float


@dataclass(frozen=True)
class Tick:
    """Time went on."""

    now: float


Event = Union[
    MandateRead,
    ReadFailed,
    NoticeSeen,
    MaintenanceAnnounced,
    PreparationEnded,
    WorkloadStarted,
    CommandExited,
    WorkloadGone,
    LogsShipped,
    ProgressSeen,
    CheckpointSeen,
    StopAsked,
    Tick,
]


@dataclass(frozen=True)
class Persist:
    """Make a record durable.  Everything after it in the list waits for that."""

    record: Record


@dataclass(frozen=True)
class Prepare:
    """Fetch spec and code and run the setup, unless this content is in place already."""

    spec: Content
    tries: int


@dataclass(frozen=True)
class StopPreparing:
    """Kill the running preparation."""


@dataclass(frozen=True)
class Spawn:
    """Run the command of an attempt."""

    attempt: Attempt
    spec: str
    run: Run


@dataclass(frozen=True)
class Terminate:
    """Send SIGTERM to the workload's process group."""


@dataclass(frozen=True)
class Kill:
    """Send SIGKILL to the whole tree of the workload.  Idempotent."""


@dataclass(frozen=True)
class Reboot:
    """Restart the machine: something survives SIGKILL, or the mandate wants this boot to end."""


@dataclass(frozen=True)
class Report:
    """Send a snapshot now."""


Action = Union[Persist, Prepare, StopPreparing, Spawn, Terminate, Kill, Reboot, Report]
Decision = Tuple[State, List[Action]]


def initial(config: Config, record: Optional[Record], now: float) -> State:
    """Begin a life of the agent; a record of this boot means that it is not the first.

    Whatever ran when the last life ended was killed by the supervisor, and is never run again.
    """
    if record is None:
        return State(config=config, began_at=now)
    attempt = record.attempt
    if attempt is not None and attempt.is_live:
        attempt = replace(attempt, is_live=False)
        if not attempt.has_exited:
            killed = {"signal": int(signal.SIGKILL), "killed_by": "supervisor"}
            attempt = replace(attempt, has_exited=True, **killed)  # type: ignore[arg-type]
    return State(config=config, began_at=now, record=replace(record, attempt=attempt))


def step(state: State, event: Event) -> Decision:
    """Take in one event and say what follows from it."""
    noted = _HANDLERS[type(event)](state, event)
    settled, actions = _settle(noted, event.now)
    if settled.record != state.record:
        actions = [Persist(settled.record), *actions]
    if _is_report_due(state, settled, event.now):
        actions = [*actions, Report()]
        settled = replace(settled, reported_at=event.now, progress_reported=settled.progress)
    return settled, actions


def _settle(state: State, now: float) -> Decision:
    """Apply all rules; each sees what those before it decided."""
    actions: List[Action] = []
    for rule in _RULES:
        state, more = rule(state, now)
        actions += more
    return state, actions


def _is_report_due(before: State, after: State, now: float) -> bool:
    if not _has_token(after):
        return False  # nobody would believe it
    if after.reported_at is None or _visible(before) != _visible(after):
        return True
    age_s = now - after.reported_at
    if after.progress != after.progress_reported and age_s >= after.config.progress_s:
        return True
    return age_s >= after.config.snapshot_s


def _has_token(state: State) -> bool:
    """A bid may be granted before the mandate that names it, with its token, is written."""
    return state.mandate is not None and state.config.bid in state.mandate.bid_tokens


def _visible(state: State) -> Tuple[object, ...]:
    """What others are told at once when it changes; progress is not part of it."""
    attempt = state.attempt
    if attempt is not None:
        attempt = replace(attempt, kill_at=None, told_at=0.0)
    facts = (state.record.seen, phase(state), attempt, state.prepared, state.setup)
    return (*facts, state.checkpoint, state.notice, state.problem)


def phase(state: State) -> str:
    """Name what the host is doing, in one word of docs/protocol.md §6."""
    live, mandate = state.live, state.mandate
    if live is not None:
        return "ending" if live.told_by or live.has_exited else "running"
    if state.preparing is not None:
        return "ending" if state.preparing.is_stopping else "preparing"
    if state.record.is_over:
        return "ended"
    if mandate is None:
        return "booted"
    if _is_prepared(state) and _wanted_spec(state) is not None:
        return "prepared"
    is_refused = mandate.action == "start" and state.attempt is None
    return "booted" if is_refused else "idle"


def poll_s(state: State) -> float:
    """Return how long to wait before the mandate is read again."""
    config = state.config
    if state.read_failure:
        return min(config.poll_slow_s, READ_RETRY_S_MAX)
    is_waiting = phase(state) in ("booted", "preparing", "prepared", "ending")
    return config.poll_fast_s if is_waiting else config.poll_slow_s


def may_ping(state: State, now: float) -> bool:
    """Tell whether the supervisor may believe that all is well: a read permits what lives here."""
    return state.live is None or now < _lease_end(state, state.live) + LEASE_MARGIN_S


# --- handlers: facts into the state -----------------------------------------------------------


def _on_mandate_read(state: State, event: MandateRead) -> State:
    """Take over a mandate that is ours and not older than what was obeyed."""
    mandate, config = event.mandate, state.config
    if (mandate.slice_uid, mandate.generation) != (config.slice_uid, config.generation):
        return replace(state, read_failure="it is another slice's", is_mandate_unusable=True)
    if mandate.sequence < state.record.seen:
        return replace(state, read_failure="it is older than one obeyed", is_mandate_unusable=True)
    is_over = state.record.is_over or mandate.action == "end"
    if is_over:
        mandate = replace(mandate, action="end")
    sent_at = (
        event.sent_at if state.read_sent_at is None else max(state.read_sent_at, event.sent_at)
    )
    return replace(
        state,
        record=replace(state.record, seen=mandate.sequence, is_over=is_over),
        mandate=mandate,
        read_sent_at=sent_at,
        read_failure="",
        is_mandate_unusable=False,
    )


def _on_read_failed(state: State, event: ReadFailed) -> State:
    return replace(state, read_failure=event.reason, is_mandate_unusable=event.is_unusable)


def _on_notice_seen(state: State, event: NoticeSeen) -> State:
    """Keep the worse of two notices."""
    return state if state.notice == "preempted" else replace(state, notice=event.kind)


def _on_maintenance_announced(state: State, event: MaintenanceAnnounced) -> State:
    return replace(state, maintenance_at=event.starts_at, maintenance=event.text)


def _on_preparation_ended(state: State, event: PreparationEnded) -> State:
    state = replace(state, preparing=None)
    if event.failure is not None:
        return replace(state, setup=event.failure, setup_sequence=state.record.seen)
    if event.grace_s is not None:
        return replace(state, prepared=Prepared(event.spec, event.grace_s), setup=None)
    return state


def _on_workload_started(state: State, event: WorkloadStarted) -> State:
    return _with_attempt(state, event.key, lambda attempt: replace(attempt, started_at=event.at))


def _on_command_exited(state: State, event: CommandExited) -> State:
    """Note how the command ended; telling it to go after that was telling nobody."""

    def exited(attempt: Attempt) -> Attempt:
        told_by = attempt.told_by if attempt.told_at <= event.exited_at else ""
        return replace(
            attempt,
            has_exited=True,
            exit_code=event.exit_code,
            signal=event.signal,
            ended_at=event.at,
            told_by=told_by,
            killed_by="" if event.exit_code == 0 else told_by,
            evidence=event.evidence,
        )

    return _with_attempt(state, event.key, exited)


def _on_workload_gone(state: State, event: WorkloadGone) -> State:
    return _with_attempt(
        state,
        event.key,
        lambda attempt: replace(attempt, is_live=False, evidence=event.evidence),
    )


def _on_logs_shipped(state: State, event: LogsShipped) -> State:
    return _with_attempt(state, event.key, lambda attempt: replace(attempt, is_flushed=True))


def _on_progress_seen(state: State, event: ProgressSeen) -> State:
    attempt = state.attempt
    if attempt is None or attempt.key != event.key:
        return state
    state = replace(state, progress=event.progress)
    if attempt.first_step_at is not None:
        return state
    return _with_attempt(state, event.key, lambda found: replace(found, first_step_at=event.at))


def _on_checkpoint_seen(state: State, event: CheckpointSeen) -> State:
    attempt = state.attempt
    if attempt is None or attempt.key != event.key:
        return state
    return replace(state, checkpoint=event.checkpoint)


def _on_stop_asked(state: State, _event: StopAsked) -> State:
    return replace(state, is_stopping=True)


def _on_tick(state: State, _event: Tick) -> State:
    return state


def _with_attempt(
    state: State, key: Tuple[str, int], change: Callable[[Attempt], Attempt]
) -> State:
    """Change the newest attempt, if that is the one meant."""
    attempt = state.attempt
    if attempt is None or attempt.key != key:
        return state
    return replace(state, record=replace(state.record, attempt=change(attempt)))


# A table by type cannot be typed more closely: each handler takes its own event.
_HANDLERS: Dict[Type[Event], Callable[..., State]] = {
    MandateRead: _on_mandate_read,
    ReadFailed: _on_read_failed,
    NoticeSeen: _on_notice_seen,
    MaintenanceAnnounced: _on_maintenance_announced,
    PreparationEnded: _on_preparation_ended,
    WorkloadStarted: _on_workload_started,
    CommandExited: _on_command_exited,
    WorkloadGone: _on_workload_gone,
    LogsShipped: _on_logs_shipped,
    ProgressSeen: _on_progress_seen,
    CheckpointSeen: _on_checkpoint_seen,
    StopAsked: _on_stop_asked,
    Tick: _on_tick,
}


# --- rules: what the state demands ------------------------------------------------------------


def _name_problem(state: State, now: float) -> Decision:
    """Say what troubles the agent: no mandate, or a maintenance window ahead."""
    return replace(state, problem=_problem(state, now)), []


def _problem(state: State, now: float) -> str:
    if state.read_failure and state.is_mandate_unusable:
        return "The mandate cannot be used: {}.".format(state.read_failure)
    last = state.began_at if state.read_sent_at is None else state.read_sent_at
    if state.read_failure and now - last >= READ_SILENCE_S_MAX:
        return state.problem or "The mandate could not be read for 5 min: {}.".format(
            state.read_failure
        )
    return state.maintenance


def _heed_maintenance(state: State, now: float) -> Decision:
    """Turn an announced window into a notice when it is near."""
    if state.notice or state.maintenance_at is None:
        return state, []
    is_near = now >= state.maintenance_at - MAINTENANCE_LEAD_S
    return (replace(state, notice="maintenance") if is_near else state), []


def _end_attempt(state: State, now: float) -> Decision:
    """Tell the attempt to go when something says so, and kill it when its time is over."""
    before = state.live
    if before is None:
        return state, []
    attempt = before
    for reason, kill_at in _reasons_to_go(state, before, now):
        attempt = _told(attempt, reason, kill_at, now)
    state = replace(state, record=replace(state.record, attempt=attempt))
    if attempt.kill_at is None:
        return state, []
    if now >= attempt.kill_at:
        is_stuck = now >= attempt.kill_at + REBOOT_AFTER_S
        return state, [Kill(), Reboot()] if is_stuck else [Kill()]
    return state, [] if before.kill_at is not None else [Terminate()]


def _reasons_to_go(state: State, attempt: Attempt, now: float) -> Iterator[Tuple[str, float]]:
    """List who wants the attempt gone, and by when."""
    mandate = state.mandate
    if mandate is not None and not _is_order_to_run(mandate, attempt):
        yield "mandate", now + mandate.grace_s
    if state.notice:
        yield "notice", now + attempt.grace_s
    if state.is_stopping:
        yield "supervisor", now + attempt.grace_s
    if _read_age_s(state, now) >= _safe_age_s(attempt):
        yield "lease", _lease_end(state, attempt)


def _told(attempt: Attempt, reason: str, kill_at: float, now: float) -> Attempt:
    """Remember who told first and the earliest end of all; a command that is gone hears nothing."""
    earliest = kill_at if attempt.kill_at is None else min(attempt.kill_at, kill_at)
    if attempt.told_by or attempt.has_exited:
        return replace(attempt, kill_at=earliest)
    return replace(attempt, told_by=reason, told_at=now, kill_at=earliest)


def _lease_end(state: State, attempt: Attempt) -> float:
    assert state.read_sent_at is not None, "an attempt lives only on a mandate that was read"
    return state.read_sent_at + attempt.lease_s


def _read_age_s(state: State, now: float) -> float:
    return float("inf") if state.read_sent_at is None else now - state.read_sent_at


def _safe_age_s(attempt: Attempt) -> float:
    """Return how old the last read may get before the attempt is told to go: lease - grace."""
    return attempt.lease_s - min(attempt.grace_s, attempt.lease_s / 2)


def _is_order_to_run(mandate: Mandate, attempt: Attempt) -> bool:
    return mandate.action == "start" and (mandate.job, mandate.attempt) == attempt.key


def _stop_preparing(state: State, _now: float) -> Decision:
    """Kill a preparation that nobody wants any more."""
    preparing = state.preparing
    if preparing is None or preparing.is_stopping:
        return state, []
    wanted = _wanted_spec(state)
    if wanted is not None and wanted.sha256 == preparing.spec:
        return state, []
    return replace(state, preparing=replace(preparing, is_stopping=True)), [StopPreparing()]


def _prepare(state: State, _now: float) -> Decision:
    """Prepare what is wanted, once nothing of any attempt lives here.

    A failed preparation is tried again only when a newer mandate asks for it.
    """
    wanted = _wanted_spec(state)
    if wanted is None or state.live is not None or state.preparing is not None:
        return state, []
    if _is_prepared(state):
        return state, []
    has_failed = state.setup is not None and state.setup.spec == wanted.sha256
    if has_failed and state.setup_sequence >= state.record.seen:
        return state, []
    tries = state.setup.tries + 1 if has_failed and state.setup is not None else 1
    setup = state.setup if has_failed else None
    state = replace(state, preparing=Preparing(wanted.sha256), prepared=None, setup=setup)
    return state, [Prepare(wanted, tries)]


def _start(state: State, now: float) -> Decision:
    """Start the attempt of the mandate under the four conditions of docs/protocol.md §5."""
    mandate, prepared = state.mandate, state.prepared
    if mandate is None or mandate.run is None or prepared is None or mandate.spec is None:
        return state, []
    if not (_is_startable(state, mandate) and _is_prepared(state)):
        return state, []
    if state.live is not None or state.preparing is not None:
        return state, []
    attempt = Attempt(
        job=mandate.job,
        number=mandate.attempt,
        token=mandate.attempt_token,
        lease_s=mandate.lease_s,
        grace_s=prepared.grace_s,
        checkpoint_dir=mandate.run.checkpoint_dir,
    )
    if _read_age_s(state, now) >= min(START_READ_AGE_S_MAX, _safe_age_s(attempt)):
        return state, []  # the next read decides
    started = state.record.started | {attempt.key}
    record = replace(state.record, attempt=attempt, started=started)
    state = replace(state, record=record, progress=None, progress_reported=None, checkpoint=None)
    return state, [Spawn(attempt, mandate.spec.sha256, mandate.run)]


def _wanted_spec(state: State) -> Optional[Content]:
    """Return what this host shall be prepared for.

    A start that could go ahead here wants its spec as well: an agent that was restarted between
    *prepared* and *start* has to look again at what is on its disk.
    """
    mandate = state.mandate
    if mandate is None or state.is_stopping or state.record.is_over or _is_boot_over(state):
        return None
    if mandate.action == "prepare" or _is_startable(state, mandate):
        return mandate.spec
    return None


def _is_startable(state: State, mandate: Mandate) -> bool:
    """Tell whether a mandate orders this very boot to start something it never started."""
    config = state.config
    is_named = mandate.boots.get(str(config.host)) == config.boot and mandate.bid == config.bid
    is_new = (mandate.job, mandate.attempt) not in state.record.started
    is_free = not (state.notice or state.is_stopping or state.record.is_over)
    return mandate.action == "start" and is_named and is_new and is_free


def _restart(state: State, now: float) -> Decision:
    """Reboot when the mandate says that this boot shall end, once nothing is left to do in it.

    What was not shipped yet stays on the disk; a last word gets a few seconds.
    """
    if not _is_boot_over(state) or state.live is not None or state.preparing is not None:
        return state, []
    attempt = state.attempt
    if attempt is None or attempt.is_flushed or attempt.kill_at is None:
        return state, [Reboot()]
    return state, [Reboot()] if now >= attempt.kill_at + RESTART_FLUSH_S else []


def _is_boot_over(state: State) -> bool:
    """Tell whether the mandate wants this very boot to end, and the slice to go on."""
    mandate, config = state.mandate, state.config
    if mandate is None or state.record.is_over:
        return False
    return mandate.restart.get(str(config.host)) == config.boot


def _is_prepared(state: State) -> bool:
    spec = state.mandate.spec if state.mandate is not None else None
    return spec is not None and state.prepared is not None and state.prepared.spec == spec.sha256


_RULES: Tuple[Callable[[State, float], Decision], ...] = (
    _name_problem,
    _heed_maintenance,
    _end_attempt,
    _stop_preparing,
    _prepare,
    _start,
    _restart,
)


# === 3 words ==================================================================================


def left_report(config: Config) -> str:
    """Name the object in which a host leaves, beside its mandate, what it cannot publish."""
    stem = config.mandate[: -len(".json")]
    return "{}.host-{}-{}.json".format(stem, config.bid, config.host)


def snapshot(state: State, *, sequence: int, at: str) -> Dict[str, object]:
    """Say everything that is true now, in the words of docs/protocol.md §6."""
    config, attempt, mandate = state.config, state.attempt, state.mandate
    bid_tokens = mandate.bid_tokens if mandate is not None else {}
    return {
        "version": PROTOCOL_VERSION,
        "slice": config.slice,
        "slice_uid": config.slice_uid,
        "generation": config.generation,
        "bid": config.bid,
        "node": config.node,
        "host": config.host,
        "hosts": config.hosts,
        "hostname": config.hostname,
        "boot": config.boot,
        "sequence": sequence,
        "at": at,
        "seen_sequence": max(state.record.seen, 0),
        "phase": phase(state),
        "alive": state.live is not None,
        "prepared": state.prepared.spec if state.prepared is not None else None,
        "setup": asdict(state.setup) if state.setup is not None else None,
        "attempt": _attempt_words(attempt) if attempt is not None else None,
        "progress": asdict(state.progress) if state.progress is not None else None,
        "checkpoint": asdict(state.checkpoint) if state.checkpoint is not None else None,
        "notice": state.notice,
        "problem": state.problem,
        "tokens": {
            "bid": bid_tokens.get(config.bid, ""),
            "attempt": attempt.token if attempt is not None else None,
        },
    }


def _attempt_words(attempt: Attempt) -> Dict[str, object]:
    return {
        "job": attempt.job,
        "number": attempt.number,
        "started_at": attempt.started_at,
        "ended_at": attempt.ended_at,
        "exit_code": attempt.exit_code,
        "signal": attempt.signal,
        "killed_by": attempt.killed_by,
        "told": bool(attempt.told_by),
        "evidence": attempt.evidence,
        "first_step_at": attempt.first_step_at,
        "flushed": attempt.is_flushed and not attempt.is_live,
    }


class Place(NamedTuple):
    """Where on this host an attempt finds things."""

    progress_file: str
    cache_dir: str


def workload_values(config: Config, attempt: Attempt, run: Run) -> Dict[str, str]:
    """Return what placeholders in arguments and environment values stand for."""
    return {
        "job": attempt.job,
        "number": str(run.number),
        "attempt": str(attempt.number),
        "resumes": str(run.resumes),
        "checkpoint_dir": run.checkpoint_dir,
        "output_dir": run.output_dir,
        "shard": str(run.shard),
        "shards": str(run.shards),
        "host": str(config.host),
        "hosts": str(config.hosts),
    }


PLACEHOLDERS = (
    "attempt",
    "checkpoint_dir",
    "host",
    "hosts",
    "job",
    "number",
    "output_dir",
    "resumes",
    "shard",
    "shards",
)
_PLACEHOLDER = re.compile(r"\{\{(%s)\}\}|\{(%s)\}" % (("|".join(PLACEHOLDERS),) * 2))


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace ``{name}`` of known names, read ``{{name}}`` as ``{name}``; leave all else alone.

    JSON in arguments keeps its braces that way. Read as ``shared/core/placeholders.py`` does.
    """

    def word(found: "re.Match[str]") -> str:
        literal, name = found.groups()
        return "{" + literal + "}" if literal else values[name]

    return _PLACEHOLDER.sub(word, text)


def fill_command(spec: Spec, values: Mapping[str, str]) -> List[str]:
    """Fill in a command's arguments; a shell line has the environment and braces of its own."""
    return list(spec.command) if spec.is_shell else [fill(word, values) for word in spec.command]


def coordinator(config: Config, attempt: Attempt) -> str:
    """Return host and port of the gang's coordinator: the same on all hosts, new per attempt."""
    name = "{}/{}/{}".format(config.slice_uid, config.generation, attempt.number)
    digest = hashlib.sha256(name.encode()).digest()
    port = COORDINATOR_PORTS[int.from_bytes(digest[:4], "big") % len(COORDINATOR_PORTS)]
    return "{}:{}".format(config.coordinator_ip, port)


def workload_environment(
    config: Config, action: Spawn, env: Mapping[str, str], place: Place
) -> Dict[str, str]:
    """Return what an attempt's command finds in its environment besides the machine's own."""
    values = workload_values(config, action.attempt, action.run)
    ours = {"TPUCTL_" + name.upper(): value for name, value in values.items()}
    if action.run.from_step is not None:
        ours["TPUCTL_FROM_STEP"] = str(action.run.from_step)
    return {
        "JAX_COMPILATION_CACHE_DIR": place.cache_dir,
        **{name: fill(value, values) for name, value in env.items()},
        **ours,
        "TPUCTL_COORDINATOR": coordinator(config, action.attempt),
        "TPUCTL_PROGRESS_FILE": place.progress_file,
    }


# Passed on because a real VM has them, or because Google's own libraries look for them.
_MACHINE_VARIABLES = (
    "PATH",
    "HOME",
    "LANG",
    "TMPDIR",
    "TZ",
    "GCE_METADATA_HOST",
    "GCE_METADATA_IP",
    "STORAGE_EMULATOR_HOST",
    "PUBSUB_EMULATOR_HOST",
)
_MACHINE_DEFAULTS = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "PYTHONUNBUFFERED": "1",  # or progress would arrive in blocks of 8 KiB
}


def machine_environment(environ: Mapping[str, str]) -> Dict[str, str]:
    """Return a clean environment: nothing of the agent's own, the same on every start."""
    passed = {name: environ[name] for name in _MACHINE_VARIABLES if name in environ}
    return {**_MACHINE_DEFAULTS, **passed}


_METRIC = re.compile(
    r"([A-Za-z_][\w./-]*)\s*[=:]\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?![\w.])"
)


def match_progress(line: str, patterns: Sequence[Pattern[str]]) -> Optional[Progress]:
    """Find a step in one line of output; whatever looks like ``loss=0.3`` beside it is a metric."""
    line = line[:PROGRESS_LINE_CHARS_MAX]
    for pattern in patterns:
        found = pattern.search(line)
        if found is None:
            continue
        groups = found.groupdict()
        step_text, total_text = groups.get("step"), groups.get("total")
        if step_text is None or not step_text.isdecimal():
            continue
        total = int(total_text) if total_text is not None and total_text.isdecimal() else None
        metrics = {name: float(value) for name, value in _METRIC.findall(line)}
        return Progress(int(step_text), total, metrics)
    return None


def parse_progress_line(line: str) -> Optional[Progress]:
    """Read one line of the progress file; a line that is no progress is ignored."""
    try:
        values = json.loads(line)
    except ValueError:
        return None
    if not isinstance(values, dict):
        return None
    numbers = {name: value for name, value in values.items() if _is_number(value)}
    step_value, total = numbers.pop("step", None), numbers.pop("total", None)
    if step_value is None:
        return None
    metrics = {name: float(value) for name, value in numbers.items()}
    return Progress(int(step_value), int(total) if total is not None else None, metrics)


def _is_number(value: object) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and abs(float(value)) != float("inf") and value == value  # type: ignore[arg-type]  # noqa: PLR0124


class LineSplitter:
    """Cuts a byte stream into lines of bounded length; a carriage return ends a line too."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> List[bytes]:
        """Return the lines that are complete now, with their ends."""
        lines = (self._rest + data).splitlines(keepends=True)
        is_open = bool(lines) and not lines[-1].endswith((b"\n", b"\r"))
        self._rest = lines.pop() if is_open else b""
        while len(self._rest) > LINE_BYTES_MAX:
            lines.append(self._rest[:LINE_BYTES_MAX])
            self._rest = self._rest[LINE_BYTES_MAX:]
        return [piece for line in lines for piece in _pieces(line)]

    def rest(self) -> bytes:
        """Return what is left when the stream has ended."""
        rest, self._rest = self._rest, b""
        return rest


def _pieces(line: bytes) -> Iterator[bytes]:
    for start in range(0, len(line), LINE_BYTES_MAX):
        yield line[start : start + LINE_BYTES_MAX]


class Tail:
    """Keeps the last lines of an output, at most ``EVIDENCE_BYTES_MAX`` of them."""

    def __init__(self) -> None:
        self._lines: Deque[bytes] = collections.deque()
        self._bytes = 0

    def add(self, line: bytes) -> None:
        """Take in one line and forget the oldest that no longer fit."""
        line = line[-EVIDENCE_BYTES_MAX:]
        self._lines.append(line)
        self._bytes += len(line)
        while self._bytes > EVIDENCE_BYTES_MAX:
            self._bytes -= len(self._lines.popleft())

    def text(self) -> str:
        """Return the lines as text that is no longer than its limit in UTF-8 either."""
        return clip(b"".join(list(self._lines)))


def clip(data: bytes) -> str:
    """Decode the end of an output; bytes that are no UTF-8 become single question marks."""
    text = data[-EVIDENCE_BYTES_MAX:].decode("utf-8", "replace")
    return text.replace("\ufffd", "?").replace("\x00", "?")


def timestamp() -> str:
    """Return the host's clock as RFC 3339, for people."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# === 4 disk ===================================================================================


class Root:
    """The agent's directory: every path below it has its name here."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run = path / "run"
        self.code = path / "code"
        self.source = path / "src"
        self.logs = path / "logs"
        self.cache = path / "cache" / "jax"
        for directory in (self.run, self.code, self.source, self.logs, self.cache):
            directory.mkdir(parents=True, exist_ok=True)

    def record(self, boot: str) -> Path:
        """Return the file that remembers what one boot has started."""
        return self.run / "boot-{}.json".format(re.sub(r"[^A-Za-z0-9-]", "_", boot))

    def progress(self, key: Tuple[str, int]) -> Path:
        """Return the file into which an attempt may write its progress."""
        return self.run / "progress-{}-{}.jsonl".format(key[0], key[1])


def write_atomic(path: Path, data: bytes) -> None:
    """Replace a file so that a crash leaves the old or the new content, on disk."""
    handle, name = tempfile.mkstemp(dir=str(path.parent), prefix=path.name, suffix=".tmp")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(name, str(path))
    directory = os.open(str(path.parent), os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def dump_record(record: Record) -> bytes:
    """Write down what must survive a restart of the agent."""
    values = asdict(record)
    values["started"] = sorted(record.started)
    return json.dumps(values, sort_keys=True).encode()


def load_record(path: Path) -> Optional[Record]:
    """Read what an earlier life of the agent in this boot wrote, if there was one.

    A damaged record is an error: without it nothing could be started exactly once.
    """
    try:
        values = json.loads(path.read_bytes().decode())
    except FileNotFoundError:
        return None
    attempt = values["attempt"]
    return Record(
        seen=values["seen"],
        is_over=values["is_over"],
        started=frozenset((job, number) for job, number in values["started"]),
        attempt=Attempt(**attempt) if attempt is not None else None,
    )


class UnsafeBundle(ValueError):  # noqa: N818 - reads as a claim about the data
    """A code bundle contains something that must not be unpacked."""


def unpack(bundle: Path, target: Path) -> None:
    """Unpack a tar file into a new directory, and nothing outside of it.

    Plain files, directories and links that stay inside are taken; whatever else is in the
    bundle (devices, absolute or climbing names, a path that leads through a link) refuses it
    as a whole.
    """
    try:
        target.mkdir(parents=True)
        with tarfile.open(str(bundle), "r:*") as archive:
            _unpack_members(archive, target)
    except (tarfile.TarError, EOFError, OSError, UnicodeError) as error:
        raise UnsafeBundle("the bundle cannot be unpacked: {}".format(error)) from error


def _unpack_members(archive: tarfile.TarFile, target: Path) -> None:
    links: Dict[PurePosixPath, tarfile.TarInfo] = {}
    files = size = 0
    for member in archive:
        path = _safe_path(member.name)
        files, size = files + 1, size + member.size
        if files > BUNDLE_FILES_MAX or size > BUNDLE_BYTES_MAX:
            raise UnsafeBundle("the bundle is larger than a bundle may be")
        if any(parent in links for parent in (path, *path.parents)):
            raise UnsafeBundle("{} leads through a link".format(member.name))
        if member.issym():
            _check_link(path, member)
            links[path] = member
        _unpack_member(archive, member, target / path, target)


def _safe_path(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\x00" in name or "\\" in name:
        raise UnsafeBundle("{} is no name inside the bundle".format(name))
    return path


def _check_link(path: PurePosixPath, member: tarfile.TarInfo) -> None:
    """Refuse a link whose target, read from where the link stands, is outside."""
    if member.linkname.startswith("/") or "\x00" in member.linkname:
        raise UnsafeBundle("{} links to the outside".format(member.name))
    depth = len(path.parent.parts)
    for part in PurePosixPath(member.linkname).parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            raise UnsafeBundle("{} links to the outside".format(member.name))


def _unpack_member(
    archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path, target: Path
) -> None:
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if member.issym():
        os.symlink(member.linkname, str(path))
    elif member.islnk():
        source = target / _safe_path(member.linkname)
        if not stat.S_ISREG(os.lstat(str(source)).st_mode):
            raise UnsafeBundle("{} links to no file of the bundle".format(member.name))
        os.link(str(source), str(path))
    elif member.isfile():
        content = archive.extractfile(member)
        assert content is not None, "a plain file has content"
        with content, path.open("xb") as file:
            shutil.copyfileobj(content, file)
        path.chmod(0o755 if member.mode & 0o100 else 0o644)
    else:
        raise UnsafeBundle("{} is neither file, directory nor link".format(member.name))


class Spool:
    """The output of one attempt on disk, in numbered chunks, until storage has it."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._lock = threading.Lock()
        self._number = 0
        self._size = 0
        self._file: Optional[IO[bytes]] = None

    def write(self, line: bytes) -> None:
        """Append a piece of output; a full chunk is closed first."""
        with self._lock:
            if self._size + len(line) > CHUNK_BYTES_MAX:
                self._close()
            if self._file is None:
                self._file = self._open_path().open("wb", buffering=0)
            self._file.write(line)
            self._size += len(line)

    def rotate(self) -> None:
        """Close the chunk that is being written, so that it can be shipped."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._file is None:
            return
        self._file.close()
        part = self._open_path()
        os.replace(str(part), str(part.with_suffix(".log")))
        self._file, self._size, self._number = None, 0, self._number + 1

    def _open_path(self) -> Path:
        return self._directory / "{:06d}.part".format(self._number)


def spooled(root: Path) -> List[Path]:
    """List closed chunks that storage does not have yet, in the order in which to ship them."""
    return sorted(root.glob("*/*/*/*.log"))


def close_leftovers(root: Path) -> None:
    """Close the chunks that an earlier life of the agent left open."""
    for part in root.glob("*/*/*/*.part"):
        os.replace(str(part), str(part.with_suffix(".log")))


def bound_spool(root: Path, bytes_max: int = SPOOL_BYTES_MAX) -> int:
    """Drop the oldest chunks beyond the limit; return how many.  Idempotent."""
    chunks = sorted((path.stat().st_mtime, path.stat().st_size, path) for path in spooled(root))
    excess = sum(size for _, size, _ in chunks) - bytes_max
    dropped = 0
    for _, size, path in chunks:
        if excess <= 0:
            break
        path.unlink()
        excess, dropped = excess - size, dropped + 1
    return dropped


def set_aside(root: Path, chunk: Path) -> None:
    """Keep the newest chunk that storage has: what an agent that was killed has for evidence."""
    kept = chunk.with_suffix(".sent")
    os.replace(str(chunk), str(kept))
    for older in root.glob("*/*/*/*.sent"):
        if older != kept:
            older.unlink()


def spool_evidence(directory: Path) -> str:
    """Return the last output of an attempt that did not live to report it."""
    data = b""
    for path in sorted(directory.glob("*.*"), reverse=True)[:2]:
        data = path.read_bytes()[-EVIDENCE_BYTES_MAX:] + data
    return clip(data)


def newest_local_checkpoint(directory: Path) -> Optional[Checkpoint]:
    """Find the newest complete checkpoint: a step's own name and a mark of completeness in it."""
    try:
        names = os.listdir(str(directory))
    except OSError:
        return None
    for step_value in sorted((int(name) for name in names if name.isdecimal()), reverse=True):
        for path in (directory / name for name in names if _is_step(name, step_value)):
            marks = ("commit_success.txt", "_CHECKPOINT_METADATA")
            if any((path / mark).is_file() for mark in marks):
                return Checkpoint(step_value, str(path))
    return None


def _is_step(name: str, step_value: int) -> bool:
    return name.isdecimal() and int(name) == step_value


class FileTail:
    """Reads the lines that others append to a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._splitter = LineSplitter()

    def lines(self) -> List[str]:
        """Return the lines that were completed since the last call."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read(CHUNK_BYTES_MAX)
        except OSError:
            return []
        self._offset += len(data)
        return [line.decode("utf-8", "replace") for line in self._splitter.feed(data)]


# === 5 google =================================================================================


class CallFailed(Exception):  # noqa: N818 - reads as a fact
    """A call to Google did not succeed; ``status`` is 0 when there was no answer at all."""

    def __init__(self, what: str, status: int, detail: str) -> None:
        super().__init__("{}: {}".format(what, detail))
        self.status = status


class Answer(NamedTuple):
    """The answer to an HTTP request that succeeded."""

    body: bytes
    etag: str


# Metadata and emulators are local, Google's own names need no proxy on a TPU VM.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class _Request(NamedTuple):
    method: str
    url: str
    body: Optional[bytes] = None
    headers: Mapping[str, str] = {}
    timeout_s: float = REQUEST_TIMEOUT_S


def call(request: _Request) -> Answer:
    """Make one request; whatever is not a 2xx answer raises ``CallFailed``."""
    with _opened(request) as response:
        try:
            body = response.read(ANSWER_BYTES_MAX)
        except (OSError, http.client.HTTPException) as error:
            raise CallFailed(_short(request), 0, str(error) or type(error).__name__) from error
        return Answer(body, response.headers.get("ETag", ""))


def _opened(request: _Request) -> http.client.HTTPResponse:
    prepared = urllib.request.Request(
        request.url, data=request.body, headers=dict(request.headers), method=request.method
    )
    try:
        response: http.client.HTTPResponse = _OPENER.open(prepared, timeout=request.timeout_s)
    except urllib.error.HTTPError as error:
        with error:
            detail = "{} {}".format(error.code, error.reason)
        raise CallFailed(_short(request), error.code, detail) from error
    except (OSError, http.client.HTTPException) as error:
        raise CallFailed(_short(request), 0, str(error) or type(error).__name__) from error
    return response


def _short(request: _Request) -> str:
    """Name a request for people: no query, no secrets."""
    return "{} {}".format(request.method, request.url.split("?")[0])


class Google:
    """Metadata server, Cloud Storage and Pub/Sub, found where Google's own variables say."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        metadata_host = environ.get("GCE_METADATA_HOST", "metadata.google.internal")
        self._metadata = "http://{}/computeMetadata/v1/".format(metadata_host)
        storage = environ.get("STORAGE_EMULATOR_HOST", "https://storage.googleapis.com")
        self._storage = (storage if "://" in storage else "http://" + storage).rstrip("/")
        pubsub = environ.get("PUBSUB_EMULATOR_HOST")
        self._pubsub = "http://" + pubsub if pubsub else "https://pubsub.googleapis.com"
        self._token = ""
        self._token_until = 0.0
        self._lock = threading.Lock()

    def metadata(self, path: str, *, timeout_s: float = REQUEST_TIMEOUT_S) -> Answer:
        """Read from the metadata server."""
        headers = {"Metadata-Flavor": "Google"}
        return call(_Request("GET", self._metadata + path, None, headers, timeout_s))

    def attribute(self, name: str, default: Optional[str] = None) -> str:
        """Read one metadata attribute of this host."""
        try:
            return self.metadata("instance/attributes/" + name).body.decode()
        except CallFailed as error:
            if error.status != http.client.NOT_FOUND or default is None:
                raise
            return default

    def read_object(self, bucket: str, name: str) -> bytes:
        """Read a small object, past every cache."""
        headers = {**self._authorization(), "Cache-Control": "no-store"}
        return call(
            _Request("GET", self._object_url(bucket, name, "alt=media"), None, headers)
        ).body

    def download(self, bucket: str, name: str, path: Path) -> str:
        """Copy an object of any size into a file and return the sha256 of what came."""
        url, digest = self._object_url(bucket, name, "alt=media"), hashlib.sha256()
        request = _Request("GET", url, None, self._authorization(), DOWNLOAD_TIMEOUT_S)
        with _opened(request) as response, path.open("wb") as file:
            try:
                for block in iter(lambda: response.read(CHUNK_BYTES_MAX), b""):
                    digest.update(block)
                    file.write(block)
            except http.client.HTTPException as error:
                raise CallFailed(_short(request), 0, type(error).__name__) from error
        return digest.hexdigest()

    def create_object(self, bucket: str, name: str, data: bytes) -> None:
        """Write an object that must not exist yet.  Idempotent: it is there already is success."""
        try:
            self._upload(bucket, name, data, "&ifGenerationMatch=0")
        except CallFailed as error:
            if error.status != http.client.PRECONDITION_FAILED:
                raise

    def replace_object(self, bucket: str, name: str, data: bytes) -> None:
        """Write an object, whatever was there.  Idempotent: by name."""
        self._upload(bucket, name, data, "")

    def has_object(self, bucket: str, name: str) -> bool:
        """Tell whether an object exists."""
        try:
            call(_Request("GET", self._object_url(bucket, name, ""), None, self._authorization()))
        except CallFailed as error:
            if error.status != http.client.NOT_FOUND:
                raise
            return False
        return True

    def directories(self, bucket: str, prefix: str) -> List[str]:
        """List what looks like directories below a prefix, by full name."""
        found: List[str] = []
        page = ""
        while True:
            query = urllib.parse.urlencode(
                {
                    "prefix": prefix,
                    "delimiter": "/",
                    "fields": "prefixes,nextPageToken",
                    **_page(page),
                }
            )
            url = "{}/storage/v1/b/{}/o?{}".format(self._storage, bucket, query)
            answer = call(_Request("GET", url, None, self._authorization()))
            fields = Fields.of_json(answer.body, "listing")
            found += fields.texts("prefixes")
            page = fields.text("nextPageToken", "")
            if not page:
                return found

    def publish(self, project: str, topic: str, data: bytes, attributes: Mapping[str, str]) -> None:
        """Publish one message."""
        message = {"data": base64.b64encode(data).decode(), "attributes": dict(attributes)}
        url = "{}/v1/projects/{}/topics/{}:publish".format(self._pubsub, project, topic)
        headers = {**self._authorization(), "Content-Type": "application/json"}
        call(_Request("POST", url, json.dumps({"messages": [message]}).encode(), headers))

    def _upload(self, bucket: str, name: str, data: bytes, condition: str) -> None:
        url = "{}/upload/storage/v1/b/{}/o?uploadType=media&name={}{}".format(
            self._storage, bucket, urllib.parse.quote(name, safe=""), condition
        )
        headers = {**self._authorization(), "Content-Type": "application/octet-stream"}
        call(_Request("POST", url, data, headers))

    def _object_url(self, bucket: str, name: str, query: str) -> str:
        quoted = urllib.parse.quote(name, safe="")
        return "{}/storage/v1/b/{}/o/{}?{}".format(self._storage, bucket, quoted, query)

    def _authorization(self) -> Dict[str, str]:
        """Return the header of this machine's service account; a token is kept while it lasts."""
        with self._lock:
            if boot_clock() >= self._token_until:
                asked_at = boot_clock()
                answer = self.metadata("instance/service-accounts/default/token")
                fields = Fields.of_json(answer.body, "token")
                self._token = fields.text("access_token")
                self._token_until = asked_at + fields.number("expires_in") - TOKEN_MARGIN_S
            return {"Authorization": "Bearer " + self._token}


def _page(token: str) -> Dict[str, str]:
    return {"pageToken": token} if token else {}


def newest_remote_checkpoint(google: Google, url: str) -> Optional[Checkpoint]:
    """Find the newest step below a ``gs://`` prefix whose ``commit_success.txt`` exists."""
    bucket, _, prefix = url[len("gs://") :].partition("/")
    prefix = prefix.rstrip("/") + "/" if prefix else ""
    names = [name[len(prefix) :].rstrip("/") for name in google.directories(bucket, prefix)]
    for name in sorted((name for name in names if name.isdecimal()), key=int, reverse=True):
        if google.has_object(bucket, "{}{}/commit_success.txt".format(prefix, name)):
            return Checkpoint(int(name), "gs://{}/{}{}".format(bucket, prefix, name))
    return None


def read_machine(google: Google, environ: Mapping[str, str]) -> Machine:
    """Ask the metadata server which host of which node this is."""
    endpoints = google.attribute("worker-network-endpoints", "").split(",")
    first = endpoints[0].split(":")
    return Machine(
        node=_tpu_variable(google.attribute("tpu-env", ""), "NODE_ID"),
        host=int(google.attribute("agent-worker-number", "0")),
        hostname=google.metadata("instance/hostname").body.decode(),
        boot=environ.get("TPUCTL_BOOT_ID") or _kernel_boot_id(),
        coordinator_ip=first[2] if len(first) > 2 and first[2] else "127.0.0.1",  # noqa: PLR2004
    )


def _tpu_variable(text: str, name: str) -> str:
    """Read one line of the attribute ``tpu-env``: ``NAME: 'value'``."""
    found = re.search(r"^{}:\s*'?([^'\n]*)'?\s*$".format(re.escape(name)), text, re.MULTILINE)
    return found.group(1) if found is not None else ""


def _kernel_boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


# === 6 processes ==============================================================================

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

# Runs between fork and the command: asks the kernel to kill the command when its parent dies,
# and makes sure that the parent was not dead before the kernel knew. Constant text; what to run
# comes in its arguments. (preexec_fn would run Python between fork and exec of a threaded process.)
_LAUNCHER = """
import ctypes, os, signal, sys
parent, command = int(sys.argv[1]), sys.argv[2:]
try:
    ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))
except AttributeError:
    pass
if os.getppid() != parent:
    sys.exit("tpuctl: the agent died before the command started")
try:
    os.execvp(command[0], command)
except OSError as error:
    print("tpuctl: cannot run {!r}: {}".format(command[0], error.strerror), flush=True)
    os._exit(126 if isinstance(error, PermissionError) else 127)
"""


def boot_clock() -> float:
    """Return seconds since the machine booted, time spent suspended included."""
    return time.clock_gettime(_CLOCK)


def become_subreaper() -> None:
    """Adopt every orphan below this process, so that none can leave the tree."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except AttributeError:
        log.warning("no prctl here: orphans of the workload are not adopted")


def spawn(
    command: Sequence[str], *, env: Mapping[str, str], cwd: Path, output: Optional[int]
) -> "subprocess.Popen[bytes]":
    """Start a command in a session of its own that dies with the thread that called this."""
    launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()), *command]
    return subprocess.Popen(
        launcher,
        env=dict(env),
        cwd=str(cwd),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT if output is not None else None,
        start_new_session=True,
    )


class _Process(NamedTuple):
    pid: int
    parent: int
    is_zombie: bool


def _processes() -> List[_Process]:
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if not name.isdecimal():
            continue
        try:
            words = (
                Path("/proc", name, "stat").read_text(errors="replace").rpartition(")")[2].split()
            )
        except OSError:
            continue
        found.append(_Process(int(name), int(words[1]), words[0] == "Z"))
    return found


def descendants(root: int) -> List[_Process]:
    """List everything below a process, zombies included."""
    children: Dict[int, List[_Process]] = {}
    for process in _processes():
        children.setdefault(process.parent, []).append(process)
    found: List[_Process] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += [process.pid for process in below]
    return found


def kill_tree(own: FrozenSet[int] = frozenset()) -> bool:
    """Send SIGKILL to everything below this process once; return whether anything lived.

    Orphans that died are reaped here; ``own`` are children whose exit somebody else waits for.
    """
    is_any_alive = False
    for process in descendants(os.getpid()):
        if not process.is_zombie:
            is_any_alive = True
            _send(process.pid, signal.SIGKILL)
        elif process.parent == os.getpid() and process.pid not in own:
            _reap(process.pid)
    return is_any_alive


def clear_tree(own: FrozenSet[int] = frozenset()) -> None:
    """Kill everything below this process, over and over, until nothing is left."""
    while kill_tree(own):
        time.sleep(0.005)


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


class Ending(NamedTuple):
    """How a command ended: by itself or by a signal."""

    exit_code: Optional[int]
    signal: Optional[int]


def ending(returncode: int) -> Ending:
    """Translate what ``Popen.wait`` returns."""
    return Ending(None, -returncode) if returncode < 0 else Ending(returncode, None)


_NO_ENDING = Ending(None, None)


class PreparationFailed(Exception):  # noqa: N818 - reads as a fact
    """A host could not be prepared; carries what the owner of the job has to know."""

    def __init__(self, evidence: str, how: Ending = _NO_ENDING) -> None:
        super().__init__(evidence)
        self.evidence = evidence
        self.how = how


class PreparationStopped(Exception):  # noqa: N818 - reads as a fact
    """A preparation was stopped because nobody wants it any more."""


class Preparation:
    """Brings a spec's code and setup in place, in a thread of its own; can be stopped."""

    def __init__(
        self, google: Google, config: Config, root: Root, environ: Mapping[str, str]
    ) -> None:
        self._google = google
        self._config = config
        self._root = root
        self._environ = environ
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Kill the setup and give up.  Idempotent."""
        self._stopped.set()
        kill_tree()

    def run(self, content: Content) -> Spec:
        """Fetch, unpack, set up; what is in place by content already is not done again."""
        data = self._fetch(content)
        try:
            spec = parse_spec(data)
        except Malformed as error:
            raise PreparationFailed(str(error)) from error
        marker = self._root.source / (_code_name(spec) + "." + _setup_name(spec))
        if not marker.exists():
            self._unpack(spec)
            self._set_up_once(spec)
            write_atomic(marker, b"")
        return spec

    def _fetch(self, content: Content) -> bytes:
        def attempt() -> bytes:
            data = self._google.read_object(self._config.bucket, content.object)
            if hashlib.sha256(data).hexdigest() != content.sha256:
                raise CallFailed(content.object, 0, "its content is not what was promised")
            return data

        return self._persistently(attempt)

    def _fetch_bundle(self, code: Content, path: Path) -> None:
        # The spec names it within its team's folder, whichever that is.
        name = self._config.folder + code.object

        def attempt() -> bytes:
            part = path.with_suffix(".part")
            if self._google.download(self._config.bucket, name, part) != code.sha256:
                raise CallFailed(name, 0, "its content is not what was promised")
            os.replace(str(part), str(path))
            return b""

        self._persistently(attempt)

    def _persistently(self, attempt: Callable[[], bytes]) -> bytes:
        """Try a fetch a few times, with pauses in which it can be stopped."""
        for tries_left in reversed(range(FETCH_TRIES)):
            if self._stopped.is_set():
                raise PreparationStopped
            try:
                return attempt()
            except (CallFailed, OSError) as error:
                log.warning("fetch failed: %s", error)
                if not tries_left:
                    raise PreparationFailed("could not fetch {}".format(error)) from error
            self._stopped.wait(2.0 ** (FETCH_TRIES - tries_left - 1))
        raise AssertionError("the last try returns or raises")

    def _unpack(self, spec: Spec) -> None:
        """Make the code directory anew; a setup that failed may have left anything in it."""
        directory = self._root.source / _code_name(spec)
        shutil.rmtree(str(directory), ignore_errors=True)
        for marker in self._root.source.glob(_code_name(spec) + ".setup-*"):
            marker.unlink()
        if spec.code is None:
            directory.mkdir()
            return
        bundle = self._root.code / (spec.code.sha256 + ".tar.gz")
        if not bundle.exists():
            self._fetch_bundle(spec.code, bundle)
        try:
            unpack(bundle, directory)
        except UnsafeBundle as error:
            raise PreparationFailed(str(error)) from error

    def _set_up_once(self, spec: Spec) -> None:
        """Run the setup unless the last one here was the same and left the code as it was.

        What it installs elsewhere is there for other code as well.
        """
        if not spec.setup:
            return
        directory = self._root.source / _code_name(spec)
        content = setup_content(spec.setup, directory)
        last = self._root.source / "setup.last"
        if content and last.exists() and last.read_text() == content:
            log.info("setup skipped: it is the last one's, and that left the code as it was")
            return
        with contextlib.suppress(FileNotFoundError):
            last.unlink()
        before = file_states(directory)
        self._set_up(spec)
        if file_states(directory) == before:
            write_atomic(last, content.encode())

    def _set_up(self, spec: Spec) -> None:
        self._wait_for_package_locks()
        if self._stopped.is_set():
            raise PreparationStopped
        output = self._root.run / "setup.log"
        with output.open("wb") as file:
            how = self._run_setup(spec, file)
        if self._stopped.is_set():
            raise PreparationStopped
        if how != Ending(0, None):
            raise PreparationFailed(clip(_end_of(output)), how)

    def _run_setup(self, spec: Spec, output: IO[bytes]) -> Ending:
        env = {**machine_environment(self._environ), **spec.env}
        cwd = self._root.source / _code_name(spec)
        process = spawn(spec.setup, env=env, cwd=cwd, output=output.fileno())
        if self._stopped.is_set():  # stopped before there was anything to kill
            kill_tree(frozenset({process.pid}))
        try:
            how = ending(process.wait(spec.setup_timeout_s))
        except subprocess.TimeoutExpired:
            kill_tree(frozenset({process.pid}))
            how = ending(process.wait())
            output.write("tpuctl: the setup took over {} s\n".format(spec.setup_timeout_s).encode())
        clear_tree()
        return how

    def _wait_for_package_locks(self) -> None:
        """Let the machine's own updates finish first; not where there is no such machine."""
        lock = Path("/var/lib/dpkg/lock-frontend")
        if os.geteuid() != 0 or "TPUCTL_ROOT" in self._environ or not lock.exists():
            return
        deadline = boot_clock() + PACKAGE_LOCK_WAIT_S_MAX
        with lock.open("wb") as file:
            while boot_clock() < deadline and not self._stopped.is_set():
                try:
                    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    self._stopped.wait(1.0)
                else:
                    return


def setup_content(setup: Sequence[str], directory: Path) -> str:
    """Name a setup by its words and by the files of the code that they name; "" if nobody can.

    Files that such files name count too. Whoever names a folder may mean anything in it.
    """
    digest = hashlib.sha256(json.dumps(list(setup)).encode())
    waiting = list(setup)
    seen: Set[Path] = set()
    while waiting:
        for word in sorted(set(_SEPARATORS.split(waiting.pop()))):
            path = _inside(directory, word)
            if path is None or path in seen:
                continue
            if path.is_dir() or len(seen) >= SETUP_FILES_MAX:
                return ""
            seen.add(path)
            data = path.read_bytes()
            digest.update(json.dumps([word, hashlib.sha256(data).hexdigest()]).encode())
            waiting.append(data[:LINE_BYTES_MAX].decode("utf-8", "replace"))
    return digest.hexdigest()


def _inside(directory: Path, word: str) -> Optional[Path]:
    """Find what a word names within a folder."""
    if not word or word.startswith("/"):
        return None
    path = Path(os.path.normpath(str(directory / word)))
    is_inside = path == directory or directory in path.parents
    return path if is_inside and path.exists() else None


def file_states(directory: Path) -> Dict[str, Tuple[int, int]]:
    """Say how all files below a folder are, apart from what Python leaves when it runs them."""
    states = {}
    for folder, folders, names in os.walk(str(directory)):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in (*names, *folders):
            status = os.lstat(os.path.join(folder, name))
            is_file = stat.S_ISREG(status.st_mode)
            times = (status.st_size, status.st_mtime_ns) if is_file else (0, 0)
            states[os.path.join(folder, name)] = times
    return states


def _code_name(spec: Spec) -> str:
    return spec.code.sha256 if spec.code is not None else CODE_NONE


def _setup_name(spec: Spec) -> str:
    return "setup-" + hashlib.sha256(json.dumps(spec.setup).encode()).hexdigest()[:16]


def _end_of(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(0, io.SEEK_END)
        file.seek(max(0, file.tell() - EVIDENCE_BYTES_MAX))
        return file.read()


class Workload:
    """The running command of one attempt: its tree, its output, its end."""

    def __init__(
        self, key: Tuple[str, int], spool: Spool, patterns: Sequence[Pattern[str]]
    ) -> None:
        self.key = key
        self.spool = spool
        self._patterns = patterns
        self._tail = Tail()
        self._is_told = False
        self._is_killed = threading.Event()
        self._process: Optional["subprocess.Popen[bytes]"] = None
        self._seen: Optional[Progress] = None
        self._sent_at = 0.0

    def start(self, command: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        """Spawn the command; call it from a thread that lives as long as the agent."""
        self._process = spawn(command, env=env, cwd=cwd, output=subprocess.PIPE)

    def terminate(self) -> None:
        """Send SIGTERM to the process group."""
        self._is_told = True
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL to the whole tree.  Idempotent."""
        self._is_killed.set()
        kill_tree(self._own())

    def watch(self, post: Callable[[Event], None]) -> None:
        """Wait for the end of the command, then for the end of everything it started.

        Leftovers of a command that was told to go keep their grace: a shell dies of SIGTERM at
        once while the program it runs still saves.
        """
        process = self._process
        assert process is not None, "only a started workload is watched"
        reader = threading.Thread(target=self._read, args=(post,), name="output", daemon=True)
        reader.start()
        how = ending(process.wait())
        exited_at, at = boot_clock(), timestamp()
        if not self._is_told:
            clear_tree()
        reader.join(0.5)
        post(
            CommandExited(
                self.key, how.exit_code, how.signal, self._tail.text(), exited_at, at, boot_clock()
            )
        )
        while self._is_told and descendants(os.getpid()) and not self._is_killed.wait(0.02):
            _reap_orphans()
        clear_tree()
        reader.join(5.0)
        self.spool.rotate()
        post(WorkloadGone(self.key, self._tail.text(), boot_clock()))

    def _own(self) -> FrozenSet[int]:
        return frozenset() if self._process is None else frozenset({self._process.pid})

    def _read(self, post: Callable[[Event], None]) -> None:
        """Copy the output to the spool until everybody who could write is gone."""
        assert self._process is not None, "only a started workload is read"
        assert self._process.stdout is not None, "its output is a pipe"
        splitter = LineSplitter()
        stream = self._process.stdout.fileno()
        for data in iter(lambda: os.read(stream, LINE_BYTES_MAX), b""):
            for line in splitter.feed(data):
                self._take(line, post)
        self._take(splitter.rest(), post)
        self._post_progress(post)

    def _take(self, line: bytes, post: Callable[[Event], None]) -> None:
        if not line:
            return
        try:
            self.spool.write(line)
        except OSError as error:  # a full disk may cost output, but never the run
            log.warning("output lost: %s", error)
        self._tail.add(line)
        found = match_progress(line.decode("utf-8", "replace"), self._patterns)
        if found is None:
            return
        self._seen = found
        if boot_clock() - self._sent_at >= PROGRESS_EVERY_S:
            self._post_progress(post)

    def _post_progress(self, post: Callable[[Event], None]) -> None:
        """Hand on the newest progress; what came in between is not worth an event each."""
        if self._seen is None:
            return
        post(ProgressSeen(self.key, self._seen, timestamp(), boot_clock()))
        self._seen, self._sent_at = None, boot_clock()


def _reap_orphans() -> None:
    for process in descendants(os.getpid()):
        if process.is_zombie and process.parent == os.getpid():
            _reap(process.pid)


# === 7 agent ==================================================================================


class Notifier:
    """Speaks the sd_notify protocol to whoever supervises this process."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._address = environ.get("NOTIFY_SOCKET", "")
        if self._address.startswith("@"):
            self._address = "\0" + self._address[1:]
        self._every_s = SUPERVISE_S_DEFAULT / 4
        self._pinged_at = float("-inf")

    def ready(self) -> None:
        """Say that the agent is up."""
        self._send("READY=1")

    def supervise(self, supervise_s: float) -> None:
        """Ask to be killed after a silence of so many seconds."""
        self._every_s = supervise_s / 4
        self._send("WATCHDOG_USEC={}".format(int(supervise_s * 1_000_000)))

    def ping(self, now: float) -> None:
        """Say that all is well, when it is time to say so again."""
        if now - self._pinged_at >= self._every_s:
            self._send("WATCHDOG=1")
            self._pinged_at = now

    def _send(self, text: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
                client.settimeout(1.0)
                client.sendto(text.encode(), self._address)
        except OSError as error:
            log.warning("the supervisor does not listen: %s", error)


class Pace:
    """Says when it is time to do something again."""

    def __init__(self) -> None:
        self._done_at = float("-inf")

    def is_due(self, now: float, every_s: float) -> bool:
        """Tell whether it is time, and take it as done then."""
        if now - self._done_at < every_s:
            return False
        self._done_at = now
        return True


class _Kept:
    """What the keeper remembers of the attempt it follows."""

    def __init__(self) -> None:
        self.ship = Pace()
        self.scan = Pace()
        self.tail = FileTail(Path(os.devnull))
        self.has_just_ended = False
        self._key: Optional[Tuple[str, int]] = None
        self._was_live = False

    def follow(self, attempt: Attempt, root: Root) -> None:
        """Turn to the newest attempt; its beginning and its end are looked at without delay."""
        if attempt.key != self._key:
            self._key, self._was_live = attempt.key, True
            self.tail, self.scan = FileTail(root.progress(attempt.key)), Pace()
        self.has_just_ended = self._was_live and not attempt.is_live
        if self.has_just_ended:
            self.scan, self.ship = Pace(), Pace()
        self._was_live = attempt.is_live


class Agent:
    """Threads bring facts, one loop applies ``step`` and performs what follows."""

    def __init__(
        self, root: Root, config: Config, environ: Mapping[str, str], google: Google
    ) -> None:
        self._root = root
        self._environ = environ
        self._google = google
        self._config = config
        self._notifier = Notifier(environ)
        self._inbox: "queue.SimpleQueue[Event]" = queue.SimpleQueue()
        self._bell = threading.Event()
        self._report_wanted = threading.Event()
        self._reported = threading.Event()
        self._specs: Dict[str, Spec] = {}
        self._preparation: Optional[Preparation] = None
        self._workload: Optional[Workload] = None
        self._snapshot_sequence = 0
        self._is_rebooting = False
        self.state = initial(config, self._recover_record(), boot_clock())

    def run(self) -> None:
        """Serve until told to stop and nothing lives here any more."""
        signal.signal(signal.SIGTERM, lambda *_: self._inbox.put(StopAsked(boot_clock())))
        self._notifier.ready()
        self._notifier.supervise(self._config.supervise_s)
        close_leftovers(self._root.logs)
        for serve in (self._poll_mandates, self._watch_metadata, self._report_forever, self._keep):
            threading.Thread(target=serve, name=serve.__name__, daemon=True).start()
        while not (self.state.is_stopping and self.state.live is None):
            self._apply(self._next_event())
            if may_ping(self.state, boot_clock()):
                self._notifier.ping(boot_clock())
        self._reported.clear()
        self._report_wanted.set()
        self._reported.wait(FINAL_REPORT_S_MAX)

    def _next_event(self) -> Event:
        try:
            return self._inbox.get(timeout=TICK_S)
        except queue.Empty:
            return Tick(boot_clock())

    def _apply(self, event: Event) -> None:
        """The only place that changes the state."""
        before = self.state
        self.state, actions = step(before, event)
        if phase(before) != phase(self.state):
            log.info("phase %s -> %s", phase(before), phase(self.state))
        for action in actions:
            self._perform(action)
        if poll_s(self.state) < poll_s(before):
            self._bell.set()

    def _perform(self, action: Action) -> None:
        if not isinstance(action, Report):
            log.info("action %s", type(action).__name__)
        if isinstance(action, Persist):
            write_atomic(self._root.record(self._config.boot), dump_record(action.record))
        elif isinstance(action, Report):
            self._report_wanted.set()
        elif isinstance(action, Prepare):
            self._prepare(action)
        elif isinstance(action, StopPreparing):
            assert self._preparation is not None, "only a running preparation is stopped"
            self._preparation.stop()
        elif isinstance(action, Spawn):
            self._spawn(action)
        elif isinstance(action, Reboot):
            self._reboot()
        elif self._workload is not None:
            (self._workload.kill if isinstance(action, Kill) else self._workload.terminate)()

    # --- attempts ---

    def _recover_record(self) -> Optional[Record]:
        """Read what this boot has started; an attempt that was cut off left its last words."""
        record = load_record(self._root.record(self._config.boot))
        if record is None or record.attempt is None or record.attempt.evidence:
            return record
        directory = self._spool_directory(record.attempt.key)
        return replace(record, attempt=replace(record.attempt, evidence=spool_evidence(directory)))

    def _spool_directory(self, key: Tuple[str, int]) -> Path:
        return self._root.logs / key[0] / str(key[1]) / str(self._config.host)

    def _spawn(self, action: Spawn) -> None:
        """Run the command, from this thread: the kernel ties the child to the thread's life."""
        attempt, spec = action.attempt, self._specs[action.spec]
        values = workload_values(self._config, attempt, action.run)
        place = Place(str(self._root.progress(attempt.key)), str(self._root.cache))
        env = {
            **machine_environment(self._environ),
            **workload_environment(self._config, action, spec.env, place),
        }
        command = fill_command(spec, values)
        workload = Workload(attempt.key, Spool(self._spool_directory(attempt.key)), spec.progress)
        self._workload = workload
        try:
            workload.start(command, env, self._root.source / _code_name(spec))
        except (OSError, ValueError) as error:
            self._report_unspawned(attempt.key, "tpuctl: cannot run the command: {}".format(error))
            return
        self._inbox.put(WorkloadStarted(attempt.key, timestamp(), boot_clock()))
        watcher = threading.Thread(target=workload.watch, args=(self._inbox.put,), name="workload")
        watcher.daemon = True
        watcher.start()

    def _report_unspawned(self, key: Tuple[str, int], evidence: str) -> None:
        now = boot_clock()
        self._inbox.put(CommandExited(key, 127, None, evidence, now, timestamp(), now))
        self._inbox.put(WorkloadGone(key, evidence, now))

    def _reboot(self) -> None:
        """Restart a real machine, or a simulated one as it says; no other one."""
        command = reboot_command(self._environ)
        if self._is_rebooting or not command:
            return
        self._is_rebooting = True
        log.error("rebooting")
        subprocess.Popen(command)

    # --- preparation ---

    def _prepare(self, action: Prepare) -> None:
        preparation = Preparation(self._google, self._config, self._root, self._environ)
        self._preparation = preparation
        threading.Thread(
            target=self._run_preparation, args=(preparation, action), name="prepare", daemon=True
        ).start()

    def _run_preparation(self, preparation: Preparation, action: Prepare) -> None:
        """Prepare and tell the loop how it went."""
        sha256 = action.spec.sha256
        grace_s, failure = None, None
        try:
            spec = preparation.run(action.spec)
        except PreparationFailed as error:
            failure = SetupFailure(sha256, *error.how, error.evidence, action.tries)
        except PreparationStopped:
            log.info("preparation stopped")
        except OSError as error:
            evidence = "this host could not be prepared: {}".format(error)
            failure = SetupFailure(sha256, None, None, evidence, action.tries)
        else:
            self._specs[sha256] = spec
            grace_s = spec.grace_s
        self._inbox.put(PreparationEnded(sha256, grace_s, failure, boot_clock()))

    # --- reading ---

    def _poll_mandates(self) -> None:
        """Read the mandate now and again, and whenever the bell rings."""
        while True:
            event = self._read_mandate()
            self._inbox.put(event)
            self._bell.wait(
                READ_RETRY_S_MAX if isinstance(event, ReadFailed) else poll_s(self.state)
            )
            self._bell.clear()

    def _read_mandate(self) -> Event:
        sent_at = boot_clock()
        try:
            data = self._google.read_object(self._config.bucket, self._config.mandate)
            return MandateRead(parse_mandate(data), sent_at, boot_clock())
        except CallFailed as error:
            is_missing = error.status == http.client.NOT_FOUND
            reason = "it does not exist" if is_missing else str(error)
            return ReadFailed(reason, is_unusable=is_missing, now=boot_clock())
        except Malformed as error:
            return ReadFailed(str(error), is_unusable=True, now=boot_clock())

    def _watch_metadata(self) -> None:
        """Hang on the metadata server for notices and the bell."""
        etag, bell = "0", ""
        while True:
            query = "?recursive=true&wait_for_change=true&timeout_sec={}&last_etag={}"
            path = "instance/" + query.format(HANGING_GET_S, urllib.parse.quote(etag))
            try:
                answer = self._google.metadata(path, timeout_s=HANGING_GET_S + REQUEST_TIMEOUT_S)
                rung = self._heed(Fields.of_json(answer.body, "instance"))
                self._look_for_maintenance()
            except (CallFailed, Malformed) as error:
                log.warning("metadata: %s", error)
                time.sleep(1.0)
                continue
            etag = answer.etag or "0"
            if rung != bell:
                self._bell.set()
            bell = rung

    def _heed(self, values: Fields) -> str:
        """Pass on a notice, and return how often the bell was rung."""
        if values.text("preempted", "FALSE") == "TRUE":
            self._inbox.put(NoticeSeen("preempted", boot_clock()))
        elif values.text("maintenanceEvent", "NONE").startswith("TERMINATE"):
            self._inbox.put(NoticeSeen("maintenance", boot_clock()))
        return values.fields("attributes").text("tpuctl-bell", "")

    def _look_for_maintenance(self) -> None:
        """Ask for windows that are announced ahead; an error means that there is none."""
        try:
            answer = self._google.metadata("instance/upcoming-maintenance?alt=json&recursive=true")
            start = json.loads(answer.body.decode())["windowStartTime"]
            opens_at = datetime.fromisoformat(_with_offset(start)).timestamp()
        except (CallFailed, ValueError, KeyError, TypeError, AttributeError):
            return
        starts_at = boot_clock() + opens_at - time.time()
        text = "Maintenance of this host is announced for {}.".format(start)
        self._inbox.put(MaintenanceAnnounced(starts_at, text, boot_clock()))

    # --- reporting ---

    def _report_forever(self) -> None:
        """Publish the newest truth whenever it is wanted, until it is published."""
        pause_s = 1.0
        while True:
            self._report_wanted.wait()
            self._report_wanted.clear()
            if self._publish():
                pause_s = 1.0
                self._reported.set()
                continue
            self._report_wanted.wait(pause_s)
            self._report_wanted.set()
            pause_s = min(30.0, pause_s * 2)

    def _publish(self) -> bool:
        """Publish one snapshot; when that fails, leave it beside the mandate."""
        config = self._config
        # Milliseconds of the boot clock grow within a boot, over restarts of the agent too.
        self._snapshot_sequence = max(self._snapshot_sequence + 1, int(boot_clock() * 1000))
        words = snapshot(self.state, sequence=self._snapshot_sequence, at=timestamp())
        data = json.dumps(words).encode()
        attributes = {"kind": "snapshot", "version": str(PROTOCOL_VERSION)}
        try:
            self._google.publish(config.project, config.topic, data, attributes)
        except (CallFailed, Malformed) as error:
            log.warning("snapshot not published: %s", error)
            self._leave_beside_mandate(data)
            return False
        return True

    def _leave_beside_mandate(self, data: bytes) -> None:
        try:
            self._google.replace_object(self._config.bucket, left_report(self._config), data)
        except (CallFailed, Malformed) as error:
            log.warning("snapshot not left beside the mandate: %s", error)

    # --- logs, progress file, checkpoints ---

    def _keep(self) -> None:
        """Look after what is slow: progress files, checkpoints, logs."""
        kept = _Kept()
        while True:
            time.sleep(TICK_S)
            self._keep_once(kept, boot_clock())

    def _keep_once(self, kept: _Kept, now: float) -> None:
        attempt = self.state.attempt
        is_live = attempt is not None and attempt.is_live
        if attempt is not None:
            kept.follow(attempt, self._root)
            self._read_progress(attempt.key, kept.tail)
            is_worth_a_scan = is_live or kept.has_just_ended
            if is_worth_a_scan and kept.scan.is_due(now, self._config.progress_s):
                self._scan_checkpoints(attempt)
        pause_s = self._config.log_s
        if kept.ship.is_due(now, pause_s if is_live else min(pause_s, READ_RETRY_S_MAX)):
            self._ship_logs(attempt)

    def _read_progress(self, key: Tuple[str, int], tail: FileTail) -> None:
        found = [parse_progress_line(line) for line in tail.lines()]
        newest = next((progress for progress in reversed(found) if progress is not None), None)
        if newest is not None:
            self._inbox.put(ProgressSeen(key, newest, timestamp(), boot_clock()))

    def _scan_checkpoints(self, attempt: Attempt) -> None:
        """Find the newest complete checkpoint; one host of the gang is enough for that."""
        directory = attempt.checkpoint_dir
        if self._config.host != 0 or not directory:
            return
        try:
            if directory.startswith("gs://"):
                found = newest_remote_checkpoint(self._google, directory)
            else:
                found = newest_local_checkpoint(Path(directory))
        except (CallFailed, Malformed, ValueError) as error:
            log.warning("checkpoints not listed: %s", error)
            return
        if found is not None and found != self.state.checkpoint:
            self._inbox.put(CheckpointSeen(attempt.key, found, boot_clock()))

    def _ship_logs(self, attempt: Optional[Attempt]) -> None:
        """Bring closed chunks to storage; the newest attempt is told when its last one is there."""
        if self._workload is not None:
            self._workload.spool.rotate()
        for chunk in spooled(self._root.logs):
            below = chunk.relative_to(self._root.logs).as_posix()
            name = "{}logs/{}".format(self._config.folder, below)
            try:
                self._google.create_object(self._config.bucket, name, chunk.read_bytes())
            except (CallFailed, Malformed, OSError) as error:
                log.warning("log not shipped: %s", error)
                bound_spool(self._root.logs)
                return
            set_aside(self._root.logs, chunk)
        if attempt is not None and not attempt.is_live and not attempt.is_flushed:
            self._inbox.put(LogsShipped(attempt.key, boot_clock()))


def _with_offset(text: str) -> str:
    """Write UTC as Python 3.8 reads it."""
    return text[:-1] + "+00:00" if text.endswith("Z") else text


def run_agent(environ: Mapping[str, str]) -> None:
    """Be the agent of this host."""
    root = Root(root_path(environ))
    _log_to(root.path / "agent.log")
    threading.excepthook = _die_of_thread
    become_subreaper()
    google, notifier = Google(environ), Notifier(environ)
    notifier.ready()
    while True:
        notifier.ping(boot_clock())
        try:
            machine = read_machine(google, environ)
            config = parse_config(read_config(google, root), machine)
            break
        except (CallFailed, ValueError) as error:
            log.warning("no config yet: %s", error)
            time.sleep(1.0)
    log.info("agent of %s host %d boot %s", config.slice, config.host, config.boot)
    Agent(root, config, environ, google).run()


def read_config(google: Google, root: Root) -> bytes:
    """Read which slice this host serves: an installer left it here, or whoever made the node did.

    What an installer wrote counts more: a node that is adopted carries none of our metadata.
    """
    installed = root.path / "config.json"
    if installed.exists():
        return installed.read_bytes()
    return google.attribute("tpuctl-config").encode()


def check_rights(environ: Mapping[str, str]) -> str:
    """Say what keeps this host from serving its slice; nothing where all is well."""
    google, root = Google(environ), Root(root_path(environ))
    try:
        config = parse_config(read_config(google, root), read_machine(google, environ))
        google.read_object(config.bucket, config.mandate)
    except (CallFailed, ValueError, OSError) as error:
        return (
            "tpuctl: this VM cannot serve the slice: {}; its service account must read and write"
            " the bucket and publish reports, and the VM needs the scope cloud-platform"
        ).format(error)
    return ""


def reboot_command(environ: Mapping[str, str]) -> List[str]:
    """Say how this host is rebooted; empty where it is none, but somebody's own machine."""
    if "TPUCTL_ROOT" in environ:
        return environ.get("TPUCTL_REBOOT", "").split()
    return ["systemctl", "reboot", "--force"] if os.geteuid() == 0 else []


def root_path(environ: Mapping[str, str]) -> Path:
    """Return the agent's directory."""
    return Path(environ.get("TPUCTL_ROOT", "/opt/tpuctl"))


def _log_to(path: Path) -> None:
    handler = logging.handlers.RotatingFileHandler(str(path), maxBytes=LOG_BYTES_MAX, backupCount=1)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)


def _die_of_thread(args: threading.ExceptHookArgs) -> None:
    """End the process when a thread dies: half an agent is worse than a restarted one."""
    log.critical("thread died", exc_info=args.exc_value)
    os._exit(70)


# === 8 supervisor =============================================================================


class Supervisor:
    """Starts the agent again when it dies or falls silent, after killing all it left behind."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._supervise_s = SUPERVISE_S_DEFAULT
        self._heard_at = 0.0
        self._is_stopped = False
        self._address = "tpuctl-{}-{}".format(os.getpid(), secrets.token_hex(8))
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.bind("\0" + self._address)
        self._wake, wake_in = socket.socketpair()
        wake_in.setblocking(False)  # noqa: FBT003 - the socket's own signature
        self._wake_in = wake_in

    def run(self) -> None:
        """Supervise until SIGTERM; leave nothing behind."""
        become_subreaper()
        signal.set_wakeup_fd(self._wake_in.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._stop())
        while not self._is_stopped:
            self._live_one_life()
            clear_tree()
            if not self._is_stopped:
                select.select([self._wake], [], [], RESTART_S)
                self._drain()

    def _stop(self) -> None:
        self._is_stopped = True

    def _live_one_life(self) -> None:
        """Run the agent once, until it ends, is silent for too long, or we are told to stop."""
        env = {**self._environ, "NOTIFY_SOCKET": "@" + self._address}
        command = [sys.executable, os.path.abspath(__file__), "run"]
        agent = spawn(command, env=env, cwd=root_path(self._environ), output=None)
        self._heard_at, self._supervise_s = boot_clock(), SUPERVISE_S_DEFAULT
        while agent.poll() is None and not self._is_stopped:
            left_s = self._heard_at + self._supervise_s - boot_clock()
            if left_s <= 0:
                break
            ready, _, _ = select.select([self._socket, self._wake], [], [], left_s)
            if self._socket in ready:
                self._hear(agent.pid)
            if self._wake in ready:
                self._drain()
        kill_tree(frozenset({agent.pid}))
        agent.wait()

    def _drain(self) -> None:
        if select.select([self._wake], [], [], 0)[0]:
            self._wake.recv(4096)

    def _hear(self, agent_pid: int) -> None:
        """Take in one message; only the agent itself is listened to."""
        size = struct.calcsize("3i")
        data, control, _, _ = self._socket.recvmsg(4096, socket.CMSG_SPACE(size))
        senders = [
            struct.unpack("3i", content[:size])[0]
            for level, kind, content in control
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS)
        ]
        if senders != [agent_pid]:
            return
        self._heard_at = boot_clock()
        for line in data.decode("utf-8", "replace").splitlines():
            name, _, value = line.partition("=")
            if name == "WATCHDOG_USEC" and value.isdecimal():
                self._supervise_s = int(value) / 1_000_000


def main(arguments: Sequence[str]) -> NoReturn:
    """Run ``agent.py run`` (under systemd) or ``agent.py supervise`` (elsewhere), or ``check``."""
    if list(arguments) == ["run"]:
        run_agent(os.environ)
    elif list(arguments) == ["check"]:
        sys.exit(check_rights(os.environ) or 0)
    elif list(arguments) == ["supervise"]:
        root_path(os.environ).mkdir(parents=True, exist_ok=True)
        Supervisor(os.environ).run()
    else:
        sys.exit("usage: agent.py run | supervise | check")
    sys.exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
