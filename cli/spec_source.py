"""A job spec from what a user wrote: flags, a file, and the job as it was.

A flag counts more than the file; ``--env`` and ``--rule-on`` replace single keys of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cli import project_file
from cli.overrides import PLAIN, Style, applied
from cli.project_file import PLACE, Project
from shared.errors import SpecError

if TYPE_CHECKING:
    from shared.core.job_file import JobFile
    from shared.core.spec import JobSpec

# What an error about a field is called by someone who wrote flags.
FLAGS: Final[Mapping[str, str]] = {
    "name": "--name",
    "command": "COMMAND",
    "accelerator_type": "--type",
    "zones": "--zone",
    "tier": "--tier",
    "i_pay": "--i-pay",
    "runtime_version": "--runtime",
    "env": "--env",
    "setup": "--setup",
    "rule": "--rule",
    "on": "--rule-on",
    "checkpoint_dir": "--checkpoint-dir",
    "grace_s": "--grace-s",
    "hold_s": "--hold",
    "tags": "--tag",
    "note": "--note",
    "priority": "--priority",
}
MERGED: Final = ("env", "on")


@dataclass(frozen=True, slots=True)
class Source:
    """Where the fields of a spec come from; fields of flags count more than those below."""

    flags: Mapping[str, object]
    below: Mapping[str, object]
    file: JobFile | None = None
    overrides: Sequence[str] = ()
    style: Style = PLAIN

    def spec(self, **code: object) -> JobSpec:
        """Make the spec and check it against the catalog, or say what is wrong and where."""
        # Pydantic takes half a second.
        from shared.catalog_data import load_catalog
        from shared.core.spec import parse_spec, resolve

        try:
            fields = applied(self._fields(), self.overrides, self.style)
            spec = parse_spec({**fields, **code})
            return resolve(spec, load_catalog())
        except SpecError as error:
            raise self._located(error) from None

    def _fields(self) -> dict[str, object]:
        fields = {**self.below, **self.flags}
        for key in MERGED:
            below, above = self.below.get(key), self.flags.get(key)
            if isinstance(below, Mapping) and isinstance(above, Mapping):
                fields[key] = {**below, **above}
        return fields

    def _located(self, error: SpecError) -> SpecError:
        """Name the flag, or the line of the file, in which the field stands."""
        field, key = error.field, error.field.partition(".")[2]
        top = field.partition(".")[0].partition("[")[0]
        written = self.flags.get(top)
        if top in self.flags and (not isinstance(written, Mapping) or not key or key in written):
            return SpecError(_as_flag(field, top), error.reason)
        if self.file is not None:
            return self.file.located(error)
        return SpecError(_as_flag(field, top), error.reason)


def from_file(path: Path | None, flags: Mapping[str, object]) -> Source:
    """Read a job file, if there is one."""
    if path is None:
        return Source(flags, {})
    from shared.core.job_file import parse_job_file

    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise SpecError(str(path), f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SpecError(str(path), f"is not UTF-8: {error.reason} at byte {error.start}") from None
    file = parse_job_file(text, str(path))
    if "code" in file.fields:
        raise file.located(SpecError("code", "is filled in by tpuctl; give --code DIR"))
    return Source(flags, file.fields, file)


@dataclass(frozen=True, slots=True)
class Base:
    """What a job is made from before any flag: a job file, a ``tpuctl.toml``, or nothing.

    ``code`` is the folder that is packed unless a flag says otherwise.
    """

    file: JobFile | None = None
    project: Project | None = None
    code: Path | None = None

    @property
    def knows_command(self) -> bool:
        """It says what to run."""
        return self.file is not None and bool({"command", "shell"} & set(self.file.fields))

    def source(
        self, flags: Mapping[str, object], overrides: Sequence[str], *, has_slice: bool
    ) -> Source:
        """Put flags on top; which slice to make a project says for new slices only."""
        below = self.file.fields if self.file is not None else {}
        if "command" in flags or "shell" in flags:
            below = {key: value for key, value in below.items() if key not in {"command", "shell"}}
        if self.project is None:
            return Source(flags, below, self.file, overrides)
        if has_slice:
            below = {key: value for key, value in below.items() if key not in PLACE}
        return Source(flags, below, self.file, overrides, self.project.style)


def base_of(path: Path | None) -> Base:
    """Read the job file that was named, else the ``tpuctl.toml`` of the working directory."""
    if path is not None:
        return Base(from_file(path, {}).file, None, path.absolute().parent)
    found = project_file.find(Path.cwd())
    if found is None:
        return Base()
    project = project_file.read(found)
    return Base(project.file, project, project.code)


def pairs(flag: str, written: Sequence[str], example: str) -> dict[str, str]:
    """Take ``KEY=VALUE`` texts apart; whatever stands behind the first ``=`` is the value."""
    found: dict[str, str] = {}
    for text in written:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise SpecError(flag, f"expected {example}, found {_short(text)}")
        found[key] = value
    return found


def given(**flags: Any) -> dict[str, object]:
    """Keep the flags that were given."""
    return {key: value for key, value in flags.items() if value not in (None, [], {}, ())}


def _as_flag(field: str, top: str) -> str:
    flag = FLAGS.get(top)
    return field if flag is None else f"{flag}{field.removeprefix(top).replace('.', ' ', 1)}"


def _short(text: str, most: int = 40) -> str:
    return repr(text if len(text) <= most else f"{text[:most]}…")
