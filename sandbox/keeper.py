"""What happens after every change of the cloud: its state is written, its audit log published."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox import addresses, restore
from sandbox.cloud import Cloud
from sandbox.errors import ApiError, SettingsError
from sandbox.keeping import STATE
from sandbox.saved import Saved, StateError
from sandbox.settings import Settings

if TYPE_CHECKING:
    from socket import socket

    from sandbox.pubsub import Publish

_log = logging.getLogger("sandbox")
_AUDIT = "audit"


class Keeper:
    """Keeps the cloud of one home.  Not thread-safe: whoever changes the cloud holds a lock."""

    def __init__(self, home: Path, publish: Publish) -> None:
        self._saved = Saved(home / STATE)
        self._publish = publish
        self.port = 0
        self._network = ""
        self._claim: socket | None = None

    def open(self, settings: Settings | None) -> Cloud:
        """Return the cloud of this home as it was, or a new one.

        Without settings it has those that it had; with others a scenario is over. Raises
        StateError when what was kept cannot be read.
        """
        tables, plain = self._saved.load(restore.KINDS)
        self.port = int(plain.get("port", 0))
        self._network, self._claim = addresses.claim_network(str(plain.get("network", "")))
        cloud = Cloud(settings or Settings(), now=time.time())
        cloud.pool.network = self._network
        try:
            restore.restore(cloud, tables, plain)
        except (KeyError, TypeError, ValueError, SettingsError) as error:
            raise StateError(
                f"what was kept of the sandbox is of another version: {error}; "
                "`tpuctl sandbox forget` throws it away"
            ) from None
        if settings is not None:
            cloud.weather.forget()
            cloud.settings = settings
        return cloud

    def changed(self, cloud: Cloud) -> None:
        """Write what has changed, and hand the audit log's new entries to its sink."""
        for entry in cloud.take_audit_entries():
            self._forward(entry, cloud.settings)
        more = {"port": self.port, "network": self._network}
        self._saved.save(restore.tables_of(cloud), {**restore.plain_of(cloud), **more})

    def close(self) -> None:
        """Let the file and the network go; what was kept stays."""
        self._saved.close()
        if self._claim:
            self._claim.close()

    def _forward(self, entry: str, settings: Settings) -> None:
        """Publish an entry as a sink does: with its own attribute, none of ours."""
        topic = next((each for each in settings.topics if each.endswith(_AUDIT)), _AUDIT)
        at = str(json.loads(entry)["timestamp"])
        try:
            self._publish(topic, entry.encode(), {"logging.googleapis.com/timestamp": at})
        except ApiError as error:
            _log.warning("an entry of the audit log is lost: %s", error)
