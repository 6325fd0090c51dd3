"""The deployed zip's root ``main.py``: the six targets, and logs as Google reads them.

functions-framework looks for targets in one file beside the packages, and the file runs before
the first request: nothing heavy may be imported here.
"""

import gc

from functions.main import alert, health_check, launch, park, recovery, report
from shared.log import to_json_stdout

__all__ = ["alert", "health_check", "launch", "park", "recovery", "report"]

# Importing makes many objects and no garbage: looking for it takes a twelfth of a cold start.
# The first request turns it on again.
gc.disable()
to_json_stdout()
