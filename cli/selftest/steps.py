"""The commands of a checklist, for a person: PROJECT, ZONE, TYPE, RUNTIME, NAME to be filled in."""

from __future__ import annotations

from typing import Final

TPUS: Final = "gcloud compute tpus"
QUEUED: Final = f"{TPUS} queued-resources"
VM: Final = f"{TPUS} tpu-vm"
PLACE: Final = "--zone ZONE --project PROJECT"
DESCRIBE: Final = f"{QUEUED} describe NAME {PLACE}"
CREATE: Final = (
    f"{QUEUED} create NAME --node-id NAME --accelerator-type TYPE --runtime-version RUNTIME"
    f" --spot {PLACE}"
)
DELETE: Final = f"{QUEUED} delete NAME --force --quiet {PLACE}"
NODE: Final = f"{VM} describe NAME {PLACE}"
ON_HOST: Final = f"{VM} ssh NAME {PLACE} --command"
READ: Final = "curl -sH Metadata-Flavor:Google metadata/computeMetadata/v1/instance"
PATCH: Final = f"time {VM} update NAME {PLACE} --update-metadata tpuctl-bell=1"
EVENT: Final = (
    f"gcloud alpha compute tpus tpu-vm simulate-maintenance-event NAME --workers 0 {PLACE}"
)
RESET: Final = f"{QUEUED} reset NAME {PLACE}"
ADAPTER: Final = "shared/adapters/tpu.py"
AGENT: Final = "shared/host/agent.py"
_AS_ME: Final = '-H "Authorization: Bearer $(gcloud auth print-access-token)"'
_REST: Final = "https://tpu.googleapis.com/v2/projects/PROJECT/locations/ZONE"
OPERATIONS: Final = f"curl -s {_AS_ME} {_REST}/operations"
# gcloud has no flag for the id of a request; the body is what `--log-http` shows of a create.
REPEATED: Final = (
    f"curl -s {_AS_ME} --json @BODY '{_REST}/queuedResources?queuedResourceId=NAME&requestId=UUID',"
    " twice"
)
