"""The Bus of a box: everything stays on the machine, but what agents are meant to be heard with.

A canary proves that reports come through, so it has to travel the way that reports do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from shared.ports import Bus, Message
from shared.topology import Topic

_OVER_THE_CLOUD = frozenset({Topic.REPORTS})


class BoxBus:
    """Publish on this machine, and on the topic of reports in the cloud.

    ``open_cloud`` is called when it is first needed: Google's libraries take their time.
    Raises what the two raise.
    """

    def __init__(self, local: Bus, open_cloud: Callable[[], Bus]) -> None:
        self._local = local
        self._open_cloud = open_cloud
        self._cloud: Bus | None = None
        self._lock = threading.Lock()

    def publish(self, topic: str, messages: Sequence[Message]) -> None:
        """Hand over all messages."""
        bus = self._reports() if topic in _OVER_THE_CLOUD else self._local
        bus.publish(topic, messages)

    def _reports(self) -> Bus:
        with self._lock:
            if self._cloud is None:
                self._cloud = self._open_cloud()
            return self._cloud
