"""Every duration and limit of the protocol, in one place, as data.

The defaults are the ones for real TPUs; the embedded wiring shortens some of them so that a
rehearsal takes seconds. Nothing in the core knows which set it was given.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policy:
    """Durations in seconds; see docs/protocol.md for the rule behind each."""

    # The tick is Cloud Scheduler's shortest period.
    tick_s: float = 60.0
    # An intent that was not cleared is due again after this long.
    intent_due_s: float = 45.0
    # Last resort against hosts that can be neither reached nor deleted.
    lease_s: float = 3600.0
    # Added to the lease when the control plane waits for it: read-to-kill latency of a host.
    lease_margin_s: float = 60.0
    # From node READY until all hosts booted; after that the bid is a bad node.
    boot_s: float = 900.0
    # From the claim until all hosts are prepared, on top of the setup's own timeout.
    prepare_s: float = 1800.0
    # A host that speaks so long after the start and has not read it is cut off.
    start_s: float = 120.0
    # How long the ends of a gang are collected before the cause is judged.
    judge_s: float = 10.0
    # How long the other hosts of a gang are given once one failed (JAX alone takes 97 s).
    gang_grace_s: float = 1.0
    # A condemned slice may flush its last save for this long before it is deleted.
    notice_s: float = 90.0
    # Two 404s this far apart prove that nothing of a slice is left.
    absence_s: float = 30.0
    # A create whose reply was lost may still take effect within this time.
    late_create_s: float = 600.0
    # Silence: one host while others report; a whole slice or an only host; canary history.
    silent_host_s: float = 300.0
    silent_slice_s: float = 900.0
    canary_s: float = 360.0
    # A slice is kept this long after a program or setup error, for the fix.
    hold_s: float = 1800.0
    # A command that comes later than this after its publish time is refused.
    command_s: float = 600.0
    # Whatever fails again and again is tried again after this long at the latest.
    retry_s_max: float = 600.0
    # A bid that failed unclaimed is followed by another one no sooner than this.
    rebid_s: float = 60.0
    # A job that stands at one stage this long, other than running, is told to be stuck.
    stuck_s: float = 3600.0
    # A slice that cannot be looked at for this long is told to its owner; it is never lost by that.
    unknown_s: float = 900.0
    # Trouble of our own that lasts this long is told; the same trouble is told again no sooner.
    degraded_s: float = 300.0
    degraded_again_s: float = 3600.0
    # How often agents look at their mandate: while they wait for orders, and while they work.
    poll_fast_s: float = 0.5
    poll_slow_s: float = 30.0
    # How often agents repeat an unchanged snapshot, send progress, ship logs.
    # A host is silent after several times the interval of its snapshots, never after one.
    snapshot_s: float = 100.0
    progress_s: float = 60.0
    log_s: float = 60.0
    # An agent that did not ping its supervisor for this long dies with its workload.
    supervise_s: float = 60.0


# What makes a rehearsal on one machine quick; everything else stays as on Google Cloud.
EMBEDDED = Policy(
    tick_s=0.5,
    intent_due_s=5.0,
    lease_s=120.0,
    lease_margin_s=5.0,
    boot_s=60.0,
    prepare_s=300.0,
    start_s=20.0,
    notice_s=20.0,
    absence_s=2.0,
    late_create_s=20.0,
    silent_host_s=20.0,
    silent_slice_s=40.0,
    canary_s=20.0,
    retry_s_max=20.0,
    rebid_s=2.0,
    stuck_s=600.0,
    unknown_s=120.0,
    degraded_s=20.0,
    poll_fast_s=0.25,
    poll_slow_s=2.0,
    snapshot_s=5.0,
    progress_s=0.5,
    log_s=1.0,
)
