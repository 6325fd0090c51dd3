"""Decode each version of a document once: values are immutable, so nobody can tell.

Only the simulation does this, since only its Store hands out the same fields twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shared.app import load
from shared.core import codec
from shared.core.model import Job
from shared.core.spec import JobSpec, from_document
from tests.simulation.memory_store import Fields


class _Remembering:
    """A converter that knows what it decoded."""

    def __init__(self, converter: Any) -> None:
        self._converter = converter
        self.unstructure = converter.unstructure

    def structure(self, fields: Any, kind: Any) -> Any:
        """Decode, or remember."""
        if type(fields) is not Fields:
            return self._converter.structure(fields, kind)
        found = fields.decoded.get(kind)
        if found is None:
            found = fields.decoded[kind] = self._converter.structure(fields, kind)
        return found


@contextmanager
def remembering() -> Iterator[None]:
    """Remember what was decoded until the block ends."""
    converter, parsed = codec._converter, load.parsed
    specs: dict[str, JobSpec] = {}

    def parsed_once(job: Job) -> JobSpec:
        found = specs.get(job.spec_sha256)
        if found is None:
            found = specs[job.spec_sha256] = from_document(job.spec)
        return found

    codec._converter, load.parsed = _Remembering(converter), parsed_once  # type: ignore[assignment]
    try:
        yield
    finally:
        codec._converter, load.parsed = converter, parsed
