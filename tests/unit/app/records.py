"""What stands in an installation's Store, and what runs in its cloud, for tests to look at."""

from __future__ import annotations

from collections.abc import Callable

from shared.adapters.sqlite_store import SqliteStore
from shared.app.context import App
from shared.app.load import load
from shared.core.codec import from_fields
from shared.core.model import Attempt, Job
from shared.core.orders import Outcome
from shared.core.schedule import has_open_intents
from shared.core.slices import Bid, Generation, Slice
from shared.core.stages import Stage
from shared.ports import Fields, Query
from tests.agents import Farm, Host
from tests.fakes import FakeSliceApi

JOB = "job000000001"
Condition = Callable[[], bool]


class Records:
    """Looks at a world; changes nothing."""

    app: App
    store: SqliteStore
    slices: FakeSliceApi
    farm: Farm

    def fields(self, path: str) -> Fields:
        """The fields of a document that is there."""
        document = self.store.get(path)
        assert document is not None, f"there is no {path}"
        return document.fields

    def all(self, collection: str) -> list[Fields]:
        """The fields of all documents of a collection, by path."""
        return [document.fields for document in self.store.query(Query(collection, limit=1000))]

    @property
    def hosts(self) -> list[Host]:
        """The hosts of the claimed bid."""
        bid = self.bid
        return self.farm.of(bid.name)

    def outcome(self, order_id: str) -> Outcome:
        """What became of an order."""
        return from_fields(Outcome, self.fields(f"commands/{order_id}"))

    def job(self, job: str = JOB) -> Job:
        """A job."""
        return from_fields(Job, self.fields(f"jobs/{job}"))

    def slice(self, job: str = JOB) -> Slice:
        """The slice of a job."""
        return from_fields(Slice, self.fields(f"slices/{self.job(job).slice}"))

    def slice_named(self, name: str) -> Slice:
        """A slice, by its name."""
        return from_fields(Slice, self.fields(f"slices/{name}"))

    def attempts(self, job: str = JOB) -> list[Attempt]:
        """The attempts of a job, in order."""
        found = [from_fields(Attempt, fields) for fields in self.all(f"jobs/{job}/attempts")]
        return sorted(found, key=lambda attempt: attempt.number)

    def generation(self, job: str = JOB) -> Generation:
        """The current generation of a job's slice."""
        current = self.slice(job).current
        assert current is not None, f"the slice has a generation: {self.story()}"
        return current

    @property
    def bid(self) -> Bid:
        """The newest bid of the job's slice."""
        return self.slice().generations[-1].bids[-1]

    def events(self, job: str = JOB) -> list[str]:
        """The names of everything that happened to a job and its slice, in order."""
        return [str(fields["event"]) for fields in self.all(f"jobs/{job}/timeline")]

    def story(self, job: str = JOB) -> str:
        """What a failing test wants to know."""
        told = [
            f"{fields['event']}: {fields['text']}" for fields in self.all(f"jobs/{job}/timeline")
        ]
        jobs = [f"{fields['stage']} ({fields['summary']})" for fields in self.all("jobs")]
        return "; ".join([*told, *jobs, *(str(fields["summary"]) for fields in self.all("slices"))])

    def stands_at(self, stage: Stage, job: str = JOB) -> Condition:
        """Make the condition that a job is in a stage."""
        return lambda: self.job(job).stage is stage

    def runs_attempt(self, number: int, job: str = JOB) -> Condition:
        """Make the condition that an attempt runs on hosts."""
        return lambda: (job, number) in {host.runs for host in self.farm.living}

    def is_quiet(self) -> bool:
        """Nothing is in the cloud, nothing is open, nothing waits to be published."""
        open_ = [name for name in self._slice_names() if self._has_open_intents(name)]
        return not (self.slices.names or self.all("outbox") or open_)

    def _slice_names(self) -> list[str]:
        return [str(fields["name"]) for fields in self.all("slices")]

    def _has_open_intents(self, name: str) -> bool:
        loaded = load(self.app, name)
        return loaded is not None and has_open_intents(loaded.situation)
