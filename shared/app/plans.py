"""What an accepted order makes of a situation, and what every plan reads to say so."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shared.app import caps
from shared.app.context import App
from shared.app.load import Loaded, load, slice_path, world
from shared.core import ordering
from shared.core.codec import from_fields
from shared.core.identity import Bounds
from shared.core.names import slice_name
from shared.core.ordering import Refused
from shared.core.situation import Situation
from shared.core.slices import Slice
from shared.core.spec import JobSpec
from shared.ports import Write


@dataclass(frozen=True, slots=True)
class Plan:
    """What an accepted order makes of a situation, and what it was read from."""

    loaded: Loaded
    changed: Situation
    writes: tuple[Write, ...] = ()


def loaded_slice(app: App, name: str) -> Loaded:
    """Read a slice and what belongs to it.  Raises Refused."""
    loaded = load(app, name)
    if loaded is None:
        raise Refused(f"there is no slice {name}")
    return loaded


def new_slice(app: App, names: tuple[str, str, str], spec: JobSpec, bounds: Bounds) -> Slice:
    """Make a slice by name, uid and owner, within what its owner may have.  Raises Refused."""
    wanted = ordering.new_slice(*names, spec, world(app), app.clock.now())
    caps.check(app, wanted)
    return replace(wanted, worker_account=bounds.worker_account, folder=bounds.folder)


def free_name(app: App, wanted: Slice, *, is_chosen: bool) -> Loaded:
    """Find a name for a new slice: one that nothing in the cloud stands for any more.

    Raises Refused when a user chose a name that is taken.
    """
    document = app.store.get(slice_path(wanted.name))
    if document is not None and document.fields["live"]:
        if is_chosen:
            raise Refused(f"the name {wanted.name} is taken by another slice")
        longer = replace(wanted, name=slice_name(wanted.name, wanted.uid))
        return free_name(app, longer, is_chosen=True)
    old = from_fields(Slice, document.fields) if document else None
    tokens = {document.path: document.token} if document else {}
    # Revisions go on, so that the ids of events do not repeat.
    slice_ = replace(wanted, revision=old.revision if old else 0)
    now = document.read_at if document else app.clock.now()
    return Loaded(Situation(slice_, None, (), (), now, world(app)), tokens)


def placed(now: Situation, told: str) -> Situation:
    """Tell what was decided about zones and cost, if anything was."""
    return now.note("JobPlaced", told) if told else now
