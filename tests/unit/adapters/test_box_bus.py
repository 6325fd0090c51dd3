"""The Bus of a box: reports through the cloud, everything else on the machine."""

from collections.abc import Sequence

import pytest

from shared.adapters.box_bus import BoxBus
from shared.ports import Message
from shared.topology import Topic

MESSAGE = Message(b"x")


class Recorded:
    """A bus that remembers."""

    def __init__(self) -> None:
        self.topics: list[str] = []

    def publish(self, topic: str, messages: Sequence[Message]) -> None:
        """Remember."""
        assert [MESSAGE] == messages
        self.topics.append(topic)


@pytest.mark.parametrize("topic", list(Topic))
def test_only_reports_leave_the_machine(topic: Topic) -> None:
    """The canary shall prove that what agents say comes through."""
    local, cloud = Recorded(), Recorded()

    BoxBus(local, lambda: cloud).publish(topic, [MESSAGE])

    there, elsewhere = (cloud, local) if topic is Topic.REPORTS else (local, cloud)
    assert ([topic], []) == (there.topics, elsewhere.topics)


def test_cloud_is_opened_once_and_only_when_it_is_needed() -> None:
    """Google's libraries are slow to load: a command that gives an order needs none."""
    cloud, opened = Recorded(), list[int]()

    def open_cloud() -> Recorded:
        opened.append(1)
        return cloud

    bus = BoxBus(Recorded(), open_cloud)
    bus.publish(Topic.COMMANDS, [MESSAGE])
    before = len(opened)
    bus.publish(Topic.REPORTS, [MESSAGE])
    bus.publish(Topic.REPORTS, [MESSAGE])

    assert (0, 1, 2) == (before, len(opened), len(cloud.topics))
