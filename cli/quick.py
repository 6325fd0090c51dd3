"""Commands whose words reach them as they are.

Typer checks every parameter, plain texts and flags too, with pydantic, and loading that takes
longer than most of our commands. Nothing is to be checked in a text: here it is handed over.
Parameters of any other type stay Typer's.
"""

from __future__ import annotations

from typing import Any, Final

from typer.core import TyperCommand, TyperGroup

_AS_WRITTEN: Final = (str, bool, list[str])
# Where Typer keeps what it makes for a parameter on first use; without it we are only slower.
_SLOT: Final = "_runtime_param"
_WORDS: Final = "command"
DASHES: Final = "tpuctl.dashes"


class _AsWritten:
    """Takes the place of Typer's check of one parameter."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ARG002 - Typer's signature
        """Return the value, and an empty one in Typer's own form."""
        if param.multiple or param.nargs == -1:
            return () if value is None else list(value)
        return value


class QuickCommand(TyperCommand):
    """A command without pydantic."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, the one for help among them."""
        return [_quick(param) for param in super().get_params(ctx)]


class WordsCommand(QuickCommand):
    """A command whose last words are a program's; ``ctx.meta[DASHES]`` says how they began."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Remember whether `--` stood before the words: then nothing else can be meant."""
        written = list(args)
        left: list[str] = super().parse_args(ctx, args)
        begin = len(written) - len(ctx.params.get(_WORDS) or ())
        ctx.meta[DASHES] = begin > 0 and written[begin - 1] == "--"
        return left


class QuickGroup(TyperGroup):
    """A group without pydantic."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, the one for help among them."""
        return [_quick(param) for param in super().get_params(ctx)]


def _quick(param: Any) -> Any:
    annotation = getattr(getattr(param, "type_descriptor", None), "annotation", None)
    if annotation in _AS_WRITTEN and getattr(param, _SLOT, "") is None:
        setattr(param, _SLOT, _AsWritten())
    return param
