"""Arguments and options that several commands have, worded once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from cli.completion import job_names, slice_names

JOB: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="JOB", help="Number, @last, name or id of the job.", autocompletion=job_names
    ),
]
SLICE: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="SLICE", help="As `tpuctl slice ls` names it, or @last.", autocompletion=slice_names
    ),
]
AS_JSON: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
COMMAND_ID: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="ID", help="Ask again for an order that got no answer, by its id."),
]
ON: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--on", metavar="SLICE", help="Use a slice that is there.", autocompletion=slice_names
    ),
]
I_PAY: TypeAlias = Annotated[
    bool, typer.Option("--i-pay", help="Also where it costs: outside of grants, far from the data.")
]
FILE: TypeAlias = Annotated[
    Path | None, typer.Option("--file", "-f", metavar="FILE", help="A job.yaml.")
]
CODE: TypeAlias = Annotated[
    Path | None, typer.Option("--code", metavar="DIR", help="Pack this folder as the code.")
]
ENV: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="K=V", help="Environment variable; may be repeated."),
]
RULE: TypeAlias = Annotated[
    str | None,
    typer.Option("--rule", metavar="PRESET", help="pre, reapply, rerun, resume or pass."),
]
RULE_ON: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--rule-on", metavar="CAUSE=ACTION", help="One cell of the preset replaced."),
]
GRACE_S: TypeAlias = Annotated[
    float | None, typer.Option("--grace-s", help="Seconds from SIGTERM to SIGKILL.")
]
HOLD: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--hold", "--hold-s", metavar="TIME", help="Keep the slice after an end: 30m, 0 for not."
    ),
]
COLUMNS: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--columns", "-c", metavar="NAMES", help="Such as job,name,step,slice,output; +slice adds."
    ),
]
