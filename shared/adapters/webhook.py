"""Webhooks over HTTPS: one bounded POST, no redirect, and no address in any log or error.

Addresses and signing secrets come from settings, or from the environment into which the
deployment puts its secrets; they are read when something is posted, because only the function
that posts has them. An answer is read up to its status; nothing in it is looked at.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from shared.adapters.system import SystemClock
from shared.core.alert_routes import Target, WebhookKind
from shared.errors import RateLimited, SpecError, Unavailable
from shared.settings_alerts import AlertSettings, WebhookSettings, checked_url, is_loopback

if TYPE_CHECKING:
    import requests

    from shared.ports import Clock

CONNECT_S: Final = 3.0
READ_S: Final = 5.0
# The read timeout is between two bytes: a webhook that drips would take for ever.
POST_S: Final = 10.0
BODY_BYTES_MAX: Final = 64 * 1024
RETRY_AFTER_S_MAX: Final = 600.0
SECRET_CHARS_MIN: Final = 16

ALERT_HEADER: Final = "X-Tpuctl-Alert"
TIMESTAMP_HEADER: Final = "X-Tpuctl-Timestamp"
SIGNATURE_HEADER: Final = "X-Tpuctl-Signature"

_OK: Final = range(200, 300)
_MOVED: Final = range(300, 400)
_LATER: Final = (429, 503)


class HttpWebhooks:
    """The webhooks of one installation."""

    def __init__(
        self,
        settings: AlertSettings,
        environ: Mapping[str, str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings
        self._environ = os.environ if environ is None else environ
        self._clock = clock or SystemClock()
        self._posts: dict[str, _Post] = {}
        # Its debug lines hold the path of every address, and the path is the secret.
        logging.getLogger("urllib3.connectionpool").setLevel(logging.WARNING)

    @property
    def targets(self) -> Sequence[Target]:
        """Who is told what."""
        return [webhook.target for webhook in self._settings.webhooks.values()]

    def post(self, name: str, body: bytes, *, alert: str) -> None:
        """Post JSON and wait for the status.  Repeatable: the receiver knows the alert's id."""
        if len(body) > BODY_BYTES_MAX:
            raise Unavailable(f"the message has {len(body)} bytes, more than {BODY_BYTES_MAX}")
        webhook = self._settings.webhooks[name]
        try:
            url, headers = self._url(webhook), self._headers(webhook, body, alert)
        except SpecError as error:
            raise Unavailable(f"it is not set up: {error}", after_s=RETRY_AFTER_S_MAX) from None
        busy = self._posts.get(name)
        if busy is not None and busy.is_alive():
            raise Unavailable(f"it still hangs since {POST_S:.0f} s ago or more")
        self._posts[name] = post = _Post(url, headers, body)
        post.start()
        post.join(POST_S)
        _check(post)

    def _url(self, webhook: WebhookSettings) -> str:
        if not webhook.url_env:
            return webhook.url
        return checked_url(f"${webhook.url_env}", self._environ.get(webhook.url_env, ""))

    def _headers(self, webhook: WebhookSettings, body: bytes, alert: str) -> Mapping[str, str]:
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "tpuctl",
            ALERT_HEADER: alert,
        }
        if webhook.target.kind is WebhookKind.GENERIC:
            timestamp = str(int(self._clock.now().timestamp()))
            secret = self._secret(webhook)
            headers[TIMESTAMP_HEADER] = timestamp
            headers[SIGNATURE_HEADER] = f"v1={signature(secret, timestamp, body)}"
        return headers

    def _secret(self, webhook: WebhookSettings) -> bytes:
        variable = webhook.signing_secret_env
        secret = self._environ.get(variable, "")
        if len(secret) < SECRET_CHARS_MIN:
            raise SpecError(f"${variable}", f"expected {SECRET_CHARS_MIN} characters or more")
        return secret.encode()


def connect(settings: AlertSettings) -> HttpWebhooks | None:
    """Open the webhooks of an installation; None where there are none."""
    return HttpWebhooks(settings) if settings.webhooks else None


def signature(secret: bytes, timestamp: str, body: bytes) -> str:
    """Sign a time and a body: HMAC-SHA256 over ``TIMESTAMP.BODY``, in hex."""
    return hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


class _Post(threading.Thread):
    """One POST in a thread: whoever waits for it need not wait for as long as a webhook likes."""

    def __init__(self, url: str, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(daemon=True, name="webhook")
        self.status = 0
        self.problem = ""
        self.retry_after = ""
        self._url, self._headers, self._body = url, headers, body

    def run(self) -> None:
        """Post, and keep the status or why there is none."""
        # Not before something is posted: it takes a tenth of a second to import.
        import requests

        try:
            with requests.Session() as session:
                # A proxy is for the outside; and nothing of a .netrc belongs to a webhook.
                session.trust_env = not is_loopback(self._url)
                self._send(session)
        except (requests.RequestException, OSError, ValueError) as error:
            # Its text holds the address.
            self.problem = type(error).__name__

    def _send(self, session: requests.Session) -> None:
        with session.post(
            self._url,
            data=self._body,
            headers=self._headers,
            auth=lambda request: request,
            allow_redirects=False,
            stream=True,
            timeout=(CONNECT_S, READ_S),
        ) as answer:
            self.retry_after = answer.headers.get("Retry-After", "")
            self.status = answer.status_code


def _check(post: _Post) -> None:
    """Raise what an answer, or none, means."""
    if post.status in _OK:
        return
    if post.status in _LATER:
        raise RateLimited(f"it answered {post.status}", after_s=_seconds(post.retry_after))
    if post.status in _MOVED:
        raise Unavailable(f"it answered {post.status}: redirects are not followed")
    if post.status:
        raise Unavailable(f"it answered {post.status}")
    if post.problem:
        raise Unavailable(f"it did not answer: {post.problem}")
    raise Unavailable(f"it did not answer within {POST_S:.0f} s")


def _seconds(retry_after: str) -> float:
    """Read how long a webhook wants to be left alone; a date counts as nothing said."""
    return min(float(retry_after), RETRY_AFTER_S_MAX) if retry_after.isdecimal() else 0.0
