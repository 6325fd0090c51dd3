"""What is counted is what Google bills: rounding up, minimums, and whose kind a call is."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.operation_counts import (
    COLD_S,
    COMMIT_S,
    OWN_S,
    PUBLISH_S,
    READ_S,
    WARM_S,
    CountingBlobs,
    CountingBus,
    CountingSlices,
    CountingStore,
    Counts,
    Meter,
)
from bench.operation_prices import PRICES, Price, bill
from shared.adapters.sqlite_bus import SqliteBus
from shared.adapters.sqlite_store import SqliteStore
from shared.ports import Create, Delete, Guard, Message, Query
from shared.topology import EMBEDDED_SUBSCRIPTIONS, Topic
from tests.fakes import FakeBlobs, FakeClock, FakeSliceApi

ZONES = ("us-central2-b", "europe-west4-b")


@pytest.fixture(name="clock")
def _clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(name="meter")
def _meter(clock: FakeClock) -> Meter:
    return Meter(clock)


@pytest.fixture(name="store")
def _store(tmp_path: Path, clock: FakeClock, meter: Meter) -> CountingStore:
    store = SqliteStore(tmp_path / "state.db", clock)
    store.commit([Create("jobs/a", {"at": 1}), Create("jobs/b", {"at": 1})])
    return CountingStore(store, meter)


def test_a_document_is_a_read_whether_it_is_there_or_not(
    store: CountingStore, meter: Meter
) -> None:
    """Both are billed."""
    store.get("jobs/a")
    store.get("jobs/none")

    assert Counts(reads=2) == meter.counts


def test_a_query_is_a_read_a_document_and_one_at_least(store: CountingStore, meter: Meter) -> None:
    """Two jobs, no slice."""
    store.query(Query("jobs"))
    store.query(Query("slices"))

    assert Counts(reads=3) == meter.counts


def test_guards_are_writes_and_deletes_are_their_own(store: CountingStore, meter: Meter) -> None:
    """A write that changes nothing is billed as one."""
    document = store.store.get("jobs/a")
    assert document is not None, "the fixture wrote it"

    store.commit([Guard("jobs/a", document.token), Create("jobs/c", {}), Delete("jobs/b")])

    assert Counts(writes=2, deletes=1) == meter.counts


@pytest.mark.parametrize(
    "sizes, billed",
    [
        pytest.param((1,), 1000, id="a small one"),
        pytest.param((100, 100), 1000, id="small ones in one request"),
        pytest.param((5000,), 5000 + 37, id="a large one with its time and id"),
    ],
)
def test_a_request_to_publish_has_a_least_size(
    tmp_path: Path, clock: FakeClock, meter: Meter, sizes: tuple[int, ...], billed: int
) -> None:
    """However many messages are in it."""
    bus = SqliteBus(tmp_path / "state.db", EMBEDDED_SUBSCRIPTIONS, clock)

    CountingBus(bus, meter).publish(Topic.REPORTS, [Message(b"x" * size) for size in sizes])

    assert Counts(messages=len(sizes), pubsub_bytes=billed) == meter.counts


def test_objects_are_of_two_classes(meter: Meter) -> None:
    """Writes and listings are the dear one."""
    blobs = CountingBlobs(FakeBlobs(), meter)

    blobs.put("a", b"")
    blobs.list("")
    blobs.get("a")

    assert Counts(class_a=2, class_b=1) == meter.counts


def test_a_listing_is_two_requests_a_zone(meter: Meter) -> None:
    """Queued resources, and nodes."""
    CountingSlices(FakeSliceApi(), meter, lambda *_: None).list(ZONES)

    assert Counts(tpu_requests=4) == meter.counts


def test_a_call_is_billed_in_whole_tenths_and_when_cold_for_the_start(
    clock: FakeClock, meter: Meter
) -> None:
    """Cold the first time, warm soon after, cold again much later."""
    for after_s in (0.0, WARM_S, WARM_S + 1):
        clock.advance(after_s)
        with meter.invocation("report"):
            meter.add(READ_S + COMMIT_S + PUBLISH_S)

    assert OWN_S + READ_S + COMMIT_S + PUBLISH_S == pytest.approx(0.09)
    assert COLD_S == pytest.approx(1.5)
    assert 3 == meter.counts.invocations
    assert 1.6 + 0.1 + 1.6 == pytest.approx(meter.counts.billed_s)


@pytest.mark.parametrize("price", PRICES, ids=lambda price: f"{price.service} {price.counted}")
def test_what_is_free_costs_nothing_and_only_what_is_above_is_paid(price: Price) -> None:
    """By each price."""
    counts = Counts(**{price.counted: price.free + price.per})

    assert price.usd == pytest.approx(price.cost(counts, is_free_tier=True))
    assert 0.0 == price.cost(Counts(**{price.counted: price.free}), is_free_tier=True)


def test_a_bill_is_the_sum_of_its_services() -> None:
    """Every price is in one of them."""
    counts = Counts(**{price.counted: price.per for price in PRICES})
    each = sum(price.cost(counts, is_free_tier=False) for price in PRICES)

    assert each + bill(Counts()).total_usd == pytest.approx(bill(counts).total_usd)
