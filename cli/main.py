"""`tpuctl`: the entrance.

Imports nothing heavy: a command's module is loaded when that command is called, and what goes
wrong leaves as one line on stderr, the next step, and an exit code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typer.exceptions import TyperException

_FAILED, _INTERRUPTED = 1, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _open_streams()
    try:
        code = _run(words or ["--help"])
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _told("interrupted", "", _INTERRUPTED)
    except BrokenPipeError:
        # Whoever read has seen enough; Python shall not complain when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED
    except OSError as error:
        # A full disk, mostly; Python shall not try once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _told(f"error: standard output: {error.strerror or error}", "", _FAILED)
    return code


def _open_streams() -> None:
    """Let what is written to a stream that was closed (``>&-``) go nowhere."""
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def _run(words: list[str]) -> int:
    """Call the command; turn every error into its lines and its code."""
    from cli.commands import root
    from cli.errors import CliError, translated
    from shared.errors import ControlPlaneError

    try:
        return root.call(words)
    except CliError as error:
        return _told(f"error: {error}", error.next_step, error.code)
    except ControlPlaneError as error:
        told = translated(error)
        return _told(f"error: {told}", told.next_step, told.code)
    except root.USAGE_ERRORS as error:
        return _usage(error)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except OSError as error:
        if error.filename is None:
            return _told(f"error: the system: {error.strerror or error}", "", _FAILED)
        what = f"error: {error.filename}: {error.strerror or error}"
        return _told(
            what, "check the path and its rights; TPUCTL_HOME names another folder", _FAILED
        )
    except Exception as error:
        if os.environ.get("TPUCTL_DEBUG"):
            raise
        what = f"error: a bug in tpuctl: {type(error).__name__}: {error}"
        return _told(what, "TPUCTL_DEBUG=1 shows where; please report it", _FAILED)


def _usage(error: TyperException) -> int:
    """Tell what was wrong with the words of a command."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "tpuctl"
    message = error.format_message()
    if "\n" in message:
        # A group without a command: the message is its help.
        sys.stderr.write(f"{message}\n")
        return error.exit_code
    first = message[:1].lower() + message[1:].rstrip(".")
    return _told(f"error: {first}", f"{command} --help", error.exit_code)


def _told(line: str, next_step: str, code: int) -> int:
    # Whatever an error quotes, it stays one line.
    sys.stderr.write(f"{' '.join(line.split())}\n")
    if next_step:
        sys.stderr.write(f"next: {next_step}\n")
    return code
