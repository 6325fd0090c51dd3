"""Every method of the Cloud TPU API by its name, callable without any web server.

REST (``api_tpu.py``) and whatever else speaks to the cloud come through ``Service.call``: it
breaks what was ordered to break, and writes every call into the log.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from google.protobuf.duration_pb2 import Duration

from sandbox import methods_operations, schema
from sandbox.asked import Ask
from sandbox.calls import Call
from sandbox.errors import ApiError, bad_field, ordered
from sandbox.methods import METHODS
from sandbox.parameters import check_parameters, selection_of
from sandbox.web import ConnectionDroppedError

if TYPE_CHECKING:
    from sandbox.cloud import Cloud
    from sandbox.errors import JsonObject
    from sandbox.settings import CallFailure
    from sandbox.world import World

_WAIT_S = 10.0
_WAIT_S_MAX = 60.0
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, and how: for the log of calls."""

    name: str = ""
    http_method: str = ""
    path: str = ""


class Service:
    """The API over one world.  Holds nothing itself; safe from several threads."""

    def __init__(self, world: World) -> None:
        self.world = world

    def call(  # noqa: PLR0913 - the whole of a request, and callers of three kinds
        self,
        method: str,
        location: str,
        item: str = "",
        params: Mapping[str, str] | None = None,
        body: object = None,
        version: str = "v2",
        *,
        caller: Caller | None = None,
    ) -> JsonObject:
        """Answer one call, or break it as ordered, and write it into the log.

        ``location`` is ``projects/P/locations/Z`` (``projects/P`` to list locations), ``item``
        the id within the method's collection; ``params`` and ``body`` are as in REST. Raises
        ApiError, or ConnectionDroppedError where the answer is to be lost.
        """
        status = 500
        ask = Ask(method, location, item, params or {}, body, version)
        try:
            answer = self._answered(ask)
            status = 200
        except ApiError as error:
            status = error.http_code
            raise
        finally:
            self._log(ask, caller or Caller(), status)
        return answer

    def _answered(self, ask: Ask) -> JsonObject:
        row = METHODS.get(ask.method)
        if row is None or ask.version not in row.versions:
            raise ApiError(
                "UNIMPLEMENTED",
                f"Method {ask.method} does not exist in version {ask.version} of the API.",
            )
        newest = row.newest if ask.version == "v2alpha1" else ()
        check_parameters(ask.params, (*row.parameters, *newest))
        if row.body == "*":
            ask = replace(ask, body={} if ask.body is None else ask.body)
            schema.check_whole(ask.body, ask.version, ask.method)
        if ask.method == "WaitOperation":
            self._wait(ask)
        only = selection_of(ask.params.get("fields") or ask.params.get("$fields", ""))
        with self.world.engine.cloud() as cloud:
            failure = cloud.take_failure(ask.method)
            answer = row.answer(cloud, ask) if failure is None else _broken(cloud, ask, failure)
        return only(answer)

    def _wait(self, ask: Ask) -> None:
        """Hold the call back until the operation is done or the caller's patience ends."""
        deadline = time.monotonic() + _patience_s(ask)
        while time.monotonic() < deadline:
            with self.world.engine.cloud() as cloud:
                operation = cloud.operation(ask.name("operations"))
            if operation.ended_at is not None:
                return
            time.sleep(_POLL_S)

    def _log(self, ask: Ask, caller: Caller, status: int) -> None:
        self.world.calls.add(
            Call(
                at=self.world.clock(),
                method=ask.method,
                http_method=caller.http_method,
                path=caller.path or "/".join(filter(None, (ask.version, ask.location, ask.item))),
                caller=caller.name,
                status=status,
            )
        )


def _broken(cloud: Cloud, ask: Ask, failure: CallFailure) -> JsonObject:
    """Break a call: before its effect, after it, in its operation, or with its connection."""
    row = METHODS[ask.method]
    error = ordered(failure.code, failure.message)
    if failure.when == "operation" and ask.method == "CreateQueuedResource":
        return row.answer(cloud, replace(ask, failing=error))
    if failure.when == "operation" and row.starts:
        return _failing(cloud, ask, error)
    if failure.when in {"after", "dropped"}:
        row.answer(cloud, ask)
    if failure.when == "dropped":
        raise ConnectionDroppedError
    raise error


def _failing(cloud: Cloud, ask: Ask, error: ApiError) -> JsonObject:
    """Start an operation that will end with an error and have no effect."""
    starts = METHODS[ask.method].starts
    assert starts, "the method starts an operation"
    verb, collection = starts
    key = {"nodes": "nodeId", "queuedResources": "queuedResourceId"}[collection]
    item = ask.item or ask.required(key)
    cloud.check_location(ask.location)
    operation = cloud.start_failing(verb, f"{ask.location}/{collection}/{item}", error)
    return methods_operations.started(cloud, ask, operation)


def _patience_s(ask: Ask) -> float:
    wanted = ask.body.get("timeout") if isinstance(ask.body, dict) else None
    if wanted is None:
        return _WAIT_S
    duration = Duration()
    try:
        duration.FromJsonString(str(wanted))
    except ValueError as error:
        raise bad_field("timeout", f"Invalid value at 'timeout': {error}") from None
    return min(duration.ToTimedelta().total_seconds(), _WAIT_S_MAX)
