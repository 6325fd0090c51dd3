"""``tpuctl.toml``: what `tpuctl run` needs to know of a folder and of those below it.

Its table ``[run]`` holds the fields of a job spec, some under the short names of the flags; what
is typed counts more.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cli.near import near_names
from cli.overrides import FORM, Style
from shared.errors import SpecError

if TYPE_CHECKING:
    from shared.core.job_file import JobFile

NAME: Final = "tpuctl.toml"
TABLES: Final = ("run", "alias")
# As the flags say it.
SHORT: Final[Mapping[str, str]] = {
    "runtime": "runtime_version",
    "type": "accelerator_type",
    "zone": "zones",
}
# Of the table [run], but no field of a job spec.
OURS: Final = ("code", "override")
# What says which slice to make, and nothing on one that is there.
PLACE: Final = frozenset({"accelerator_type", "zones", "tier", "runtime_version"})
_NO_NAME: Final = re.compile(r"[^a-z0-9]+")
_NAME_CHARS: Final = 40
_HEADER: Final = re.compile(r"\s*\[+\s*([^\]]*?)\s*\]")


@dataclass(frozen=True, slots=True)
class Project:
    """What a ``tpuctl.toml`` says.  ``code`` is the folder to pack, None for nothing."""

    path: Path
    file: JobFile
    code: Path | None
    style: Style

    @property
    def has_command(self) -> bool:
        """It says what to run."""
        return bool({"command", "shell"} & set(self.file.fields))


def find(folder: Path) -> Path | None:
    """Find the file in a folder or above it, not above a git repository."""
    for each in (folder, *folder.parents):
        path = each / NAME
        if path.is_file():
            return path
        if (each / ".git").exists():
            return None
    return None


def read(path: Path) -> Project:
    """Read the file.  Raises SpecError that says what is wrong, and on which line."""
    name = shown(path)
    try:
        text = path.read_text("utf-8")
        written = tomllib.loads(text)
    except OSError as error:
        raise SpecError(name, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SpecError(name, f"is not UTF-8: {error.reason} at byte {error.start}") from None
    except tomllib.TOMLDecodeError as error:
        raise SpecError(name, f"cannot be read as TOML: {error}") from None
    return _Reader(path, name, text.splitlines()).project(written)


def shown(path: Path) -> str:
    """Name the file as seen from here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Checks the keys of a file, and knows their lines."""

    path: Path
    name: str
    lines: list[str]

    def project(self, written: Mapping[str, Any]) -> Project:
        """Take the tables apart."""
        from shared.core.job_file import JobFile
        from shared.core.spec import JobSpec

        self._check("", written, TABLES)
        run = self._table(written, "run")
        known = {*JobSpec.model_fields, *SHORT, *OURS} - {"version", *SHORT.values()}
        self._check("run.", run, sorted({*known, *SHORT.values()}))
        fields = self._fields(run)
        fields.setdefault("name", self._default_name())
        lines = {SHORT.get(key, key): line for key in run if (line := self._line("run", key))}
        return Project(
            path=self.path,
            file=JobFile(self.name, fields, lines),
            code=self._code(run.get("code", ".")),
            style=Style(self._aliases(written), self._form(run.get("override", FORM))),
        )

    def _fields(self, run: Mapping[str, Any]) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        names: dict[str, str] = {}
        for key, value in run.items():
            field = SHORT.get(key, key)
            if first := names.get(field):
                raise self._error("run", key, f"stands twice: {first} and {key} are the same")
            if key not in OURS:
                fields[field], names[field] = value, key
        return fields

    def _check(self, table: str, written: Mapping[str, Any], known: Any) -> None:
        for key in written:
            if key in known:
                continue
            near = near_names(key, known)
            hint = f"near: {', '.join(near)}" if near else f"known: {', '.join(known)}"
            raise self._error(table.rstrip("."), key, f"is not known; {hint}")

    def _table(self, written: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        found = written.get(key, {})
        if not isinstance(found, dict):
            raise self._error("", key, f"expected a table: [{key}]")
        return found

    def _aliases(self, written: Mapping[str, Any]) -> Mapping[str, str]:
        found = self._table(written, "alias")
        for key, value in found.items():
            if not isinstance(value, str) or not value:
                raise self._error("alias", key, "expected the full name of a key, as a text")
        return found

    def _form(self, form: object) -> str:
        if not isinstance(form, str) or "{key}" not in form or "{value}" not in form:
            expected = f"expected a text with {{key}} and {{value}}, such as {FORM}"
            raise self._error("run", "override", expected)
        return form

    def _code(self, code: object) -> Path | None:
        if code is False:
            return None
        if not isinstance(code, str) or not (self.path.parent / code).is_dir():
            raise self._error("run", "code", "expected a folder, or false for no code")
        return self.path.parent / code

    def _default_name(self) -> str:
        """Make a job's name of the folder's."""
        folder = self.path.absolute().parent.name.lower()
        name = _NO_NAME.sub("-", folder).lstrip("-0123456789")[:_NAME_CHARS]
        return name.strip("-") or "job"

    def _error(self, table: str, key: str, reason: str) -> SpecError:
        line = self._line(table, key)
        place = f"{table}.{key}" if table else key
        return SpecError(
            f"{self.name}:{line}: {place}" if line else f"{self.name}: {place}", reason
        )

    def _line(self, table: str, key: str) -> int:
        """Return the line of a key, else its table's, else 0."""
        current, found = "", 0
        for number, line in enumerate(self.lines, 1):
            header = _HEADER.match(line)
            if header is not None:
                current = header[1]
                if current == f"{table}.{key}".lstrip("."):
                    return number
                found = number if current == table else found
            elif current == table and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[.=]", line):
                return number
        return found
