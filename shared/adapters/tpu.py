"""Cloud TPU through Google's own client library, or anything that speaks its REST API v2.

The library has no default timeout and no default retry: every call here states both. A call
that is repeated has the effect of one, by name and by request id. Importing this module loads
Google's libraries: let only the wiring do it, and late.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

from google.api_core import exceptions as api
from google.auth.credentials import AnonymousCredentials
from google.cloud import tpu_v2
from google.cloud.tpu_v2.services.tpu.transports.rest import TpuRestTransport

from shared.adapters.google_errors import failure_of
from shared.adapters.tpu_calls import CALL, translated
from shared.adapters.tpu_errors import describe
from shared.adapters.tpu_others import OtherNodes, others_among
from shared.adapters.tpu_shapes import last_of, node_names, part_of, request_of
from shared.errors import ControlPlaneError, InvalidRequest
from shared.ports import BidRequest, CloudRequest, Listing

BELL_KEY: Final = "tpuctl-bell"
ZONES_AT_ONCE: Final = 16
# What a VM may do is said by its account's roles; scopes would only cut that down once more.
WORKER_SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"

_TIERS: Final[dict[str, dict[str, Any]]] = {
    "spot": {"spot": tpu_v2.QueuedResource.Spot()},
    "reserved": {"guaranteed": tpu_v2.QueuedResource.Guaranteed()},
    "on-demand": {},
}

_State = tpu_v2.QueuedResourceState.State
_WITHOUT_NODES: Final = frozenset({_State.CREATING, _State.ACCEPTED, _State.WAITING_FOR_RESOURCES})


@dataclass(frozen=True, slots=True)
class NodeDefaults:
    """What every node gets beside what its bid asks for."""

    external_ips: bool = True
    network: str = ""
    subnetwork: str = ""


@dataclass(frozen=True, slots=True)
class _Zone:
    """What a listing shows of one zone."""

    requests: Sequence[CloudRequest]
    others: Sequence[CloudRequest]


def connect(
    project: str, *, endpoint: str | None = None, defaults: NodeDefaults | None = None
) -> GoogleSliceApi:
    """Open Cloud TPU at Google, or without credentials at an endpoint (``http://host:port``)."""
    if endpoint is None:
        return GoogleSliceApi(tpu_v2.TpuClient(transport="rest"), project, defaults)
    url = urlsplit(endpoint)
    transport = TpuRestTransport(
        host=url.netloc,
        url_scheme=url.scheme,
        credentials=AnonymousCredentials(),
    )
    return GoogleSliceApi(tpu_v2.TpuClient(transport=transport), project, defaults)


class GoogleSliceApi:
    """Queued resources and nodes of one project.

    Raises what ``tpu_errors.classify`` makes of Google's answers.
    """

    def __init__(
        self, client: tpu_v2.TpuClient, project: str, defaults: NodeDefaults | None = None
    ) -> None:
        self._client = client
        self._project = project
        self._defaults = defaults or NodeDefaults()
        self._others = OtherNodes(client, project)

    def create(self, request: BidRequest) -> str:
        """Ask for a queued resource.  Idempotent: by name and request id."""
        with translated(request.zone):
            try:
                made = self._client.create_queued_resource(
                    tpu_v2.CreateQueuedResourceRequest(
                        parent=self._location(request.zone),
                        queued_resource_id=request.name,
                        queued_resource=self._body(request),
                        request_id=request.request_id,
                    ),
                    **CALL,
                )
            except api.Conflict:
                self._check_owner(request)
                return ""
        return str(made.operation.name)

    def operation_error(self, operation: str) -> str | None:
        """Say what an operation failed with: status and text, one line."""
        with translated(part_of(operation, "locations")):
            try:
                found = self._client.get_operation({"name": operation}, **CALL)
            except api.NotFound:
                return None
        return describe(found.error.code, found.error.message) if found.HasField("error") else ""

    def get(self, zone: str, name: str) -> CloudRequest | None:
        """Read one queued resource and its nodes."""
        with translated(zone):
            found = self._queued(zone, name)
            if found is None:
                return None
            names = () if found.state.state in _WITHOUT_NODES else node_names(found)
            nodes = [self._node(zone, node) for node in names]
        return request_of(found, [node for node in nodes if node is not None])

    def list(self, zones: Sequence[str]) -> Listing:
        """List several zones at once.

        Of a zone that was not listed whole nothing is returned: a request without its nodes
        would look like one that lost them.
        """
        if not zones:
            return Listing((), frozenset(), ())
        with ThreadPoolExecutor(min(ZONES_AT_ONCE, len(zones))) as pool:
            listed = dict(zip(zones, pool.map(self._list_zone, zones), strict=True))
        whole = {zone: found for zone, found in listed.items() if not isinstance(found, str)}
        return Listing(
            requests=tuple(request for found in whole.values() for request in found.requests),
            complete=frozenset(whole),
            problems=tuple(
                f"{zone}: {problem}" for zone, problem in listed.items() if isinstance(problem, str)
            ),
            others=tuple(other for found in whole.values() for other in found.others),
        )

    def delete(self, zone: str, name: str) -> None:
        """Delete a queued resource with its nodes.  Idempotent: by name.

        Every call is a new order: a delete that got stuck has to be given again, and a repeated
        request id would only return the stuck one.
        """
        with translated(zone):
            try:
                self._client.delete_queued_resource(
                    tpu_v2.DeleteQueuedResourceRequest(
                        name=self._queued_name(zone, name), request_id=str(uuid4()), force=True
                    ),
                    **CALL,
                )
            except api.NotFound:
                return
            except api.BadRequest as error:
                if not self._is_being_deleted(error, zone, name):
                    raise

    def find(self, zone: str, node: str) -> CloudRequest | None:
        """Read a node that others made."""
        return self._others.find(zone, node)

    def remove(self, zone: str, node: str, uid: str) -> None:
        """Delete a node that others made, unless it is another one by now."""
        self._others.remove(zone, node, uid)

    def ring(self, zone: str, node: str, value: str) -> None:
        """Set the bell of a node that is READY; any other hears nothing.

        The whole map is written back, because a patch replaces it. Not waited for.
        """
        with translated(zone):
            found = self._node(zone, node)
            if found is None or found.state != tpu_v2.Node.State.READY:
                return
            rung = tpu_v2.Node(name=found.name, metadata={**found.metadata, BELL_KEY: value})
            request = tpu_v2.UpdateNodeRequest(node=rung, update_mask={"paths": ["metadata"]})
            try:
                self._client.update_node(request, **CALL)
            except (api.BadRequest, api.NotFound) as error:
                if failure_of(error).status not in {"FAILED_PRECONDITION", "NOT_FOUND"}:
                    raise

    def _location(self, zone: str) -> str:
        return f"projects/{self._project}/locations/{zone}"

    def _queued_name(self, zone: str, name: str) -> str:
        return f"{self._location(zone)}/queuedResources/{name}"

    def _body(self, request: BidRequest) -> tpu_v2.QueuedResource:
        """Describe what is wanted; a node in a request must have no schedulingConfig."""
        if request.tier not in _TIERS:
            raise InvalidRequest(f"no tier {request.tier!r}: {', '.join(_TIERS)}")
        node = tpu_v2.Node(
            accelerator_type=request.accelerator_type,
            runtime_version=request.runtime_version,
            labels=dict(request.labels),
            metadata=dict(request.metadata),
            network_config=self._network(request.zone),
        )
        if request.service_account:
            node.service_account = tpu_v2.ServiceAccount(
                email=request.service_account, scope=[WORKER_SCOPE]
            )
        spec = tpu_v2.QueuedResource.Tpu.NodeSpec(
            parent=self._location(request.zone), node_id=request.name, node=node
        )
        tpu = tpu_v2.QueuedResource.Tpu(node_spec=[spec])
        return tpu_v2.QueuedResource(tpu=tpu, **_TIERS[request.tier])

    def _network(self, zone: str) -> dict[str, Any]:
        """Name the network, and in it the part that serves the zone's region."""
        config: dict[str, Any] = {"enable_external_ips": self._defaults.external_ips}
        if self._defaults.network:
            config["network"] = self._defaults.network
        if self._defaults.subnetwork:
            region = zone.rpartition("-")[0]
            place = f"projects/{self._project}/regions/{region}/subnetworks"
            config["subnetwork"] = f"{place}/{self._defaults.subnetwork}"
        return config

    def _check_owner(self, request: BidRequest) -> None:
        """Look at what has our name: ours is done, another one's is a mistake.

        Not there yet: its create operation is still running, and only we use this name.
        """
        found = self._queued(request.zone, request.name)
        for spec in found.tpu.node_spec if found else ():
            labels = dict(spec.node.labels)
            if not labels.items() >= dict(request.labels).items():
                raise InvalidRequest(f"{request.name} belongs to somebody else: labels {labels}")

    def _is_being_deleted(self, error: api.BadRequest, zone: str, name: str) -> bool:
        if failure_of(error).status != "FAILED_PRECONDITION":
            return False
        found = self._queued(zone, name)
        return found is None or found.state.state == _State.DELETING

    def _queued(self, zone: str, name: str) -> tpu_v2.QueuedResource | None:
        try:
            return self._client.get_queued_resource(name=self._queued_name(zone, name), **CALL)
        except api.NotFound:
            return None

    def _node(self, zone: str, name: str) -> tpu_v2.Node | None:
        try:
            return self._client.get_node(name=f"{self._location(zone)}/nodes/{name}", **CALL)
        except api.NotFound:
            return None

    def _list_zone(self, zone: str) -> _Zone | str:
        """List a zone to the last page, or say why that did not succeed."""
        try:
            with translated(zone):
                queued_pages = list(
                    self._client.list_queued_resources(parent=self._location(zone), **CALL).pages
                )
                node_pages = list(
                    self._client.list_nodes(parent=self._location(zone), **CALL).pages
                )
        except ControlPlaneError as error:
            return str(error)
        pages: list[Any] = [*queued_pages, *node_pages]  # their stubs lack `unreachable`
        unreachable = [name for page in pages for name in page.unreachable]
        if unreachable:
            return f"unreachable: {', '.join(unreachable)}"
        nodes = {last_of(node.name): node for page in node_pages for node in page.nodes}
        queued = {
            last_of(each.name): each for page in queued_pages for each in page.queued_resources
        }
        return _Zone(
            [
                request_of(each, [nodes[name] for name in node_names(each) if name in nodes])
                for each in queued.values()
            ],
            others_among(nodes.values(), queued),
        )
