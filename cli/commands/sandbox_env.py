"""`tpuctl sandbox env`: what makes gcloud and Google's libraries talk to the sandbox.

Nothing of the user's own is touched: gcloud gets a configuration of its own, in the sandbox's
folder, and every variable is gone with the shell.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from sandbox import control

ACCOUNT: Final = "you@sandbox.test"
_APIS: Final = ("TPU", "COMPUTE", "OSLOGIN", "STORAGE")
_KEY_BITS: Final = 2048
_LOOPBACK: Final = "127.0.0.1"
_PROXIES: Final = frozenset({"http_proxy", "all_proxy"})


def env(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    unset: Annotated[
        bool, typer.Option("--unset", help="Print what takes the variables back.")
    ] = False,
) -> None:
    """Print variables that point gcloud, Google's libraries and tpuctl here; for `eval`."""
    from cli.commands.sandbox import home_path, told

    home = home_path()
    if unset:
        typer.echo("\n".join(f"unset {name}" for name in variables(home, url="", project="")))
        return
    with told():
        info = control.require(home / "sandbox")
        project = str(control.Client(info.url).get("settings")["project"])
    found = {
        **variables(home, url=info.url, project=project, grpc=info.grpc),
        **past_proxies(os.environ),
    }
    _write_credentials(Path(found["GOOGLE_APPLICATION_CREDENTIALS"]), info.url, project)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    typer.echo("\n".join(f"export {name}={shlex.quote(value)}" for name, value in found.items()))
    typer.echo('# for this shell: eval "$(tpuctl sandbox env)"')


def variables(home: Path, *, url: str, project: str, grpc: str = "") -> Mapping[str, str]:
    """Return all variables and their values."""
    config = home / "sandbox" / "gcloud"
    apis = {f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{api}": f"{url}/" for api in _APIS}
    return {
        "TPUCTL_HOME": str(home),
        "CLOUDSDK_CONFIG": str(config),
        # One that a user has chosen is not in this configuration.
        "CLOUDSDK_ACTIVE_CONFIG_NAME": "default",
        **apis,
        "CLOUDSDK_AUTH_DISABLE_CREDENTIALS": "true",
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "true",
        "CLOUDSDK_CORE_ACCOUNT": ACCOUNT,
        "CLOUDSDK_CORE_CHECK_GCE_METADATA": "false",
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "true",
        "CLOUDSDK_CORE_PROJECT": project,
        "CLOUDSDK_SURVEY_DISABLE_PROMPTS": "true",
        "GOOGLE_APPLICATION_CREDENTIALS": str(config / "application_default_credentials.json"),
        "GOOGLE_CLOUD_PROJECT": project,
        "STORAGE_EMULATOR_HOST": url,
        "TPUCTL_SANDBOX_GRPC": grpc,
    }


def past_proxies(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return what keeps a proxy out of the way, where there is one; it stays for all else."""
    if not any(name.lower() in _PROXIES and value for name, value in environ.items()):
        return {}
    found = {}
    for name in ("no_proxy", "NO_PROXY"):
        hosts = [host for host in environ.get(name, "").split(",") if host]
        found[name] = ",".join(dict.fromkeys([*hosts, _LOOPBACK]))
    return found


def _write_credentials(path: Path, url: str, project: str) -> None:
    """Leave a service account that is good for nothing but the sandbox, once for each address.

    Libraries refuse to start without credentials; the key signs what nobody checks.
    """
    uri = f"{url}/token"
    if path.exists() and json.loads(path.read_text("utf-8"))["token_uri"] == uri:
        return
    told = {
        "type": "service_account",
        "project_id": project,
        "private_key_id": "sandbox",
        "private_key": _private_key(),
        "client_email": ACCOUNT,
        "client_id": "0",
        "token_uri": uri,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(told, file, indent=2)
    draft.replace(path)


def _private_key() -> str:
    # A third of a second, only for the first call.
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=_KEY_BITS)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()
