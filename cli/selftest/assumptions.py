"""All that is assumed of the real Cloud TPU, as data; docs/live-checklist.md shows the same."""

from __future__ import annotations

from typing import Final

from cli.selftest.assumed_nodes import READY
from cli.selftest.assumed_requests import ASKED, BEFORE, GONE
from cli.selftest.untried import UNTRIED

ASSUMPTIONS: Final = (*BEFORE, *ASKED, *READY, *GONE, *UNTRIED)
