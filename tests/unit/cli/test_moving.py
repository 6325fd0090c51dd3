"""`tpuctl box export` and `tpuctl import`: nothing is lost, and nothing acts at both ends."""

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from cli import box_checks, box_unit, moving, moving_file
from cli.box_checks import Finding
from cli.box_unit import Systemd
from cli.errors import CliError
from functions import runner
from functions.ticks import Ticks
from shared import settings as home_settings
from shared import wiring
from shared.adapters.sqlite_store import SqliteStore
from shared.app import health_check
from shared.app.seal import Seal, SealedError, find_seal, put_seal
from shared.core.stages import Stage
from shared.errors import Unavailable
from shared.ports import Create, Document, Message, Write
from shared.settings import Settings
from shared.topology import SUBSCRIPTIONS, Topic
from tests.unit.app.records import JOB
from tests.unit.app.world import World
from tests.unit.cli.stage import Tpuctl, write

CLOUD = """
[cloud]
project = "lab-project"
bucket = "lab-bucket"
"""
SEALED_AT = datetime(2030, 1, 2, tzinfo=UTC)


@pytest.fixture
def world(home: Path, mocker: MockerFixture) -> Iterator[World]:
    """Have a box over a cloud of fakes."""
    write(home / "settings.toml", f'wiring = "box"{CLOUD}')
    write(home / "installation", "abc123")
    write(home / "secret", "0123abcd")
    made = World(home)
    mocker.patch.object(wiring, "open_app", side_effect=lambda *_: made.app)
    mocker.patch.object(box_unit, "manager", return_value=Systemd(is_system=False))
    mocker.patch.object(box_checks, "findings", side_effect=lambda _: iter([Finding("good")]))
    yield made
    made.close()


@pytest.fixture
def target(tmp_path: Path, world: World, mocker: MockerFixture) -> Iterator[SqliteStore]:
    """Have documents of an installation of functions, none yet."""
    store = SqliteStore(tmp_path / "target.db", world.clock)
    mocker.patch.object(wiring, "open_store", return_value=store)
    yield store
    store.close()


@pytest.fixture
def google(tmp_path: Path) -> Path:
    """Have another home, of functions."""
    path = tmp_path / "google"
    write(path / "settings.toml", f'wiring = "google"\ninstallation = "abc123"{CLOUD}')
    return path


def seal(store: SqliteStore) -> None:
    """Seal by hand."""
    put_seal(store, Seal(SEALED_AT, "ada", "its jobs move"))


def order(world: World, kind: str, **args: object) -> None:
    """Give an order that nobody carries out yet."""
    fields = {"version": 1, "id": "late", "kind": kind, "owner": "ada", "args": args}
    world.bus.publish(Topic.COMMANDS, [Message(json.dumps(fields).encode(), {"kind": "command"})])


def exported(tpuctl: Tpuctl, tmp_path: Path) -> Path:
    """Export the box."""
    file = tmp_path / "box.jsonl"
    result = tpuctl("box", "export", str(file))
    assert 0 == result.code, result.err
    return file


# --- Export --------------------------------------------------------------------------------------


def test_export_writes_every_document_but_those_about_the_machine(
    tpuctl: Tpuctl, world: World, tmp_path: Path
) -> None:
    """Readable by its owner alone."""
    world.run_job()

    file = exported(tpuctl, tmp_path)

    moved = moving_file.read(file)
    stored = {each.path: each.fields for each in world.store.dump()}
    assert 0o600 == file.stat().st_mode & 0o777
    left = set(stored) - set(moved.documents)
    assert {"control/canary", "control/tick", "control/troubles", "control/sealed"} == left
    assert all(stored[path] == fields for path, fields in moved.documents.items())
    assert ("abc123", "lab-project", "tpuctl", "lab-bucket", "0123abcd") == (
        moved.header.installation,
        moved.header.project,
        moved.header.prefix,
        moved.header.bucket,
        moved.header.secret,
    )


def test_export_carries_out_the_orders_that_were_given(
    tpuctl: Tpuctl, world: World, tmp_path: Path
) -> None:
    """A user was told that the order went out; its outcome moves along."""
    world.run_job()
    order(world, "stop", job=JOB, kill=False)

    file = exported(tpuctl, tmp_path)

    assert "accepted" == moving_file.read(file).documents["commands/late"]["outcome"]
    assert 0 == world.bus.backlog()["launch-commands"]


def test_export_tells_how_to_go_on(tpuctl: Tpuctl, world: World, tmp_path: Path) -> None:
    """In the names of infra/."""
    world.run_job()

    told = tpuctl("box", "export", str(tmp_path / "f")).out

    assert "1 jobs" in told
    assert "  echo 'installation = \"abc123\"' >> terraform.tfvars\n" in told
    assert (
        "  terraform import 'google_pubsub_topic.this[\"reports\"]'"
        " projects/lab-project/topics/tpuctl-reports\n" in told
    )
    assert "  terraform import google_storage_bucket.data lab-bucket\n" in told


def test_export_over_a_file_is_refused_before_anything_stops(
    tpuctl: Tpuctl, world: World, tmp_path: Path
) -> None:
    """It may be an export."""
    file = write(tmp_path / "box.jsonl", "mine")

    result = tpuctl("box", "export", str(file))

    assert (1, f"{file} is there already", "mine") == (
        result.code,
        result.error,
        file.read_text("utf-8"),
    )
    assert find_seal(world.store) is None


def test_export_without_an_account_is_refused_before_anything_stops(
    tpuctl: Tpuctl, world: World, tmp_path: Path, mocker: MockerFixture
) -> None:
    """Orders could not be carried out."""
    problem = Finding("no Google account is logged in", "gcloud auth application-default login")
    mocker.patch.object(box_checks, "findings", return_value=iter([problem]))

    result = tpuctl("box", "export", str(tmp_path / "f"))

    assert (1, problem.text, problem.fix) == (result.code, result.error, result.next_step)
    assert find_seal(world.store) is None


@pytest.mark.parametrize(
    "was_sealed", [pytest.param(False, id="open"), pytest.param(True, id="sealed before")]
)
def test_export_that_fails_leaves_the_seal_as_it_was(
    *, tpuctl: Tpuctl, world: World, tmp_path: Path, was_sealed: bool
) -> None:
    """And no half file."""
    if was_sealed:
        seal(world.store)

    result = tpuctl("box", "export", str(tmp_path / "nowhere" / "f"))

    assert 1 == result.code
    assert was_sealed == (find_seal(world.store) is not None)


def test_export_without_the_cloud_gives_up_and_unseals(
    tpuctl: Tpuctl, world: World, tmp_path: Path, mocker: MockerFixture
) -> None:
    """Orders that were given must not be left behind."""
    mocker.patch.object(moving, "_DRAIN_S", 0.0)
    order(world, "stop", job=JOB, kill=False)
    mocker.patch.object(moving, "_handle", return_value=0)

    result = tpuctl("box", "export", str(tmp_path / "f"))

    assert "1 orders could not be carried out: Google did not answer" == result.error
    assert find_seal(world.store) is None
    assert not (tmp_path / "f").exists()


# --- The seal ------------------------------------------------------------------------------------


def test_sealed_box_does_nothing_to_the_cloud(world: World, mocker: MockerFixture) -> None:
    """Neither by the tick nor by what is delivered, whatever became of its slices."""
    world.run_job()
    (name,) = world.slices.names
    seal(world.store)
    world.slices.preempt(name)
    calls = [mocker.spy(world.slices, each) for each in ("create", "delete", "ring", "list")]
    put = mocker.spy(world.blobs, "put")

    health_check.run(world.app)
    for topic in Topic:
        world.bus.publish(topic, [Message(b'{"slice": "x"}', {})])
    stop = threading.Event()
    server = runner._Server(
        world.app,
        stop,
        Ticks(stop),
        {each.name: runner._Source(world.bus, each.name, lambda: True) for each in SUBSCRIPTIONS},
        is_movable=True,
    )
    for subscription, source in server.sources.items():
        with pytest.raises(SealedError, match="its jobs move"):
            server._serve_turn(subscription, source)()

    assert [0] * 5 == [call.call_count for call in (*calls, put)]
    assert all(count > 0 for count in world.bus.backlog().values()), "nothing is acknowledged"


def test_an_earlier_seal_stays(world: World) -> None:
    """Who sealed first is who sealed."""
    seal(world.store)

    later = put_seal(world.store, Seal(SEALED_AT.replace(year=2031), "bob", "again"))

    assert ("ada", 2030) == (later.by, later.at.year)


# --- Import --------------------------------------------------------------------------------------


class Fragile:
    """A target that fails after some commits."""

    def __init__(self, store: SqliteStore, commits: int) -> None:
        self._store = store
        self.left = commits
        self.query = store.query

    def get(self, path: str) -> Document | None:
        """Read."""
        return self._store.get(path)

    def commit(self, writes: Sequence[Write]) -> None:
        """Write, as long as it goes well."""
        if self.left == 0:
            raise Unavailable("it went away")
        self.left -= 1
        self._store.commit(writes)


def settings_of(home: Path) -> Settings:
    """Read settings."""
    return home_settings.load({"TPUCTL_HOME": str(home)})


def test_job_goes_on_where_it_arrives(
    tpuctl: Tpuctl,
    world: World,
    target: SqliteStore,
    google: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same attempt, told by the same hosts."""
    world.run_job()
    asked = world.slices.names
    file = exported(tpuctl, tmp_path)
    monkeypatch.setenv("TPUCTL_HOME", str(google))

    filled = tpuctl("import", str(file))
    started = tpuctl("import", str(file), "--start")
    arrive(world, target)
    world.tick()
    assert asked == world.slices.names
    world.finish_job()

    assert (0, 0) == (filled.code, started.code), (filled.err, started.err)
    assert (
        "gcloud secrets versions add tpuctl-token --data-file=- --project lab-project" in filled.out
    )
    assert "0123abcd" not in filled.out
    assert (Stage.SUCCEEDED, 0) == (world.job().stage, world.job().attempt)
    world.tick_until_quiet()


def arrive(world: World, target: SqliteStore) -> None:
    """Let the functions be the ones that act: other documents, an empty bus."""
    world.store = target
    world.app = world.make_app(target, world.bus)


def test_preemption_while_nobody_acts_is_made_up_for(
    tpuctl: Tpuctl, world: World, target: SqliteStore, tmp_path: Path
) -> None:
    """The first tick after the move finds it."""
    world.run_job()
    (name,) = world.slices.names
    moved = moving_file.read(file := exported(tpuctl, tmp_path))
    world.slices.preempt(name)
    moving.fill(target, file, moved)
    moving.begin(target, file, moved)

    arrive(world, target)
    world.tick_until(world.runs_attempt(1))

    assert (Stage.RUNNING, 1) == (world.job().stage, world.job().attempt)


@pytest.mark.parametrize("commits", range(1, 5))
def test_import_that_breaks_off_does_no_harm_and_can_be_repeated(
    tpuctl: Tpuctl,
    world: World,
    target: SqliteStore,
    tmp_path: Path,
    mocker: MockerFixture,
    commits: int,
) -> None:
    """A tick over half an installation would take the other half for orphans."""
    mocker.patch.object(moving, "COMMIT_WRITES_MAX", 5)
    world.run_job()
    names = world.slices.names
    moved = moving_file.read(file := exported(tpuctl, tmp_path))

    with pytest.raises(Unavailable):
        moving.fill(Fragile(target, commits), file, moved)
    arrive(world, target)
    world.tick()
    world.tick()
    with pytest.raises(CliError, match="not imported yet"):
        moving.begin(target, file, moved)
    filled = moving.fill(target, file, moved)
    moving.begin(target, file, moved)
    world.tick()

    assert names == world.slices.names
    assert 5 * (commits - 1) == filled.found
    assert len(moved.documents) == filled.found + filled.written
    assert (Stage.RUNNING, 0) == (world.job().stage, world.job().attempt)


def test_slices_arrive_last(
    tpuctl: Tpuctl, world: World, target: SqliteStore, tmp_path: Path, mocker: MockerFixture
) -> None:
    """Whatever looks at one finds its job, its hosts and its attempts."""
    world.run_job()
    moved = moving_file.read(file := exported(tpuctl, tmp_path))
    commit = mocker.spy(target, "commit")
    mocker.patch.object(moving, "COMMIT_WRITES_MAX", 1)

    moving.fill(target, file, moved)

    created = [write.path for call in commit.call_args_list for write in call.args[0]]
    assert ["control/sealed", *sorted(moved.documents, key=moving._order)] == created
    assert created[-1].startswith("slices/")
    assert 2 == created[-1].count("/") + 1
    assert any(path.startswith("slices/") and "/hosts/" in path for path in created[:-1])


def test_lost_reply_of_a_commit_is_no_conflict(
    tpuctl: Tpuctl, world: World, target: SqliteStore, tmp_path: Path
) -> None:
    """What is there already is as it should be."""
    world.run_job()
    moved = moving_file.read(file := exported(tpuctl, tmp_path))
    batch = [Create(path, fields) for path, fields in list(moved.documents.items())[:4]]
    target.commit(batch[:2])

    moving._create(target, batch)

    assert all(target.get(write.path) is not None for write in batch)
    assert file.exists()


def test_other_documents_in_the_way_are_refused(
    tpuctl: Tpuctl,
    world: World,
    target: SqliteStore,
    google: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before the target is sealed or written."""
    world.run_job()
    file = exported(tpuctl, tmp_path)
    target.commit([Create("owners/ada", {"owner": "ada", "number": 9})])
    monkeypatch.setenv("TPUCTL_HOME", str(google))

    result = tpuctl("import", str(file))

    told = "the document owners/ada is there already and says something else"
    assert (1, told) == (result.code, result.error)
    assert ["owners/ada"] == [each.path for each in target.dump()]


def test_import_twice_continues_and_after_the_start_it_is_refused(
    tpuctl: Tpuctl,
    world: World,
    target: SqliteStore,
    google: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By then the documents have changed."""
    world.run_job()
    file = exported(tpuctl, tmp_path)
    monkeypatch.setenv("TPUCTL_HOME", str(google))
    total = len(moving_file.read(file).documents)

    early = tpuctl("import", str(file), "--start")
    first, second = tpuctl("import", str(file)), tpuctl("import", str(file))
    started = tpuctl("import", str(file), "--start")
    third, again = tpuctl("import", str(file)), tpuctl("import", str(file), "--start")

    assert (1, f"{file} is not imported yet") == (early.code, early.error)
    assert f"wrote {total} documents, 0 were there already" == first.out.splitlines()[0]
    assert f"wrote 0 documents, {total} were there already" == second.out.splitlines()[0]
    assert 0 == started.code, started.err
    assert third.error.startswith(f"{file} is not imported: {total} documents of a box came with")
    assert third.error == again.error
    assert find_seal(target) is None


def test_second_file_is_refused_while_the_first_is_not_whole(
    tpuctl: Tpuctl, world: World, target: SqliteStore, tmp_path: Path
) -> None:
    """Two halves are no installation."""
    world.run_job()
    moved = moving_file.read(file := exported(tpuctl, tmp_path))
    moving.fill(target, file, moved)

    with pytest.raises(CliError, match="another import is not finished"):
        moving.fill(target, Path("other"), replace(moved, checksum="f" * 64))


@pytest.mark.parametrize(
    "old, new, told, step",
    [
        pytest.param(
            '"abc123"',
            '"xyz789"',
            "is of installation abc123, this one is xyz789",
            'set installation = "abc123" in terraform.tfvars',
            id="installation",
        ),
        pytest.param(
            '"lab-project"',
            '"other-project"',
            "is of the project lab-project, this installation's is other-project",
            "deploy with the project lab-project",
            id="project",
        ),
        pytest.param(
            '"lab-bucket"',
            '"other"',
            "is of the bucket lab-bucket, this installation's is other",
            "deploy with the bucket lab-bucket",
            id="bucket",
        ),
        pytest.param(
            "[cloud]",
            '[cloud]\nprefix = "other"',
            "is of the prefix tpuctl, this installation's is other",
            "deploy with the prefix tpuctl",
            id="prefix",
        ),
        pytest.param(
            '"google"',
            '"box"',
            "takes no imports: its wiring is box",
            "--from-terraform",
            id="wiring",
        ),
    ],
)
def test_file_of_another_installation_is_refused(  # noqa: PLR0913, PLR0917 - one table
    tpuctl: Tpuctl,
    world: World,
    target: SqliteStore,
    google: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    old: str,
    new: str,
    told: str,
    step: str,
) -> None:
    """Its slices would be found by nobody; and what to change is said."""
    world.run_job()
    file = exported(tpuctl, tmp_path)
    text = (google / "settings.toml").read_text("utf-8")
    assert old in text
    write(google / "settings.toml", text.replace(old, new, 1))
    monkeypatch.setenv("TPUCTL_HOME", str(google))

    result = tpuctl("import", str(file))

    assert 1 == result.code
    assert told in result.error
    assert step in result.next_step
    assert [] == list(target.dump())


def test_secret_comes_out_alone(tpuctl: Tpuctl, world: World, tmp_path: Path) -> None:
    """To be piped; without a line's end, which would be part of the key."""
    world.run_job()

    assert "0123abcd" == tpuctl("import", str(exported(tpuctl, tmp_path)), "--print-secret").out


# --- The file ------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Have a file with three documents."""
    header = moving_file.Header("abc123", "p", "tpuctl", "b", "s", "2030-01-02T00:00:00+00:00")
    deep: dict[str, object] = {"end": 1}
    for _ in range(18):
        deep = {"in": deep}
    at = datetime(2030, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    documents = [
        Document("jobs/a", {"at": at, "@odd": float("inf"), "text": "é\u2028\n"}, "1", at, at),
        Document("jobs/a/attempts/0", {"deep": deep}, "2", at, at),  # type: ignore[dict-item]
        Document("slices/s", {}, "3", at, at),
    ]
    path = tmp_path / "moved"
    assert {"jobs": 1, "attempts": 1, "slices": 1} == moving_file.write(path, header, documents)
    return path


def test_file_holds_what_was_put_in(file: Path) -> None:
    """Times, odd numbers, odd keys, odd line ends, and what is nested as deep as it may be."""
    moved = moving_file.read(file)

    at = datetime(2030, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert ["jobs/a", "jobs/a/attempts/0", "slices/s"] == list(moved.documents)
    assert {"at": at, "@odd": float("inf"), "text": "é\u2028\n"} == moved.documents["jobs/a"]
    assert "abc123" == moved.header.installation


@pytest.mark.parametrize(
    "cut", [pytest.param(n, id=f"{n} of the end cut") for n in (1, 2, 40, 200)]
)
def test_file_that_is_cut_off_is_refused(file: Path, cut: int) -> None:
    """Wherever the disk was full."""
    data = file.read_bytes()
    file.write_bytes(data[: len(data) - cut])

    if cut == 1:
        assert 3 == len(moving_file.read(file).documents), "only the last line's end is gone"
        return
    with pytest.raises(CliError, match="is cut off after"):
        moving_file.read(file)


@pytest.mark.parametrize(
    "old, new, told",
    [
        pytest.param(b"jobs/a", b"jobs/b", "is damaged: its checksum is wrong", id="document"),
        pytest.param(b'"abc123"', b'"abc124"', "is damaged: its checksum is wrong", id="header"),
        pytest.param(b'"bucket": "b", ', b"", "is damaged: its header is not whole", id="field"),
        pytest.param(b"tpuctl-box", b"other-box", "was not written by tpuctl", id="another's"),
        pytest.param(
            b'"version": 1', b'"version": 2', "has version 2, this tpuctl reads 1", id="new"
        ),
    ],
)
def test_file_that_is_not_as_it_was_written_is_refused(
    file: Path, old: bytes, new: bytes, told: str
) -> None:
    """One line each."""
    file.write_bytes(file.read_bytes().replace(old, new, 1))

    with pytest.raises(CliError, match=told):
        moving_file.read(file)


@pytest.mark.parametrize("data", [b"", b"\n", b"[]\n", b"\xff\xfe\n", b"not json"])
def test_file_of_something_else_is_refused(tmp_path: Path, data: bytes) -> None:
    """Nothing, no JSON, no text."""
    path = tmp_path / "f"
    path.write_bytes(data)

    with pytest.raises(CliError, match="was not written by tpuctl box export"):
        moving_file.read(path)


def test_file_that_is_not_there_is_one_line(tpuctl: Tpuctl) -> None:
    """It is named."""
    result = tpuctl("import", "nowhere")

    assert (1, "nowhere cannot be read: No such file or directory") == (result.code, result.error)


def test_file_that_cannot_be_finished_is_removed(tmp_path: Path) -> None:
    """Half of one helps nobody."""
    header = moving_file.Header("abc123", "p", "tpuctl", "b", "s", "2030-01-02T00:00:00+00:00")

    def broken() -> Iterator[Document]:
        yield Document("jobs/a", {}, "1", SEALED_AT, SEALED_AT)
        raise Unavailable("no disk")

    with pytest.raises(Unavailable):
        moving_file.write(tmp_path / "f", header, broken())

    assert not (tmp_path / "f").exists()
