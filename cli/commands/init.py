"""`tpuctl init`: say once where the control plane is, in the home's settings.toml."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha1
from typing import Annotated, Any, Final

import typer

from cli import box_checks, settings_file, terraform
from cli.errors import USAGE, CliError
from cli.settings_file import Draft
from shared import settings as home_settings
from shared.settings import Wiring

_REGION: Final = re.compile(r"[a-z]+-[a-z]+[0-9]+")
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]")
_ZONE: Final = re.compile(r"[a-z]+-[a-z]+[0-9]+-[a-z]")


def init(  # noqa: PLR0913 - a command's options
    *,
    box: Annotated[
        bool, typer.Option("--box", help="One always-on machine; no Terraform, no functions.")
    ] = False,
    from_terraform: Annotated[
        str, typer.Option(metavar="DIR|FILE|-", help="Terraform's folder, or its outputs as JSON.")
    ] = "",
    project: Annotated[str, typer.Option(help="Project id.")] = "",
    bucket: Annotated[
        str, typer.Option(help="Bucket of code, logs and outputs; PROJECT-PREFIX if none.")
    ] = "",
    region: Annotated[str, typer.Option(help="Region of the bucket, and of functions.")] = "",
    prefix: Annotated[str, typer.Option(help="What the names of topics begin with.")] = "tpuctl",
    zone: Annotated[
        list[str] | None, typer.Option(help="A zone that may be used; may be repeated.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace other settings.")] = False,
    no_check: Annotated[
        bool, typer.Option("--no-check", help="Ask Google nothing, and make nothing there.")
    ] = False,
) -> None:
    """Write this home's settings: where the control plane is."""
    options = _Options(project, bucket, region, prefix, tuple(zone or ()))
    if from_terraform:
        if box or options != _Options():
            raise _usage("--from-terraform says everything itself", "leave the other options out")
        tables, source = terraform.read_settings(from_terraform), from_terraform
    else:
        tables, source = _box(options) if box else _google(options), "the options"
    draft = settings_file.draft(home_settings.home_in(os.environ), tables, source)
    settings_file.check_replaceable(draft, is_forced=force)
    is_written = draft.is_written()
    if box and not no_check:
        _check(draft)
    draft.write()
    _tell(draft, is_new=not is_written)


@dataclass(frozen=True, slots=True)
class _Options:
    """What was said by options."""

    project: str = ""
    bucket: str = ""
    region: str = ""
    prefix: str = "tpuctl"
    zones: Sequence[str] = ()

    @property
    def bucket_or_default(self) -> str:
        """The bucket that Terraform makes, where none is named: a box can move to functions."""
        return self.bucket or f"{self.project}-{self.prefix}"

    def check(self, *needed: str) -> None:
        """Refuse what is missing, or written in a form that Google knows nothing by."""
        for name in needed:
            if not getattr(self, name):
                raise _usage(f"--{name} is missing", "tpuctl init --help")
        if self.bucket and not _BUCKET.fullmatch(self.bucket):
            raise _usage(f"--bucket: {self.bucket!r} is no bucket's name", "name it without gs://")
        if self.region and not _REGION.fullmatch(self.region):
            raise _usage(f"--region: {self.region!r} is no region", "write it like europe-west4")
        for zone in self.zones:
            if not _ZONE.fullmatch(zone):
                raise _usage(f"--zone: {zone!r} is no zone", "write it like europe-west4-b")

    def cloud(self, **more: str) -> dict[str, Any]:
        """Return the table ``[cloud]``."""
        given = {"project": self.project, "bucket": self.bucket_or_default, "prefix": self.prefix}
        return {**given, "region": self.region, "zones": list(self.zones), **more}


def _box(options: _Options) -> dict[str, Any]:
    options.check("project")
    return {"wiring": str(Wiring.BOX), "cloud": options.cloud()}


def _google(options: _Options) -> dict[str, Any]:
    """Say what Terraform makes when nothing else is told to it."""
    options.check("project", "region")
    named = f"{options.project}/{options.prefix}".encode()
    installation = f"t{sha1(named, usedforsecurity=False).hexdigest()[:5]}"
    cloud = options.cloud(database=options.prefix)
    return {"wiring": str(Wiring.GOOGLE), "installation": installation, "cloud": cloud}


def _check(draft: Draft) -> None:
    """Look whether everything is there that a box needs.  Raises CliError."""
    problems = 0
    for finding in box_checks.findings(draft.settings):
        problems += bool(finding.fix)
        typer.echo(f"{'missing' if finding.fix else 'good'}: {finding.text}", err=bool(finding.fix))
        if finding.fix:
            typer.echo(f"  mend it with: {finding.fix}", err=True)
    if problems:
        what = "one thing is" if problems == 1 else f"{problems} things are"
        raise CliError(
            f"{what} missing, nothing was written",
            next_step="do what the lines above say and run the same again, or with --no-check",
        )


def _tell(draft: Draft, *, is_new: bool) -> None:
    """Show what was written, and what comes next."""
    if not is_new:
        typer.echo(f"{draft.path} says this already")
    else:
        typer.echo(f"wrote {draft.path}:")
        for line in draft.text.splitlines():
            typer.echo(f"  {line}".rstrip())
    is_box = draft.settings.wiring is Wiring.BOX
    typer.echo(f"next: {'tpuctl box up' if is_box else 'tpuctl ps'}")


def _usage(message: str, next_step: str) -> CliError:
    return CliError(message, next_step=next_step, code=USAGE)
