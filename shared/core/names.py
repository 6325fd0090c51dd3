"""Names in the cloud and in the bucket: pure functions of what they stand for.

Whoever repeats an effect arrives at the same name; that is what makes repeats harmless.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

LABEL_INSTALLATION = "tpuctl-installation"
LABEL_SLICE = "tpuctl-slice"
LABEL_GENERATION = "tpuctl-generation"
LABEL_BID = "tpuctl-bid"

_CLOUD_NAME = re.compile(r"tpuctl-([a-z0-9]{6})-([a-z0-9]{8})-g(\d+)-b(\d+)")
# Google allows 63 characters; the pieces below need at most 41.
CLOUD_NAME_CHARS_MAX = 63
SLUG_CHARS_MAX = 40


class CloudName(NamedTuple):
    """What the name of a queued resource of any installation says."""

    installation: str
    slice_uid: str
    generation: int
    bid: str


def cloud_name(installation: str, slice_uid: str, generation: int, bid: str) -> str:
    """Name a queued resource and its node."""
    name = f"tpuctl-{installation}-{slice_uid}-g{generation}-b{bid}"
    assert _CLOUD_NAME.fullmatch(name), f"{name} is one of our cloud names"
    assert len(name) <= CLOUD_NAME_CHARS_MAX, f"{name} fits Google's limit"
    return name


def ledger_line(slice_uid: str, generation: int, bid: str) -> str:
    """Name the line of the ledger that says what one bid cost."""
    return f"{slice_uid}-g{generation}-b{bid}"


def parse_cloud_name(name: str) -> CloudName | None:
    """Read a name in the cloud, or None for one that is not of our form."""
    match = _CLOUD_NAME.fullmatch(name)
    if match is None:
        return None
    return CloudName(match[1], match[2], int(match[3]), match[4])


def labels(installation: str, slice_uid: str, generation: int, bid: str) -> Mapping[str, str]:
    """Label a node, so that the sweep can tell ours from others'."""
    return {
        LABEL_INSTALLATION: installation,
        LABEL_SLICE: slice_uid,
        LABEL_GENERATION: str(generation),
        LABEL_BID: bid,
    }


def slice_name(name: str, ending: str) -> str:
    """Name a slice after its job, short enough for a slug."""
    return f"{name[: SLUG_CHARS_MAX - len(ending) - 1].rstrip('-')}-{ending}"


def team_folder(team: str) -> str:
    """Name the folder of the bucket below which a team reads and writes everything."""
    return f"teams/{team}/"


def mandate_object(slice_uid: str, generation: int, folder: str = "") -> str:
    """Name the mandate of one generation, in its team's folder."""
    return f"{folder}control/mandates/{slice_uid}/g{generation}.json"


def left_reports(slice_uid: str, generation: int, folder: str = "") -> str:
    """Name what hosts leave beside their mandate, up to the bid and the number of the host."""
    return f"{mandate_object(slice_uid, generation, folder).removesuffix('.json')}.host-"


def spec_object(sha256: str, folder: str = "") -> str:
    """Name a job spec by its content, in its team's folder."""
    return f"{folder}control/specs/{sha256}.json"


def code_object(sha256: str, folder: str = "") -> str:
    """Name a code bundle by its content, in its team's folder."""
    return f"{folder}code/{sha256}.tar.gz"


def log_prefix(
    job: str, attempt: int | None = None, host: int | None = None, *, folder: str = ""
) -> str:
    """Name the folder of a job's logs, of one attempt's, or of one host's."""
    parts = [f"{folder}logs", job]
    if attempt is not None:
        parts.append(str(attempt))
        if host is not None:
            parts.append(str(host))
    return "/".join(parts) + "/"


def team_outputs(root: str, bucket: str, folder: str) -> str:
    """Name the place below which a team's jobs write, when everybody's is ``root``.

    In the installation's bucket the team's folder comes first, since rights there are given by
    how a name begins; in any other place it comes last.
    """
    if not folder:
        return root
    ours, root = f"gs://{bucket}/", f"{root.rstrip('/')}/"
    if root.startswith(ours):
        return f"{ours}{folder}{root.removeprefix(ours)}"
    return f"{root}{folder}"


def run_folder(root: str, job: str, run: int) -> str:
    """Name the folder of one run: a rerun never writes where an earlier run wrote."""
    return f"{root.rstrip('/')}/{job}/run-{run}"
