"""The first process of a simulated host, for one boot: ``python -m sandbox.machine``.

It runs the node's startup script, adopts every orphan of the host, and ends them all when it
is told to (SIGTERM) or when the sandbox dies in any way. It never outlives its boot: a reboot
is another one of these. Standard library only, so that a host boots quickly.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from sandbox import cores, processes

# The exit code of a boot that ends because the host itself wants to reboot.
REBOOT = 42
_REBOOT_SIGNAL = signal.SIGUSR1
_HANDLED = {signal.SIGTERM, signal.SIGCHLD, _REBOOT_SIGNAL}
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
    cores.keep_to(options.cores, options.seat)
    # How a process on the host reboots it: it has no kernel of its own to ask.
    os.environ["TPUCTL_REBOOT"] = f"kill -{_REBOOT_SIGNAL.value} {os.getpid()}"
    _open_door(options.directory / "ssh")
    is_running, last = _boot(options.directory), signal.SIGTERM
    while is_running:
        last = signal.Signals(signal.sigwait(_HANDLED))
        is_running = last not in {signal.SIGTERM, _REBOOT_SIGNAL}
        processes.reap()
    processes.end_descendants(os.getpid())
    processes.reap()
    if last is _REBOOT_SIGNAL:
        sys.exit(REBOOT)


def _open_door(folder: Path) -> None:
    """Start the host's ssh server, if it has one (``sshd.py``)."""
    server = folder.absolute() / "sshd"
    if server.exists():
        _start([str(server), "-D", "-e", "-f", str(server.with_name("sshd_config"))])


def _boot(directory: Path) -> bool:
    """Start the startup script; return whether the power is still on."""
    while (script := _startup_script()) is None:
        time.sleep(_METADATA_RETRY_S)
        if signal.SIGTERM in signal.sigpending():
            return False
    if script:
        path = directory / "tmp" / "startup-script"
        path.write_text(script, encoding="utf-8")
        path.chmod(0o700)
        # As on a VM the first line says who reads it; a script without one is bash's.
        _start([str(path)] if script.startswith("#!") else ["bash", str(path)])
    else:
        print("no startup-script in the metadata", flush=True)  # noqa: T201 - the console
    return True


def _startup_script() -> str | None:
    """Read the startup script as the guest environment does; "" if there is none."""
    try:
        status, body = _get("/computeMetadata/v1/instance/attributes/startup-script")
    except (OSError, ValueError, LookupError):
        return None
    found = {200: body, 404: b""}.get(status)
    return None if found is None else found.decode("utf-8")


def _get(path: str) -> tuple[int, bytes]:
    """Read something from the metadata server: its status and all of its body.

    By hand: any library would cost every host as much time and memory again as all the rest.
    Raises OSError, ValueError or LookupError for an answer that is not whole.
    """
    server, _, port = os.environ["GCE_METADATA_HOST"].rpartition(":")
    request = f"GET {path} HTTP/1.0\r\nHost: {server}\r\nMetadata-Flavor: Google\r\n\r\n"
    with socket.create_connection((server, int(port)), timeout=_METADATA_TIMEOUT_S) as connection:
        connection.sendall(request.encode())
        with connection.makefile("rb") as answer:
            status = int(answer.readline().split()[1])
            fields = dict(line.split(b": ", 1) for line in iter(answer.readline, b"\r\n"))
            lengths = {name.lower(): value for name, value in fields.items()}
            wanted = int(lengths[b"content-length"])
            body = answer.read(wanted)
    if len(body) != wanted:
        raise ValueError("the answer broke off")
    return status, body


def _start(words: list[str]) -> None:
    subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=_unblock,  # noqa: PLW1509 - this process has one thread
    )


def _unblock() -> None:
    """Give the script the ordinary signal mask: masks are inherited."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="sandbox.machine", description=main.__doc__)
    parser.add_argument("directory", type=Path, help="the host's directory")
    parser.add_argument("--sandbox", type=int, required=True, help="process id of the sandbox")
    parser.add_argument("--cores", type=int, default=0, help="how many it may use; 0: all")
    parser.add_argument("--seat", type=int, default=0, help="whose turn it is with the cores")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
