"""Documents hold what values hold, and older and newer versions read one another's."""

from __future__ import annotations

import pytest

from shared.adapters.sqlite_codec import decode, encode
from shared.core.codec import from_fields, to_fields
from shared.core.hosts import Host
from shared.core.model import Attempt, Job
from shared.core.slices import Slice
from tests.unit.core.situations import SCENES, running


@pytest.mark.parametrize("name", SCENES)
def test_every_document_of_every_scene_is_read_as_it_was_written(name: str) -> None:
    """Through the very bytes of a store."""
    now = SCENES[name]()
    values: list[tuple[type, object]] = [(Slice, now.slice), (Job, now.job)]
    values += [(Attempt, attempt) for attempt in now.attempts]
    values += [(Host, host) for host in now.hosts]

    for kind, value in values:
        assert value == from_fields(kind, decode(encode(to_fields(value))))


def test_a_field_of_a_newer_version_is_ignored() -> None:
    """At every depth."""
    job = running().served
    fields = to_fields(job)
    fields |= {"mood": "good", "spent": {**fields["spent"], "luck": 1}}

    assert job == from_fields(Job, fields)


def test_a_field_that_an_older_version_did_not_write_has_its_default() -> None:
    """At every depth."""
    job = running().served
    fields = to_fields(job)
    del fields["kill"], fields["spent"]["failures"]

    assert job == from_fields(Job, fields)
