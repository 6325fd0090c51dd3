"""What the agent is as a file: it travels in a node's metadata to machines with an old Python."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from shared.host import agent

FILE = Path(agent.__file__)
METADATA_VALUE_BYTES_MAX = 256 * 1024


def test_the_agent_is_written_in_the_grammar_of_python_3_8() -> None:
    """The oldest interpreter on a TPU image."""
    ast.parse(FILE.read_text(), feature_version=(3, 8))


def test_the_agent_needs_the_standard_library_only() -> None:
    """Nothing is installed on a new host."""
    nodes = list(ast.walk(ast.parse(FILE.read_text())))
    imported = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    imported |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}

    assert set() == {name.partition(".")[0] for name in imported} - sys.stdlib_module_names


def test_the_agent_fits_into_a_metadata_value() -> None:
    """A limit of Compute Engine, with room for the agent to grow."""
    assert METADATA_VALUE_BYTES_MAX * 3 / 4 > FILE.stat().st_size


def test_importing_the_agent_does_nothing() -> None:
    """The simulation runs its decisions in its own process."""
    code = (
        "import threading, signal; from shared.host import agent; print(threading.active_count())"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=FILE.parents[2],
        capture_output=True,
        text=True,
        check=True,
    )

    assert ("1\n", "") == (found.stdout, found.stderr)
