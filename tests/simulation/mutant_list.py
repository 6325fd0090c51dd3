"""The mutants: one for every rule of docs/protocol.md, alone, or in pairs that cover each other.

``case`` names a test that sees a mutant which no world can show: what it breaks is a sentence, a
limit, a refusal, or needs something that the simulated world has not got.
"""

from __future__ import annotations

from typing import Final

from tests.simulation.mutants import AGENT, APP, CORE, Mutant, single
from tests.simulation.mutants_of_attempts import ATTEMPTS
from tests.simulation.mutants_of_slices import SLICES

SINGLES: Final[tuple[Mutant, ...]] = (
    *ATTEMPTS,
    single(
        "other slices' hosts count",
        "compare the slice's uid before its generation",
        f"{CORE}.situation",
        "            if (host.slice_uid, host.generation, host.bid)\n"
        "            == (self.slice.uid, generation.number, bid)",
        "            if host.bid == bid",
    ),
    single(
        "snapshots in any order",
        "within a boot the sequence orders snapshots",
        f"{CORE}.hosts",
        "return self.sequence > other.sequence",
        "return True",
    ),
    single(
        "mandates without a precondition",
        "a mandate is written over a lower one only",
        f"{APP}.perform",
        "if_generation=stored.generation if stored else 0)",
        "if_generation=None)",
        case="tests/unit/app/test_perform.py",
    ),
    single(
        "a restored database is believed",
        "a mandate above the document's is jumped over",
        f"{APP}.perform",
        "        if sequence > order.sequence:\n",
        "        if sequence > 10**9:\n",
        case="tests/unit/app/test_mandates.py",
    ),
    single(
        "random names",
        "names are functions of slice, generation and bid: a repeated create is the same",
        f"{APP}.perform",
        "        name=bid.name,\n        zone=bid.zone,",
        "        name=f\"{bid.name.rpartition('b')[0]}b{id(now) % 9999}\",\n        zone=bid.zone,",
    ),
    single(
        "create before the mandate",
        "the mandate is there before the first bid is created",
        f"{CORE}.schedule",
        "        and bid.verdict is not View.LOST\n        and generation.mandate.written > 0\n",
        "        and bid.verdict is not View.LOST\n",
        case="tests/unit/core/test_schedule.py",
    ),
    single(
        "no sweep",
        "what no slice wants is found and deleted",
        f"{APP}.orphans",
        "    if orphans:\n        app.bus.publish(Topic.PREEMPTIONS, orphans)",
        "    if False:\n        app.bus.publish(Topic.PREEMPTIONS, orphans)",
    ),
    single(
        "the outbox is not relayed",
        "every committed event is published, whoever died",
        f"{APP}.relay",
        "    events = [_event(document) for document in app.store.query(query)]",
        "    events: list[Event] = []",
    ),
    single(
        "nothing is due",
        "every wait has a due time, and the tick finds it",
        f"{CORE}.schedule",
        "    due_at = max(min(times), _soonest(now)) if times else None",
        "    due_at = now.later(1e7)",
    ),
    single(
        "event ids repeat",
        "outbox ids contain the revision",
        f"{APP}.commit",
        'f"{after.slice.uid}-{after.slice.revision:08d}"',
        'f"{after.slice.uid}"',
    ),
    single(
        "no revision",
        "every commit bumps a revision",
        f"{APP}.commit",
        "        slice_ = replace(slice_, revision=slice_.revision + 1)",
        "        slice_ = replace(slice_, revision=slice_.revision + 0)",
    ),
    single(
        "budgets are not held",
        "budgets hold, whatever is replayed",
        f"{CORE}.rules",
        "    if used >= limit:",
        "    if used >= limit + 1:",
    ),
    single(
        "what is only read is not held",
        "no commit without a compare-and-set",
        f"{APP}.commit",
        "    app.store.commit([*writes, *_notes(after, who), *outbox.writes])",
        "    writes = [each for each in writes if not isinstance(each, Guard)]\n"
        "    app.store.commit([*writes, *_notes(after, who), *outbox.writes])",
    ),
    single(
        "users' ends are overruled",
        "terminal stages are left by a user alone, and cancel wins",
        f"{CORE}.stages",
        "(Stage.STOPPING, Event.SLICE_LOST): Stage.STOPPING,",
        "(Stage.STOPPING, Event.SLICE_LOST): Stage.RECOVERING,",
    ),
    single(
        "pause is not asked",
        "while it is paused nothing is created",
        f"{APP}.gate",
        "    if paused is not None:\n        return Wait(paused.text)",
        "    if False:\n        return Wait(paused.text)",
    ),
    single(
        "creates without a limit",
        "creates a minute are bounded for the project",
        f"{APP}.gate",
        "    if may_pass and take_place(app, bid.name):",
        "    if True:",
        case="tests/unit/app/test_storm.py",
    ),
    single(
        "late commands count",
        "an order that comes more than ten minutes late is refused",
        f"{APP}.orders",
        "is_expired = delivery.attempt == 1 and age_s > app.policy.command_s",
        "is_expired = False",
        case="tests/unit/app/test_orders.py",
    ),
    single(
        "tokens are not compared",
        "a snapshot shows the token of its bid and of its attempt",
        f"{CORE}.snapshot",
        "    if not hmac.compare_digest(mine.encode(), theirs.encode()):",
        "    if False:",
        case="tests/unit/core/test_snapshot.py",
    ),
    single(
        "canaries are not asked",
        "silence is judged only while reports come through",
        f"{APP}.silence",
        "    if not _are_canaries_fresh(app, now):\n        return False",
        "    if False:\n        return False",
        case="tests/unit/app/test_silence.py",
    ),
    single(
        "mass silence is judged",
        "when most hosts are silent together, nobody is fenced",
        f"{APP}.silence",
        "not is_somebody_silent or not _are_most_silent(app, now)",
        "True",
        case="tests/unit/app/test_silence.py",
    ),
    single(
        "a notice deletes at once",
        "after a notice the delete waits until all is saved, or 90 s",
        f"{CORE}.capacity",
        "    wait_s = now.policy.notice_s if current.noticed_at else 0.0",
        "    wait_s = 0.0",
        case="tests/unit/core/test_capacity.py tests/unit/app/test_loss.py",
    ),
    single(
        "a missing mandate is made again",
        "a mandate that is gone is never made again",
        f"{APP}.perform",
        "            if stored is None and order.written > 0:",
        "            if False:",
        case="tests/unit/app/test_mandates.py",
    ),
    single(
        "seen attempts are not compared",
        "resume names the attempt that it saw",
        f"{CORE}.ordering",
        "    if job.attempt != order.seen_attempt:",
        "    if False:",
        case="tests/unit/core/test_ordering.py",
    ),
    *SLICES,
)

_BY_NAME: Final = {mutant.name: mutant for mutant in SINGLES}
_EXTRA: Final[tuple[Mutant, ...]] = (
    single(
        "publish without an outbox",
        "events are written in the commit that causes them",
        f"{APP}.commit",
        "    app.store.commit([*writes, *_notes(after, who), *outbox.writes])",
        "    app.store.commit([*writes, *_notes(after, who)])",
    ),
    single(
        "the tick wakes nobody",
        "what is due is told again by every tick",
        f"{APP}.health_check",
        '    _wake(app, [wake_launch(each.name, "due") for each in slices])\n',
        "    slices = []\n",
    ),
    single(
        "late creates are forgotten",
        "a bid whose create may have been sent is cleared by absence for ten minutes",
        f"{CORE}.letting_go",
        "    return seconds >= now.policy.late_create_s",
        "    return True",
    ),
    single(
        "older mandates are obeyed",
        "agents order mandates by sequence alone",
        AGENT,
        "if mandate.sequence < state.record.seen:",
        "if False:",
    ),
)
_BY_NAME.update({mutant.name: mutant for mutant in _EXTRA})
# Each alone is covered by the other one.
PAIRS: Final[tuple[tuple[Mutant, Mutant], ...]] = tuple(
    (_BY_NAME[first], _BY_NAME[second])
    for first, second in (
        ("publish without an outbox", "the tick wakes nobody"),
        ("late creates are forgotten", "no sweep"),
        ("older mandates are obeyed", "mandates without a precondition"),
    )
)


def all_mutants() -> dict[str, tuple[Mutant, ...]]:
    """Return everything that has to die, by name."""
    singles = {mutant.name: (mutant,) for mutant in SINGLES}
    pairs = {f"{first.name} + {second.name}": (first, second) for first, second in PAIRS}
    return {**singles, **pairs}
