"""What gcloud needs of Compute Engine and OS Login, and Google's token endpoint."""

import base64
import contextlib
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from flask import Flask
from flask.testing import FlaskClient

from sandbox import api_compute, api_oslogin, api_token
from sandbox.access import Access, own_user
from sandbox.errors import ApiError
from sandbox.identity import Identity

PROJECT = "/compute/v1/projects/p"
PERSON = "/v1/users/me@x"
KEY = {"key": "ssh-rsa AAAA me"}


@pytest.fixture
def settled() -> list[str]:
    """Remember each time the hosts were told."""
    return []


@pytest.fixture
def http(settled: list[str]) -> FlaskClient:
    """Give a client of the three APIs over a world without a cloud."""

    @contextlib.contextmanager
    def cloud() -> Iterator[None]:
        yield
        settled.append("settled")

    world = SimpleNamespace(
        access=Access(),
        clock=lambda: 0.0,
        engine=SimpleNamespace(cloud=cloud),
        identity=Identity(b"key"),
        settings=lambda: SimpleNamespace(project="p"),
    )
    app = Flask("apis")
    for api in (api_compute, api_oslogin, api_token):
        app.register_blueprint(api.blueprint(cast("Any", world)))
    app.register_error_handler(ApiError, lambda error: (error.body(), error.http_code))
    return app.test_client()


def read(http: FlaskClient, path: str) -> Any:
    """Read something that is there."""
    answer = http.get(path)
    assert 200 == answer.status_code, answer.text
    return answer.json


def test_metadata_is_replaced_and_the_hosts_know_at_once(
    http: FlaskClient, settled: list[str]
) -> None:
    """The operation runs for its caller, and is done for whoever asks again."""
    before = read(http, PROJECT)["commonInstanceMetadata"]
    items = [{"key": "ssh-keys", "value": "me:k"}]
    body = {"fingerprint": before["fingerprint"], "items": items}

    operation = http.post(f"{PROJECT}/setCommonInstanceMetadata", json=body).json

    assert operation is not None, "the answer is an operation"
    assert (items, ["settled"]) == (
        read(http, PROJECT)["commonInstanceMetadata"]["items"],
        settled,
    )
    place = f"{PROJECT}/global/operations/{operation['name']}"
    waited = http.post(f"{place}/wait").json
    assert waited is not None, "the answer is an operation"
    assert ("RUNNING", "DONE") == (operation["status"], waited["status"])
    assert "DONE" == read(http, place)["status"]


@pytest.mark.parametrize(
    "method, path, body, code",
    [
        pytest.param(
            "POST",
            f"{PROJECT}/setCommonInstanceMetadata",
            {"fingerprint": "old", "items": []},
            412,
            id="metadata over what others wrote",
        ),
        pytest.param(
            "POST", f"{PROJECT}/setCommonInstanceMetadata", {"items": {}}, 400, id="items no list"
        ),
        pytest.param(
            "POST", f"{PROJECT}/setCommonInstanceMetadata", {"items": [1]}, 400, id="no item"
        ),
        pytest.param(
            "POST", f"{PROJECT}/setCommonInstanceMetadata", ["x"], 400, id="a list as the body"
        ),
        pytest.param("GET", f"{PROJECT}/global/operations/o", None, 404, id="no such operation"),
        pytest.param("POST", f"{PERSON}:importSshPublicKey", {"key": "one"}, 400, id="no key"),
        pytest.param(
            "POST",
            f"{PERSON}:importSshPublicKey",
            KEY | {"expirationTimeUsec": "soon"},
            400,
            id="an expiry that is no number",
        ),
        pytest.param("GET", f"{PERSON}/sshPublicKeys/f", None, 404, id="no such key"),
        pytest.param("DELETE", f"{PERSON}/sshPublicKeys/f", None, 404, id="no key to delete"),
    ],
)
def test_bad_requests_are_refused(
    http: FlaskClient, settled: list[str], method: str, path: str, body: object, code: int
) -> None:
    """With Google's status, and nothing changes."""
    answer = http.open(path, method=method, json=body)

    assert (code, []) == (answer.status_code, settled)
    assert answer.json is not None, "errors are JSON"
    assert code == answer.json["error"]["code"]


def test_a_key_makes_the_account_and_is_found_changed_and_removed(
    http: FlaskClient, settled: list[str]
) -> None:
    """An empty profile tells gcloud to bring its key."""
    assert {"name": "me@x"} == read(http, f"{PERSON}/loginProfile?projectId=p")

    told = http.post(f"{PERSON}:importSshPublicKey?projectId=p", json=KEY).json
    assert told is not None, "the answer is a profile"
    profile = told["loginProfile"]
    (name,) = profile["sshPublicKeys"]
    http.patch(f"{PERSON}/sshPublicKeys/{name}", json={"expirationTimeUsec": "9"})
    changed = read(http, f"{PERSON}/sshPublicKeys/{name}")
    http.delete(f"{PERSON}/sshPublicKeys/{name}")

    assert [own_user()] == [account["username"] for account in profile["posixAccounts"]]
    assert (KEY["key"], "9") == (changed["key"], changed["expirationTimeUsec"])
    assert "sshPublicKeys" not in read(http, f"{PERSON}/loginProfile")
    assert 3 * ["settled"] == settled


def test_a_token_says_who_asked_for_it(http: FlaskClient) -> None:
    """It shows in the log of calls; whoever names nobody gets none."""
    claims = base64.urlsafe_b64encode(json.dumps({"iss": "me@x"}).encode()).decode().rstrip("=")
    given = http.post("/token", data={"assertion": f"h.{claims}.s"}).json
    refused = http.post("/token", data={"assertion": "h.x"})

    assert given is not None, "the answer is a token"
    assert "me@x" == Identity(b"key").host_of(f"Bearer {given['access_token']}")
    assert 400 == refused.status_code
