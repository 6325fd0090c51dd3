"""The page about the sandbox: what it says of clients other than those of the TPU API."""

import os
from pathlib import Path

import pytest

from cli.commands.sandbox_env import variables
from sandbox.grpc_server import routes
from tests.unit.docs.tables import page, rows, words

PAGE = page("sandbox.md")
E2E = Path(__file__).parents[2] / "e2e"
TESTS = "".join((E2E / f"test_gcloud_{name}.py").read_text("utf-8") for name in ("ssh", "storage"))


@pytest.mark.parametrize(
    "command",
    [
        f"{words(group)[0]} {command}"
        for group, commands in rows(PAGE, "beside the TPU API")
        for command in words(commands)
    ],
)
def test_command_is_one_that_the_tests_run(command: str) -> None:
    """Every word of it stands in them."""
    assert [] == [word for word in command.split() if f'"{word}"' not in TESTS]


def test_variables_are_those_that_are_set() -> None:
    """Those that the page names, with the ends of long ones."""
    names = "\n".join(variables(Path(os.sep), url="", project=""))
    written = [
        word for row in rows(PAGE, "who", "how it finds the sandbox") for word in words(row[1])
    ]

    assert [] == [word for word in written if word.strip("_").isupper() and word not in names]


def test_services_are_those_that_are_served() -> None:
    """Over gRPC."""
    section = PAGE.partition("\n## gRPC\n")[2].partition("\n## ")[0]

    assert [] == [
        service
        for service in {path.split("/")[1] for path in routes()}
        if f"`{service}`" not in section
    ]
