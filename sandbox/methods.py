"""The methods of the Cloud TPU API, as a table: names, places in REST, and who answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox import methods_catalog, methods_nodes, methods_operations, methods_queued

if TYPE_CHECKING:
    from sandbox.asked import Ask
    from sandbox.cloud import Cloud
    from sandbox.errors import JsonObject

_NEW = frozenset({"v2", "v2alpha1"})
_ALPHA = frozenset({"v2alpha1"})
_OLD = frozenset({"v1"})
_ALL = _NEW | _OLD
_PAGE = ("pageSize", "pageToken")


@dataclass(frozen=True, slots=True)
class Method:
    """One method: what answers it, where REST has it, what its query may say.

    ``body`` names the field of the request message that is the body: "*" is all of it, "" none.
    ``newest`` is what only version 2alpha1's query may say besides. ``starts`` is verb and
    collection of the operation that it starts.
    """

    answer: Callable[[Cloud, Ask], JsonObject]
    http: str
    path: str
    parameters: tuple[str, ...] = ()
    body: str = ""
    versions: frozenset[str] = _NEW
    starts: tuple[str, str] | None = None
    newest: tuple[str, ...] = ()


_queued, _nodes = methods_queued, methods_nodes
_operations, _catalog = methods_operations, methods_catalog
_Q, _N, _O = "/queuedResources", "/nodes", "/operations"
_QI, _NI, _OI = f"{_Q}/<item>", f"{_N}/<item>", f"{_O}/<item>"
_T, _R, _F = "/acceleratorTypes", "/runtimeVersions", "/tensorflowVersions"

METHODS: Mapping[str, Method] = {
    "CreateQueuedResource": Method(
        _queued.create,
        "POST",
        _Q,
        ("queuedResourceId", "requestId"),
        body="queued_resource",
        starts=("create", "queuedResources"),
    ),
    "ListQueuedResources": Method(_queued.list_all, "GET", _Q, _PAGE),
    "GetQueuedResource": Method(_queued.read, "GET", _QI),
    "DeleteQueuedResource": Method(
        _queued.delete,
        "DELETE",
        _QI,
        ("force", "requestId"),
        starts=("delete", "queuedResources"),
    ),
    "ResetQueuedResource": Method(
        _queued.reset, "POST", f"{_QI}:reset", body="*", starts=("reset", "queuedResources")
    ),
    "PerformMaintenanceQueuedResource": Method(
        _queued.perform_maintenance,
        "POST",
        f"{_QI}:performMaintenanceQueuedResource",
        body="*",
        versions=_ALPHA,
        starts=("performMaintenance", "queuedResources"),
    ),
    "CreateNode": Method(
        _nodes.create,
        "POST",
        _N,
        ("nodeId",),
        body="node",
        starts=("create", "nodes"),
        newest=("requestId",),
    ),
    "ListNodes": Method(_nodes.list_all, "GET", _N, _PAGE, versions=_ALL),
    "GetNode": Method(_nodes.read, "GET", _NI, versions=_ALL),
    "UpdateNode": Method(
        _nodes.update, "PATCH", _NI, ("updateMask",), body="node", starts=("update", "nodes")
    ),
    "DeleteNode": Method(
        _nodes.delete, "DELETE", _NI, starts=("delete", "nodes"), newest=("requestId",)
    ),
    "StartNode": Method(_nodes.start, "POST", f"{_NI}:start", body="*", starts=("start", "nodes")),
    "StopNode": Method(_nodes.stop, "POST", f"{_NI}:stop", body="*", starts=("stop", "nodes")),
    "GetGuestAttributes": Method(
        _nodes.get_guest_attributes, "POST", f"{_NI}:getGuestAttributes", body="*"
    ),
    "SimulateMaintenanceEvent": Method(
        _nodes.simulate_maintenance,
        "POST",
        f"{_NI}:simulateMaintenanceEvent",
        body="*",
        versions=_ALPHA,
        starts=("simulateMaintenanceEvent", "nodes"),
    ),
    "PerformMaintenance": Method(
        _nodes.perform_maintenance,
        "POST",
        f"{_NI}:performMaintenance",
        body="*",
        versions=_ALPHA,
        starts=("performMaintenance", "nodes"),
    ),
    "ListOperations": Method(_operations.list_all, "GET", _O, ("filter", *_PAGE), versions=_ALL),
    "GetOperation": Method(_operations.read, "GET", _OI, versions=_ALL),
    "CancelOperation": Method(_operations.cancel, "POST", f"{_OI}:cancel", body="*", versions=_ALL),
    "DeleteOperation": Method(_operations.delete, "DELETE", _OI, versions=_ALL),
    "WaitOperation": Method(_operations.read, "POST", f"{_OI}:wait", body="*", versions=_ALL),
    "ListLocations": Method(
        _catalog.list_locations,
        "GET",
        "",
        ("filter", "extraLocationTypes", *_PAGE),
        versions=_ALL,
    ),
    "GetLocation": Method(_catalog.read_location, "GET", "", versions=_ALL),
    "ListAcceleratorTypes": Method(
        _catalog.list_types, "GET", _T, ("filter", "orderBy", *_PAGE), versions=_ALL
    ),
    "GetAcceleratorType": Method(_catalog.read_type, "GET", f"{_T}/<item>", versions=_ALL),
    "ListRuntimeVersions": Method(_catalog.list_runtimes, "GET", _R, ("filter", "orderBy", *_PAGE)),
    "GetRuntimeVersion": Method(_catalog.read_runtime, "GET", f"{_R}/<item>"),
    "ListTensorFlowVersions": Method(
        _catalog.list_tensorflow, "GET", _F, ("filter", "orderBy", *_PAGE), versions=_OLD
    ),
    "GetTensorFlowVersion": Method(_catalog.read_tensorflow, "GET", f"{_F}/<item>", versions=_OLD),
    "ListReservations": Method(
        _catalog.list_reservations, "GET", "/reservations", _PAGE, versions=_ALPHA
    ),
    "GenerateServiceIdentity": Method(
        _catalog.make_identity, "POST", ":generateServiceIdentity", body="*"
    ),
}
