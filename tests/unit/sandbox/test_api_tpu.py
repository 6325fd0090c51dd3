"""The routes of the Cloud TPU API: what only the HTTP side sees."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

from sandbox import api_tpu
from tests.clouds import LOCATION, active_cloud, world_of


@pytest.fixture
def http() -> FlaskClient:
    """Give a client of the API over a cloud that has one queued resource, ``a``."""
    app = Flask("tpu")
    app.register_blueprint(api_tpu.blueprint(world_of(active_cloud())))
    return app.test_client()


@pytest.mark.parametrize(
    "query, headers",
    [
        pytest.param({"fields": "nodes/state"}, {}, id="fields"),
        pytest.param({"$fields": "nodes.state"}, {}, id="a system parameter"),
        pytest.param({}, {"X-Goog-FieldMask": "nodes.state"}, id="a header"),
        pytest.param({"$fields": "nodes.state"}, {"X-Goog-FieldMask": "nodes.name"}, id="both"),
    ],
)
def test_part_of_an_answer_is_asked_for_in_three_ways(
    http: FlaskClient, query: dict[str, str], headers: dict[str, str]
) -> None:
    """Google's clients use all of them."""
    answer = http.get(f"/v2/{LOCATION}/nodes", query_string=query, headers=headers)

    assert {"nodes": [{"state": "READY"}]} == answer.json
