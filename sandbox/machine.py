"""The first process of a simulated host, for one boot: ``python -m sandbox.machine``.

It runs the node's startup script, adopts every orphan of the host, and ends them all when it
is told to (SIGTERM) or when the sandbox dies in any way. It never outlives its boot: a reboot
is another one of these. Standard library only, so that a host boots quickly.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from sandbox import processes

_HANDLED = {signal.SIGTERM, signal.SIGCHLD}
_METADATA_TIMEOUT_S = 2
_METADATA_RETRY_S = 0.5


def main() -> None:
    """Run one boot until the power is cut."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
    options = _parse(sys.argv[1:])
    processes.adopt_orphans()
    processes.signal_on_parent_death(signal.SIGTERM)
    if os.getppid() != options.sandbox:
        return
    os.chdir(options.directory)
    is_running = _boot(options.directory)
    while is_running:
        is_running = signal.sigwait(_HANDLED) != signal.SIGTERM
        processes.reap()
    processes.end_descendants(os.getpid())
    processes.reap()


def _boot(directory: Path) -> bool:
    """Start the startup script; return whether the power is still on."""
    while (script := _startup_script()) is None:
        time.sleep(_METADATA_RETRY_S)
        if signal.SIGTERM in signal.sigpending():
            return False
    if script:
        path = directory / "tmp" / "startup-script"
        path.write_text(script, encoding="utf-8")
        subprocess.Popen(
            ["bash", str(path)],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_unblock,  # noqa: PLW1509 - this process has one thread
        )
    else:
        print("no startup-script in the metadata", flush=True)  # noqa: T201 - the console
    return True


def _startup_script() -> str | None:
    """Read the startup script as the guest environment does; "" if there is none."""
    request = urllib.request.Request(
        f"http://{os.environ['GCE_METADATA_HOST']}"
        "/computeMetadata/v1/instance/attributes/startup-script",
        headers={"Metadata-Flavor": "Google"},
    )
    try:
        with urllib.request.urlopen(request, timeout=_METADATA_TIMEOUT_S) as answer:
            return str(answer.read().decode("utf-8"))
    except urllib.error.HTTPError as error:
        return "" if error.code == 404 else None  # noqa: PLR2004 - not found
    except OSError:
        return None


def _unblock() -> None:
    """Give the script the ordinary signal mask: masks are inherited."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="sandbox.machine", description=main.__doc__)
    parser.add_argument("directory", type=Path, help="the host's directory")
    parser.add_argument("--sandbox", type=int, required=True, help="process id of the sandbox")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
