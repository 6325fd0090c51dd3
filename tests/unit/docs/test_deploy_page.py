"""The page on deploying: what it shows is what our programs print, and what it lists is all."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import hcl2.api as hcl2
import pytest

from cli import errors
from cli.main import main
from infra import lifecycle
from infra.complaints import ROLES
from shared.errors import NotAuthorized
from tests.infra import plans
from tests.infra.fake_programs import QUEUED, Programs, install_empty
from tests.installations import TPUCTL, running_google
from tests.unit.cli.stage import write
from tests.unit.docs.tables import page, rows

ROOT = plans.ROOT
PAGE = page("deploy.md")
HOME = "/home/ada/.tpuctl"
WHERE = "PROJECT=example-project REGION=europe-west4"
STATE = "buckets describe gs://example-project-tpuctl-tfstate"
WEBHOOKS = {"key": ["pipeline"], "url": ["lab", "pipeline"]}
LIVE = [{"name": "projects/p/locations/z/queuedResources/tpuctl-abc123-u1234567-g1-b0"}]
MAKE = shutil.which("make") or "make"


@dataclass(frozen=True, slots=True)
class Step:
    """A command on the page, below which heading, and what is shown below the command."""

    heading: str
    command: str
    output: str


def steps_in(text: str) -> list[Step]:
    """Read the commands of a page in their order."""
    found = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE):
        heading = section.partition("\n")[0]
        fenced = re.findall(r"^```(\w*)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
        for block in (text for language, text in fenced if not language):
            parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
            pairs = zip(parts[1::2], parts[2::2], strict=True)
            found += [Step(heading, command, output) for command, output in pairs]
    return found


STEPS = steps_in(PAGE)
MAKE_STEPS = [step for step in STEPS if step.command.startswith("make ")]


@pytest.fixture(name="programs")
def _programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Give gcloud and terraform in an empty project."""
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
        monkeypatch.delenv(name, raising=False)
    return install_empty(tmp_path, monkeypatch)


def made(command: str, capfd: pytest.CaptureFixture[str]) -> str:
    """Do what make would run for a command, and return all that it says."""
    dry = [MAKE, "--no-print-directory", "-n", "-o", ".venv/.ready", *shlex.split(command)[1:]]
    line = subprocess.run(dry, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    _, found, words = line.partition("-m infra.lifecycle ")
    assert found, f"make runs something else: {line}"
    capfd.readouterr()
    with suppress(SystemExit):
        lifecycle.main(shlex.split(words))
    printed = capfd.readouterr()
    return anywhere(printed.out + printed.err)


def anywhere(text: str) -> str:
    """Leave out where the zip of the functions is, and what its bytes are today."""
    return re.sub(r"\S+/functions.zip  \d+ bytes  sha256:\w+", "functions.zip", text)


def planned_before(programs: Programs) -> None:
    """Leave what a plan makes."""
    programs.answer(STATE, "there")


def without_addresses(programs: Programs) -> None:
    """Add two webhooks to a deployment."""
    named = {
        kind: [f"tpuctl-webhook-{kind}-{each}" for each in names]
        for kind, names in WEBHOOKS.items()
    }
    programs.answer_deployed(webhook_secrets=named)
    programs.answer("secrets versions list tpuctl-webhook", "")


PLACES: dict[tuple[str, str], Callable[[Programs], None]] = {
    ("Plan and deploy", "plan"): lambda _: None,
    ("Plan and deploy", "deploy"): planned_before,
    ("Who is told what", "deploy"): without_addresses,
    ("Upgrade", "deploy"): Programs.answer_deployed,
    ("Destroy", "destroy"): Programs.answer_deployed,
}


def test_every_make_of_the_page_is_tried() -> None:
    """In the place where it stands."""
    assert list(PLACES) == [(step.heading, step.command.split()[1]) for step in MAKE_STEPS]


@pytest.mark.parametrize("step", MAKE_STEPS, ids=lambda step: step.heading)
def test_a_make_says_what_is_shown(
    programs: Programs, capfd: pytest.CaptureFixture[str], step: Step
) -> None:
    """Line for line; what terraform says comes on top."""
    PLACES[step.heading, step.command.split()[1]](programs)

    assert anywhere(step.output) == made(step.command, capfd)


def test_init_writes_what_is_shown(
    programs: Programs,
    home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the outputs that the kept plan would have."""
    (step,) = [step for step in STEPS if step.command.startswith("tpuctl init ")]
    launch = 'module.function["launch"].google_cloudfunctions2_function.this'
    given = plans.recorded().one(launch).block("service_config")["environment_variables"]
    programs.answer_deployed(settings=json.loads(given["TPUCTL_SETTINGS"]))
    monkeypatch.chdir(ROOT)

    code = main(shlex.split(step.command)[1:])

    assert (0, step.output) == (code, capsys.readouterr().out.replace(str(home), HOME))


def similar(text: str, home: Path) -> str:
    """Make two runs comparable: seconds, the place, the project and the person of the page."""
    told = text.replace(str(home), HOME).replace("tpuctl-emulated", "example-project")
    told = told.replace("demo-example-com", "ada-example-com")
    return re.sub(r"\b\d+s\b", "N s", re.sub(r"[^\S\n]+", " ", told))


@pytest.mark.slow
def test_the_first_job_runs_as_is_shown(tmp_path: Path) -> None:
    """Over the emulators, with real processes on pretended hosts."""
    steps = [step for step in STEPS if step.heading == "The first job"]
    home = tmp_path / "google"
    shown = [similar(step.output, home) for step in steps]

    with running_google(home):
        environ = {**os.environ, "COLUMNS": "110"}
        said = [
            subprocess.run(
                [TPUCTL, *shlex.split(step.command)[1:]],
                env=environ,
                cwd=tmp_path,
                check=False,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            ).stdout
            for step in steps
        ]

    assert shown == [similar(each, home) for each in said]


# --- What goes wrong -----------------------------------------------------------------------------

NO_RIGHT = "ERROR: (gcloud.services.enable) PERMISSION_DENIED: Permission denied to enable service"
LOGGED_OUT = "ERROR: (gcloud.a.b) You do not currently have an active account selected.\nPlease…"
NO_BILLING = (
    "ERROR: (gcloud.services.enable) FAILED_PRECONDITION: Billing account for project '1' is not"
    " found."
)
API_OFF = (
    "ERROR: (gcloud.functions.regions.list) PERMISSION_DENIED: Cloud Functions API has not been"
    " used in project 1 before or it is disabled."
)
TAKEN = "ERROR: (gcloud.a) HTTPError 409: The requested bucket name is not available."


def fails(pattern: str, complaint: str) -> Callable[[Programs], None]:
    """Have one command of gcloud fail."""
    return lambda programs: programs.fails(pattern, complaint)


def slices_live(programs: Programs) -> None:
    """Leave a slice in one zone of a deployment."""
    programs.answer_deployed()
    programs.answer(f"{QUEUED}europe-west4-b", json.dumps(LIVE))


def nothing(_: Programs) -> None:
    """Leave the project empty."""


REFUSALS: dict[str, tuple[str, Callable[[Programs], None]]] = {
    "no project": ("make deploy REGION=europe-west4", nothing),
    "a name or number for an id": ("make deploy PROJECT=123456789012 REGION=r", nothing),
    "a zone for a region": ("make plan PROJECT=example-project REGION=europe-west4-b", nothing),
    "a region without functions": (
        "make plan PROJECT=example-project REGION=us-central2",
        nothing,
    ),
    "no zones": (f"make plan {WHERE}", nothing),
    "another region than before": (
        "make deploy PROJECT=example-project REGION=us-central1",
        Programs.answer_deployed,
    ),
    "no terraform": (f"make plan {WHERE}", lambda programs: programs.remove("terraform")),
    "no gcloud": (f"make plan {WHERE}", lambda programs: programs.remove("gcloud")),
    "nobody is logged in": (f"make plan {WHERE}", fails("projects describe", LOGGED_OUT)),
    "terraform is not logged in": (f"make plan {WHERE}", fails("print-access-token", "ERROR: no")),
    "a role is missing": (f"make plan {WHERE}", fails("services enable", NO_RIGHT)),
    "no billing": (f"make plan {WHERE}", fails("services enable", NO_BILLING)),
    "an API that is not on yet": (f"make plan {WHERE}", fails("regions list", API_OFF)),
    "the state's bucket is somebody else's": (
        f"make deploy {WHERE}",
        fails("buckets create", TAKEN),
    ),
    "slices live": (f"make destroy {WHERE}", slices_live),
    "nothing is deployed": (f"make destroy {WHERE}", nothing),
}
SHOWN = {each[0]: each[1].strip("`") for each in rows(PAGE, "when", "what is said")}


def test_every_refusal_of_the_page_is_tried() -> None:
    """And no other one."""
    assert list(REFUSALS) == list(SHOWN)


@pytest.mark.parametrize("what", REFUSALS)
def test_a_refusal_is_the_line_that_is_shown(
    programs: Programs, capfd: pytest.CaptureFixture[str], what: str
) -> None:
    """One line, after whatever was done before."""
    command, arrange = REFUSALS[what]
    arrange(programs)

    *_, last = made(command, capfd).splitlines()

    assert SHOWN[what] == last


def test_who_lacks_a_right_is_sent_to_whoever_deployed_it(home: Path) -> None:
    """In the words of the page."""
    cloud = '[cloud]\nproject = "example-project"\nbucket = "b"\n'
    write(home / "settings.toml", f'wiring = "google"\n{cloud}')

    step = errors.translated(NotAuthorized("Firestore: no")).next_step

    assert f"`{step.partition(': docs')[0]}`" in PAGE


# --- What is listed ------------------------------------------------------------------------------


def test_roles_cover_everything_that_terraform_makes() -> None:
    """Whoever has them, and no more, can deploy."""
    text = "\n".join(path.read_text("utf-8") for path in plans.INFRA.rglob("*.tf"))
    declared = set(re.findall(r'^resource "(\w+)"', text, re.MULTILINE))

    assert declared == set(re.findall(r"`(google_\w+)`", PAGE))


def test_a_role_that_an_error_names_is_in_the_list() -> None:
    """Nobody is sent for a right that the page does not know."""
    listed = set(re.findall(r"^\| `(roles/[\w.]+)`", PAGE, re.MULTILINE))

    assert [] == sorted(set(ROLES.values()) - listed)


def test_variables_on_the_page_are_terraforms() -> None:
    """Whoever copies them gets no warning."""
    text = (plans.INFRA / "variables.tf").read_text("utf-8")
    declared = set(re.findall(r'^variable "(\w+)"', text, re.MULTILINE))
    written = [hcl2.loads(block) for block in re.findall(r"```hcl\n(.*?)```", PAGE, re.DOTALL)]

    assert 3 == len(written)
    assert set() == {name for block in written for name in block} - declared
