"""Lines as Cloud Logging reads them: one an event, known fields, nothing secret."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from shared import log
from shared.core.mandates import bid_token
from tests.log_lines import Lines, captured

# What no line may ever show.
CANARIES = [
    pytest.param("Authorization: Bearer s3cr3t-Canary.x/y+z=", "s3cr3t-Canary", id="a header"),
    pytest.param("eyJhbGciOiJSUzI1NiJ9.eyJlbWFpbCI6ImEifQ.c2ln-Canary", "Canary", id="a web token"),
    pytest.param("ya29.a0Canary-_x", "Canary", id="an access token"),
    pytest.param(bid_token(b"key", "uid", 1, "0"), bid_token(b"key", "uid", 1, "0"), id="an HMAC"),
    pytest.param("https://hooks.slack.com/services/T0/B0/Canary", "Canary", id="a webhook"),
]
# A word breaks nothing off: what only looks a little like a secret stays readable.
HARMLESS = [
    "digits-17 is preempted in us-central2-b",
    "2b8a3f0c-91d2-4c4e-9f1e-0a1b2c3d4e5f",
    "projects/p/locations/z/operations/operation-1700000000000",
    "12345678901234567890",
]


def fail(text: str) -> None:
    """Go wrong."""
    raise ValueError(text)


@pytest.fixture
def lines() -> Iterator[Lines]:
    """Log as a deployed function does."""
    with captured() as found:
        yield found


def test_a_line_has_googles_names(lines: Lines) -> None:
    """Severity, message, and the fields that were given."""
    log.get("recovery").warning("slice %s lost", "s1", extra={"slice": "s1", "generation": 3})

    expected = {
        "severity": "WARNING",
        "message": "slice s1 lost",
        "logger": "tpuctl.recovery",
        "slice": "s1",
        "generation": 3,
    }
    assert [expected] == lines.all


def test_a_text_with_line_breaks_is_one_line(lines: Lines) -> None:
    """Nobody can forge a second one."""
    forged = 'x\n{"severity":"CRITICAL"}\r\n\u2028\x1b[2J'
    log.get("report").info("host says %s", forged, extra={"job": forged})

    assert 1 == lines.text.count("\n")
    assert lines.text.isascii()
    assert f"host says {forged}" == lines.all[0]["message"]


def test_a_field_that_is_not_known_is_not_written(lines: Lines) -> None:
    """A spec's environment may stand in one."""
    log.get("launch").info("submitted", extra={"env": {"KEY": "Canary"}, "spec": "Canary"})

    assert "Canary" not in lines.text


def test_texts_are_cut(lines: Lines) -> None:
    """A line cannot be larger than Google takes."""
    try:
        fail("z" * 10**6)
    except ValueError:
        log.get("push").exception("x" * 10**6, extra={"job": "y" * 10**6})

    assert len(lines.text) < 20_000
    assert "ValueError" not in str(lines.all[0]["message"])


def test_the_stack_of_an_error_is_a_field(lines: Lines) -> None:
    """Its end says what happened."""
    try:
        fail("the reason")
    except ValueError:
        log.get("push").exception("failed")

    assert str(lines.all[0]["stack_trace"]).endswith("ValueError: the reason")


@pytest.mark.parametrize("secret, canary", CANARIES)
def test_what_looks_like_a_secret_is_struck_out(lines: Lines, secret: str, canary: str) -> None:
    """In the text, in a field, in an error; even where the text is cut."""
    logger = log.get("alert")
    logger.info("it says %s, and %s goes on", secret, "this")
    logger.info("%s %s", "x" * (log.MESSAGE_CHARS_MAX - 20), secret)
    logger.info("field", extra={"job": secret})
    try:
        fail(secret)
    except ValueError:
        logger.exception("failed")

    assert canary not in lines.text
    assert canary[:12] not in lines.text
    assert str(lines.all[0]["message"]).endswith("and this goes on")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(lines: Lines, text: str) -> None:
    """Names, numbers and ids are what logs are for."""
    log.get("launch").info(text)

    assert text == lines.all[0]["message"]


def test_a_context_is_on_every_line_until_it_ends(lines: Lines) -> None:
    """What is known later is added."""
    logger = log.get("launch")
    with log.context(function="launch", trace="projects/p/traces/t"):
        log.add(slice="s1")
        logger.info("inside")
    logger.info("outside")

    inside, outside = lines.all
    assert ("launch", "s1") == (inside["function"], inside["slice"])
    assert "projects/p/traces/t" == inside["logging.googleapis.com/trace"]
    assert not {"function", "slice", log.TRACE} & set(outside)


def test_nothing_is_added_where_no_context_is(lines: Lines) -> None:
    """It would stay on every later line of the thread."""
    log.add(slice="s1")
    log.get("launch").info("outside")

    assert "slice" not in lines.all[0]


def test_a_function_writes_json_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    """Everybody's lines, once, and libraries only when something is wrong."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        log.to_json_stdout()
        log.to_json_stdout()
        logging.getLogger("tpuctl.tick").info("tick", extra={"outbox_age_s": 0.0})
        logging.getLogger("google.auth").info("chatter")
        logging.getLogger("werkzeug").error("a library")
        written = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    finally:
        logging.captureWarnings(capture=False)
        root.handlers[:] = before
        root.setLevel(level)

    assert ["tick", "a library"] == [line["message"] for line in written]
    assert written[0]["outbox_age_s"] == 0.0
