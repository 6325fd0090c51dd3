"""A scenario: what the cloud is like, what is in its zones over time, and what goes wrong when.

Plain data, read from a YAML file by ``scenario_file.py`` or as JSON from a caller. Times are
seconds of the cloud since the scenario began: its speed divides them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
)

from sandbox import faults, wrong
from sandbox.errors import SettingsError
from sandbox.faults import Words
from sandbox.luck import Lifetime
from sandbox.places import Shop, Zone
from sandbox.settings import KEYS as SETTINGS_KEYS
from sandbox.settings import CallDelay, CallFailure, Count, Settings

At = Annotated[float, Field(ge=0, le=366 * 86_400)]
# What a scenario says elsewhere, or what cannot change while a cloud is up.
_NOT_HERE = frozenset({"buckets", "capacity", "lifetimes", "project", "seed", "speed", "topics"})


class ScenarioError(SettingsError):
    """A scenario is wrong.  ``field`` says where, as ``faults[0].zone``."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.field = field
        self.reason = reason


class Stock(BaseModel):
    """How many nodes fit from a moment on; no number: as many as are asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at_s: At = 0.0
    nodes: Count | None


def _stocks(written: object) -> object:
    """Take a bare number for what fits all the time."""
    return written if isinstance(written, list | tuple) else [{"nodes": written}]


class Timed(BaseModel):
    """A fault and when it happens, once or again and again; its own keys stand beside these."""

    model_config = ConfigDict(frozen=True, extra="allow")

    fault: str
    at_s: At = 0.0
    every_s: Annotated[float, Field(gt=0, le=366 * 86_400)] | None = None
    times: Annotated[int, Field(ge=1, le=10_000)] = 1

    @property
    def words(self) -> Words:
        """The fault alone."""
        return {"fault": self.fault, **(self.model_extra or {})}


class Scenario(BaseModel):
    """All of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str = ""
    version: Literal[1] = 1
    seed: int = 0
    speed: Annotated[float, Field(gt=0, le=1_000_000)] = 1.0
    settings: Mapping[str, Any] = {}
    zones: tuple[Zone, ...] | None = None
    capacity: Mapping[Shop, Annotated[tuple[Stock, ...], BeforeValidator(_stocks)]] = {}
    lifetimes: tuple[Lifetime, ...] = ()
    faults: tuple[Timed, ...] = ()

    @field_validator("faults")
    @classmethod
    def _repeats_after_a_while(cls, found: tuple[Timed, ...]) -> tuple[Timed, ...]:
        for each in found:
            if each.times > 1 and each.every_s is None:
                raise ValueError(f"fault {each.fault}: times needs every_s")
        return found

    def settings_on(self, before: Settings) -> Settings:
        """Return the settings that the scenario begins with; what it does not say stays.

        Raises SettingsError.
        """
        told: dict[str, object] = {
            "capacity": self.stock(0.0) if self.capacity else None,
            "lifetimes": self.lifetimes or None,
            "zones": self.zones,
        }
        said = {key: value for key, value in told.items() if value is not None}
        return before.updated({**self.settings, **said, "seed": self.seed, "speed": self.speed})

    def stock(self, at_s: float) -> dict[str, int]:
        """Return what fits at a moment, by zone and type; what is not in it is unlimited."""
        newest = {shop: _newest(stocks, at_s) for shop, stocks in self.capacity.items()}
        return {shop: nodes for shop, nodes in newest.items() if nodes is not None}

    def moments(self) -> list[Moment]:
        """Return what happens after the beginning, in order; faults at 0 included."""
        changes = {
            stock.at_s for stocks in self.capacity.values() for stock in stocks if stock.at_s > 0
        }
        restocked = [Moment(at_s, capacity=self.stock(at_s)) for at_s in changes]
        return sorted([*restocked, *self._faults()], key=lambda moment: moment.at_s)

    def _faults(self) -> Iterator[Moment]:
        for each in self.faults:
            for number in range(each.times):
                yield Moment(each.at_s + number * (each.every_s or 0.0), fault=each.words)


@dataclass(frozen=True, slots=True)
class Moment:
    """One thing that happens: a fault, or other capacities."""

    at_s: float
    fault: Words | None = None
    capacity: Mapping[str, int] | None = None


def parse(fields: Mapping[str, object]) -> Scenario:
    """Make a scenario of its fields.  Raises ScenarioError with the first that is wrong."""
    try:
        scenario = Scenario.model_validate(dict(fields))
    except ValidationError as error:
        raise ScenarioError(*wrong.with_field(error, _KEYS)) from None
    for index, each in enumerate(scenario.faults):
        field, reason, found = faults.read(each.words)
        if found is None:
            raise ScenarioError(f"faults[{index}].{field}", reason)
    _check_settings(scenario)
    return scenario


def _check_settings(scenario: Scenario) -> None:
    for key in scenario.settings:
        if key in _NOT_HERE:
            raise ScenarioError(f"settings.{key}", "cannot be set here; a scenario says it above")
    try:
        Settings.model_validate(dict(scenario.settings))
    except ValidationError as error:
        field, reason = wrong.with_field(error, SETTINGS_KEYS)
        raise ScenarioError(f"settings.{field}", reason) from None


def _newest(stocks: tuple[Stock, ...], at_s: float) -> int | None:
    """Return the last word by a moment; before the first one nothing is limited."""
    begun = [stock for stock in stocks if stock.at_s <= at_s]
    return max(begun, key=lambda stock: stock.at_s).nodes if begun else None


# The keys of every level, by the field that holds the level.
_KEYS: Mapping[int | str, tuple[str, ...]] = {
    "": tuple(Scenario.model_fields),
    "capacity": tuple(Stock.model_fields),
    "lifetimes": tuple(Lifetime.model_fields),
    "delays": tuple(CallDelay.model_fields),
    "failures": tuple(CallFailure.model_fields),
}
