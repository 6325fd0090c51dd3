"""What stands in the metadata of a node: any process on its hosts can read it."""

from __future__ import annotations

from shared.host import agent_source, startup_script
from tests.unit.app.world import World


def test_nothing_of_a_spec_is_in_the_metadata_of_a_node(world: World) -> None:
    """Command and environment come by the bucket, and only to who may read it."""
    world.run_job(env={"KEY": "env-value-Canary"}, command=["python", "train-Canary.py"])

    metadata = world.slices.asked(world.bid.name).metadata

    assert "tpuctl-config" in metadata
    assert "Canary" not in str(metadata)
    assert (startup_script(), agent_source()) == (
        metadata["startup-script"],
        metadata["tpuctl-agent"],
    )
