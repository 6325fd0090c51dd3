"""What every use case is given: the ports, and what the installation is."""

from __future__ import annotations

from dataclasses import dataclass, field

from shared.core.catalog import Catalog
from shared.core.identity import People
from shared.core.limits import Limits
from shared.core.policy import Policy
from shared.deadline import Deadline
from shared.ports import Blobs, Bus, Clock, Identity, SliceApi, Store, Webhooks
from shared.topology import Topic


@dataclass(frozen=True, slots=True)
class App:
    """One installation of the control plane, in whichever wiring.

    ``outputs_root`` is where jobs write when their spec names no place: ``gs://…`` or a folder.
    ``reports_topic`` is what agents publish on, under its name in their cloud.
    ``region`` is where the data is, empty where no distance costs anything.
    ``deadline`` is when the invocation that was given this must have ended.
    ``identity`` proves who gives an order; None: the user of this machine is believed.
    ``people`` are its teams with their worker accounts.
    ``webhooks`` are told what people want to hear; without them it stands in the log.
    ``limits`` bound how much is asked for, and what an owner may have.
    """

    store: Store
    bus: Bus
    blobs: Blobs
    slices: SliceApi
    clock: Clock
    policy: Policy
    catalog: Catalog
    installation: str
    secret: bytes
    project: str
    bucket: str
    outputs_root: str
    reports_topic: str = Topic.REPORTS
    region: str = ""
    deadline: Deadline = field(default_factory=Deadline)
    identity: Identity | None = None
    people: People = field(default_factory=People)
    webhooks: Webhooks | None = None
    limits: Limits = field(default_factory=Limits)
