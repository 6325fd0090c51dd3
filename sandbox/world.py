"""What all APIs of one sandbox share: the engine, the hosts' identities, stores and logs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sandbox.access import Access
from sandbox.calls import CallLog
from sandbox.web import ConnectionDroppedError

if TYPE_CHECKING:
    from werkzeug.wrappers import Request

    from sandbox.engine import Engine
    from sandbox.identity import Identity
    from sandbox.objects import ObjectStore
    from sandbox.pubsub import Publish
    from sandbox.settings import Settings


@dataclass(frozen=True, slots=True)
class World:
    """One running sandbox, as its APIs see it."""

    engine: Engine
    identity: Identity
    objects: ObjectStore
    publish: Publish
    clock: Callable[[], float]
    calls: CallLog = field(default_factory=CallLog)
    access: Access = field(default_factory=Access)

    def settings(self) -> Settings:
        """Return the settings in force."""
        with self.engine.cloud() as cloud:
            return cloud.settings

    def caller(self, request: Request) -> str:
        """Say who calls: a host by its token, else what the client calls itself."""
        host = self.identity.host_of(request.headers.get("Authorization"))
        return host or request.headers.get("User-Agent", "")

    def require_service(self, request: Request, service: str) -> None:
        """Break the connection to a host that is cut off from a service."""
        host = self.identity.host_of(request.headers.get("Authorization"))
        if host is None:
            return
        with self.engine.cloud() as cloud:
            known = cloud.hosts.get(host)
        if known is not None and service in known.cut:
            raise ConnectionDroppedError
