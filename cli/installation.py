"""The installation a command works on; every part of it is opened when it is first needed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import typer

from cli import box, local_runner
from cli.errors import CliError
from cli.tables import printable
from sandbox import control
from shared import settings as home_settings
from shared import wiring
from shared.ports import Blobs, Bus, SliceApi, Store
from shared.settings import Settings, Wiring

if TYPE_CHECKING:
    from cli.identity import TokenSource

Opened = TypeVar("Opened")
# The document of the kill switch (``shared.app.pause``).
PAUSE = "control/pause"
# So many documents or objects are read side by side.
READERS = 16
_PAID_LOOK_S = 0.5
_RUNNERS = {Wiring.EMBEDDED: local_runner.RUNNER, Wiring.BOX: local_runner.BOX}


@dataclass(frozen=True)
class Installation:
    """State, messages and objects of one home."""

    settings: Settings

    @cached_property
    def store(self) -> Store:
        """Open the documents."""
        return self._opened(lambda: wiring.open_store(self.settings))

    @cached_property
    def bus(self) -> Bus:
        """Open the topics."""
        return self._opened(lambda: wiring.open_bus(self.settings))

    @cached_property
    def blobs(self) -> Blobs:
        """Open the objects; Google's library takes a quarter of a second."""
        return self._opened(lambda: wiring.open_blobs(self.settings, self.endpoint))

    @cached_property
    def slices(self) -> SliceApi:
        """Open Cloud TPU as whoever is logged in; the control plane has accounts of its own."""
        return self._opened(lambda: wiring.open_slices(self.settings, self.endpoint))

    @property
    def endpoint(self) -> str:
        """The address of the simulated cloud; empty where the cloud is Google's."""
        if self.settings.wiring is not Wiring.EMBEDDED:
            return os.environ.get(wiring.CLOUD_VARIABLE, "")
        info = control.find(self.settings.sandbox_home)
        if info is None:
            raise CliError("the sandbox is not up", next_step="tpuctl local up")
        return info.url

    def pause_s(self, seconds: float) -> float:
        """How long to wait before looking again: in Firestore every look is paid for."""
        return max(seconds, _PAID_LOOK_S) if self.settings.wiring is Wiring.GOOGLE else seconds

    @cached_property
    def owner(self) -> str:
        """Whose jobs these are: the user of this machine, or of Google's account."""
        if self.settings.wiring is not Wiring.GOOGLE:
            return self.settings.owner
        from shared.app.identify import owner_name

        return owner_name(self.store, self._tokens.person())

    def folder_of(self, member: str = "") -> str:
        """Return the folder of the bucket for the jobs of an owner, by default the user's own.

        ``launch`` finds the same from the same settings; it believes nobody's word for it.
        """
        cloud = self.settings.cloud
        if cloud is None or not cloud.teams:
            return ""
        return cloud.people.bounds_of(member or self.member).folder

    @property
    def member(self) -> str:
        """What lists of teams name the user by."""
        is_google = self.settings.wiring is Wiring.GOOGLE
        return self._tokens.person().email if is_google else self.settings.owner

    def id_token(self) -> str:
        """Return what proves who gives an order; empty where nobody asks.  Raises CliError."""
        return self._tokens.token() if self.settings.wiring is Wiring.GOOGLE else ""

    @cached_property
    def _tokens(self) -> TokenSource:
        from cli.identity import TokenSource

        return TokenSource(self.settings.google.project)

    def _opened(self, open_: Callable[[], Opened]) -> Opened:
        """Open something that may ask for a login at Google.  Raises CliError without one."""
        if self.settings.wiring is Wiring.EMBEDDED:
            return open_()
        from cli.identity import logged_in

        with logged_in():
            return open_()

    def require_runner(self) -> None:
        """Refuse an order that nobody would carry out."""
        if self.settings.wiring is not Wiring.EMBEDDED:
            box.check_unsealed(self.store)
        problem = self.missing_runner()
        if problem is not None:
            raise problem

    def warn_if_paused(self) -> None:
        """Say that nothing is created now, by whose order, and why."""
        document = self.store.get(PAUSE)
        if document is not None:
            # The sentence is in the document: what parses it takes longer than this command.
            say_aside(printable(str(document.fields["summary"])))

    def missing_runner(self) -> CliError | None:
        """Say that nobody carries orders out; deployed functions are always there."""
        program = _RUNNERS.get(self.settings.wiring)
        if program is None or local_runner.find(self.settings.home, program) is not None:
            return None
        sealed = box.sealed_error(self.store) if program is local_runner.BOX else None
        return sealed or CliError(f"{program.label} is not up", next_step=program.up)


def here() -> Installation:
    """Return the installation that the environment names."""
    return Installation(home_settings.load())


def for_orders() -> Installation:
    """Return the installation for a write, and say once which one it is."""
    installation = here()
    say_aside(_which(installation.settings))
    installation.require_runner()
    return installation


def _which(settings: Settings) -> str:
    """Say which installation an order goes to."""
    if settings.cloud is not None:
        return f"project {settings.cloud.project}, {settings.wiring} ({settings.home})"
    source = "" if os.environ.get("TPUCTL_HOME") else ", the default"
    return f"no project configured: using this machine (TPUCTL_HOME={settings.home}{source})"


def say_aside(text: str) -> None:
    """Print a remark that is no part of the answer."""
    typer.secho(text, err=True, dim=True)
