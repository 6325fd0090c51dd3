"""A job spec is parsed once: good ones survive a round trip, bad ones name the field."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.catalog_data import load_catalog
from shared.core.causes import Cause
from shared.core.rules import PRESETS, Action
from shared.core.spec import (
    SPEC_BYTES_MAX,
    JobSpec,
    canonical_json,
    from_document,
    parse_spec,
    resolve,
    spec_sha256,
    to_document,
)
from shared.errors import SpecError

SHA256 = "ab" * 32
SMALL: dict[str, object] = {"name": "digits", "command": ["python", "train.py"]}

TEXT = st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
SECONDS = st.floats(min_value=0, max_value=1000)
CODE = st.fixed_dictionaries(
    {"sha256": st.just(SHA256), "bytes": st.integers(0, 10**9), "object": TEXT},
    optional={"git_commit": st.just("c" * 40), "git_dirty": st.booleans()},
)
SPECS = st.fixed_dictionaries(
    {
        "name": st.from_regex(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?", fullmatch=True),
        "command": st.lists(TEXT, max_size=4).map(lambda words: ["python", *words]),
    },
    optional={
        "env": st.dictionaries(st.from_regex(r"[A-SU-Z][A-Z0-9_]{0,8}", fullmatch=True), TEXT),
        "setup": st.none() | st.lists(TEXT, max_size=3),
        "code": st.none() | CODE,
        "tier": st.sampled_from(["spot", "on-demand", "reserved"]),
        "rule": st.sampled_from(sorted(PRESETS)),
        "on": st.dictionaries(
            st.sampled_from([cause.value for cause in Cause if cause is not Cause.SUCCEEDED]),
            st.sampled_from([action.value for action in Action] + ["recreate:2"]),
        ),
        "budgets": st.fixed_dictionaries({}, optional={"failures": st.integers(0, 10)}),
        "i_pay": st.booleans(),
        "grace_s": SECONDS,
        "hold_s": st.none() | SECONDS,
        "tags": st.lists(st.from_regex(r"[a-z]{1,5}", fullmatch=True), max_size=3),
        "note": TEXT,
    },
).map(parse_spec)
KEYS = st.sampled_from(sorted(JobSpec.model_fields)) | st.text()
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
ANYTHING = st.recursive(
    SCALARS | st.integers(10**400, 10**401),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
)


@given(SPECS)
def test_a_document_means_the_same_spec(spec: JobSpec) -> None:
    """What goes into the Store comes back, through JSON text too."""
    document = json.loads(json.dumps(to_document(spec)))

    assert spec == from_document(document)


@given(SPECS)
def test_equal_specs_have_equal_bytes(spec: JobSpec) -> None:
    """The name by content does not depend on the order in which fields were written."""
    fields = to_document(spec)
    reordered = parse_spec({key: fields[key] for key in sorted(fields, reverse=True)})

    assert canonical_json(spec) == canonical_json(reordered)
    assert spec_sha256(spec) == spec_sha256(reordered)


@given(st.dictionaries(KEYS, ANYTHING, max_size=6) | ANYTHING)
def test_whatever_is_written_is_a_spec_or_a_spec_error(fields: Any) -> None:
    """No input brings the parser down."""
    try:
        spec = parse_spec(fields)
    except SpecError as error:
        assert len(str(error)) < 1000  # noqa: PT017 - either outcome is fine
    else:
        assert spec == from_document(to_document(spec))


def test_defaults_are_the_cautious_ones() -> None:
    """A small spec says little and means a lot."""
    spec = parse_spec(SMALL)

    assert ("python", "train.py") == spec.argv
    assert ("spot", "pre", 1, None) == (spec.tier, spec.rule, spec.slices, spec.hold_s)
    assert (1000, 3) == (spec.budgets.preemptions, spec.budgets.failures)
    assert (30.0, 600.0, 1800.0) == (spec.grace_s, spec.finish_grace_s, spec.setup_timeout_s)


def test_capacity_that_is_not_spot_is_not_replaced_by_default() -> None:
    """Losing a reserved slice is unusual, so its owner decides."""
    assert "resume" == parse_spec({**SMALL, "tier": "reserved"}).rule


def test_a_shell_line_is_one_argument() -> None:
    """Text for a shell is data for bash, with everything in it."""
    line = 'echo "$HOME"; rm -rf *\n'

    assert ("bash", "-c", line) == parse_spec({"name": "a", "shell": line}).argv


def test_a_setup_text_stops_at_its_first_failing_line() -> None:
    """A setup that half worked is the worst of all."""
    spec = parse_spec({**SMALL, "setup": "pip install x\nmake"})

    assert ("bash", "-ec", "pip install x\nmake") == spec.setup


@pytest.mark.parametrize("value", ["; rm -rf /", "$(id)", "a\nb", "'\"`", "ü" * 50_000])
def test_no_text_is_changed_or_cut(value: str) -> None:
    """Metacharacters, newlines and 100 kB arrive as they are."""
    spec = parse_spec({**SMALL, "command": ["echo", value], "env": {"VALUE": value}})

    assert value == spec.command[1]
    assert value == from_document(to_document(spec)).env["VALUE"]


def test_the_environment_is_not_shown() -> None:
    """Values of the environment may be secrets; a spec that is printed keeps them."""
    assert "hunter2" not in repr(parse_spec({**SMALL, "env": {"PASSWORD": "hunter2"}}))


@pytest.mark.parametrize(
    "change, field, reason",
    [
        pytest.param({"command": []}, "command", "is missing", id="no command"),
        pytest.param({"command": [""]}, "command", "is empty", id="empty command"),
        pytest.param({"command": "ls -l"}, "command", "a line for a shell", id="line"),
        pytest.param({"command": ["a", 5]}, "command[1]", "expected text, found the number 5"),
        pytest.param({"command": ["a\0"]}, "command[0]", "NUL byte", id="NUL"),
        pytest.param({"command": ["a" * 120_001]}, "command[0]", "120001 bytes", id="long"),
        pytest.param({"shell": "ls"}, "command", "not both", id="command and shell"),
        pytest.param({"comand": []}, "comand", "near: command", id="misspelled key"),
        pytest.param({"zone": "a"}, "zone", "near: zones", id="singular"),
        pytest.param({"type": "v4-8"}, "type", "near: accelerator_type", id="short key"),
        pytest.param({"budgets": {"failure": 1}}, "budgets.failure", "near: failures"),
        pytest.param({"name": "Digits"}, "name", "lower-case", id="capital"),
        pytest.param({"name": "a" * 41}, "name", "at most 40", id="long name"),
        pytest.param({"name": "a\n"}, "name", "found 'a\\n'", id="newline"),
        pytest.param({"name": "a;id" * 30_000}, "name", "characters)", id="huge name"),
        pytest.param({"env": {"A-B": ""}}, "env.A-B", "underscores", id="env name"),
        pytest.param({"env": {"TPUCTL_JOB": ""}}, "env.TPUCTL_JOB", "set by tpuctl"),
        pytest.param({"env": {"A": 1}}, "env.A", "expected text", id="env value"),
        pytest.param({"env": ["A"]}, "env", "expected a mapping, found a list", id="env list"),
        pytest.param({"tier": "sopt"}, "tier", "expected 'spot'", id="tier"),
        pytest.param({"slices": 2}, "slices", "only 1 is possible yet", id="multislice"),
        pytest.param({"slices": "1"}, "slices", "expected a whole number", id="text"),
        pytest.param({"rule": "prey"}, "rule", "pre, reapply", id="rule"),
        pytest.param({"on": {"eror": "stop"}}, "on.eror", "near: error", id="cause"),
        pytest.param({"on": {"succeeded": "stop"}}, "on.succeeded", "no cause", id="success"),
        pytest.param({"on": {"error": "stopp"}}, "on.error", "expected one of resume"),
        pytest.param({"on": {"error": "stop:2"}}, "on.error", "stop has none", id="bound"),
        pytest.param({"grace_s": -1}, "grace_s", "at least 0", id="negative"),
        pytest.param({"grace_s": True}, "grace_s", "expected a number, found true", id="bool"),
        pytest.param({"grace_s": float("nan")}, "grace_s", "finite", id="not a number"),
        pytest.param({"checkpoint_dir": "a/b"}, "checkpoint_dir", "gs://", id="relative"),
        pytest.param({"progress": "step"}, "progress[0]", "needs a group", id="group"),
        pytest.param({"progress": "("}, "progress[0]", "no regular expression", id="regex"),
        pytest.param({"tags": ["a b"]}, "tags[0]", "found 'a b'", id="tag"),
        pytest.param({"code": {}}, "code.sha256", "is missing", id="code"),
        pytest.param({"version": 2}, "version", "expected 1", id="newer"),
    ],
)
def test_a_wrong_field_is_named_with_what_was_expected(
    change: dict[str, object], field: str, reason: str
) -> None:
    """Errors are exact: the field, what was expected, what was found."""
    with pytest.raises(SpecError) as caught:
        parse_spec({**SMALL, **change})

    assert field == caught.value.field
    assert reason in caught.value.reason


def test_a_spec_that_is_too_large_is_refused_whole() -> None:
    """Three large values are within their own limits, but not together."""
    with pytest.raises(SpecError, match=f"at most {SPEC_BYTES_MAX}"):
        parse_spec({**SMALL, "env": dict.fromkeys("ABC", "x" * 100000)})


def test_resolving_fills_in_what_follows_from_the_type() -> None:
    """Aliases become Google's names, the runtime follows."""
    spec = parse_spec({**SMALL, "accelerator_type": "v5e-16", "zones": "us-west4-a"})

    resolved = resolve(spec, load_catalog())

    assert "v5litepod-16" == resolved.accelerator_type
    assert "v2-alpha-tpuv5-lite" == resolved.runtime_version


@pytest.mark.parametrize(
    "change, field",
    [
        ({"accelerator_type": "v5e-10"}, "accelerator_type"),
        ({"accelerator_type": "v4-8", "zones": ["us-central2-b", "us-east5-a"]}, "zones"),
        ({"accelerator_type": "v4-8", "runtime_version": "cos"}, "runtime_version"),
    ],
)
def test_resolving_names_the_field_that_is_not_offered(
    change: dict[str, object], field: str
) -> None:
    """Errors of the catalog speak of the spec's fields."""
    with pytest.raises(SpecError) as caught:
        resolve(parse_spec({**SMALL, **change}), load_catalog())

    assert field == caught.value.field
