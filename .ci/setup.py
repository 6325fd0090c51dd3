"""Make `.venv` from the lock files; run by `make setup` with the machine's own Python.

With a folder and a lock file it makes one more environment, for tools that pin what ours pin
differently; `make` runs that with the Python of `.venv`.

pip installs uv (pinned), uv installs everything else: here that is 5 s instead of 74 s.
uv does not read pip's settings, so the ones that say where packages come from are handed over;
where uv still fails, pip does the same work slowly.  Every package is checked against its hash.
"""

import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
PINNED = ("--no-deps", "--require-hashes", "--requirement")

# pip's setting -> the variable of uv with the same meaning.
UV_VARIABLES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "timeout": "UV_HTTP_TIMEOUT",
}
COMMA_SEPARATED = {"UV_FIND_LINKS"}


def main() -> int:
    """Make the environment and install the locked packages and the project into it."""
    if sys.version_info < (3, 11):  # noqa: UP036 - the machine's Python may be any
        sys.exit(f"tpuctl needs Python 3.11 or newer; this is {sys.version.split()[0]}")
    if not works():
        venv.create(VENV, clear=True, with_pip=True)
    run([str(PYTHON), "-m", "pip", "install", "--quiet", *PINNED, "requirements-setup.lock"])
    install([*PINNED, "requirements-dev.lock"])
    install(["--no-deps", "--no-build-isolation", "--editable", "."])
    return 0


def beside(folder: Path, lock: str) -> int:
    """Make an environment with nothing in it but what a lock file lists."""
    venv.create(folder, clear=True)
    install([*PINNED, lock], folder / "bin" / "python")
    return 0


def works() -> bool:
    """Tell whether the environment is there and its interpreter still starts with pip."""
    probe = [str(PYTHON), "-c", "import pip"]
    quiet = subprocess.DEVNULL
    return PYTHON.exists() and subprocess.run(probe, check=False, stderr=quiet).returncode == 0


def install(arguments: list[str], into: Path = PYTHON) -> None:
    """Install with uv, or with pip where uv cannot, into the environment of an interpreter."""
    # Compiled now, or every process that imports JAX compiles it again where nothing may be kept.
    uv = [str(VENV / "bin" / "uv"), "pip", "install", "--quiet", "--compile-bytecode"]
    uv += ["--python", str(into)]
    try:
        # pip looks at every index too; the hashes say which file is the right one.
        run([*uv, "--index-strategy", "unsafe-best-match", *arguments], **dict(uv_settings()))
    except (subprocess.CalledProcessError, OSError):
        print("uv could not install; trying the same with pip (slower)", file=sys.stderr)
        pip = [str(PYTHON), "-m", "pip", "--python", str(into)]
        run([*pip, "install", "--quiet", *arguments])


def uv_settings() -> Iterator[tuple[str, str]]:
    """Read pip's settings, from its files and variables, as variables for uv."""
    if not os.access(os.path.expanduser("~"), os.W_OK):  # noqa: PTH111 - Path.home() may raise
        yield "UV_NO_CACHE", "1"
    listing = subprocess.run(
        [PYTHON, "-m", "pip", "config", "list"], check=True, capture_output=True, text=True
    )
    for line in listing.stdout.splitlines():
        key, _, value = line.partition("=")
        variable = UV_VARIABLES.get(key.rpartition(".")[2])
        if variable and variable not in os.environ:
            separator = "," if variable in COMMA_SEPARATED else " "
            yield variable, separator.join(value.strip("'\"").replace("\\n", " ").split())


def run(command: list[str], **environment: str) -> None:
    """Run a command in the project's folder and fail with it."""
    subprocess.run(command, check=True, cwd=ROOT, env=os.environ | environment)


if __name__ == "__main__":
    try:
        sys.exit(beside(ROOT / sys.argv[1], sys.argv[2]) if sys.argv[1:] else main())
    except subprocess.CalledProcessError as failure:
        sys.exit(failure.returncode)
