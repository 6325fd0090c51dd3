"""One call of the Cloud TPU API, however it came here: over HTTP, over gRPC, from a test."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sandbox.errors import ApiError, bad_field

_INT32_MAX = 2**31 - 1
_NUMBER = re.compile(r"-?[0-9]{1,10}")


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked.

    ``location`` is ``projects/P/locations/Z``, ``item`` the id within a collection, ``params``
    what stands in the query, in camelCase. ``failing`` is what the operation that the call
    starts shall end with, by order of whoever plays with the cloud.
    """

    method: str
    location: str
    item: str
    params: Mapping[str, str]
    body: object
    version: str = "v2"
    failing: ApiError | None = None

    @property
    def project(self) -> str:
        """Return the project's id."""
        return self.location.split("/")[1]

    @property
    def wants_numbers(self) -> bool:
        """Say whether enums shall be numbers: ``$alt=json;enum-encoding=int``."""
        alt = self.params.get("$alt", self.params.get("alt", ""))
        return "enum-encoding=int" in alt

    @property
    def is_forced(self) -> bool:
        """Say whether ``force`` is true."""
        return self.flag("force")

    @property
    def request_id(self) -> str:
        """Return the id by which a repetition of this call is known; "" for none."""
        return self.params.get("requestId", "")

    def name(self, collection: str) -> str:
        """Return the full name of what is asked for."""
        return f"{self.location}/{collection}/{self.item}"

    def required(self, parameter: str) -> str:
        """Return a parameter that must be there.  Raises INVALID_ARGUMENT."""
        value = self.params.get(parameter, "")
        if not value:
            raise bad_field(parameter, f"Missing required parameter '{parameter}'.")
        return value

    def flag(self, parameter: str) -> bool:
        """Return a yes or no.  Raises INVALID_ARGUMENT for anything else."""
        value = self.params.get(parameter, "false").lower()
        if value not in {"true", "false"}:
            raise bad_field(parameter, f"Invalid value at '{parameter}' (TYPE_BOOL), \"{value}\"")
        return value == "true"

    def number(self, parameter: str) -> int:
        """Return a whole number, 0 if it is not given.  Raises INVALID_ARGUMENT."""
        value = self.params.get(parameter, "") or "0"
        found = int(value) if _NUMBER.fullmatch(value) else _INT32_MAX + 1
        if found > _INT32_MAX:
            text = f"Invalid value at '{parameter}' (TYPE_INT32), \"{value}\""
            raise bad_field(parameter, text)
        if found < 0:
            raise bad_field(parameter, f"Invalid {parameter}: it must not be negative.")
        return found
