"""What a shell offers when somebody presses Tab: names that exist.  A mistake offers nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cli.installation import Installation

Offers = list[tuple[str, str]]
JOBS_MAX: Final = 50
# The shell's request, and the flags by which it is set up.
VARIABLE: Final = "_TPUCTL_COMPLETE"
FLAGS: Final = frozenset({"--install-completion", "--show-completion"})


def is_wanted(words: Sequence[str], environ: Iterable[str]) -> bool:
    """Tell whether completion is asked for."""
    return VARIABLE in environ or not FLAGS.isdisjoint(words[:1])


def job_names(incomplete: str) -> Offers:
    """Offer the newest jobs, by number and by name."""
    return _offered(_jobs, incomplete)


def slice_names(incomplete: str) -> Offers:
    """Offer the slices that exist."""
    return _offered(_slices, incomplete)


def _offered(read: Callable[[Installation], Offers], incomplete: str) -> Offers:
    # Every command imports this module; only Tab needs more.
    from cli.installation import here

    try:
        offers = read(here())
    except Exception:  # noqa: BLE001 - whatever is wrong is told by the command, not between keys
        return []
    return [(name, text) for name, text in offers if name.startswith(incomplete)]


def _jobs(installation: Installation) -> Offers:
    from cli.jobs import LAST, list_jobs

    jobs = list_jobs(installation.store, installation.owner, JOBS_MAX)
    numbers = [(str(job.number), f"{job.name}, {job.stage}") for job in jobs]
    names = {job.name: (job.name, f"job {job.number}, {job.stage}") for job in reversed(jobs)}
    newest = [(LAST, "the newest")] if jobs else []
    return [*numbers, *names.values(), *newest]


def _slices(installation: Installation) -> Offers:
    from cli.slices import live_slices

    return [
        (str(found.fields["name"]), str(found.fields["accelerator_type"]))
        for found in live_slices(installation)
    ]
