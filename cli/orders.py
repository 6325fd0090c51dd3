"""Give an order: publish it under an id of our own, and wait until its outcome is written.

The same id is the same order, so a user who got no answer may ask again. What an order makes (a
job, a slice) gets ids that follow from the order's, so that asking again makes nothing twice.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, Final

from cli.errors import FAILED, INTERRUPTED, CliError
from cli.installation import Installation
from shared.core.identity import TOKEN_REFUSED
from shared.core.orders import I_PAY, Command, OrderKind, Verdict
from shared.errors import InvalidRequest
from shared.ports import Message
from shared.topology import Topic

ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz0123456789"
LETTERS: Final = 26
COMMAND_CHARS: Final = 16
JOB_CHARS: Final = 12
SLICE_CHARS: Final = 8
ANSWER_S: Final = 30.0
_LOOK_AGAIN_S: Final = 0.02
_ABOUT_SLICES: Final = frozenset(
    {
        OrderKind.RELEASE,
        OrderKind.SLICE_CREATE,
        OrderKind.SLICE_RECREATE,
        OrderKind.SLICE_RESTART,
        OrderKind.SLICE_ADOPT,
    }
)
# Where to look when such an order was refused.
_STEPS: Final[Mapping[OrderKind, str]] = {
    OrderKind.PAUSE: "tpuctl ps",
    OrderKind.UNPAUSE: "tpuctl ps",
    OrderKind.SWEEP: "tpuctl sweep --dry-run",
    OrderKind.PARKED_RETRY: "tpuctl parked ls",
}


# Before the field that a refusal names, and the flag that gave it where their names differ.
_ARGS: Final = ".args."
_ANOTHER: Final = "give another value; the command's --help says what it takes"
_FLAGS: Final[Mapping[str, str]] = {
    "accelerator_type": "--type",
    "job": "JOB",
    "key": "KEY",
    "node": "NODE",
    "runtime_version": "--runtime",
    "slice": "SLICE",
    "zones": "--zone",
}


@dataclass(frozen=True, slots=True)
class Order:
    """One order under one id."""

    id: str
    kind: OrderKind

    @property
    def job_id(self) -> str:
        """The id of the job that this order makes."""
        return derived_id(self.id, "job", JOB_CHARS)

    @property
    def slice_uid(self) -> str:
        """The id of the slice that this order makes."""
        return derived_id(self.id, "slice", SLICE_CHARS)


@dataclass(frozen=True, slots=True)
class Accepted:
    """What an accepted order came to."""

    job: str
    number: int


def new_order(kind: OrderKind, command_id: str | None = None) -> Order:
    """Make an order; with the id of an earlier one it is that order once more."""
    if command_id is None:
        return Order(derived_id(secrets.token_hex(16), "command", COMMAND_CHARS), kind)
    if not (command_id.isascii() and command_id.isalnum()):
        raise CliError(
            f"--command-id: {command_id!r} is no id of a command",
            next_step="use the id that the command without an answer printed",
        )
    return Order(command_id, kind)


def derived_id(seed: str, purpose: str, length: int) -> str:
    """Make an id of small letters and digits that follows from a seed; a letter comes first."""
    number = int.from_bytes(sha256(f"{purpose} {seed}".encode()).digest())
    number, first = divmod(number, LETTERS)
    characters = [ALPHABET[first]]
    for _ in range(length - 1):
        number, index = divmod(number, len(ALPHABET))
        characters.append(ALPHABET[index])
    return "".join(characters)


def give(installation: Installation, order: Order, args: Mapping[str, object]) -> Accepted:
    """Publish an order and return what it came to.  Raises CliError when it was refused."""
    fields = _outcome(installation, order)
    if fields is None:
        command = Command(
            id=order.id,
            kind=order.kind,
            owner=installation.owner,
            args=args,
            id_token=installation.id_token(),
        )
        message = _message(command)
        _check(message)
        installation.bus.publish(Topic.COMMANDS, [message])
        fields = _wait_for_outcome(installation, order)
    if fields["outcome"] != Verdict.ACCEPTED:
        reason, step = str(fields["reason"]), _step_after(order, fields)
        name, _, words = reason.partition(": ")
        if order.kind is OrderKind.SLICE_CREATE and name in _FLAGS:
            reason, step = f"{_FLAGS[name]}: {words}", _ANOTHER
        raise CliError(f"refused: {reason}", next_step=step)
    return Accepted(job=str(fields["job"]), number=int(fields["number"] or 0))


def _message(command: Command) -> Message:
    """Write a command for the bus; where nobody asks who gives it, it says nothing of that."""
    fields = asdict(command)
    if not command.id_token:
        del fields["id_token"]
    return Message(data=json.dumps(fields).encode(), attributes={"kind": "command"})


def _check(message: Message) -> None:
    """Refuse what the control plane could never read: it would be put aside, and never answered.

    Raises CliError.
    """
    from shared.app.order_args import parse_order

    try:
        parse_order(message.data)
    except InvalidRequest as error:
        place, _, words = str(error).rpartition(_ARGS)[2].partition(": ")
        name = place.partition(".")[0]
        flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
        raise CliError(
            f"{flag}: {words[:1].lower()}{words[1:]}",
            next_step=_ANOTHER,
        ) from None


def _wait_for_outcome(installation: Installation, order: Order) -> Mapping[str, Any]:
    deadline = time.monotonic() + ANSWER_S
    try:
        while (fields := _outcome(installation, order)) is None:
            if time.monotonic() > deadline:
                raise _unanswered(order, f"no answer within {ANSWER_S:.0f} s", FAILED)
            time.sleep(installation.pause_s(_LOOK_AGAIN_S))
    except KeyboardInterrupt:
        raise _unanswered(order, "interrupted before the answer came", INTERRUPTED) from None
    return fields


def _unanswered(order: Order, what: str, code: int) -> CliError:
    return CliError(
        f"{what}; the order may still be carried out",
        next_step=f"the same command with --command-id {order.id} asks for its outcome",
        code=code,
    )


def _outcome(installation: Installation, order: Order) -> Mapping[str, Any] | None:
    document = installation.store.get(f"commands/{order.id}")
    return document.fields if document else None


def _step_after(order: Order, fields: Mapping[str, Any]) -> str:
    """Say where to look after a refusal."""
    if order.kind in _ABOUT_SLICES:
        return "tpuctl slice ls --all" if order.kind is OrderKind.SLICE_ADOPT else "tpuctl slice ls"
    if order.kind in {OrderKind.GRANT_ADD, OrderKind.GRANT_REMOVE}:
        return "tpuctl grant ls"
    if str(fields["reason"]).startswith(TOKEN_REFUSED):
        return "gcloud auth application-default login"
    if order.kind in _STEPS:
        return _STEPS[order.kind]
    if str(fields["reason"]).endswith(I_PAY):
        return "tpuctl grant ls shows what is free"
    if order.kind is OrderKind.SUBMIT:
        return "tpuctl slice ls and tpuctl ps show what there is"
    return f"tpuctl show {fields['number']}" if fields.get("number") else "tpuctl ps"
