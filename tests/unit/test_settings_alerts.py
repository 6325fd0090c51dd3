"""The table ``[alerts]``: what is written is used, what is wrong is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared import settings, wiring
from shared.adapters.webhook import HttpWebhooks
from shared.core.alert_kinds import USUAL_KINDS
from shared.core.alert_routes import BURST, POSTS_PER_HOUR, Target, WebhookKind
from shared.errors import SpecError
from shared.settings_alerts import AlertSettings, WebhookSettings

SLACK = 'url = "https://hooks.example.org/services/T/B/CANARY"'
CLOUD = """
wiring = "google"
[cloud]
project = "my-project"
bucket = "my-bucket"
[cloud.teams.vision]
worker_account = "vision@my-project.iam.gserviceaccount.com"
members = ["ada@example.org", "bob@example.org"]
"""


def written(home: Path, text: str) -> settings.Settings:
    """Read a settings file."""
    home.mkdir(exist_ok=True)
    (home / "settings.toml").write_text(text, encoding="utf-8")
    return settings.load({"TPUCTL_HOME": str(home)})


def alerts(home: Path, text: str) -> AlertSettings:
    """Read the table of a settings file."""
    found = written(home, text).alerts
    assert found is not None
    return found


def test_a_webhook_needs_no_more_than_an_address(home: Path) -> None:
    """It hears of everybody, of what people usually want to hear."""
    lab = alerts(home, f"[alerts.webhooks.lab]\n{SLACK}").webhooks["lab"]

    target = Target("lab", WebhookKind.SLACK, (), USUAL_KINDS, BURST, POSTS_PER_HOUR)
    assert WebhookSettings(target, SLACK[7:-1]) == lab


def test_everything_can_be_said(home: Path) -> None:
    """Of a signed webhook whose address is a secret of the deployment."""
    found = alerts(
        home,
        CLOUD
        + """
        [alerts.webhooks.pager]
        kind = "generic"
        url_env = "PAGER_URL"
        signing_secret_env = "PAGER_KEY"
        owners = ["carol", "dan.brown@example.org"]
        teams = ["vision"]
        kinds = ["failed", "stuck"]
        burst = 3
        posts_per_hour = 30
        link = "https://example.org/{job}"
        """,
    )

    owners = ("carol", "dan-brown-example-org", "ada-example-org", "bob-example-org")
    assert Target(
        "pager",
        WebhookKind.GENERIC,
        owners,
        ("failed", "stuck"),
        3,
        30,
        "https://example.org/{job}",
    ) == (found.webhooks["pager"].target)


def test_an_installation_without_the_table_has_no_webhooks(home: Path) -> None:
    """The log and the topic are there all the same."""
    assert None is written(home, "").alerts
    assert None is wiring.open_webhooks(written(home, ""))
    assert None is wiring.open_webhooks(written(home, "[alerts]"))
    assert isinstance(
        wiring.open_webhooks(written(home, f"[alerts.webhooks.lab]\n{SLACK}")), HttpWebhooks
    )


def test_no_address_is_shown_with_the_settings(home: Path) -> None:
    """They may end up in a log."""
    assert "CANARY" not in repr(written(home, f"[alerts.webhooks.lab]\n{SLACK}"))


WRONG = [
    pytest.param("[alerts]\nwebhook = 1", "did you mean alerts.webhooks", id="an unknown key"),
    pytest.param("alerts = 1", "alerts: expected a table", id="no table"),
    pytest.param("[alerts]\nwebhooks = 1", "expected a table a webhook", id="no tables"),
    pytest.param("[alerts.webhooks.lab]", "expected either url or url_env", id="no address"),
    pytest.param(
        f'[alerts.webhooks.lab]\n{SLACK}\nurl_env = "X"',
        "either url or url_env",
        id="two addresses",
    ),
    pytest.param(f"[alerts.webhooks.Lab]\n{SLACK}", "small letters", id="a wrong name"),
    pytest.param(
        '[alerts.webhooks.lab]\nurl = "http://hooks.example.org/CANARY"',
        "lab.url: is no https address",
        id="http",
    ),
    pytest.param(
        '[alerts.webhooks.lab]\nurl = "http://169.254.169.254/CANARY"',
        "is no https address",
        id="the metadata server",
    ),
    pytest.param(
        '[alerts.webhooks.lab]\nurl = "https://u:CANARY@example.org/"', "a password", id="a user"
    ),
    pytest.param(
        '[alerts.webhooks.lab]\nurl = "https://[CANARY/"', "is no address", id="no address at all"
    ),
    pytest.param(
        f'[alerts.webhooks.lab]\n{SLACK}\nkind = "slak"', "did you mean slack", id="a wrong kind"
    ),
    pytest.param(
        f'[alerts.webhooks.lab]\n{SLACK}\nkind = "generic"',
        "signing_secret_env: is missing",
        id="generic, unsigned",
    ),
    pytest.param(
        f'[alerts.webhooks.lab]\n{SLACK}\nsigning_secret_env = "K"',
        "signing_secret_env: is for generic",
        id="slack, signed",
    ),
    pytest.param(
        f'[alerts.webhooks.lab]\n{SLACK}\nkinds = ["faild"]', "did you mean failed", id="no kind"
    ),
    pytest.param(
        f'[alerts.webhooks.lab]\n{SLACK}\nkinds = "failed"', "expected a list", id="not a list"
    ),
    pytest.param(f"[alerts.webhooks.lab]\n{SLACK}\nowners = []", "names nobody", id="owners, none"),
    pytest.param(
        f'[alerts.webhooks.lab]\n{SLACK}\nteams = ["vision"]', "known: none", id="an unknown team"
    ),
    pytest.param(
        f"[alerts.webhooks.lab]\n{SLACK}\nburst = 0", "expected a number from 1", id="no burst"
    ),
    pytest.param(
        f'[alerts.webhooks.lab]\n{SLACK}\nlink = "https://example.org/{{owner}}"',
        "knows one placeholder",
        id="a wrong placeholder",
    ),
    pytest.param('[alerts.webhooks.lab]\nurl_env = "a b"', "environment variable", id="a variable"),
]


@pytest.mark.parametrize("text, said", WRONG)
def test_what_is_wrong_is_refused_where_it_stands(home: Path, text: str, said: str) -> None:
    """With what to do, and without the address: it is a secret."""
    with pytest.raises(SpecError) as caught:
        written(home, text)

    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{home / 'settings.toml'}: alerts")
    assert "CANARY" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.9.1", "[::1]"])
def test_http_is_for_this_machine(home: Path, host: str) -> None:
    """To try things out."""
    url = f"http://{host}:8080/hook"

    assert url == alerts(home, f'[alerts.webhooks.lab]\nurl = "{url}"').webhooks["lab"].url
