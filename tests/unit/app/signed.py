"""A world whose wiring asks who gives an order, with teams in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shared.adapters.google_identity import CachedKeys, Certificates, GoogleIdentity
from shared.app.context import App
from shared.core.identity import People, Team, audiences_of
from shared.core.orders import Outcome
from shared.core.stages import Stage
from shared.errors import Unavailable
from shared.ports import Bus, Message, Store
from tests.identities import ADA, EVE, certs, claims, signer
from tests.unit.app.records import JOB
from tests.unit.app.world import World, spec_of

CAROL = "carol@example.com"
ROOT, STRANGER = "root@example.com", "stranger@example.com"
VISION, TEXT, COMMON = "vision@p.iam", "text@p.iam", "common@p.iam"
PEOPLE = People(
    COMMON,
    (Team("vision", VISION, frozenset({ADA, CAROL})), Team("text", TEXT, frozenset({EVE}))),
    frozenset({ROOT}),
)


class Cloud(World):
    """A world whose wiring asks who gives an order."""

    keys_are_away = False

    def make_app(self, store: Store, bus: Bus) -> App:
        """Put the control plane together."""
        identity = GoogleIdentity(audiences_of((), "sandbox"), CachedKeys(self._keys))
        return replace(super().make_app(store, bus), identity=identity, people=PEOPLE)

    def token(self, email: str = ADA, *, by: str = "ours", **changes: object) -> str:
        """Sign a token now, as this world's clock has it."""
        now_s = int(self.clock.now().timestamp())
        said: dict[str, object] = {"iat": now_s - 5, "exp": now_s + 3595, **changes}
        return signer(by).sign(claims(email, **said))

    def say(
        self, kind: str, args: Mapping[str, object], token: str, *, claimed: str = "whoever"
    ) -> Outcome:
        """Give an order with a token and return its outcome."""
        self._orders += 1
        order_id = f"signed-{self._orders}"
        fields = {"version": 1, "id": order_id, "kind": kind, "owner": claimed, "args": args}
        self.publish("commands", Message(json.dumps({**fields, "id_token": token}).encode()))
        return self.outcome(order_id)

    def wish(
        self, email: str = ADA, job: str = JOB, *, on: str | None = None, **spec: Any
    ) -> Outcome:
        """Submit a job as somebody."""
        args = {"job": job, "spec": spec_of(**spec), "slice_uid": f"uid{job[-5:]}", "on": on}
        return self.say("submit", args, self.token(email))

    def held_slice(self, email: str = ADA) -> str:
        """Run a job to its end on a slice that is then held, and return the slice."""
        self.wish(email, hold_s=3600.0)
        self.tick_until(self.runs_attempt(0))
        self.finish_job()
        self.tick_until(self.stands_at(Stage.SUCCEEDED))
        return self.job().slice

    def _keys(self) -> Certificates:
        if self.keys_are_away:
            raise Unavailable("the keys are away")
        return Certificates(certs(), 0.0)
