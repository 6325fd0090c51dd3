#!/usr/bin/env python3
"""What runs on the one host of a self test: it tells by guest attributes what a host can see.

It travels as text in the node's metadata, alone: standard library of Python 3.8 only. It ends
with its host.
"""

from __future__ import annotations

import json
import os
import threading
import time
import urllib.error
import urllib.request
import uuid
from urllib.parse import quote

NAMESPACE = "tpuctl-selftest"
BELL = "tpuctl-bell"
_SERVER = os.environ.get("GCE_METADATA_HOST", "metadata.google.internal")
_ROOT = f"http://{_SERVER}/computeMetadata/v1/instance"
_CALL_S = 10
_HANG_S = 60
_PAUSE_S = 1.0
_TRIES = 60


def main() -> None:
    """Tell what is there now, then whatever changes, until the host ends."""
    tell("facts", json.dumps(facts()))
    for key in ("preempted", "maintenance-event"):
        threading.Thread(target=watch, args=(key, key), daemon=True).start()
    watch(f"attributes/{BELL}", "bell")


def facts() -> dict[str, object]:
    """Look once at all that the control plane relies on."""
    listed = read("attributes/")[1].split()
    return {
        "run": uuid.uuid4().hex,
        "name": read("name")[1],
        "attributes": sorted(listed),
        "worker": read("attributes/agent-worker-number")[1],
        "endpoints": read("attributes/worker-network-endpoints")[1],
        "tpu_env": read("attributes/tpu-env")[1],
        "preempted": read("preempted")[1],
        "maintenance_event": read("maintenance-event")[1],
        "upcoming_status": read("upcoming-maintenance?alt=json&recursive=true")[0],
    }


def watch(path: str, key: str) -> None:
    """Tell each value that comes after the first one, and when it was seen."""
    tag, known = "0", read(path)[1]
    while True:
        question = f"{path}?wait_for_change=true&last_etag={quote(tag)}&timeout_sec={_HANG_S}"
        status, value, tag = ask(question, _HANG_S + _CALL_S)
        if status != 200:  # noqa: PLR2004 - OK
            # Not there, or nobody answers: a hanging question would come back at once.
            time.sleep(_PAUSE_S)
            value = known if status == 0 else ""
        if value != known:
            known = value
            tell(key, f"{value} {time.time():.3f}")


def tell(key: str, value: str) -> None:
    """Write a guest attribute; early in a boot nobody may listen yet."""
    for _ in range(_TRIES):
        path = f"guest-attributes/{NAMESPACE}/{key}"
        if ask(path, _CALL_S, method="PUT", body=value.encode())[0] in {200, 204}:
            return
        time.sleep(_PAUSE_S)


def read(path: str) -> tuple[int, str]:
    """Read a part of the metadata: HTTP status, and the text or nothing."""
    status, text, _ = ask(path, _CALL_S)
    return status, text if status == 200 else ""  # noqa: PLR2004 - OK


def ask(
    path: str, timeout_s: float, *, method: str = "GET", body: bytes | None = None
) -> tuple[int, str, str]:
    """Ask the metadata server: HTTP status (0: no answer), text, etag."""
    request = urllib.request.Request(
        f"{_ROOT}/{path}", data=body, method=method, headers={"Metadata-Flavor": "Google"}
    )
    # Never through a proxy: the server is this host's own.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=timeout_s) as answer:
            return answer.status, answer.read().decode(), answer.headers.get("ETag") or "0"
    except urllib.error.HTTPError as error:
        return error.code, "", "0"
    except OSError:
        return 0, "", "0"


if __name__ == "__main__":
    main()
