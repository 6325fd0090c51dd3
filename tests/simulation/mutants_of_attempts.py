"""Mutants of attempts: when one may start, when it is over, and when its writer is dead."""

from __future__ import annotations

from typing import Final

from tests.simulation.mutants import AGENT, APP, CORE, Mutant, single

ATTEMPTS: Final[tuple[Mutant, ...]] = (
    single(
        "no fencing",
        "no start while the last writer is not dead",
        f"{CORE}.model",
        'return self.writer is None or self.writer.dead != ""',
        "return True",
    ),
    single(
        "stale acknowledgement",
        "an acknowledgement has seen the end",
        f"{CORE}.hosts",
        "return self.seen_sequence >= sequence and not self.alive",
        "return not self.alive",
        case="tests/unit/core/test_fencing.py",
    ),
    single(
        "acknowledged by some",
        "every host of the bid acknowledges, those that never booted included",
        f"{CORE}.fencing",
        "if len(hosts) >= bid.hosts and all(host",
        "if hosts and any(host",
    ),
    single(
        "one absence proves death",
        "dead by absence: two looks at least 30 s apart",
        f"{CORE}.fencing",
        "if apart_s >= now.policy.absence_s:",
        "if apart_s >= 0.0:",
        case="tests/unit/core/test_fencing.py",
    ),
    single(
        "lease waited for too briefly",
        "the fence waits for the lease and a margin after the end was written",
        f"{CORE}.fencing",
        "writer.lease_s + now.policy.lease_margin_s:",
        "writer.lease_s / 4:",
        case="tests/unit/core/test_fencing.py",
    ),
    single(
        "agents count no lease",
        "an agent that cannot read its mandate for a lease kills its program",
        AGENT,
        "if _read_age_s(state, now) >= _safe_age_s(attempt):\n        yield",
        "if False:\n        yield",
        case="tests/unit/host/test_agent_decisions.py",
    ),
    single(
        "failed reads renew the lease",
        "errors renew nothing",
        AGENT,
        "return replace(state, read_failure=event.reason, is_mandate_unusable=event.is_unusable)",
        "return replace(state, read_failure=event.reason, is_mandate_unusable=event.is_unusable,"
        " read_sent_at=event.now if state.read_sent_at is not None else None)",
        case="tests/unit/host/test_agent_decisions.py",
    ),
    single(
        "start before all are prepared",
        "start only after all hosts of the claimed bid are prepared",
        f"{CORE}.work",
        "if len(hosts) < bid.hosts or not all(_is_prepared(now, current, host) for host in hosts):",
        "if not any(_is_prepared(now, current, host) for host in hosts):",
        case="tests/unit/core/test_work.py",
    ),
    single(
        "a word from before the order counts",
        "prepared means: nothing of an earlier attempt lives here, said of the present order",
        f"{CORE}.work",
        "        and host.seen_sequence >= order.sequence\n        and not host.alive\n",
        "",
        case="tests/unit/core/test_work.py",
    ),
    single(
        "any boot may start",
        "a boot that is not named never starts",
        AGENT,
        "is_named = mandate.boots.get(str(config.host)) == config.boot and mandate.bid",
        "is_named = mandate.bid",
        case="tests/unit/host/test_agent_decisions.py",
    ),
    single(
        "a boot starts an attempt again",
        "a boot starts an attempt once",
        AGENT,
        "is_new = (mandate.job, mandate.attempt) not in state.record.started",
        "is_new = True",
    ),
    single(
        "reboots go unnoticed",
        "a boot that is not named is reported, and ends the attempt",
        f"{CORE}.causes",
        "return start.boots.get(str(host.host)) != host.boot",
        "return False",
        # In a world, a host that has not begun is seen as well, two minutes later.
        case="tests/unit/core/test_work.py",
    ),
    single(
        "no bound for booting",
        "from READY, 15 min until all hosts booted",
        f"{CORE}.capacity",
        "elif now.since(bid.ready_at) >= now.policy.boot_s:",
        "elif False:",
    ),
    single(
        "no bound for preparing",
        "from the claim, 30 min and the setup's time until all are prepared",
        f"{CORE}.work",
        "if now.since(since) < limit_s:",
        "if True:",
    ),
    single(
        "silence is not heard",
        "a silent host is lost, and fenced by deleting its slice",
        f"{CORE}.capacity",
        "    if not silent:\n        return now\n    is_whole",
        "    if True:\n        return now\n    is_whole",
    ),
    single(
        "storage is not listened to",
        "before silence is judged, what silent hosts left in storage is recorded",
        f"{APP}.listening",
        "    for blob in left:\n        _take_in(app, asked, blob)\n",
        "",
    ),
    single(
        "no finish grace ends",
        "exit 0 gives the others ten minutes, then it is a hang",
        f"{CORE}.gangs",
        "    if now.since(since) < now.spec.finish_grace_s:\n        return now",
        "    if True:\n        return now",
        case="tests/unit/core/test_half_gangs.py tests/unit/app/test_gangs.py",
    ),
    single(
        "an error is a loss",
        "an error, or a listing with a gap, is unknown and never a loss",
        f"{APP}.health_check",
        "        elif bid.zone in complete and _may_be_missed(bid):\n"
        "            looks.update(_ask(app, bid))",
        "        elif _may_be_missed(bid):\n            looks[bid.name] = None",
    ),
    single(
        "an old look counts",
        "a look that began before the last one says nothing",
        f"{APP}.observing",
        "return not is_over and (last is None or at > last)",
        "return not is_over",
    ),
)
