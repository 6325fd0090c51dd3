"""The one request that a self test makes: asked for, watched, and in the end always deleted.

It has a name of ours, so that nobody takes it for another's. Its label of a slice is none: the
checks of a control plane that is up leave it alone.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any, Final, TypeVar
from uuid import uuid4

from cli.selftest.host import BELL, NAMESPACE
from cli.selftest.model import NotTriedError, seconds_text
from cli.selftest.rest import Answer, TpuRest
from shared.core.names import LABEL_SLICE, cloud_name, labels
from shared.errors import ControlPlaneError, Retryable, Unavailable
from shared.ports import BidRequest, CloudRequest, SliceApi

MARK: Final = "selftest"
_UID_CHARS: Final = "abcdefghijklmnopqrstuvwxyz0123456789"
_UID_LENGTH: Final = 8
# A delete that got stuck has to be ordered again.
ORDER_AGAIN_S: Final = 60.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pace:
    """How patient a test is, in seconds: ``total_s`` is from the request to the delete."""

    total_s: float = 2700.0
    step_s: float = 300.0
    gone_s: float = 900.0
    look_s: float = 2.0
    looks_apart_s: float = 30.0


# A simulated cloud does everything sooner, and counts no calls against a quota.
QUICK: Final = Pace(look_s=0.1, looks_apart_s=1.0)


@dataclass
class Rig:
    """The request, what was seen of it, and the hands to try things on it.

    ``seen`` says when a state was seen first, in seconds since the request: those of the request
    by their names, those of its node after ``node ``.
    """

    slices: SliceApi
    rest: TpuRest
    request: BidRequest
    hosts: int
    pace: Pace = field(default_factory=Pace)
    clock: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep
    operation: str = ""
    create_seconds: float = 0.0
    asked_at: float | None = None
    billed_from: float | None = None
    billed_s: float = 0.0
    may_exist: bool = False
    clear_until: float | None = None
    is_unsure: bool = False
    delete_orders: int = 0
    gone_after_s: float = 0.0
    event_at: float | None = None
    heard_at: float | None = None
    heard: tuple[str, ...] = ()
    is_taken: bool = False
    seen: dict[str, float] = field(default_factory=dict)

    # --- Where it is -------------------------------------------------------------------------

    @property
    def zone_path(self) -> str:
        """The zone, as the API names it."""
        return self.rest.location(self.request.zone)

    @property
    def path(self) -> str:
        """The request, as the API names it."""
        return f"{self.zone_path}/queuedResources/{self.request.name}"

    @property
    def node_path(self) -> str:
        """The node, as the API names it."""
        return f"{self.zone_path}/nodes/{self.request.name}"

    @property
    def since_s(self) -> float:
        """Seconds since the request."""
        return 0.0 if self.asked_at is None else self.clock() - self.asked_at

    @property
    def paid_s(self) -> float:
        """For how long there was a node so far."""
        running = 0.0 if self.billed_from is None else self.clock() - self.billed_from
        return self.billed_s + running

    # --- Its life ----------------------------------------------------------------------------

    def ask(self) -> None:
        """Ask for it; without an operation it was there at once.  Raises what is said against it.

        Without an answer it may be there all the same.
        """
        self.may_exist = self.is_unsure = True
        self.operation, began = "", self.clock()
        self.asked_at = began if self.asked_at is None else self.asked_at
        try:
            self.operation = self.slices.create(self.request)
        except Unavailable:
            raise
        except ControlPlaneError:
            self.may_exist = self.is_unsure = False
            raise
        self.is_unsure = False
        self.create_seconds = self.clock() - began

    def look(self) -> CloudRequest | None:
        """Read it, and remember what was seen for the first time."""
        found = self.slices.get(self.request.zone, self.request.name)
        states = [found.state, *(f"node {node.state}" for node in found.nodes)] if found else []
        for state in states:
            self.seen.setdefault(state, self.since_s)
        self._count(is_billed=found is not None and bool(found.nodes))
        return found

    def wait_ready(self) -> None:
        """Wait until the node is READY.  Raises NotTriedError when it does not become so."""

        def arrived() -> CloudRequest | None:
            found = self.look()
            if found is not None and found.state in {"FAILED", "SUSPENDING", "SUSPENDED"}:
                raise NotTriedError(f"the request is {found.state}: {found.reason or 'taken'}")
            return found if found and any(each.state == "READY" for each in found.nodes) else None

        self.until(arrived, float("inf"))

    def clear(self) -> None:
        """Delete it, again and again, until it is gone.  Raises Retryable when it stays."""
        began, ordered = self.clock(), float("-inf")
        self.delete_orders = 0
        # Whoever tries again has what is left of the time.
        self.clear_until = self.clear_until or began + self.pace.gone_s

        def gone() -> bool:
            nonlocal ordered
            found = self._quietly(self.look)
            if found is None and self._is_settled():
                return True
            # While it is taken away, a delete by force is what we must not order.
            is_taken = isinstance(found, CloudRequest) and found.state == "SUSPENDING"
            if found and not is_taken and self.clock() - ordered >= ORDER_AGAIN_S:
                ordered = self.clock()
                self.delete_orders += 1
                self._quietly(lambda: self.slices.delete(self.request.zone, self.request.name))
            return False

        if not self._wait(gone, self.clear_until):
            text = f"{self.request.name} is not gone after {seconds_text(self.pace.gone_s)}"
            raise Retryable(text)
        self.gone_after_s = self.clock() - began
        self.may_exist, self.clear_until = False, None
        self._count(is_billed=False)

    # --- Hands of the probes -----------------------------------------------------------------

    def until(self, probe: Callable[[], T | None], limit_s: float) -> T | None:
        """Return the first thing that a probe finds, or None when it took too long.

        Raises NotTriedError when the time of the whole test is up.
        """
        left_s = self.pace.total_s - self.since_s
        found = self._wait(probe, self.clock() + min(left_s, limit_s))
        if not found:
            self.require_time()
        return found

    def require_time(self) -> None:
        """Raise NotTriedError when the time of the whole test is up."""
        if self.since_s >= self.pace.total_s:
            state = next(reversed(self.seen), "not there")
            text = f"the time is up ({seconds_text(self.pace.total_s)}); last seen: {state}"
            raise NotTriedError(text)

    def told(self, key: str) -> str:
        """Return what the host told under a key; "" for nothing yet, or no longer."""
        answer = self.rest.post(
            f"{self.node_path}:getGuestAttributes",
            {"queryPath": f"{NAMESPACE}/", "workerIds": ["0"]},
        )
        for each in answer.body.get("guestAttributes", ()):
            for item in each.get("queryValue", {}).get("items", ()):
                if item.get("key") == key:
                    return str(item.get("value", ""))
        return ""

    def facts(self) -> Mapping[str, Any]:
        """Return what the host saw at its boot.  Raises NotTriedError when it is silent."""
        text = self.until(lambda: self.told("facts"), self.pace.step_s)
        if text is None:
            raise NotTriedError(f"the host told nothing in {seconds_text(self.pace.step_s)}")
        found: Mapping[str, Any] = json.loads(text)
        return found

    def finished(self, operation: str, limit_s: float) -> Answer | None:
        """Wait for an operation; None when it is not done in time."""

        def done() -> Answer | None:
            answer = self.rest.get(operation)
            return answer if not answer.is_ok or answer.body.get("done") else None

        return self.until(done, limit_s)

    def again(self) -> BidRequest:
        """Return the same request as a new order."""
        return replace(self.request, request_id=str(uuid4()))

    def _wait(self, probe: Callable[[], T | None], deadline: float) -> T | None:
        while not (found := probe()):
            if self.clock() >= deadline:
                return None
            self.pause(self.pace.look_s)
        return found

    def _is_settled(self) -> bool:
        """Tell whether nothing can come any more of the create that was ordered.

        Where it got no answer it is repeated: by its request id that is the same order.
        """
        if self.is_unsure and isinstance(self._quietly(self.ask), ControlPlaneError):
            return not self.may_exist
        if not self.operation:
            return True
        answer = self._quietly(lambda: self.rest.get(self.operation))
        if isinstance(answer, ControlPlaneError):
            return False
        return not answer.is_ok or bool(answer.body.get("done"))

    def _quietly(self, call: Callable[[], T]) -> T | ControlPlaneError:
        try:
            return call()
        except ControlPlaneError as error:
            return error

    def _count(self, *, is_billed: bool) -> None:
        """Count the time for which there is a node: nothing else is paid for."""
        if is_billed and self.billed_from is None:
            self.billed_from = self.clock()
        if not is_billed and self.billed_from is not None:
            self.billed_s += self.clock() - self.billed_from
            self.billed_from = None


def new_request(installation: str, zone: str, accelerator_type: str, runtime: str) -> BidRequest:
    """Make up the request of one self test."""
    uid = "".join(secrets.choice(_UID_CHARS) for _ in range(_UID_LENGTH))
    return BidRequest(
        name=cloud_name(installation, uid, 1, "0"),
        zone=zone,
        accelerator_type=accelerator_type,
        runtime_version=runtime,
        tier="spot",
        labels={**labels(installation, uid, 1, "0"), LABEL_SLICE: MARK},
        metadata={"startup-script": startup_script(), "enable-guest-attributes": "TRUE", BELL: "0"},
        request_id=str(uuid4()),
    )


def startup_script() -> str:
    """Return what the host runs; nothing that a user wrote is part of it."""
    return files("cli.selftest").joinpath("host.py").read_text(encoding="utf-8")
