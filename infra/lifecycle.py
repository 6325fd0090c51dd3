"""Deploy, change and remove the control plane: ``make plan``, ``make deploy``, ``make destroy``.

It runs gcloud and terraform as whoever is logged in, and must never delete what is a user's
without being told by name.
"""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Callable, Mapping
from typing import Final

from infra.arguments import Asked, read
from infra.complaints import complaint
from infra.prepare import ZIP, nothing_there, prepare
from infra.programs import INFRA, Problem, attempt, gcloud, terraform, terraform_line

TOKEN_BYTES: Final = 32
NAMES_MAX: Final = 5
BUCKET, DATABASE = "google_storage_bucket.data", "google_firestore_database.this"


def plan(asked: Asked) -> None:
    """Say what deploy would change."""
    prepare(asked)
    terraform("plan", *_variables(asked))


def deploy(asked: Asked) -> None:
    """Make the installation, or change it to what the source says."""
    prepare(asked)
    variables = _variables(asked)
    _adopt(asked, variables)
    _fill_secrets(asked, variables)
    terraform("apply", *asked.approval, *variables)
    print("deployed; next: tpuctl init --from-terraform infra")


def destroy(asked: Asked) -> None:
    """Remove everything but data; data too, when that was said."""
    prepare(asked, fresh=False)
    outputs = _outputs()
    if "installation" not in outputs:
        raise nothing_there(asked)
    _refuse_while_slices_live(asked, outputs)
    variables = _variables(asked)
    if asked.delete_data:
        print("DELETE_DATA=yes: the bucket and the database go, with everything in them")
        variables = (*variables, "-var=deletion_protection=false")
        terraform("apply", *asked.approval, *variables, f"-target={BUCKET}", f"-target={DATABASE}")
    else:
        _keep_data(outputs)
    terraform("destroy", *asked.approval, *variables)
    print(f"destroyed; terraform's state stays in gs://{asked.state_bucket}")


def _adopt(asked: Asked, variables: tuple[str, ...]) -> None:
    """Take back a bucket and a database that an earlier destroy left."""
    known = attempt(terraform_line("state", "list")).stdout.split()
    bucket, path = f"{asked.project}-{asked.prefix}", f"projects/{asked.project}/databases/"
    database = _written_variables().get("database", asked.prefix)
    there: Mapping[str, tuple[str, list[str]]] = {
        BUCKET: (bucket, ["storage", "buckets", "describe", f"gs://{bucket}"]),
        DATABASE: (
            path + database,
            ["firestore", "databases", "describe", f"--database={database}"],
        ),
    }
    for address, (name, describe) in there.items():
        look = ["gcloud", *describe, f"--project={asked.project}"]
        if address not in known and attempt(look).returncode == 0:
            print(f"taking back {name}, which is there already", flush=True)
            terraform("import", "-input=false", *variables, address, name)


def _fill_secrets(asked: Asked, variables: tuple[str, ...]) -> None:
    """Make the secrets before what reads them: a function does not start without."""
    targets = ("google_secret_manager_secret.token", "google_secret_manager_secret.webhook")
    print("the secrets first: functions do not start without them", flush=True)
    terraform("apply", "-auto-approve", *variables, *(f"-target={each}" for each in targets))
    for name in (f"{asked.prefix}-token", *_webhook_secrets("key")):
        if not _has_version(asked, name):
            print(f"making the first version of the secret {name}", flush=True)
            add = ("secrets", "versions", "add", name, "--data-file=-")
            gcloud(asked.project, *add, given=secrets.token_hex(TOKEN_BYTES))
    empty = [name for name in _webhook_secrets("url") if not _has_version(asked, name)]
    if empty:
        raise Problem(
            f"no address in {', '.join(empty)}; next: printf %s 'https://…' |"
            f" gcloud secrets versions add {empty[0]} --data-file=- --project={asked.project},"
            " then make deploy again"
        )


def _webhook_secrets(kind: str) -> list[str]:
    found = _outputs().get("webhook_secrets")
    return sorted(map(str, found.get(kind, []))) if isinstance(found, dict) else []


def _has_version(asked: Asked, secret: str) -> bool:
    listing = ("secrets", "versions", "list", secret, "--filter=state=ENABLED")
    return bool(gcloud(asked.project, *listing, "--format=value(name)").strip())


def _refuse_while_slices_live(asked: Asked, outputs: Mapping[str, object]) -> None:
    """Look at the cloud itself: a listing that fails proves nothing.  Raises Problem."""
    mine, live, unknown = f"tpuctl-{outputs['installation']}-", list[str](), list[str]()
    for zone in _zones_of(outputs):
        listing = ["compute", "tpus", "queued-resources", "list", f"--zone={zone}", "--format=json"]
        found = attempt(["gcloud", *listing, f"--project={asked.project}"])
        if found.returncode:
            unknown.append(f"{zone} ({complaint(found.stderr)})")
            continue
        names = (str(each["name"]).rpartition("/")[2] for each in json.loads(found.stdout))
        live += [f"{name} in {zone}" for name in names if name.startswith(mine)]
    problem = _guard_sentence(live, unknown)
    if problem and not asked.force:
        raise Problem(f"{problem}; next: tpuctl stop JOB, tpuctl slice rm SLICE, or FORCE=1")
    if problem:
        print(f"FORCE=1: {problem}; they go on, cost money, and nobody watches them")


def _guard_sentence(live: list[str], unknown: list[str]) -> str:
    said = []
    if live:
        more = f" and {len(live) - NAMES_MAX} more" if len(live) > NAMES_MAX else ""
        words = "slice lives" if len(live) == 1 else "slices live"
        said.append(f"{len(live)} {words}: {', '.join(live[:NAMES_MAX])}{more}")
    if unknown:
        said.append(f"slices may live where nothing could be listed: {', '.join(unknown)}")
    return "; ".join(said)


def _keep_data(outputs: Mapping[str, object]) -> None:
    """Have terraform forget what it must not delete; the next deploy takes it back."""
    known = attempt(terraform_line("state", "list")).stdout.split()
    kept = [address for address in (BUCKET, DATABASE) if address in known]
    if kept:
        terraform("state", "rm", *kept)
    print(
        f"kept: gs://{outputs['bucket']} and the database {outputs['database']}"
        " (DELETE_DATA=yes deletes them, too)",
        flush=True,
    )


def _variables(asked: Asked) -> tuple[str, ...]:
    """Say to terraform what was said to us; zones stay as they are deployed."""
    zones, outputs = asked.zones, _outputs()
    if outputs.get("region", asked.region) != asked.region:
        raise Problem(
            f"{asked.prefix} is deployed in {outputs['region']}, and its data cannot move;"
            f" next: REGION={outputs['region']}, or another PREFIX"
        )
    if not zones and "zones" not in _written_variables():
        zones = _zones_of(outputs)
        if not zones:
            raise Problem(
                "ZONES is missing: where may slices be? next: ZONES=europe-west4-b,us-central2-b,"
                " or zones = [...] in infra/terraform.tfvars"
            )
    given = {"prefix": asked.prefix, "project": asked.project, "region": asked.region}
    given["source_zip"] = str(ZIP)
    lines = tuple(f"-var={name}={value}" for name, value in given.items())
    return (*lines, f"-var=zones={json.dumps(zones)}") if zones else lines


def _written_variables() -> Mapping[str, str]:
    """Read the variables that the user's own file sets, as far as they stand on one line."""
    path = INFRA / "terraform.tfvars"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {name.strip(): value.strip().strip('"') for name, _, value in pairs}


def _outputs() -> Mapping[str, object]:
    found = attempt(terraform_line("output", "-json"))
    read = json.loads(found.stdout) if found.returncode == 0 and found.stdout.strip() else {}
    return {name: each["value"] for name, each in read.items()}


def _zones_of(outputs: Mapping[str, object]) -> tuple[str, ...]:
    zones = outputs.get("zones")
    return tuple(map(str, zones)) if isinstance(zones, list) else ()


ACTIONS: Final[Mapping[str, Callable[[Asked], None]]] = {
    "plan": plan,
    "deploy": deploy,
    "destroy": destroy,
}


def main(arguments: list[str] | None = None) -> int:
    """Do what was asked for; 1 with one line when it cannot be done."""
    action, asked = read(arguments, ACTIONS, (__doc__ or "").splitlines()[0])
    try:
        ACTIONS[action](asked)
    except Problem as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
