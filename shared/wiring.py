"""The only place that chooses adapters: embedded, box or google.

Embedded stands on one SQLite file and a simulated cloud on this machine, whose address the
caller knows. Box has the same file beside the real cloud, google has Firestore and Pub/Sub. The
simulated cloud and Google's emulators take the place of Google's services wherever the
environment names them. Google's libraries are imported when they are used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.core.identity import People
from shared.errors import SpecError
from shared.late import Port, late
from shared.ports import Blobs, Bus, Identity, Inbox, SliceApi, Store, Ticker, Webhooks
from shared.settings import Settings, Wiring
from shared.topology import BOX_REPORTS, EMBEDDED_SUBSCRIPTIONS, SUBSCRIPTIONS, Topic

if TYPE_CHECKING:
    from shared.adapters.sqlite_bus import SqliteBus
    from shared.adapters.sqlite_store import SqliteStore
    from shared.adapters.tpu import NodeDefaults
    from shared.app.context import App
    from shared.core.mandates import Place

EMBEDDED_PROJECT = "sandbox"
EMBEDDED_BUCKET = "tpuctl-sandbox"
# Where the simulated cloud is, for processes that nobody tells.
CLOUD_VARIABLE = "TPUCTL_CLOUD"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """What stands in for Google's services; empty: the services themselves."""

    cloud: str = ""
    firestore: str = ""
    pubsub: str = ""

    @classmethod
    def named_in(cls, environ: Mapping[str, str]) -> Endpoints:
        """Read Google's own variables, and ours for the simulated cloud (``http://host:port``)."""
        return cls(
            cloud=environ.get(CLOUD_VARIABLE, ""),
            firestore=environ.get("FIRESTORE_EMULATOR_HOST", ""),
            pubsub=environ.get("PUBSUB_EMULATOR_HOST", ""),
        )


def open_store(settings: Settings) -> Store:
    """Open the installation's documents.  Raises StateFileError."""
    if settings.wiring is Wiring.GOOGLE:
        from shared.adapters import firestore

        cloud, found = settings.google, Endpoints.named_in(os.environ)
        return firestore.connect(cloud.project, database=cloud.database, emulator=found.firestore)
    return open_local_store(settings)


def open_local_store(settings: Settings) -> SqliteStore:
    """Open the documents of this machine.  Raises StateFileError."""
    from shared.adapters.sqlite_store import SqliteStore

    return SqliteStore(settings.state_path)


def open_bus(settings: Settings) -> Bus:
    """Open the installation's topics.  Raises StateFileError."""
    match settings.wiring:
        case Wiring.GOOGLE:
            return _open_cloud_bus(settings)
        case Wiring.BOX:
            from shared.adapters.box_bus import BoxBus

            return BoxBus(open_local_bus(settings), lambda: _open_cloud_bus(settings))
        case Wiring.EMBEDDED:
            return open_local_bus(settings)


def open_local_bus(settings: Settings) -> SqliteBus:
    """Open the topics and subscriptions of this machine.  Raises StateFileError."""
    from shared.adapters.sqlite_bus import SqliteBus

    return SqliteBus(settings.state_path, EMBEDDED_SUBSCRIPTIONS)


def open_report_inbox(settings: Settings) -> Inbox:
    """Open what agents publish in the cloud, to be pulled from it by a box."""
    from shared.adapters import pubsub

    cloud, found = settings.google, Endpoints.named_in(os.environ)
    return pubsub.connect_inbox(cloud.project, cloud.prefix, (BOX_REPORTS,), emulator=found.pubsub)


def declare_box(settings: Settings) -> None:
    """Make the topic of reports, and the subscription that a box pulls them from.

    Raises NotAuthorized, InvalidRequest or Unavailable.  Idempotent: by name.
    """
    from shared.adapters import pubsub_setup

    cloud, found = settings.google, Endpoints.named_in(os.environ)
    pubsub_setup.declare(cloud.project, cloud.prefix, (BOX_REPORTS,), emulator=found.pubsub)


def declare(settings: Settings, urls: Mapping[str, str]) -> None:
    """Make the topics, and push subscriptions to the functions at these addresses.

    Terraform does it for a deployment; this is for the emulators.
    """
    from shared.adapters import pubsub_setup

    cloud, found = settings.google, Endpoints.named_in(os.environ)
    pubsub_setup.declare(
        cloud.project, cloud.prefix, SUBSCRIPTIONS, push_endpoints=urls, emulator=found.pubsub
    )


def agent_place(settings: Settings) -> Place:
    """Say where agents find things in this installation."""
    from shared.core.mandates import Place

    project, bucket = _place(settings)
    return Place(project, bucket, reports_topic(settings))


def open_ticker(settings: Settings) -> Ticker:
    """Open the scheduler job that begins ticks in the google wiring; elsewhere a process does.

    Raises SpecError without a region, NotAuthorized without credentials.
    """
    from shared.adapters import scheduler

    cloud = settings.google
    if not cloud.region:
        raise SpecError("cloud.region", "is missing: the scheduler job is in one")
    return scheduler.connect(cloud.project, cloud.region, cloud.prefix)


def open_blobs(settings: Settings, endpoint: str = "") -> Blobs:
    """Open the installation's bucket, at Google or in the simulated cloud at an address."""
    from shared.adapters import storage

    project, bucket = _place(settings)
    return storage.connect(bucket, project=project, endpoint=endpoint or None)


def open_bucket(settings: Settings, name: str, endpoint: str = "") -> Blobs:
    """Open any bucket, by its name."""
    from shared.adapters import storage

    return storage.connect(name, project=_place(settings)[0], endpoint=endpoint or None)


def open_slices(settings: Settings, endpoint: str = "") -> SliceApi:
    """Open Cloud TPU, at Google or in the simulated cloud at an address."""
    from shared.adapters import tpu

    project, _ = _place(settings)
    return tpu.connect(project, endpoint=endpoint or None, defaults=_node_defaults(settings))


def open_app(settings: Settings, endpoint: str = "") -> App:
    """Put the control plane together.  Embedded needs the simulated cloud's ``endpoint``."""
    from shared.adapters.system import SystemClock
    from shared.app.context import App
    from shared.catalog_data import load_catalog

    assert endpoint or settings.wiring is not Wiring.EMBEDDED, "embedded works on a simulated cloud"
    project, bucket = _place(settings)
    # A process of its own says at once what it cannot open; a function starts quickly.
    opened = late if settings.wiring is Wiring.GOOGLE else _at_once
    return App(
        store=open_store(settings),
        bus=opened(lambda: open_bus(settings)),
        blobs=opened(lambda: open_blobs(settings, endpoint)),
        slices=opened(lambda: open_slices(settings, endpoint)),
        clock=SystemClock(),
        policy=settings.policy,
        catalog=load_catalog(),
        installation=settings.installation,
        secret=settings.secret,
        project=project,
        bucket=bucket,
        outputs_root=settings.outputs_root,
        reports_topic=reports_topic(settings),
        region=settings.cloud.data_region if settings.cloud else "",
        identity=open_identity(settings),
        people=settings.cloud.people if settings.cloud else People(),
        webhooks=open_webhooks(settings),
        limits=settings.limits,
    )


def _at_once(open_port: Callable[[], Port]) -> Port:
    return open_port()


def open_identity(settings: Settings) -> Identity | None:
    """Open what proves who gives an order; None where the user of the machine is believed.

    Raises SpecError for keys other than Google's where no emulator is named.
    """
    if settings.wiring is not Wiring.GOOGLE:
        return None
    from shared.adapters import google_identity

    cloud = settings.google
    return google_identity.connect(cloud.project, cloud.audiences, os.environ)


def open_webhooks(settings: Settings) -> Webhooks | None:
    """Open the webhooks that people are told by; None where there are none."""
    if settings.alerts is None:
        return None
    from shared.adapters import webhook

    return webhook.connect(settings.alerts)


def reports_topic(settings: Settings) -> str:
    """Return the topic that agents publish on, under its name in their cloud."""
    if settings.wiring is Wiring.EMBEDDED:
        return Topic.REPORTS
    return f"{settings.google.prefix}-{Topic.REPORTS}"


def _open_cloud_bus(settings: Settings) -> Bus:
    from shared.adapters import pubsub

    cloud, found = settings.google, Endpoints.named_in(os.environ)
    return pubsub.connect(cloud.project, cloud.prefix, emulator=found.pubsub)


def _place(settings: Settings) -> tuple[str, str]:
    """Return the project and its bucket."""
    if settings.wiring is Wiring.EMBEDDED:
        return EMBEDDED_PROJECT, EMBEDDED_BUCKET
    return settings.google.project, settings.google.bucket


def _node_defaults(settings: Settings) -> NodeDefaults:
    from shared.adapters.tpu import NodeDefaults

    if settings.cloud is None:
        return NodeDefaults()
    return NodeDefaults(
        external_ips=settings.cloud.external_ips,
        network=settings.cloud.network,
        subnetwork=settings.cloud.subnetwork,
    )
