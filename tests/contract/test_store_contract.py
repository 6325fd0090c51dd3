"""What every Store promises. A second adapter is one more parameter of the fixture."""

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.adapters import firestore
from shared.adapters.firestore import FirestoreStore
from shared.adapters.sqlite_store import SqliteStore
from shared.adapters.system import SystemClock
from shared.errors import Conflict, InvalidRequest
from shared.ports import (
    COMMIT_WRITES_MAX,
    DOCUMENT_BYTES_MAX,
    Create,
    Delete,
    Document,
    Fields,
    Guard,
    Query,
    Replace,
    Store,
    Value,
    Where,
    Write,
)
from shared.topology import Topic
from tests.emulators import Emulators
from tests.simulation.memory_store import MemoryStore

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "firestore", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Give an empty store of every kind."""
    made: SqliteStore | FirestoreStore | MemoryStore
    if request.param == "memory":
        made = MemoryStore(SystemClock())
    elif request.param == "sqlite":
        made = SqliteStore(tmp_path / "state.db")
    else:
        found: Emulators = request.getfixturevalue("emulators")
        project: str = request.getfixturevalue("cloud_project")
        made = firestore.connect(project, emulator=found.firestore)
    yield made
    made.close()


def put(store: Store, path: str, **fields: Value) -> Document:
    """Create a document and read it back."""
    store.commit([Create(path, fields)])
    return read(store, path)


def read(store: Store, path: str) -> Document:
    """Read a document that must be there."""
    found = store.get(path)
    assert found is not None
    return found


def found_by(store: Store, *where: Where, order_by: str | None = None) -> list[str]:
    """Return the ids of the documents in ``jobs`` that match."""
    found = store.query(Query("jobs", where, order_by))
    return [document.path.removeprefix("jobs/") for document in found]


# --- one document -----------------------------------------------------------------------------


def test_a_document_that_is_not_there_is_none(store: Store) -> None:
    """A missing document is no error."""
    assert store.get("jobs/a") is None


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"a": None, "b": True, "c": 1, "d": 1.5, "e": "x\n\0'\"é😀"}, id="scalars"),
        pytest.param({"a": [1, "x", None], "b": {"c": {"d": []}}}, id="nested"),
        pytest.param({"at": NOON, "ats": [NOON], "in": {"at": NOON}}, id="times"),
        pytest.param({"@time": "2030-01-01T00:00:00.000000Z"}, id="text that looks like a tag"),
        pytest.param({"env": {"@time": "x", "@@time": "y", "@": 1}}, id="keys that look like tags"),
        pytest.param({"env": {"@number": "nan"}}, id="a number that looks like a tag"),
        pytest.param({"topic": Topic.REPORTS}, id="a member of an enumeration"),
        pytest.param({"loss": float("inf"), "low": float("-inf")}, id="numbers without JSON"),
        pytest.param({"n": 2**63 - 1, "m": -(2**63), "x": 0.1 + 0.2}, id="numbers at the limit"),
    ],
)
def test_fields_come_back_as_they_went_in(store: Store, fields: Fields) -> None:
    """Nothing is lost, added or taken for something else."""
    store.commit([Create("jobs/a", fields)])

    assert fields == read(store, "jobs/a").fields


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.datetimes(timezones=st.just(UTC)),
)
keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.sampled_from(
    ["@time", "@@time", "@number", "@", "", "__name__", "@__x__", "____"]
)
values = st.recursive(
    scalars,
    lambda inner: st.dictionaries(keys, inner, max_size=4) | st.lists(scalars, max_size=4),
    max_leaves=12,
)


# Clients that wait for a moment draw from the same source of chance, on threads of their own.
@pytest.mark.filterwarnings("ignore:Do not use the .random. module inside strategies")
@settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
@given(fields=st.dictionaries(keys, values, max_size=5))
def test_any_fields_come_back_as_they_went_in(store: Store, fields: Fields) -> None:
    """The round trip is exact for whatever users write."""
    store.commit([Delete("jobs/a")])
    store.commit([Create("jobs/a", fields)])

    assert fields == read(store, "jobs/a").fields


def test_a_time_of_another_zone_comes_back_as_the_same_moment(store: Store) -> None:
    """Times are moments, kept in UTC."""
    elsewhere = NOON.astimezone(timezone(timedelta(hours=5, minutes=30)))

    found = put(store, "jobs/a", at=elsewhere).fields["at"]

    assert isinstance(found, datetime)
    assert elsewhere == found
    assert timedelta(0) == found.utcoffset()


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b"x", id="bytes"),
        pytest.param({1: "x"}, id="a key that is no text"),
        pytest.param(NOON.replace(tzinfo=None), id="a time without a zone"),
        pytest.param("\ud800", id="half a character"),
        pytest.param([[1]], id="a list in a list"),
        pytest.param(2**63, id="65 bits"),
    ],
)
def test_what_no_store_can_hold_is_refused(store: Store, value: Value) -> None:
    """A value that one of the stores would change or drop is refused by all."""
    with pytest.raises(InvalidRequest):
        store.commit([Create("jobs/a", {"x": value})])

    assert store.get("jobs/a") is None


@pytest.mark.parametrize("path", ["", "jobs", "jobs/", "/a", "jobs/a/hosts", "jobs/..", "a//b/c"])
def test_a_path_that_names_no_document_is_refused(store: Store, path: str) -> None:
    """A path is pairs of collection and id."""
    with pytest.raises(InvalidRequest):
        store.commit([Create(path, {})])


# --- compare and set --------------------------------------------------------------------------


def test_a_second_create_is_a_conflict(store: Store) -> None:
    """Create means that it was not there."""
    before = put(store, "jobs/a", n=1)

    with pytest.raises(Conflict):
        store.commit([Create("jobs/a", {"n": 2})])

    assert before.fields == read(store, "jobs/a").fields


def test_replace_writes_the_whole_document_and_a_new_token(store: Store) -> None:
    """Nothing of the old fields stays, and the old token is used up."""
    before = put(store, "jobs/a", n=1, old=True)

    store.commit([Replace("jobs/a", {"n": 2}, before.token)])

    after = read(store, "jobs/a")
    assert {"n": 2} == after.fields
    assert before.token != after.token


def stale_writes(token: str) -> list[Write]:
    """Return every write that needs a document as it was at a token."""
    return [Replace("jobs/a", {"n": 9}, token), Guard("jobs/a", token), Delete("jobs/a", token)]


@pytest.mark.parametrize("number", range(3), ids=["replace", "guard", "delete"])
def test_a_stale_token_is_a_conflict(store: Store, number: int) -> None:
    """What changed since it was read is not written over."""
    stale = put(store, "jobs/a", n=1)
    store.commit([Replace("jobs/a", {"n": 2}, stale.token)])

    with pytest.raises(Conflict):
        store.commit([stale_writes(stale.token)[number]])

    assert {"n": 2} == read(store, "jobs/a").fields


@pytest.mark.parametrize("number", range(3), ids=["replace", "guard", "delete"])
def test_a_document_that_is_gone_is_a_conflict(store: Store, number: int) -> None:
    """A token needs its document."""
    gone = put(store, "jobs/a", n=1)
    store.commit([Delete("jobs/a")])

    with pytest.raises(Conflict):
        store.commit([stale_writes(gone.token)[number]])

    assert store.get("jobs/a") is None


def test_a_write_of_the_same_fields_changes_the_token(store: Store) -> None:
    """A token counts writes, not differences."""
    before = put(store, "jobs/a", revision=1)

    store.commit([Replace("jobs/a", {"revision": 2}, before.token)])

    assert before.token != read(store, "jobs/a").token


def test_delete_and_remake_never_repeats_a_token(store: Store) -> None:
    """A corpse of the same name cannot be taken for the living."""
    tokens = []
    for _ in range(5):
        tokens.append(put(store, "jobs/a", n=1).token)
        store.commit([Delete("jobs/a")])

    assert len(tokens) == len(set(tokens))


def test_a_guard_that_holds_changes_nothing(store: Store) -> None:
    """A guard reads."""
    before = put(store, "jobs/a", n=1)

    store.commit([Guard("jobs/a", before.token), Create("jobs/b", {})])

    assert before.token == read(store, "jobs/a").token


def test_a_delete_without_a_token_of_nothing_succeeds(store: Store) -> None:
    """Removing what is not there is done already."""
    store.commit([Delete("jobs/a")])

    assert store.get("jobs/a") is None


# --- commits ----------------------------------------------------------------------------------


def test_a_commit_that_fails_at_its_end_leaves_nothing(store: Store) -> None:
    """All writes or none."""
    kept = put(store, "jobs/a", n=1)

    with pytest.raises(Conflict):
        store.commit(
            [
                Replace("jobs/a", {"n": 2}, kept.token),
                Create("outbox/1", {}),
                Guard("jobs/missing", kept.token),
            ]
        )

    assert kept.fields == read(store, "jobs/a").fields
    assert store.get("outbox/1") is None


def test_an_empty_commit_succeeds(store: Store) -> None:
    """Nothing to do is done."""
    store.commit([])


def test_a_commit_over_the_limit_is_refused_whole(store: Store) -> None:
    """The limit itself fits; one more does not."""
    store.commit([Create(f"jobs/{n}", {}) for n in range(COMMIT_WRITES_MAX)])

    with pytest.raises(InvalidRequest):
        store.commit([Create(f"more/{n}", {}) for n in range(COMMIT_WRITES_MAX + 1)])

    assert store.get("more/0") is None


def test_a_document_over_the_limit_is_refused(store: Store) -> None:
    """A large one fits; one over the limit does not, and nothing is cut."""
    store.commit([Create("jobs/large", {"x": "é" * (DOCUMENT_BYTES_MAX // 2 - 100)})])

    with pytest.raises(InvalidRequest):
        store.commit([Create("jobs/huge", {"x": "é" * (DOCUMENT_BYTES_MAX // 2 + 1)})])

    assert store.get("jobs/huge") is None


def test_two_writes_to_one_document_in_a_commit_are_refused(store: Store) -> None:
    """A commit has no order."""
    with pytest.raises(InvalidRequest):
        store.commit([Create("jobs/a", {}), Delete("jobs/a")])


def in_threads(count: int, work: Callable[[], None]) -> None:
    """Run the same work in several threads at once and wait for all."""
    barrier = threading.Barrier(count)

    def started() -> None:
        barrier.wait()
        work()

    threads = [threading.Thread(target=started) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_of_eight_creates_one_succeeds(store: Store) -> None:
    """Exactly one of those who race wins."""
    conflicts = []

    def create() -> None:
        try:
            store.commit([Create("jobs/a", {})])
        except Conflict as error:
            conflicts.append(error)

    in_threads(8, create)

    assert len(conflicts) == 7


def increment(store: Store, path: str) -> None:
    """Add one by compare-and-set, with an outbox document for every success."""
    while True:
        seen = read(store, path)
        count = seen.fields["n"]
        assert isinstance(count, int)
        try:
            store.commit(
                [
                    Replace(path, {"n": count + 1}, seen.token),
                    Create(f"outbox/{count + 1:04}", {}),
                ]
            )
        except Conflict:
            continue
        return


def test_eight_threads_count_exactly(store: Store) -> None:
    """No increment is lost and none is done twice."""
    put(store, "jobs/a", n=0)

    def work() -> None:
        for _ in range(5):
            increment(store, "jobs/a")

    in_threads(8, work)

    assert {"n": 40} == read(store, "jobs/a").fields
    assert len(store.query(Query("outbox"))) == 40


# --- queries ----------------------------------------------------------------------------------


def test_a_query_sees_its_own_collection_only(store: Store) -> None:
    """Neither a collection below nor one with a similar name."""
    for path in ("jobs/a", "jobs/a/timeline/1", "jobs2/a", "job/a"):
        put(store, path)

    assert ["jobs/a"] == [document.path for document in store.query(Query("jobs"))]
    assert ["jobs/a/timeline/1"] == [
        document.path for document in store.query(Query("jobs/a/timeline"))
    ]


def test_the_order_without_a_field_is_by_path(store: Store) -> None:
    """Bytes of the id decide."""
    for name in ("b", "a", "B", "a2", "é"):
        put(store, f"jobs/{name}")

    assert ["B", "a", "a2", "b", "é"] == found_by(store)


@pytest.mark.parametrize(
    "low,middle,high",
    [
        pytest.param(-1, 2, 2.5, id="numbers"),
        pytest.param("A", "a", "é", id="texts"),
        pytest.param(NOON - timedelta(days=400), NOON, NOON + timedelta.resolution, id="times"),
        pytest.param(False, True, None, id="truths"),
    ],
)
def test_comparisons_hold_within_a_type(
    store: Store, low: Value, middle: Value, high: Value
) -> None:
    """Documents of other types, with null or without the field, never match."""
    for name, value in (("low", low), ("middle", middle), ("high", high)):
        put(store, f"jobs/{name}", due_at=value)
    for number, other in enumerate([1.25, "m", NOON.replace(hour=13), None, {"a": 1}, [1]]):
        if type(other) not in {type(low), type(middle), type(high)}:
            put(store, f"jobs/other{number}", due_at=other)
    put(store, "jobs/without", n=1)

    highs = [] if high is None else ["high"]
    assert ["middle"] == found_by(store, Where("due_at", "==", middle))
    assert ["low"] == found_by(store, Where("due_at", "<", middle))
    assert ["low", "middle"] == found_by(store, Where("due_at", "<=", middle))
    assert highs == found_by(store, Where("due_at", ">", middle))
    assert [*highs, "middle"] == found_by(store, Where("due_at", ">=", middle))


def test_a_truth_is_no_number(store: Store) -> None:
    """True is not 1, although Python thinks so."""
    put(store, "jobs/truth", live=True)
    put(store, "jobs/number", live=1)

    assert ["truth"] == found_by(store, Where("live", "==", True))
    assert ["number"] == found_by(store, Where("live", "==", 1))


def test_null_equals_null_and_meets_no_range(store: Store) -> None:
    """A missing field is not null."""
    put(store, "jobs/null", due_at=None)
    put(store, "jobs/without")

    assert ["null"] == found_by(store, Where("due_at", "==", None))
    assert [] == found_by(store, Where("due_at", "<=", None))
    assert [] == found_by(store, Where("due_at", "<=", NOON))


def test_users_data_that_looks_like_a_time_is_no_time(store: Store) -> None:
    """A map with a familiar key does not meet a range of times."""
    put(store, "jobs/map", due_at={"@time": "2030-01-01T00:00:00.000000Z"})
    put(store, "jobs/text", due_at='{"@time":"2030-01-01T00:00:00.000000Z"}')

    assert [] == found_by(store, Where("due_at", "<=", NOON))
    assert [] == found_by(store, Where("due_at", ">=", NOON - timedelta(days=1)))


def test_conditions_are_joined(store: Store) -> None:
    """All of them must hold, also two of one field."""
    for number in range(6):
        put(store, f"jobs/{number}", number=number, owner="ab"[number % 2])

    found = found_by(
        store,
        Where("number", ">", 1),
        Where("number", "<=", 4),
        Where("owner", "==", "a"),
        order_by="-number",
    )

    assert ["4", "2"] == found


def test_order_by_a_field_leaves_out_what_lacks_it(store: Store) -> None:
    """Upwards and downwards, ties by path in the same direction."""
    for name, number in (("c", 1), ("a", 2), ("b", 2)):
        put(store, f"jobs/{name}", number=number)
    put(store, "jobs/without")

    assert ["c", "a", "b"] == found_by(store, order_by="number")
    assert ["b", "a", "c"] == found_by(store, order_by="-number")


def test_a_limit_takes_the_first_in_order(store: Store) -> None:
    """The limit applies after the order."""
    for number in range(5):
        put(store, f"jobs/{number}", number=-number)

    found = store.query(Query("jobs", order_by="number", limit=2))

    assert ["jobs/4", "jobs/3"] == [document.path for document in found]


def test_a_query_returns_what_get_returns(store: Store) -> None:
    """The same fields and the same token."""
    one = put(store, "jobs/a", n=1, at=NOON)

    [found] = store.query(Query("jobs"))

    assert (one.path, one.fields, one.token) == (found.path, found.fields, found.token)


# --- time -------------------------------------------------------------------------------------


def test_the_age_of_a_document_is_never_negative(store: Store) -> None:
    """Both times are the store's own."""
    found = put(store, "jobs/a")

    assert found.updated_at <= found.read_at
    assert found.read_at - found.updated_at < timedelta(minutes=1)


def test_a_guard_does_not_touch_the_update_time(store: Store) -> None:
    """Reading is no update."""
    before = put(store, "jobs/a")

    store.commit([Guard("jobs/a", before.token)])

    assert before.updated_at == read(store, "jobs/a").updated_at
