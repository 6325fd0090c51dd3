"""The table of all commands, and the group that loads a command when it is called."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.exceptions import TyperException
from typer.main import get_command

from cli.completion import is_wanted
from cli.errors import INTERRUPTED
from cli.near import near_names
from cli.quick import QuickCommand, QuickGroup, WordsCommand

USAGE_ERRORS: Final = (TyperException,)


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command is, and the first line of its help; a test compares the two."""

    module: str
    attribute: str
    help: str
    # Words after the first one that is no option belong to the user's program.
    takes_command: bool = False


COMMANDS: Final[Mapping[str, Entry]] = {
    "run": Entry("cli.commands.run", "run", "Run a command on a TPU slice.", takes_command=True),
    "ps": Entry("cli.commands.ps", "ps", "List jobs, those at work first."),
    "watch": Entry("cli.commands.watch", "watch", "Watch jobs live; leaving it stops nothing."),
    "show": Entry("cli.commands.show", "show", "Show a job: attempts, timeline, what to do next."),
    "why": Entry(
        "cli.commands.why", "why", "Say what a job waits for, since when, and what comes next."
    ),
    "logs": Entry("cli.commands.logs", "logs", "Print what a job's program wrote."),
    "history": Entry(
        "cli.commands.history", "history", "Say what was done to your jobs, and by whom."
    ),
    "wait": Entry("cli.commands.wait", "wait", "Wait until jobs are over."),
    "stop": Entry("cli.commands.stop", "stop", "Stop a job; it can be resumed later."),
    "clean": Entry("cli.commands.clean", "clean", "Put finished jobs away: ps leaves them out."),
    "resume": Entry("cli.commands.again", "resume", "Go on from the newest checkpoint."),
    "rerun": Entry("cli.commands.again", "rerun", "Start again from the first step."),
    "poke": Entry(
        "cli.commands.poke", "poke", "Wake the checks now instead of at the next minute."
    ),
    "sweep": Entry(
        "cli.commands.sweep",
        "sweep",
        "Delete TPUs of ours that no slice wants, after a look at each.",
    ),
    "parked": Entry("cli.commands.parked", "app", "Messages that nobody could handle."),
    "pause": Entry(
        "cli.commands.pause", "pause", "Create no slice any more, for anybody; what runs goes on."
    ),
    "unpause": Entry(
        "cli.commands.pause",
        "unpause",
        "Create again what is wanted; what waited goes on by itself.",
    ),
    "grant": Entry("cli.commands.grant", "app", "What may be used without paying."),
    "slice": Entry("cli.commands.slices", "app", "TPU slices of your own, and what there is."),
    "ckpt": Entry("cli.commands.ckpt", "app", "Look at checkpoints."),
    "init": Entry(
        "cli.commands.init", "init", "Write this home's settings: where the control plane is."
    ),
    "box": Entry("cli.commands.box", "app", "The control plane on a machine that is always on."),
    "import": Entry(
        "cli.commands.moving", "import_box", "Take over the jobs of a box that was exported."
    ),
    "local": Entry("cli.commands.local", "app", "The control plane on this machine."),
    "sandbox": Entry(
        "cli.commands.sandbox", "app", "A TPU cloud on this machine, to try things in."
    ),
    "emulators": Entry(
        "cli.commands.emulators", "app", "Google's Firestore and Pub/Sub emulators on this machine."
    ),
    "selftest": Entry(
        "cli.commands.selftest",
        "selftest",
        "Check this installation; with --live what it assumes of Cloud TPU.",
    ),
    "tldr": Entry("cli.commands.tldr", "tldr", "Show the commands of a day on one page."),
    "demo": Entry("cli.commands.demo", "demo", "Train through two preemptions on this machine."),
}


class LazyGroup(QuickGroup):
    """A group whose list is a table and whose commands are imported one at a time."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - typer's signature
        """Name the commands, in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - typer's signature
        """Import a command."""
        return load(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - typer's signature
        """List the commands without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Offer the commands without importing any of them."""
        if incomplete.startswith("-"):
            offers: list[Any] = super().shell_complete(ctx, incomplete)
            return offers
        from typer._click.shell_completion import CompletionItem

        names = [name for name in COMMANDS if name.startswith(incomplete)]
        return [CompletionItem(name, help=COMMANDS[name].help) for name in names]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Name the near commands when there is none of this name."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = near_names(name, COMMANDS)
            hint = f"; near: {', '.join(near)}" if near else ""
            ctx.fail(f"there is no command {name!r}{hint}")
        return super().resolve_command(ctx, args)


def _print_version(value: bool) -> None:  # noqa: FBT001 - typer's signature
    if value:
        from importlib.metadata import version

        typer.echo(f"tpuctl {version('tpuctl')}")
        raise typer.Exit


VERSION = Annotated[
    bool,
    typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version."),
]


def tpuctl(
    *,
    version: VERSION = False,
    install_completion: Annotated[
        bool, typer.Option("--install-completion", help="Let Tab complete in this shell.")
    ] = False,
    show_completion: Annotated[
        bool, typer.Option("--show-completion", help="Print what does that.")
    ] = False,
) -> None:
    """Keep checkpointed training runs alive on preemptible Cloud TPU slices."""


def completing(*, version: VERSION = False) -> None:
    """Keep checkpointed training runs alive on preemptible Cloud TPU slices."""


def made(*, with_completion: bool) -> Any:
    """Make the program.

    What Typer needs for Tab takes longer than most commands: else its flags are only listed.
    """
    app = typer.Typer(
        cls=LazyGroup,
        add_completion=with_completion,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(completing if with_completion else tpuctl)
    return get_command(app)


def call(words: list[str]) -> int:
    """Call a command and return its exit code; errors are raised."""
    program = made(with_completion=is_wanted(words, os.environ))
    try:
        result = program.main(words, prog_name="tpuctl", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    if result == INTERRUPTED:
        # Typer has made an exit code of it.
        raise KeyboardInterrupt
    return result if isinstance(result, int) else 0


def load(name: str) -> Any:
    """Import a command or a group of commands."""
    entry = COMMANDS[name]
    found = getattr(import_module(entry.module), entry.attribute)
    if isinstance(found, typer.Typer):
        found.rich_markup_mode = None
        # The program has the flags for all its commands.
        found._add_completion = False  # noqa: SLF001 - a group of ours is told here, once for all
        return get_command(found)
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    context = {"allow_interspersed_args": not entry.takes_command}
    kind = WordsCommand if entry.takes_command else QuickCommand
    single.command(name, cls=kind, context_settings=context)(found)
    return get_command(single)
