"""`tpuctl sandbox inject`: break one thing in the simulated cloud, now.

The faults and their keys are those of scenario files; the sandbox itself checks them.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Annotated, Any, Final

import typer

from cli.tables import table, width
from sandbox import control

# What follows the fault is its keys; they are not options of ours.
KEYS = {"allow_extra_args": True, "ignore_unknown_options": True}
# The keys that are true when nothing is said of them; without loading what checks them all.
SWITCHES: Final = ("silent",)


def inject(
    ctx: typer.Context,
    fault: Annotated[
        str | None, typer.Argument(metavar="FAULT [TARGET]", help="What breaks; see --list.")
    ] = None,
    *,
    list_: Annotated[bool, typer.Option("--list", help="List all faults and their keys.")] = False,
) -> None:
    """Break something: stockout, dead-host, slow-create …; keys as --for-s 30."""
    from cli.commands.sandbox import home_path, told

    if list_ or fault is None:
        for line in _known():
            typer.echo(line)
        return
    words = {"fault": fault, **words_of(ctx.args)}
    with told():
        info = control.require(home_path() / "sandbox")
        hit = control.Client(info.url).post("faults", words)["hit"]
    assert isinstance(hit, list), "the sandbox answers what was hit"
    typer.echo(f"{fault}: {', '.join(_short(each) for each in hit)}\nnext: tpuctl sandbox status")


def words_of(written: Sequence[str]) -> dict[str, object]:
    """Read ``TARGET --key value --switch``.

    Raises BadParameter for a second target, and for a key that needs a value and has none.
    """
    words: dict[str, object] = {}
    left = list(written)
    while left:
        word = left.pop(0)
        if not word.startswith("--"):
            if "target" in words:
                raise typer.BadParameter(f"{word!r}: there is a name already, {words['target']!r}")
            words["target"] = word
            continue
        flag, equals, value = word.partition("=")
        key = flag.removeprefix("--").replace("-", "_")
        words[key] = _plain(value if equals else _value(flag, key, left))
    return words


def _value(flag: str, key: str, left: list[str]) -> str:
    """Take the value of a key from what is left."""
    if key in SWITCHES:
        return "true"
    if not left or left[0].startswith("--"):
        alone = ", ".join(f"--{name}" for name in SWITCHES)
        raise typer.BadParameter(f"{flag}: needs a value; only {alone} goes without one")
    return left.pop(0)


def _plain(value: str) -> object:
    """Take numbers and truths as what they are, all else as text."""
    if value in {"true", "false"}:
        return value == "true"
    for kind in (int, float):
        with suppress(ValueError, OverflowError):
            number = kind(value)
            return number if math.isfinite(number) else value
    return value


def _known() -> Iterator[str]:
    # Pydantic takes a moment: only who asks for the list waits for it.
    from sandbox.faults import FAULTS

    rows = [(name, _keys(kind), inspect.getdoc(kind) or "") for name, kind in FAULTS.items()]
    shown = [(name, keys, text.splitlines()[0]) for name, keys, text in rows]
    yield from table([("fault", "keys", "what happens"), *shown], columns=width(), elastic=2)


def _keys(kind: Any) -> str:
    names = [f"[{kind.target}]"] if kind.target else []
    options = [name for name in kind.model_fields if name != kind.target]
    return " ".join([*names, *(f"--{name.replace('_', '-')}" for name in options)])


def _short(name: str) -> str:
    """Leave the project and the zone out of a full name."""
    return name.rpartition("/")[2] if name.startswith("projects/") else name
