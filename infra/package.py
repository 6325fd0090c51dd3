"""Write the source of the deployed functions as one zip: the same bytes for the same source.

``python infra/package.py --output build/functions.zip``. It needs nothing but Python, and must
never take in what is not deployed: tests, the command line, the sandbox, a machine's leftovers.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, ZipInfo

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("functions", "shared")
SUFFIXES = frozenset({".json", ".py", ".sh"})
# Where a file of the source goes, when it does not go where it is.
MOVED = {"functions/deployed.py": "main.py", "requirements-functions.lock": "requirements.txt"}
# The local runner stands on the sandbox, and the functions are there instead of it.
LEFT_OUT = frozenset({"functions/runner.py"})
# The oldest time that a zip can hold; times say nothing about the source.
EPOCH = (1980, 1, 1, 0, 0, 0)
FILE_MODE = 0o100644
UNIX = 3


def main(arguments: list[str] | None = None) -> int:
    """Write the zip and print its path, its size in bytes and its hash."""
    output = _parse(arguments).output
    try:
        data = package(ROOT, output)
    except OSError as error:
        print(f"error: {output} is not written: {error}", file=sys.stderr)
        return 1
    print(f"{output}  {len(data)} bytes  sha256:{hashlib.sha256(data).hexdigest()}")
    return 0


def package(root: Path, output: Path) -> bytes:
    """Write the zip of a source tree and return its bytes.  Raises OSError."""
    contents = dict(sorted(_contents(root)))
    output.parent.mkdir(parents=True, exist_ok=True)
    draft = output.with_name(f"{output.name}.new")
    # Stored, not deflated: every zlib compresses a little differently.
    with ZipFile(draft, "w", ZIP_STORED) as file:
        for name, data in contents.items():
            file.writestr(_entry(name), data)
    draft.replace(output)
    return output.read_bytes()


def _contents(root: Path) -> Iterator[tuple[str, bytes]]:
    """Give every file's name in the zip with its bytes."""
    for name, place in MOVED.items():
        yield place, (root / name).read_bytes()
    for folder in PACKAGES:
        for path in (root / folder).rglob("*"):
            name = path.relative_to(root).as_posix()
            if path.suffix in SUFFIXES and name not in MOVED and name not in LEFT_OUT:
                yield name, path.read_bytes()


def _entry(name: str) -> ZipInfo:
    """Describe a file without anything that depends on the machine."""
    entry = ZipInfo(name, EPOCH)
    entry.create_system = UNIX
    entry.external_attr = FILE_MODE << 16
    return entry


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="infra/package.py", description=main.__doc__)
    parser.add_argument("--output", type=Path, required=True, help="the zip to write")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
