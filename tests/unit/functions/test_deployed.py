"""The root of the deployed zip: it starts quickly, and cleans up as soon as it has started."""

import json
import subprocess
import sys

CHILD = """
import gc, json, sys
import functions.deployed
names = {"flask", "google.cloud.firestore", "google.pubsub_v1", "pydantic", "shared.app"}
heavy = names & set(sys.modules)
before = gc.isenabled()
from functions import serving
serving._collect_garbage()
print(json.dumps([sorted(heavy), before, gc.isenabled(), gc.get_freeze_count() > 1000]))
"""


def test_a_start_imports_nothing_heavy_and_collects_garbage_after_the_first_request() -> None:
    """Requests make garbage, imports do not."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD], check=True, stdout=subprocess.PIPE, text=True
    )

    assert [[], False, True, True] == json.loads(done.stdout)
