"""An effect that took long does no harm: a mandate is written over a lower one only."""

from __future__ import annotations

import json

from pytest_mock import MockerFixture

from shared.core.names import mandate_object
from shared.core.stages import Stage
from tests.unit.app.world import World


def test_a_mandate_that_came_in_between_is_not_written_over(
    world: World, mocker: MockerFixture
) -> None:
    """Between the reading and the writing of an object another function may write a higher one."""
    world.run_job()
    name, put = mandate_object(world.slice().uid, 1), world.blobs.put
    sequences: list[int] = []

    def overtaken(key: str, data: bytes, *, if_generation: int | None = None) -> int:
        if not sequences:
            put(name, json.dumps({**json.loads(data), "sequence": 50}).encode())
            sequences.append(50)
        written = put(key, data, if_generation=if_generation)
        sequences.append(json.loads(data)["sequence"])
        return written

    mocker.patch.object(world.blobs, "put", side_effect=overtaken)
    world.stop()
    world.tick_until(world.stands_at(Stage.CANCELLED), limit_s=10.0)

    assert len(sequences) >= 2, "the end was written"
    assert sorted(sequences) == sequences
