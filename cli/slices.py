"""Find slices by name, and read their documents as plain fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from cli.errors import NotFoundError
from cli.installation import Installation
from cli.jobs import LAST, find_job
from cli.near import near_names
from shared.errors import SpecError
from shared.ports import Document, Query, Where

SLICES_MAX: Final = 1000
# The form of every name of ours; checked before anything is asked for by it.
_SLUG: Final = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
# Names that are made of a job's name and number may be longer.
_PATH_SEGMENT: Final = re.compile(r"[a-z][-a-z0-9]{0,100}")


def live_slices(installation: Installation) -> list[Document]:
    """Return the slices that exist, are asked for, or are still being deleted."""
    live = Where("live", "==", value=True)
    return installation.store.query(Query("slices", (live,), limit=SLICES_MAX))


def find_slice(installation: Installation, name: str) -> Document:
    """Find a slice that is live, by name or as ``@last``.  Raises NotFoundError with near names."""
    if name == LAST:
        return _last(installation)
    is_name = _PATH_SEGMENT.fullmatch(name) is not None
    document = installation.store.get(f"slices/{name}") if is_name else None
    if document is not None and document.fields["live"]:
        return document
    near = near_names(name, [str(found.fields["name"]) for found in live_slices(installation)])
    hint = f"; near: {', '.join(near)}" if near else ""
    raise NotFoundError(f"there is no slice {name!r}{hint}", next_step="tpuctl slice ls")


def name_of(installation: Installation, name: str) -> str:
    """Return the name of a slice that is live: what ``@last`` stands for.  Raises NotFoundError."""
    return str(find_slice(installation, name).fields["name"])


def _last(installation: Installation) -> Document:
    """Find the slice of the newest job, held or at work."""
    job = find_job(installation, LAST)
    document = installation.store.get(f"slices/{job.fields['slice']}")
    is_its = document is not None and document.fields["uid"] == job.fields["slice_uid"]
    if (
        document is None
        or not is_its
        or not (document.fields["live"] and document.fields["wanted"])
    ):
        raise NotFoundError(
            f"the slice of job {job.number}, the last one, is gone", next_step="tpuctl slice ls"
        )
    return document


def check_name(flag: str, name: str) -> None:
    """Refuse what cannot be the name of a new slice."""
    if _SLUG.fullmatch(name) is None:
        raise SpecError(
            flag,
            "expected a name of at most 40 lower-case letters, digits and hyphens that begins"
            f" with a letter and does not end with a hyphen, found {name[:60]!r}",
        )


def newest_bid(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the bid that serves a slice, or the newest that asks for it, or an empty one."""
    for generation in reversed(fields["generations"]):
        if generation["number"] == fields["generation"]:
            bids: list[Mapping[str, Any]] = generation["bids"]
            claimed = [bid for bid in bids if generation["claimed"] == bid["id"]]
            return (claimed or bids or [{}])[-1]
    return {}
