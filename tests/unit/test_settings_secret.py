"""The key of agents' tokens: a file on a machine, a variable in a function, the same bytes."""

from pathlib import Path

import pytest

from shared import settings
from shared.errors import SpecError

BOX = '{"wiring": "box", "cloud": {"project": "lab-project", "bucket": "lab-bucket"}}'


def test_secret_of_a_new_home_is_text_that_a_function_reads_alike(home: Path) -> None:
    """An installation can move, and its agents notice nothing."""
    made = settings.load().secret
    environ = {"TPUCTL_SETTINGS": BOX, "TPUCTL_SECRET": settings.secret_text(made)}

    assert made.decode() == settings.secret_text(made)
    assert 64 == len(made)
    assert made == settings.load(environ).secret
    assert 0o600 == (home / "secret").stat().st_mode & 0o777
    assert made == settings.load().secret


def test_secret_of_an_early_home_is_read_and_moves_too(home: Path) -> None:
    """It was 32 bytes of anything."""
    raw = bytes(range(32))
    home.mkdir()
    (home / "secret").write_bytes(raw)

    found = settings.load().secret
    text = settings.secret_text(found)

    assert (raw, f"hex:{raw.hex()}") == (found, text)
    assert raw == settings.load({"TPUCTL_SETTINGS": BOX, "TPUCTL_SECRET": text}).secret


def test_secret_that_is_no_hex_is_refused() -> None:
    """One line, without the secret in it."""
    found = settings.load({"TPUCTL_SETTINGS": BOX, "TPUCTL_SECRET": "hex:zz"})

    with pytest.raises(SpecError, match=r"\$TPUCTL_SECRET: no hex digits after hex:$"):
        _ = found.secret
