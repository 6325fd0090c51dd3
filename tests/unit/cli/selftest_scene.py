"""A self test's rig over a cloud in memory, whose time goes on where the rig waits."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import requests

from cli.selftest.model import Assumption, Finding, Phase, Result
from cli.selftest.rest import TpuRest
from cli.selftest.rig import Pace, Rig, new_request
from cli.selftest.run import Bound, try_all
from tests.fakes import FakeClock, FakeSliceApi

ZONE, INSTALLATION = "us-central1-a", "abcdef"
PACE = Pace(total_s=600.0, step_s=60.0, gone_s=300.0, look_s=10.0, looks_apart_s=30.0)
BOUND = Bound(usd_per_hour=3600.0, limit_s=900.0)


class Wire(requests.Session):
    """Answers of the API by the end of a path; operations are done, unless they are running."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[str, tuple[int, object]] = {}
        self.is_running = False

    def request(self, _: object, url: object, **__: object) -> requests.Response:  # type: ignore[override]
        """Answer as Google does."""
        status, body = 200, {"done": not self.is_running}
        for end, answer in self.answers.items():
            if str(url).endswith(end):
                status, body = answer  # type: ignore[assignment]
        made = requests.Response()
        made.status_code = status
        made._content = json.dumps(body).encode()
        return made


def connected(wire: Wire) -> TpuRest:
    """Open the API over such answers."""
    return TpuRest(wire, "http://cloud", "fake")


class Scene:
    """A rig over a cloud in memory, whose time goes on where the rig waits."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.cloud = FakeSliceApi(self.clock, hosts=1)
        self.wire = Wire()
        self.is_granting = False
        self.on_pause: Callable[[], object] = lambda: None
        request = new_request(INSTALLATION, ZONE, "v5litepod-1", "v2-alpha-tpuv5-lite")
        rest = connected(self.wire)
        self._start = self.clock.now()
        self.rig = Rig(
            self.cloud,
            rest,
            request,
            hosts=1,
            pace=PACE,
            clock=self._seconds,
            pause=self._pause,
        )
        self.results: dict[str, Result] = {}

    @property
    def name(self) -> str:
        """The request's name."""
        return self.rig.request.name

    def grant(self) -> None:
        """Let the node come when the rig waits for it."""
        self.is_granting = True

    def try_(self, *assumptions: Assumption) -> Mapping[str, Result]:
        """Try some assumptions."""
        try_all(self.rig, BOUND, assumptions, self._tell)
        return self.results

    def _seconds(self) -> float:
        return (self.clock.now() - self._start).total_seconds()

    def _tell(self, result: Result) -> None:
        self.results[result.assumption.id] = result

    def _pause(self, seconds: float) -> None:
        self.clock.advance(seconds)
        if self.is_granting and self.name in self.cloud.names:
            self.is_granting = False
            self.cloud.make_ready(self.name)
        self.on_pause()


def assume(probe: Callable[[Rig], Finding] | None, phase: Phase = Phase.READY) -> Assumption:
    """Make up an assumption."""
    untried = "" if probe else "because"
    return Assumption("it", "it is so", "cli", "true", "so", phase, probe, untried)
