"""The sandbox's own API under ``/sandbox/v1``: look at everything, and break anything.

Not Google's; used by ``tpuctl sandbox`` and by tests.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from flask import Blueprint, Response, jsonify, request

from sandbox import inject
from sandbox.cloud import Cloud
from sandbox.errors import JsonObject, SettingsError, invalid, not_found
from sandbox.resources import Host, short, zone_of

if TYPE_CHECKING:
    from sandbox.world import World

_ROOT = "/sandbox/v1"


def blueprint(world: World) -> Blueprint:
    """Make the routes."""
    routes = Blueprint("admin", __name__, url_prefix=_ROOT)
    api = _AdminApi(world)
    for method, path, name, answer in (
        ("GET", "/status", "status", api.status),
        ("GET", "/calls", "calls", api.calls),
        ("GET", "/settings", "settings", api.settings),
        ("PATCH", "/settings", "change-settings", api.change_settings),
        ("POST", "/faults", "inject", api.inject),
        ("GET", "/scenario", "scenario", api.scenario),
        ("POST", "/scenario", "play", api.play),
        ("DELETE", "/scenario", "stop-scenario", api.stop_scenario),
        ("POST", "/nodes/<node>:preempt", "preempt", api.preempt),
        ("POST", "/nodes/<node>:maintain", "maintain", api.maintain),
        ("POST", "/nodes/<node>:setHealth", "set-health", api.set_health),
        ("POST", "/hosts/<host>:kill", "kill", api.kill),
        ("POST", "/hosts/<host>:reboot", "reboot", api.reboot),
        ("POST", "/hosts/<host>:cut", "cut", api.cut),
    ):
        routes.add_url_rule(path, name, answer, methods=[method])
    return routes


class _AdminApi:
    """One method for each order."""

    def __init__(self, world: World) -> None:
        self._world = world

    def status(self) -> Response:
        """Say what there is: queued resources, nodes, hosts, processes, faults in force."""
        with self._world.engine.cloud() as cloud:
            return jsonify(
                pid=os.getpid(),
                project=cloud.settings.project,
                queuedResources=[
                    {"name": short(name), "zone": zone_of(name), "state": queued.state}
                    for name, queued in sorted(cloud.queued_resources.items())
                ],
                nodes=[_node(cloud, name) for name in sorted(cloud.nodes)],
                hosts=[self._host(host) for _, host in sorted(cloud.hosts.items())],
                faults=inject.in_force(cloud),
            )

    def calls(self) -> Response:
        """Return the log of the calls to the Cloud TPU API: ``?since=TIME&method=PATTERN``."""
        since, method = request.args.get("since", 0.0, float), request.args.get("method", "*")
        log = self._world.calls
        found = log.calls(since=since, method=method)
        return jsonify(calls=[asdict(call) for call in found], forgotten=log.forgotten)

    def inject(self) -> Response:
        """Let a fault happen: ``{"fault": name, …}``; answer what it hit."""
        with self._world.engine.cloud() as cloud, _told():
            return jsonify(hit=cloud.weather.inject(_body()))

    def scenario(self) -> Response:
        """Say what of a scenario has happened and what is to come."""
        with self._world.engine.cloud() as cloud:
            return jsonify(scenario=cloud.weather.show())

    def play(self) -> Response:
        """Begin a scenario."""
        with self._world.engine.cloud() as cloud, _told():
            cloud.weather.play(_body())
        return self.scenario()

    def stop_scenario(self) -> Response:
        """End the scenario."""
        with self._world.engine.cloud() as cloud:
            cloud.weather.stop()
        return jsonify({})

    def settings(self) -> Response:
        """Return the settings in force."""
        return jsonify(self._world.settings().model_dump(mode="json"))

    def change_settings(self) -> Response:
        """Replace some settings, from now on."""
        with self._world.engine.cloud() as cloud, _told():
            cloud.settings = cloud.settings.updated(_body())
        return self.settings()

    def preempt(self, node: str) -> Response:
        """Preempt a node: ``{"notice": bool, "notice_s": float, "hosts": [int]}``."""
        body = _body()
        hosts = body.get("hosts")
        with self._world.engine.cloud() as cloud:
            cloud.preempt(
                _find_node(cloud, node),
                notice=bool(body.get("notice", True)),
                notice_s=_number(body, "notice_s"),
                hosts=tuple(int(index) for index in hosts) if isinstance(hosts, list) else None,
            )
        return jsonify({})

    def maintain(self, node: str) -> Response:
        """Announce maintenance: ``{"window": {key: text}}``; null calls it off."""
        window = _body().get("window")
        if window is not None and not isinstance(window, dict):
            raise invalid("window: expected an object or null")
        with self._world.engine.cloud() as cloud:
            cloud.announce_maintenance(_find_node(cloud, node), window)
        return jsonify({})

    def set_health(self, node: str) -> Response:
        """Let the API report another health: ``{"health": name, "description": text}``."""
        body = _body()
        with self._world.engine.cloud() as cloud:
            cloud.set_health(
                _find_node(cloud, node),
                str(body.get("health", "HEALTHY")),
                str(body.get("description", "")),
            )
        return jsonify({})

    def kill(self, host: str) -> Response:
        """Kill everything on a host at once."""
        with self._world.engine.cloud() as cloud:
            cloud.kill_host(host)
        return jsonify({})

    def reboot(self, host: str) -> Response:
        """Reboot a host."""
        with self._world.engine.cloud() as cloud:
            cloud.reboot_host(host)
        return jsonify({})

    def cut(self, host: str) -> Response:
        """Cut a host off from these services only: ``{"services": ["storage", …]}``."""
        services = _body().get("services", [])
        if not isinstance(services, list):
            raise invalid("services: expected a list")
        with self._world.engine.cloud() as cloud:
            cloud.cut_off(host, frozenset(map(str, services)))
        return jsonify({})

    def _host(self, host: Host) -> JsonObject:
        return {
            "name": host.name,
            "node": short(host.node),
            "hostname": host.hostname,
            "ip": host.ip,
            "power": host.power,
            "boot_id": host.boot_id,
            "pid": self._world.engine.pid_of(host.name),
            "preempted": host.is_preempted,
            "cut": sorted(host.cut),
        }


def _node(cloud: Cloud, name: str) -> JsonObject:
    node = cloud.nodes[name]
    return {
        "name": short(name),
        "zone": zone_of(name),
        "accelerator_type": node.spec.accelerator_type,
        "state": node.state,
        "health": node.health,
        "queued_resource": short(node.queued_resource),
        "hosts": list(node.hosts),
    }


def _find_node(cloud: Cloud, wanted: str) -> str:
    """Return the full name of a node; its id is enough when only one zone has it."""
    found = [name for name in cloud.nodes if short(name) == wanted]
    zone = request.args.get("zone")
    found = [name for name in found if zone in (None, zone_of(name))]
    if not found:
        raise not_found(wanted)
    if len(found) > 1:
        zones = ", ".join(sorted(zone_of(name) for name in found))
        raise invalid(f"node {wanted} exists in several zones: {zones}")
    return found[0]


@contextmanager
def _told() -> Iterator[None]:
    """Refuse a request for what is wrong in it."""
    try:
        yield
    except SettingsError as error:
        raise invalid(str(error)) from None


def _body() -> JsonObject:
    if not request.get_data():
        return {}
    body = request.get_json(silent=True)
    if not isinstance(body, dict):
        raise invalid("expected a JSON object")
    return body


def _number(body: JsonObject, key: str) -> float | None:
    value = body.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise invalid(f"{key}: expected a number of seconds")
    return float(value)
