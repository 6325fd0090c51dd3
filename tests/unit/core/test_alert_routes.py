"""Who hears of what."""

import pytest

from shared.core.alert_routes import Target, WebhookKind, route

ALL = Target("all", WebhookKind.SLACK)
ADA = Target("ada", WebhookKind.SLACK, owners=("ada",))
ENDS = Target("ends", WebhookKind.SLACK, kinds=("failed", "succeeded"))


@pytest.mark.parametrize(
    "kind, owner, names",
    [
        pytest.param("preempted", "ada", ["all", "ada"], id="hers"),
        pytest.param("preempted", "bob", ["all"], id="his"),
        pytest.param("failed", "bob", ["all", "ends"], id="an end"),
        pytest.param("control_plane_degraded", "", ["all"], id="nobody's"),
        pytest.param("attempt_ended", "ada", [], id="unusual"),
    ],
)
def test_a_webhook_hears_of_its_owners_and_kinds(kind: str, owner: str, names: list[str]) -> None:
    """What is nobody's goes to those who hear of everybody."""
    assert names == [target.name for target in route([ALL, ADA, ENDS], kind=kind, owner=owner)]
