"""A whole installation tells a real webhook, and one that is down disturbs nobody."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli import local_runner
from tests.installations import running, until
from tests.webhook_servers import Heard, serving, status

pytestmark = pytest.mark.slow

SETTINGS = """
[alerts.webhooks.lab]
url = "{well}"
[alerts.webhooks.down]
url = "{down}"
"""


def test_a_job_that_is_preempted_is_told_while_another_webhook_is_down(tmp_path: Path) -> None:
    """The loss, the recovery with its downtime, the end; in each case once."""
    home = tmp_path / "home"
    with (
        running(home) as installation,
        serving(status(204)) as (well, heard),
        serving(status(500)) as (down, tried),
    ):
        local_runner.stop(home)
        with (home / "settings.toml").open("a", encoding="utf-8") as file:
            file.write(SETTINGS.format(well=well, down=down))
        installation.start_runner()
        work = installation.run("told")
        work.until_saved(0)
        installation.tpuctl("sandbox", "preempt", work.node, "--silent")
        work.until_saved(1)
        work.finish()
        until(lambda: len(heard.bodies) >= 3 or None, lambda: str(headlines(heard)))

        lost, back, end = headlines(heard)
        log = (home / "runner.log").read_text("utf-8")

    assert lost.endswith("was preempted*")
    assert " is back after " in back
    assert end.endswith("succeeded*")
    assert tried.paths != []
    assert "webhook down: it answered 500" in log
    assert "CANARY" not in log


def headlines(heard: Heard) -> list[str]:
    """The first line of each post."""
    return [str(json.loads(body)["text"]).splitlines()[0] for body in heard.bodies]
