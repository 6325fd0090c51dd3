"""The installation a command works on; every part of it is opened when it is first needed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property

import typer

from cli import local_runner
from cli.errors import CliError
from sandbox import control
from shared import settings as home_settings
from shared import wiring
from shared.ports import Blobs, Bus, Store
from shared.settings import Settings


@dataclass(frozen=True)
class Installation:
    """State, messages and objects of one home."""

    settings: Settings

    @cached_property
    def store(self) -> Store:
        """Open the documents."""
        return wiring.open_store(self.settings)

    @cached_property
    def bus(self) -> Bus:
        """Open the topics."""
        return wiring.open_bus(self.settings)

    @cached_property
    def blobs(self) -> Blobs:
        """Open the objects; Google's library takes most of a second."""
        return wiring.open_blobs(self.endpoint)

    @property
    def endpoint(self) -> str:
        """The address of the simulated cloud."""
        info = control.find(self.settings.sandbox_home)
        if info is None:
            raise CliError("the sandbox is not up", next_step="tpuctl local up")
        return info.url

    @property
    def owner(self) -> str:
        """Whose jobs these are."""
        return self.settings.owner

    def require_runner(self) -> None:
        """Refuse an order that nobody would carry out."""
        if local_runner.find(self.settings.home) is None:
            raise CliError("the local runner is not up", next_step="tpuctl local up")


def here() -> Installation:
    """Return the installation that the environment names."""
    return Installation(home_settings.load())


def for_orders() -> Installation:
    """Return the installation for a write, and say once which one it is."""
    installation = here()
    source = "" if os.environ.get("TPUCTL_HOME") else ", the default"
    say_aside(
        f"no project configured: using this machine"
        f" (TPUCTL_HOME={installation.settings.home}{source})"
    )
    installation.require_runner()
    return installation


def say_aside(text: str) -> None:
    """Print a remark that is no part of the answer."""
    typer.secho(text, err=True, dim=True)
