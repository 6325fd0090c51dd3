"""Where the keys come from that say who is believed, and how long they hold."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from pytest_mock import MockerFixture

from shared.adapters import google_identity
from shared.adapters.google_identity import (
    ASK_AGAIN_S,
    CERTS_URL,
    CERTS_VARIABLE,
    EMULATOR_VARIABLE,
    CachedKeys,
    Certificates,
    GoogleIdentity,
    connect,
)
from shared.core.identity import GCLOUD_AUDIENCE
from shared.errors import NotAuthorized, SpecError, Unavailable
from tests.identities import ADA, certs, mint, signer

PROJECT = "proj-1"
EMULATORS = {EMULATOR_VARIABLE: "127.0.0.1:1"}


def now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


class Time:
    """A clock that stands still until it is moved, and answers that are counted."""

    def __init__(self, *answers: Certificates | Unavailable) -> None:
        self.now_s = 1000.0
        self.asked = 0
        self._answers = answers
        self.keys = CachedKeys(self._fetch, lambda: self.now_s)

    def _fetch(self) -> Certificates:
        answer = self._answers[min(self.asked, len(self._answers) - 1)]
        self.asked += 1
        if isinstance(answer, Unavailable):
            raise answer
        return answer


def test_keys_are_fetched_once_while_they_are_young() -> None:
    """One question an instance, not one an order."""
    told = Time(Certificates({"a": "A"}, 100.0))

    assert ["A", "A"] == [told.keys.get("a"), told.keys.get("a")]
    assert 1 == told.asked


def test_old_keys_are_not_believed() -> None:
    """Google may have withdrawn one."""
    told = Time(Certificates({"a": "A"}, 100.0), Certificates({"b": "B"}, 100.0))
    told.keys.get("a")
    told.now_s += 100.0

    assert told.keys.get("a") is None
    assert 2 == told.asked


def test_an_unknown_key_is_asked_for_but_not_all_the_time() -> None:
    """Google makes new keys; forgers make up any number."""
    told = Time(Certificates({"a": "A"}, 9000.0), Certificates({"a": "A", "b": "B"}, 9000.0))
    told.keys.get("a")

    assert [None, None] == [told.keys.get("b"), told.keys.get("x")]
    assert 1 == told.asked
    told.now_s += ASK_AGAIN_S
    assert "B" == told.keys.get("b")
    assert 2 == told.asked


def test_without_keys_an_order_waits() -> None:
    """It is delivered again; nobody is refused because Google was away."""
    told = Time(Unavailable("away"), Certificates(certs(), 100.0))
    found = GoogleIdentity({GCLOUD_AUDIENCE}, told.keys)
    token = mint()

    with pytest.raises(Unavailable):
        found.person(token, now())
    assert ADA == found.person(token, now()).email


def test_keys_outlive_an_outage_while_they_are_young() -> None:
    """Only what they do not know has to wait."""
    told = Time(Certificates({"a": "A"}, 9000.0), Unavailable("away"))
    told.keys.get("a")
    told.now_s += ASK_AGAIN_S

    with pytest.raises(Unavailable):
        told.keys.get("b")
    assert "A" == told.keys.get("a")


# --- Where keys come from -----------------------------------------------------------------------


def test_other_keys_than_googles_need_an_emulator() -> None:
    """Nobody sets them in a deployed function and opens it to everybody."""
    environ = {CERTS_VARIABLE: str(signer().certs_path)}

    with pytest.raises(SpecError, match="for the emulators only"):
        connect(PROJECT, (), environ)


def test_beside_an_emulator_a_file_has_the_keys() -> None:
    """And tokens of its signer are believed."""
    environ = {**EMULATORS, CERTS_VARIABLE: str(signer().certs_path)}

    assert ADA == connect(PROJECT, (), environ).person(mint(), now()).email


def test_a_signer_that_is_set_up_later_is_believed(tmp_path: Path) -> None:
    """The functions may come up first."""
    path = tmp_path / "certs.json"
    found = connect(PROJECT, (), {**EMULATORS, CERTS_VARIABLE: str(path)})
    with pytest.raises(Unavailable, match="cannot be read"):
        found.person(mint(), now())

    path.write_text(json.dumps(certs("other")))
    with pytest.raises(NotAuthorized):
        found.person(mint(), now())
    path.write_text(json.dumps(certs()))

    assert ADA == found.person(mint(), now()).email


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1}', "<html>"])
def test_what_are_no_keys_is_said(tmp_path: Path, text: str) -> None:
    """Something else answered: that may pass."""
    path = tmp_path / "certs.json"
    path.write_text(text)

    with pytest.raises(Unavailable, match="no certificates"):
        connect(PROJECT, (), {**EMULATORS, CERTS_VARIABLE: str(path)}).person(mint(), now())


@contextmanager
def answering(status: int, body: bytes, **headers: str) -> Iterator[str]:
    """Serve one answer on the loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/certs"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "said, age_s",
    [
        pytest.param("public, max-age=21600, must-revalidate", 21_600.0, id="said"),
        pytest.param("no-transform", 3600.0, id="not said"),
        pytest.param("max-age=999999999", 86_400.0, id="for ever"),
    ],
)
def test_the_answer_says_how_long_keys_hold(said: str, age_s: float) -> None:
    """Within a day."""
    with answering(200, json.dumps(certs()).encode(), Cache_Control=said) as url:
        assert Certificates(certs(), age_s) == google_identity._download(url)


def test_an_address_may_have_the_keys() -> None:
    """As Google's has."""
    with answering(200, json.dumps(certs()).encode()) as url:
        found = connect(PROJECT, (), {**EMULATORS, CERTS_VARIABLE: url})

        assert ADA == found.person(mint(), now()).email


@pytest.mark.parametrize(
    "status, body", [(500, b""), (404, b"{}"), (200, b"<html>")], ids=["500", "404", "no keys"]
)
def test_an_odd_answer_is_tried_again_later(status: int, body: bytes) -> None:
    """By the redelivery."""
    with answering(status, body) as url, pytest.raises(Unavailable):
        google_identity._download(url)


def test_no_answer_is_tried_again_later() -> None:
    """Nobody listens there."""
    with answering(200, b"") as url:
        pass

    with pytest.raises(Unavailable, match="does not answer"):
        google_identity._download(url)


def test_without_a_setting_google_is_asked_with_a_timeout(mocker: MockerFixture) -> None:
    """At the address that Google publishes."""
    request = mocker.Mock()
    request.return_value = mocker.Mock(status=200, data=json.dumps(certs()).encode(), headers={})
    mocker.patch.object(google_identity, "_request", return_value=request)
    before_s = time.monotonic()

    assert ADA == connect(PROJECT, (), {}).person(mint(), now()).email
    request.assert_called_once_with(CERTS_URL, method="GET", timeout=10.0)
    assert time.monotonic() - before_s < 10.0
