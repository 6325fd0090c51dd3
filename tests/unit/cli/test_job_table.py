"""The table of jobs: columns that people choose, in every width."""

from dataclasses import replace

import pytest
import typer

from cli import tables
from cli.installation import Installation
from cli.job_table import COLUMNS, USUAL, chosen_columns, lines_of
from cli.jobs import JobRow, find_job
from shared.core.hosts import Checkpoint, Progress
from shared.core.stages import Stage
from tests.unit.cli.stage import Installed, Tpuctl, ago, make_job


@pytest.fixture
def rows(installed: Installed) -> list[JobRow]:
    """Have jobs with the longest words there are."""
    job = make_job(
        1234,
        name="a" * 40,
        stage=Stage.PROVISIONING,
        stage_since=ago(125),
        progress=Progress(12000, 50000),
        checkpoint=Checkpoint(11000, "/out"),
        attempt=11,
        summary="waits for capacity " * 9,
        spec={"tags": ["base", "x=1"]},
    )
    installed.put_job(replace(job, accelerator_type="v5litepod-256", zone="europe-west4-b"))
    installed.put_job(make_job(2, name="digits"))
    here = Installation(installed.settings)
    return [find_job(here, number) for number in ("1234", "2")]


@pytest.mark.parametrize("cells", [60, 72, 80, 100, 132, 200])
def test_every_width_shows_what_nothing_else_says(rows: list[JobRow], cells: int) -> None:
    """Number, stage and step; no line is wider."""
    lines = lines_of(rows, USUAL, cells)

    assert max(map(tables.cells, lines)) <= cells
    assert {"JOB", "NAME", "STAGE", "STEP"} <= set(lines[0].split())
    assert all(word in lines[1] for word in ("1234", "provisioning", "12000/50000"))
    assert "…" not in lines[0]


def test_what_is_held_is_counted_down_where_there_is_any(rows: list[JobRow]) -> None:
    """Also in the narrowest terminal."""
    known = {"held": {rows[1].id: "25m58s"}}

    for cells in (60, 200):
        assert "HELD" not in lines_of(rows, USUAL, cells)[0]
        lines = lines_of(rows, USUAL, cells, known)
        assert "HELD" in lines[0]
        assert "25m58s" in lines[2]
        assert max(map(len, lines)) <= cells


def test_columns_go_before_they_are_cut(rows: list[JobRow]) -> None:
    """The least useful one first."""
    shown = {cells: lines_of(rows, USUAL, cells)[0].split() for cells in (60, 76, 100)}

    assert "LOST" in shown[100]
    assert "LOST" not in shown[76]
    assert "ZONE" in shown[76]
    assert ["JOB", "NAME", "STAGE", "STEP", "ZONE"] == shown[60]


def test_every_column_has_a_text_of_every_job(rows: list[JobRow]) -> None:
    """Also where nothing is known."""
    empty = replace(rows[1], fields={**rows[1].fields, "progress": None, "spent": None})

    for column in COLUMNS.values():
        assert isinstance(column.text(empty), str)


@pytest.mark.parametrize(
    "name, expected",
    [
        pytest.param("done", "24%", id="percent"),
        pytest.param("saved", "11000", id="checkpoint"),
        pytest.param("for", "2m05s", id="time in the stage"),
        pytest.param("tags", "base x=1", id="tags"),
        pytest.param("try", "12", id="attempts are counted from one"),
    ],
)
def test_columns_say_what_they_are_called(rows: list[JobRow], name: str, expected: str) -> None:
    """Of the first job."""
    assert expected == lines_of(rows, ("job", name), 200)[1].split(maxsplit=1)[1]


def test_the_last_line_of_a_program_takes_the_rest_of_the_row(rows: list[JobRow]) -> None:
    """Cut where the row ends."""
    lines = lines_of(rows, ("job", "output"), 60, {"output": {rows[0].id: "loss 0.1 " * 20}})

    assert ["JOB", "OUTPUT"] == lines[0].split()
    assert lines[1].startswith("1234  loss 0.1 loss")
    assert 60 == len(lines[1])


@pytest.mark.parametrize(
    "written, expected",
    [
        pytest.param(None, USUAL, id="usual"),
        pytest.param("job,Step", ("job", "step"), id="as written"),
        pytest.param("job,job", ("job",), id="once"),
        pytest.param("+slice", (*USUAL[:-1], "slice", "status"), id="one more"),
    ],
)
def test_columns_are_chosen(written: str | None, expected: tuple[str, ...]) -> None:
    """With commas."""
    assert expected == chosen_columns(written)


@pytest.mark.parametrize(
    "written, told",
    [
        pytest.param(
            "job,stpe", "--columns: there is no column 'stpe'; near: type, step", id="near"
        ),
        pytest.param("", "there is no column ''; known: job, name", id="empty"),
    ],
)
def test_unknown_columns_are_one_line(tpuctl: Tpuctl, written: str, told: str) -> None:
    """With the near ones, before anything is read."""
    with pytest.raises(typer.BadParameter):
        chosen_columns(written)

    assert told in tpuctl("ps", "-c", written).error
