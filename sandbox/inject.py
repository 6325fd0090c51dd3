"""What each fault does to the cloud, and what ends it again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sandbox import faults
from sandbox.errors import ApiError, JsonObject
from sandbox.resources import NodeState, short, zone_of
from sandbox.settings import CallDelay, CallFailure, Settings

if TYPE_CHECKING:
    from sandbox.cloud import Cloud
    from sandbox.faults import Fault, OnHost, OnNode

# The timer that ends a fault.
OVER = "fault-over"


def apply(cloud: Cloud, fault: Fault) -> list[str]:
    """Let a fault happen; return the names of what it hit.  Raises ApiError."""
    return _EFFECTS[type(fault)](cloud, fault)


def undo(cloud: Cloud, cure: Mapping[str, Any]) -> None:
    """End a fault: take its key out of a setting, or connect a host again."""
    if host := cure.get("host"):
        if host in cloud.hosts:
            cloud.cut_off(host, frozenset())
        return
    setting, key = cure["setting"], cure["key"]
    value = getattr(cloud.settings, setting)
    left: object
    if isinstance(value, Mapping):
        left = {each: value[each] for each in value if each != key}
    else:
        left = [each for each in value if each != key]
    cloud.settings = cloud.settings.updated({setting: left})


def in_force(cloud: Cloud) -> list[JsonObject]:
    """Return the faults that have not ended, in the words that order them.

    ``until`` is when one ends by itself, ``count`` how often it still happens.
    """
    return [*_lasting(cloud), *_counted(cloud.settings)]


def _lasting(cloud: Cloud) -> Iterator[JsonObject]:
    until = {timer.detail: timer.at for timer in cloud.ledger.timers.of(OVER)}
    for fault, setting, key in (
        ("stockout", "sold_out", "how"),
        ("quota", "quota_cuts", "chips"),
        ("unreachable", "unreachable", ""),
        ("hidden", "hidden", ""),
    ):
        held = getattr(cloud.settings, setting)
        for target in held:
            end = until.get(_cure(setting=setting, key=target))
            said = {key: held[target]} if key else {}
            yield {"fault": fault, "target": target, **said, "until": end}
    for name, host in sorted(cloud.hosts.items()):
        if host.cut:
            end = until.get(_cure(host=name))
            services = sorted(host.cut)
            yield {"fault": "silent-host", "target": name, "services": services, "until": end}


def _counted(settings: Settings) -> Iterator[JsonObject]:
    for failure in settings.failures:
        order = failure.model_dump(exclude={"method", "message"})
        is_lost = failure.when == "dropped"
        words = {"count": failure.count} if is_lost else order
        yield {"fault": "lost-reply" if is_lost else "call", "target": failure.method, **words}
    for delay in settings.delays:
        yield {"fault": "slow-call", "target": delay.method, **delay.model_dump(exclude={"method"})}
    for fault, count in (
        ("missing-node", settings.missing_nodes),
        ("stuck-delete", settings.stuck_deletes),
    ):
        if count:
            yield {"fault": fault, "count": count}


# --- Effects ------------------------------------------------------------------------------------


def _stockout(cloud: Cloud, fault: faults.Stockout) -> list[str]:
    shop = f"{fault.zone}/{fault.accelerator_type}" if fault.accelerator_type else fault.zone
    return _put(cloud, "sold_out", shop, fault.how, fault.for_s)


def _quota(cloud: Cloud, fault: faults.QuotaCut) -> list[str]:
    key = f"{fault.region}/{fault.generation}/{fault.tier}"
    return _put(cloud, "quota_cuts", key, fault.chips, fault.for_s)


def _zone(setting: str) -> Callable[[Cloud, faults.OnZone], list[str]]:
    def effect(cloud: Cloud, fault: faults.OnZone) -> list[str]:
        before = [each for each in getattr(cloud.settings, setting) if each != fault.zone]
        cloud.settings = cloud.settings.updated({setting: [*before, fault.zone]})
        _end_later(cloud, _cure(setting=setting, key=fault.zone), fault.for_s)
        return [fault.zone]

    return effect


def _preempt(cloud: Cloud, fault: faults.Preemption) -> list[str]:
    names = _nodes(cloud, fault)
    for name in names:
        cloud.preempt(name, notice=not fault.silent, notice_s=fault.notice_s, hosts=fault.hosts)
    return names


def _call(cloud: Cloud, fault: faults.FailingCall) -> list[str]:
    return _fail(cloud, CallFailure(**fault.model_dump()))


def _lost_reply(cloud: Cloud, fault: faults.LostReply) -> list[str]:
    return _fail(cloud, CallFailure(method=fault.method, count=fault.count, when="dropped"))


def _slow_call(cloud: Cloud, fault: faults.SlowCall) -> list[str]:
    return _slow(cloud, CallDelay(**fault.model_dump()))


def _slow_create(cloud: Cloud, fault: faults.SlowCreate) -> list[str]:
    return _slow(cloud, CallDelay(method="Create*", delay_s=fault.delay_s, count=fault.count))


def _slow_patch(cloud: Cloud, fault: faults.SlowPatch) -> list[str]:
    return _slow(cloud, CallDelay(method="UpdateNode", delay_s=fault.delay_s, count=fault.count))


def _stuck_delete(cloud: Cloud, fault: faults.StuckDelete) -> list[str]:
    return _add(cloud, "stuck_deletes", fault.count)


def _missing_node(cloud: Cloud, fault: faults.MissingNode) -> list[str]:
    return _add(cloud, "missing_nodes", fault.count)


def _audit_log(cloud: Cloud, fault: faults.AuditLog) -> list[str]:
    values = {"audit_copies": fault.copies, "audit_lag_s": fault.delay_s}
    cloud.settings = cloud.settings.updated(values)
    return sorted(values)


def _vanish(cloud: Cloud, fault: faults.Vanished) -> list[str]:
    names = _nodes(cloud, fault)
    for name in names:
        cloud.vanish(name)
    return names


def _health(cloud: Cloud, fault: faults.Health) -> list[str]:
    names = _nodes(cloud, fault)
    for name in names:
        cloud.set_health(name, fault.health, fault.description)
    return names


def _maintenance(cloud: Cloud, fault: faults.Maintenance) -> list[str]:
    names = _nodes(cloud, fault)
    for name in names:
        cloud.weather.maintenance.plan(name, in_s=fault.in_s)
    return names


def _dead_host(cloud: Cloud, fault: faults.DeadHost) -> list[str]:
    return _each_host(cloud, fault, cloud.kill_host)


def _reboot(cloud: Cloud, fault: faults.Reboot) -> list[str]:
    return _each_host(cloud, fault, cloud.reboot_host)


def _silent_host(cloud: Cloud, fault: faults.SilentHost) -> list[str]:
    def silence(host: str) -> None:
        cloud.cut_off(host, frozenset(fault.services))
        _end_later(cloud, _cure(host=host), fault.for_s)

    return _each_host(cloud, fault, silence)


def _clock_skew(cloud: Cloud, fault: faults.ClockSkew) -> list[str]:
    def skew(host: str) -> None:
        cloud.change_host(host, clock_skew_s=fault.skew_s)
        cloud.reboot_host(host)

    return _each_host(cloud, fault, skew)


_EFFECTS: Mapping[type[Fault], Callable[[Cloud, Any], list[str]]] = {
    faults.AuditLog: _audit_log,
    faults.ClockSkew: _clock_skew,
    faults.DeadHost: _dead_host,
    faults.FailingCall: _call,
    faults.Health: _health,
    faults.Hidden: _zone("hidden"),
    faults.LostReply: _lost_reply,
    faults.Maintenance: _maintenance,
    faults.MissingNode: _missing_node,
    faults.Preemption: _preempt,
    faults.QuotaCut: _quota,
    faults.Reboot: _reboot,
    faults.SilentHost: _silent_host,
    faults.SlowCall: _slow_call,
    faults.SlowCreate: _slow_create,
    faults.SlowPatch: _slow_patch,
    faults.Stockout: _stockout,
    faults.StuckDelete: _stuck_delete,
    faults.Unreachable: _zone("unreachable"),
    faults.Vanished: _vanish,
}

# --- Settings -----------------------------------------------------------------------------------


def _put(cloud: Cloud, setting: str, key: str, value: object, for_s: float | None) -> list[str]:
    cloud.settings = cloud.settings.updated(
        {setting: {**getattr(cloud.settings, setting), key: value}}
    )
    _end_later(cloud, _cure(setting=setting, key=key), for_s)
    return [key]


def _add(cloud: Cloud, setting: str, count: int) -> list[str]:
    cloud.settings = cloud.settings.updated({setting: getattr(cloud.settings, setting) + count})
    return [setting]


def _fail(cloud: Cloud, failure: CallFailure) -> list[str]:
    cloud.settings = cloud.settings.updated({"failures": (*cloud.settings.failures, failure)})
    return [failure.method]


def _slow(cloud: Cloud, delay: CallDelay) -> list[str]:
    cloud.settings = cloud.settings.updated({"delays": (*cloud.settings.delays, delay)})
    return [delay.method]


def _end_later(cloud: Cloud, cure: str, for_s: float | None) -> None:
    # What is ordered again lasts as long as it was said last.
    cloud.ledger.timers.drop(OVER, cure)
    if for_s is not None:
        cloud.after(for_s, OVER, "", cure)


def _cure(**of_what: str) -> str:
    """Write what ``undo`` reads."""
    return json.dumps(of_what)


# --- Who is hit ---------------------------------------------------------------------------------


def _nodes(cloud: Cloud, fault: OnNode) -> list[str]:
    """Return the READY nodes that a fault hits.  Raises NOT_FOUND when there is none."""
    fitting = [
        name
        for name, node in sorted(cloud.nodes.items())
        if node.state is NodeState.READY
        and faults.fits(short(name), fault.node)
        and faults.fits(zone_of(name), fault.zone)
    ]
    if not fitting:
        raise ApiError("NOT_FOUND", f"no node that is READY is named {fault.node}")
    return _picked(cloud, fitting, fault)


def _each_host(cloud: Cloud, fault: OnHost, effect: Callable[[str], None]) -> list[str]:
    names = _hosts(cloud, fault)
    for name in names:
        effect(name)
    return names


def _hosts(cloud: Cloud, fault: OnHost) -> list[str]:
    if fault.node in cloud.hosts:
        return [fault.node]
    found = [host for name in _nodes(cloud, fault) for host in cloud.nodes[name].hosts]
    if fault.host is not None:
        found = [host for host in found if cloud.hosts[host].index == fault.host]
        if not found:
            raise ApiError("NOT_FOUND", f"{fault.node} has no host {fault.host}")
    return _picked(cloud, found, fault) if fault.host is None else found


def _picked(cloud: Cloud, names: Sequence[str], fault: OnNode) -> list[str]:
    if fault.pick == "all" or len(names) == 1:
        return list(names)
    return [cloud.weather.chance().choice(names)]
