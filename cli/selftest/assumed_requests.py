"""What is assumed of requests, of their listings and of their ends."""

from __future__ import annotations

from typing import Final

from cli.selftest import probes_request as request
from cli.selftest.model import Assumption, Phase
from cli.selftest.steps import (
    ADAPTER,
    CREATE,
    DELETE,
    DESCRIBE,
    NODE,
    PLACE,
    QUEUED,
    REPEATED,
    TPUS,
    VM,
)

BEFORE: Final = (
    Assumption(
        "type-offered",
        "the catalogue's zones offer the catalogue's types",
        "shared/data/accelerators.json",
        f"{TPUS} accelerator-types describe TYPE {PLACE}",
        "offered",
        Phase.NOTHING,
        request.type_is_offered,
    ),
    Assumption(
        "runtime-offered",
        "the runtime version that the catalogue pairs with a type is there",
        "shared/data/accelerators.json",
        f"{VM} versions describe RUNTIME {PLACE}",
        "offered",
        Phase.NOTHING,
        request.runtime_is_offered,
    ),
    Assumption(
        "missing-404",
        "a name that was never used is 404, not 403",
        ADAPTER,
        DESCRIBE,
        "HTTP 404",
        Phase.NOTHING,
        request.missing_is_404,
    ),
    Assumption(
        "call-time",
        "a small call takes 0.3 s",
        "docs/operate.md",
        f"time {DESCRIBE}",
        f"<= {request.CALL_S_ASSUMED:g} s",
        Phase.NOTHING,
        request.call_time,
    ),
)

ASKED: Final = (
    Assumption(
        "create-operation",
        "a create is an operation of at most ten minutes; the request is there when it is done",
        ADAPTER,
        f"{CREATE} --async; {DESCRIBE}",
        "there when done",
        Phase.ASKED,
        request.create_is_operation,
    ),
    Assumption(
        "request-id",
        "a repeated request id gives the first operation",
        ADAPTER,
        REPEATED,
        "the same operation",
        Phase.ASKED,
        request.repeated_id_answers_the_same,
    ),
    Assumption(
        "name-taken",
        "a name that is taken is 409",
        ADAPTER,
        CREATE,
        "409",
        Phase.ASKED,
        request.same_name_conflicts,
    ),
    Assumption(
        "listing",
        "a listing of the zone names a request as soon as it is there",
        "shared/app/health_check.py",
        f"{QUEUED} list {PLACE}",
        "named once",
        Phase.ASKED,
        request.listing_names_it,
    ),
    Assumption(
        "listing-all",
        "a listing of all zones names it, too, and says which zones are unreachable",
        ADAPTER,
        f"{QUEUED} list --zone - --project PROJECT",
        "named",
        Phase.ASKED,
        request.listing_of_all_zones,
    ),
)

GONE: Final = (
    Assumption(
        "states",
        "a request goes through the states that we know",
        "shared/core/observe.py",
        f"{QUEUED} describe NAME {PLACE} --format 'value(state.state)'",
        "known ones",
        Phase.GONE,
        request.states_are_known,
    ),
    Assumption(
        "delete",
        "one delete by force ends a request with its node",
        ADAPTER,
        f"time {DELETE}",
        "gone, one order",
        Phase.GONE,
        request.delete_ends,
    ),
    Assumption(
        "node-gone",
        "when the request is 404, so is its node",
        "shared/core/observe.py",
        NODE,
        "HTTP 404",
        Phase.GONE,
        request.node_went_with_it,
    ),
    Assumption(
        "absence",
        "what is 404 after a delete stays 404",
        "docs/protocol.md",
        f"{DESCRIBE}; sleep 30; {DESCRIBE}",
        "404 and 404",
        Phase.GONE,
        request.absence_stays,
    ),
    Assumption(
        "name-free",
        "a name can be used again once it is 404",
        ADAPTER,
        f"{CREATE} && {DELETE}",
        "accepted",
        Phase.GONE,
        request.name_is_free,
    ),
)
