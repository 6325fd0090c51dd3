"""Mutants: the product with one rule taken out. The simulation must see that each is wrong.

A mutant is a change of the source text, made while a module is loaded in a process of its own.
A text that is not found (any more) is an error: a mutant must not rot.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Final

CORE: Final = "shared.core"
APP: Final = "shared.app"
AGENT: Final = "shared.host.agent"


@dataclass(frozen=True, slots=True)
class Change:
    """Another text in a module's source."""

    module: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """A rule that is broken: what it says, and how it is taken out.

    ``case`` is what pytest runs where no seed can see it.
    """

    name: str
    rule: str
    changes: tuple[Change, ...]
    case: str = ""


def single(name: str, rule: str, module: str, old: str, new: str, case: str = "") -> Mutant:
    """Break a rule in one place."""
    return Mutant(name, rule, (Change(module, old, new),), case)


class RottenMutant(Exception):  # noqa: N818 - says what it is
    """The text that a mutant changes is not in the source, or more than once."""


class _Loader(SourceFileLoader):
    """Loads a module with its changes, never from a cache."""

    changes: tuple[Change, ...] = ()

    def get_code(self, fullname: str) -> CodeType:
        """Compile the changed source."""
        text = self.get_source(fullname)
        assert text is not None, "a module of ours has a source"
        for change in self.changes:
            if text.count(change.old) != 1:
                found = text.count(change.old)
                raise RottenMutant(f"{fullname}: {change.old!r} is there {found} times")
            text = text.replace(change.old, change.new)
        return compile(text, self.path, "exec")


class _Finder(MetaPathFinder):
    """Finds the modules that a mutant changes."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self._changes = changes

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Give a module another loader if it is to be changed."""
        changes = tuple(each for each in self._changes if each.module == fullname)
        if not changes:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        assert spec is not None, f"{fullname} is there"
        assert spec.origin is not None, f"{fullname} is a file"
        loader = _Loader(fullname, spec.origin)
        loader.changes = changes
        spec.loader = loader
        return spec


def install(mutants: Sequence[Mutant]) -> None:
    """Change what will be imported from now on; nothing of it may be loaded yet."""
    changes = [change for mutant in mutants for change in mutant.changes]
    loaded = [change.module for change in changes if change.module in sys.modules]
    assert not loaded, f"{loaded} is loaded already"
    sys.meta_path.insert(0, _Finder(changes))
