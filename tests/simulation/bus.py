"""Messages on their way: late, twice, out of order, again after a failure, or never."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from shared.app.push import Answer
from shared.errors import Unavailable
from shared.ports import Delivery, Message
from shared.topology import (
    DEAD_LETTER_ATTEMPTS,
    DEAD_LETTER_SUBSCRIPTION,
    SUBSCRIPTIONS,
    Subscription,
    Topic,
)
from tests.simulation.chance import Chance, Fault
from tests.simulation.engine import Death, Engine

LIMIT_S = 300.0
USUAL_DELAY_S = 0.2
Handle = Callable[[Delivery], Answer]


class Network:
    """Pub/Sub: every subscription of a topic gets each message at least once, at last."""

    def __init__(self, engine: Engine, chance: Chance) -> None:
        self.engine, self.chance = engine, chance
        self.is_down = False
        self.are_functions_down = False
        self.in_flight = 0
        self.published: Callable[[str, Message], None] = lambda *_: None
        self.handle: Handle = lambda _: Answer()
        self._subscriptions: dict[str, list[Subscription]] = defaultdict(list)
        for subscription in SUBSCRIPTIONS:
            self._subscriptions[subscription.topic].append(subscription)
        self._count = 0

    def publish(self, topic: str, messages: Sequence[Message]) -> None:
        """Hand over messages.  Raises Unavailable."""
        if self.is_down:
            raise Unavailable("messages are not taken")
        for message in messages:
            self.published(topic, message)
            for subscription in self._subscriptions[topic]:
                self._send(subscription, message)

    def _send(self, subscription: Subscription, message: Message) -> None:
        self._count += 1
        delivery = Delivery(
            f"m{self._count}",
            subscription.name,
            subscription.topic,
            message,
            self.engine.time,
            1,
        )
        if self.chance.hits(Fault.LOSS, 0.05):
            return
        copies = 1
        if self.chance.hits(Fault.DUPLICATES, 0.1):
            copies = self.chance.of("copies").choice([2, 3, 5])
        for _ in range(copies):
            self._deliver_after(self._delay(), delivery, subscription)

    def _delay(self) -> float:
        if self.chance.hits(Fault.LATE_MESSAGES, 0.01):
            return self.chance.of("delays").uniform(600.0, 3900.0)
        if self.chance.hits(Fault.REORDERING, 0.3):
            return self.chance.of("delays").uniform(0.0, 120.0)
        return USUAL_DELAY_S

    def _deliver_after(self, delay_s: float, delivery: Delivery, to: Subscription) -> None:
        self.in_flight += 1
        self.engine.after(delay_s, lambda: self._deliver(delivery, to))

    def _deliver(self, delivery: Delivery, to: Subscription) -> None:
        self.in_flight -= 1
        if self.is_down:
            self._deliver_after(60.0, delivery, to)
        elif self.are_functions_down:
            self._again(delivery, to, None)
        else:
            _Invocation(self, delivery, to).begin()

    def _again(self, delivery: Delivery, to: Subscription, after_s: float | None) -> None:
        """Push backs off; what used up its attempts goes to the dead letters."""
        if to.dead_letter_topic and delivery.attempt >= to.attempts_max:
            self._bury(delivery)
            return
        backoff_s = min(to.backoff_min_s * 2 ** min(delivery.attempt - 1, 10), to.backoff_max_s)
        wait_s = max(backoff_s, after_s or 0.0)
        self._deliver_after(wait_s, replace(delivery, attempt=delivery.attempt + 1), to)

    def _bury(self, delivery: Delivery) -> None:
        attributes = {
            **delivery.message.attributes,
            DEAD_LETTER_SUBSCRIPTION: delivery.subscription,
            DEAD_LETTER_ATTEMPTS: str(delivery.attempt),
        }
        dead = Message(delivery.message.data, attributes)
        for subscription in self._subscriptions[Topic.DEAD_LETTERS]:
            self._send(subscription, dead)


class _Invocation:
    """One call of a function: it ends, it dies, or it is given up while it goes on."""

    def __init__(self, network: Network, delivery: Delivery, to: Subscription) -> None:
        self._network, self._delivery, self._to = network, delivery, to
        self._is_over = False

    def begin(self) -> None:
        """Run it; what it does after it was given up is a zombie's."""
        engine = self._network.engine
        self._network.in_flight += 1
        engine.begin(self._run)
        if not self._is_over:
            engine.after(LIMIT_S, self._give_up)

    def _run(self) -> None:
        try:
            answer = self._network.handle(self._delivery)
        except Death:
            answer = Answer(retry=True)
        self._end(again=answer.retry, after_s=answer.retry_after_s)

    def _give_up(self) -> None:
        self._end(again=True, after_s=None)

    def _end(self, *, again: bool, after_s: float | None) -> None:
        if self._is_over:
            return
        self._is_over = True
        self._network.in_flight -= 1
        if again:
            self._network._again(self._delivery, self._to, after_s)
