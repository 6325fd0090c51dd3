"""One tick at a time: no poke is lost, none makes two ticks, and a stop ends every pause."""

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest
from pytest_mock import MockerFixture

from functions.ticks import POKE, Ticks

LONG_S = 3600.0
PATIENCE_S = 60.0


@pytest.fixture
def stop() -> threading.Event:
    """Give what ends a process."""
    return threading.Event()


@pytest.fixture
def ticks(stop: threading.Event) -> Ticks:
    """Give pauses that nobody has poked."""
    return Ticks(stop)


@pytest.fixture
def handlers() -> Iterator[None]:
    """Give the signal back to whoever had it."""
    before = signal.getsignal(POKE)
    yield
    signal.signal(POKE, before)


def is_paused(ticks: Ticks) -> bool:
    """Tell whether a pause lasts; one that nobody ends is ended again."""
    ended = threading.Event()

    def pause() -> None:
        ticks.pause(LONG_S)
        ended.set()

    thread = threading.Thread(target=pause)
    thread.start()
    lasts = not ended.wait(0.5)
    if lasts:
        ticks.poke()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    return lasts


def test_poke_ends_a_pause_that_is_under_way(ticks: Ticks) -> None:
    """Long before its period is over."""
    timer = threading.Timer(0.05, ticks.poke)
    timer.start()

    begun_s = time.monotonic()
    ticks.pause(LONG_S)

    assert time.monotonic() - begun_s < PATIENCE_S


def test_poke_during_a_tick_is_kept(ticks: Ticks) -> None:
    """What that tick looked at before may have changed since."""
    ticks.begin()
    ticks.poke()

    assert not is_paused(ticks)


def test_pokes_during_one_tick_make_one_more(ticks: Ticks) -> None:
    """They all ask for the same."""
    ticks.begin()
    for _ in range(5):
        ticks.poke()
    ticks.pause(LONG_S)

    ticks.begin()

    assert is_paused(ticks)


def test_tick_answers_the_pokes_before_it(ticks: Ticks) -> None:
    """Also those that came while it was on its way."""
    ticks.poke()
    ticks.begin()

    assert is_paused(ticks)


def test_period_counts_from_the_beginning_of_the_tick(mocker: MockerFixture) -> None:
    """A tick that took longer than that is followed by the next one at once."""
    clock = mocker.patch("functions.ticks.time").monotonic
    clock.return_value = 0.0
    ticks = Ticks(threading.Event())
    clock.return_value = 100.0
    ticks.begin()

    clock.return_value = LONG_S
    assert is_paused(ticks)
    clock.return_value = 100.0 + LONG_S
    assert not is_paused(ticks)


def test_stop_ends_every_pause_even_if_its_poke_was_answered(
    ticks: Ticks, stop: threading.Event
) -> None:
    """It may come between two ticks."""
    stop.set()
    ticks.poke()
    ticks.begin()

    assert not is_paused(ticks)


@pytest.mark.usefixtures("handlers")
def test_signals_that_come_all_at_once_are_heard(ticks: Ticks) -> None:
    """In the thread that waits, however they interrupt one another."""
    ticks.listen()
    ended = threading.Event()

    def send() -> None:
        while not ended.is_set():
            os.kill(os.getpid(), POKE)

    sender = threading.Thread(target=send)
    sender.start()
    begun_s = time.monotonic()
    try:
        for _ in range(200):
            ticks.begin()
            ticks.pause(PATIENCE_S)
    finally:
        ended.set()
        sender.join(PATIENCE_S)

    assert time.monotonic() - begun_s < PATIENCE_S
