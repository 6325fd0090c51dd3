"""Cloud TPU's REST API in plain words, for what the control plane's own client does not show."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import requests
from google.auth.transport.requests import AuthorizedSession

from cli.identity import logged_in
from shared.adapters.google_errors import GOOGLE_ERRORS, failure_of
from shared.errors import NotAuthorized, Unavailable

GOOGLE: Final = "https://tpu.googleapis.com"
SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
CALL_S: Final = 20.0
OK: Final = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered: ``seconds`` it took, and by how much our clock is ahead."""

    status: int
    body: Mapping[str, Any]
    seconds: float = 0.0
    ahead_s: float | None = None

    @property
    def is_ok(self) -> bool:
        """Tell whether it is no error."""
        return self.status == OK

    @property
    def error(self) -> str:
        """Return status and text of an error, in one line; "" for none."""
        told = self.body.get("error")
        if self.is_ok or not isinstance(told, Mapping):
            return "" if self.is_ok else f"HTTP {self.status}"
        return f"{told.get('status', self.status)}: {' '.join(str(told.get('message')).split())}"


@dataclass(frozen=True, slots=True)
class TpuRest:
    """One project.  Raises Unavailable without an answer, NotAuthorized without a login."""

    session: requests.Session
    root: str
    project: str

    def location(self, zone: str) -> str:
        """Name a zone."""
        return f"projects/{self.project}/locations/{zone}"

    def get(self, path: str, **parameters: str) -> Answer:
        """Read something."""
        return self._call("GET", "v2", path, None, parameters)

    def post(self, path: str, body: Mapping[str, Any], *, version: str = "v2") -> Answer:
        """Call a method."""
        return self._call("POST", version, path, body, {})

    def patch(self, path: str, body: Mapping[str, Any], **parameters: str) -> Answer:
        """Change something."""
        return self._call("PATCH", "v2", path, body, parameters)

    def _call(
        self,
        method: str,
        version: str,
        path: str,
        body: Mapping[str, Any] | None,
        parameters: Mapping[str, str],
    ) -> Answer:
        began = time.monotonic()
        try:
            answer = self.session.request(
                method,
                f"{self.root}/{version}/{path}",
                json=body,
                params=dict(parameters),
                timeout=CALL_S,
            )
        except GOOGLE_ERRORS as error:
            failure = failure_of(error)
            kind = NotAuthorized if failure.status == "UNAUTHENTICATED" else Unavailable
            raise kind(f"Cloud TPU: {failure.text}") from None
        seconds = time.monotonic() - began
        return Answer(answer.status_code, _body(answer), seconds, _ahead_s(answer))


def connect(project: str, endpoint: str) -> TpuRest:
    """Open Cloud TPU at Google as whoever is logged in, or without credentials at an endpoint.

    Raises CliError where nobody is logged in.
    """
    if endpoint:
        session = requests.Session()
        # Never through a proxy: what stands in for Google is on this machine.
        session.trust_env = False
        return TpuRest(session, endpoint.rstrip("/"), project)
    import google.auth

    with logged_in():
        credentials, _ = google.auth.default(scopes=[SCOPE])
    return TpuRest(AuthorizedSession(credentials), GOOGLE, project)


def _body(answer: requests.Response) -> Mapping[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _ahead_s(answer: requests.Response) -> float | None:
    """Compare clocks, to a second: that is all a header tells."""
    try:
        told = parsedate_to_datetime(answer.headers["Date"])
    except (KeyError, ValueError):
        return None
    return (datetime.now(UTC) - told).total_seconds()
