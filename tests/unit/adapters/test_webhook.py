"""A post arrives signed, or fails in bounded time; and no address is ever told to anybody."""

from __future__ import annotations

import json
import logging
import socket
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler

import pytest
from pytest_mock import MockerFixture

from shared.adapters import webhook
from shared.adapters.webhook import HttpWebhooks, signature
from shared.core.alert_routes import Target, WebhookKind
from shared.errors import RateLimited, Retryable, Unavailable
from shared.settings_alerts import AlertSettings, WebhookSettings
from tests.fakes import FAKE_START, FakeClock
from tests.webhook_servers import CANARY, Answer, Heard, serving, status

SECRET = "a secret of sixteen or more"
BODY = b'{"text":"hello"}'


def hangs(_handler: BaseHTTPRequestHandler, heard: Heard) -> None:
    """Answer nothing at all."""
    heard.closing.wait(60)


def drips(handler: BaseHTTPRequestHandler, heard: Heard) -> None:
    """Send a header for ever, a byte at a time."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Endless: ")
    while not heard.closing.wait(0.02):
        try:
            handler.wfile.write(b"x")
        except OSError:
            return


def pours(handler: BaseHTTPRequestHandler, heard: Heard) -> None:
    """Answer with a body that does not end."""
    handler.send_response(200)
    handler.end_headers()
    while not heard.closing.is_set():
        try:
            handler.wfile.write(b"x" * 65536)
        except OSError:
            return


def webhooks_of(
    url: str, kind: WebhookKind = WebhookKind.SLACK, environ: Mapping[str, str] | None = None
) -> HttpWebhooks:
    """Make the webhooks of an installation with one of them."""
    is_generic = kind is WebhookKind.GENERIC
    lab = WebhookSettings(
        Target("lab", kind), url=url, signing_secret_env="LAB_KEY" if is_generic else ""
    )
    return HttpWebhooks(AlertSettings({"lab": lab}), environ or {}, FakeClock())


@pytest.fixture
def short(mocker: MockerFixture) -> None:
    """Let nobody wait for seconds."""
    mocker.patch.object(webhook, "READ_S", 0.3)
    mocker.patch.object(webhook, "POST_S", 0.6)


def test_a_post_carries_the_body_and_the_alert(caplog: pytest.LogCaptureFixture) -> None:
    """As JSON, to the very path."""
    with caplog.at_level(logging.DEBUG), serving(status(200)) as (url, heard):
        webhooks_of(url).post("lab", BODY, alert="a1")

    (headers,) = heard.headers
    assert ([f"/services/{CANARY}"], [BODY]) == (heard.paths, heard.bodies)
    assert ("application/json", "a1") == (headers["Content-Type"], headers["X-Tpuctl-Alert"])
    assert "X-Tpuctl-Signature" not in headers
    assert "CANARY" not in caplog.text


def test_a_generic_webhook_gets_a_time_and_a_signature() -> None:
    """Over both the time and the body."""
    with serving(status(204)) as (url, heard):
        made = webhooks_of(url, WebhookKind.GENERIC, {"LAB_KEY": SECRET})
        made.post("lab", BODY, alert="a1")

    (headers,) = heard.headers
    timestamp = headers["X-Tpuctl-Timestamp"]
    assert str(int(FAKE_START.timestamp())) == timestamp
    assert f"v1={signature(SECRET.encode(), timestamp, BODY)}" == headers["X-Tpuctl-Signature"]


def test_a_signature_is_over_the_time_and_the_body() -> None:
    """As `printf 1.body | openssl dgst -sha256 -hmac key` computes it."""
    computed = "91b5374b153842ad05b2c4eab9349b8321b14703165bd3fb8b034dfb8be98ae5"

    assert computed == signature(b"key", "1", b"body")


@pytest.mark.parametrize(
    "code, said",
    [
        (500, "it answered 500"),
        (404, "it answered 404"),
        (302, "it answered 302: redirects are not followed"),
        (307, "it answered 307: redirects are not followed"),
    ],
)
def test_every_answer_but_2xx_is_a_failure(code: int, said: str) -> None:
    """A redirect above all: it may lead inside."""
    with (
        serving(status(200)) as (inside, secrets),
        serving(status(code, Location=inside)) as (url, heard),
        pytest.raises(Unavailable) as caught,
    ):
        webhooks_of(url).post("lab", BODY, alert="a1")

    assert said == str(caught.value)
    assert (1, []) == (len(heard.paths), secrets.paths)


@pytest.mark.parametrize(
    "code, retry_after, after_s",
    [
        (429, "17", 17.0),
        (503, "2", 2.0),
        (429, "", 0.0),
        (429, "Fri, 31 Dec", 0.0),
        (429, "9" * 9, 600.0),
    ],
)
def test_a_webhook_may_ask_for_time(code: int, retry_after: str, after_s: float) -> None:
    """Up to ten minutes."""
    with (
        serving(status(code, Retry_After=retry_after)) as (url, _),
        pytest.raises(RateLimited) as caught,
    ):
        webhooks_of(url).post("lab", BODY, alert="a1")

    assert after_s == caught.value.after_s


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("answer", [hangs, drips])
def test_a_webhook_that_hangs_or_drips_is_left_after_a_while(answer: Answer) -> None:
    """Whatever it sends meanwhile."""
    begun = time.monotonic()
    with serving(answer) as (url, _), pytest.raises(Unavailable, match="did not answer"):
        webhooks_of(url).post("lab", BODY, alert="a1")

    # Its header alone would last for twenty minutes.
    assert time.monotonic() - begun < 20.0


@pytest.mark.usefixtures("short")
def test_a_webhook_that_still_drips_is_not_posted_to_again() -> None:
    """One thread a webhook, however often it is tried; another webhook has its own."""
    with serving(drips) as (url, heard), serving(status(200)) as (other, well):
        made = webhooks_of(url)
        made._settings = AlertSettings(
            {
                **made._settings.webhooks,
                "well": WebhookSettings(Target("well", WebhookKind.SLACK), url=other),
            }
        )
        for _ in range(3):
            with pytest.raises(Unavailable):
                made.post("lab", BODY, alert="a1")
        made.post("well", BODY, alert="a1")

    assert (1, 1) == (len(heard.paths), len(well.paths))


def test_an_endless_body_is_not_read() -> None:
    """The status is all that counts."""
    with serving(pours) as (url, heard):
        webhooks_of(url).post("lab", BODY, alert="a1")

    assert 1 == len(heard.paths)


def test_nobody_listens() -> None:
    """A failure like any other."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/{CANARY}"
        with pytest.raises(Unavailable, match="did not answer: ConnectionError"):
            webhooks_of(url).post("lab", BODY, alert="a1")


def test_what_is_too_long_is_not_sent() -> None:
    """It would be refused."""
    with pytest.raises(Unavailable, match="65537 bytes"):
        webhooks_of("http://127.0.0.1:1/").post("lab", b"x" * 65537, alert="a1")


# --- Addresses and secrets ----------------------------------------------------------------------


def test_an_address_may_stand_in_the_environment() -> None:
    """Where the deployment puts its secrets; it is read when something is posted."""
    lab = WebhookSettings(Target("lab", WebhookKind.SLACK), url_env="LAB_URL")
    environ: dict[str, str] = {}
    made = HttpWebhooks(AlertSettings({"lab": lab}), environ)
    with pytest.raises(Unavailable, match=r"\$LAB_URL: is missing"):
        made.post("lab", BODY, alert="a1")

    with serving(status(200)) as (url, heard):
        environ["LAB_URL"] = url
        made.post("lab", BODY, alert="a1")

    assert [BODY] == heard.bodies


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.org/CANARY",
        "https://user:CANARY@hooks.example.org/",
        "ftp://127.0.0.1/CANARY",
        "file:///etc/CANARY",
        "https:///CANARY",
        "https://hooks.example.org/CANARY\r\nHost: inside",
        "CANARY",
    ],
)
def test_an_address_that_may_not_be_posted_to_is_not(url: str) -> None:
    """And the error does not repeat it."""
    lab = WebhookSettings(Target("lab", WebhookKind.SLACK), url_env="LAB_URL")

    with pytest.raises(Unavailable, match=r"it is not set up: \$LAB_URL") as caught:
        HttpWebhooks(AlertSettings({"lab": lab}), {"LAB_URL": url}).post("lab", BODY, alert="a1")

    assert "CANARY" not in str(caught.value)


@pytest.mark.parametrize("secret", ["", "too short"])
def test_nothing_is_signed_with_a_weak_secret(secret: str) -> None:
    """Nor is anything sent unsigned."""
    with serving(status(200)) as (url, heard):
        made = webhooks_of(url, WebhookKind.GENERIC, {"LAB_KEY": secret})
        with pytest.raises(Unavailable, match=r"\$LAB_KEY"):
            made.post("lab", BODY, alert="a1")

    assert [] == heard.paths


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    "answer",
    [status(500), status(302), status(429), hangs, drips],
    ids=["500", "302", "429", "hangs", "drips"],
)
def test_no_address_and_no_secret_reaches_a_log_or_an_error(
    answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even at the level of debugging."""
    with caplog.at_level(logging.DEBUG), serving(answer) as (url, _):
        made = webhooks_of(url, WebhookKind.GENERIC, {"LAB_KEY": f"{SECRET} CANARY"})
        with pytest.raises(Retryable) as caught:
            made.post("lab", BODY, alert="a1")

    told = f"{caught.value!r} {caught.value.__cause__!r} {caplog.text} {made._settings!r}"
    assert "CANARY" not in told


def test_a_proxy_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """It could not reach it."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "")
    with serving(status(200)) as (url, heard):
        webhooks_of(url).post("lab", BODY, alert="a1")

    assert 1 == len(heard.paths)


def test_the_body_is_what_the_alert_says() -> None:
    """Byte for byte: it is signed."""
    with serving(status(200)) as (url, heard):
        webhooks_of(url).post("lab", json.dumps({"text": "ä ü"}).encode(), alert="a1")

    assert {"text": "ä ü"} == json.loads(heard.bodies[0])
