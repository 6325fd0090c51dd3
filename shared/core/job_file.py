"""``job.yaml``: a job spec as text, with the line of every key for what is wrong with it.

Read as YAML 1.2's core schema and no more: ``on``, ``yes`` and ``1:30`` are text, keys are text,
a key stands once, and there are no anchors, aliases or tags. Where a job needs text, a number is
taken as it was written: ``lr: 0.10`` in ``env`` is ``0.10``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml

from shared.core.spec import SPEC_BYTES_MAX, JobSpec, parse_spec
from shared.core.spec_errors import shorten
from shared.errors import SpecError

# Below these keys every scalar is text.
_TEXT_KEYS = frozenset({"command", "env", "name", "note", "setup", "shell", "tags"})
# The tags that text has without saying so; whatever else stands there was written by hand.
_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}"
    for name in ("bool", "float", "int", "map", "merge", "null", "seq", "str", "timestamp", "value")
)
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "false": False, "False": False}
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class JobFile:
    """The fields of a file, and the line on which each of them stands."""

    name: str
    fields: Mapping[str, object]
    lines: Mapping[str, int]

    def spec(self, **flags: object) -> JobSpec:
        """Make the spec; what was given as a flag counts more than the file."""
        try:
            return parse_spec({**self.fields, **flags})
        except SpecError as error:
            raise self.located(error) from None

    def located(self, error: SpecError) -> SpecError:
        """Say on which line the field of an error stands, if it stands in the file."""
        place = error.field
        while place and place not in self.lines:
            place = place[: max(place.rfind("."), place.rfind("["), 0)]
        line = f":{self.lines[place]}" if place else ""
        return SpecError(f"{self.name}{line}: {error.field}", error.reason)


def parse_job_file(text: str, name: str = "job.yaml") -> JobFile:
    """Read the text of a job file, or say on which line it cannot be read."""
    if len(text.encode(errors="surrogatepass")) > SPEC_BYTES_MAX:
        raise SpecError(name, f"is larger than {SPEC_BYTES_MAX} bytes")
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        reader = _Reader(name)
        if not isinstance(root, yaml.MappingNode):
            raise SpecError(f"{name}:1", "expected a mapping of keys to values")
        fields = reader.mapping(root, "", as_text=False)
    except yaml.YAMLError as error:
        raise _unreadable(name, error) from None
    except RecursionError:
        raise SpecError(name, "is nested too deeply") from None
    return JobFile(name, fields, reader.lines)


def _unreadable(name: str, error: yaml.YAMLError) -> SpecError:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "bad text"
    place = name if mark is None else f"{name}:{mark.line + 1}"
    return SpecError(place, f"cannot be read as YAML: {problem}")


@dataclass(slots=True)
class _Reader:
    """Turns nodes into values and remembers their lines."""

    name: str
    lines: dict[str, int] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)

    def value(self, node: yaml.Node, path: str, *, as_text: bool) -> object:
        """Read one value."""
        self._check(node, path)
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path, as_text=as_text)
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node, as_text=as_text)
        return [
            self.value(item, f"{path}[{index}]", as_text=as_text)
            for index, item in enumerate(node.value)
        ]

    def mapping(self, node: yaml.MappingNode, path: str, *, as_text: bool) -> dict[str, object]:
        """Read a mapping; its keys are text, each there once."""
        values: dict[str, object] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node, path)
            if key in values:
                raise self._error(_line(key_node), key, "stands twice")
            place = f"{path}.{shorten(key)}".removeprefix(".")
            self.lines[place] = _line(key_node)
            below_text = as_text or (not path and key in _TEXT_KEYS)
            values[key] = self.value(value_node, place, as_text=below_text)
        return values

    def _key(self, node: yaml.Node, path: str) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self._error(_line(node), path or "key", "expected a key of text")
        self._check(node, path)
        return str(node.value)

    def _check(self, node: yaml.Node, path: str) -> None:
        if id(node) in self.seen:
            # An alias is the node of its anchor; the line of its key is the place to look at.
            line = self.lines.get(path, _line(node))
            raise self._error(line, path, "anchors and aliases are not possible here")
        if node.tag not in _TAGS:
            raise self._error(_line(node), path, "tags are not possible here")
        self.seen.add(id(node))
        self.lines.setdefault(path, _line(node))

    def _error(self, line: int, path: str, reason: str) -> SpecError:
        return SpecError(f"{self.name}:{line}: {shorten(path)}", reason)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _scalar(node: yaml.ScalarNode, *, as_text: bool) -> object:
    written = str(node.value)
    if node.style is not None:
        return written
    if written in _NULL:
        return None
    if as_text:
        return written
    if written in _BOOLEANS:
        return _BOOLEANS[written]
    if _INTEGER.fullmatch(written):
        return int(written)
    return float(written) if _FLOAT.fullmatch(written) else written
