"""Lines of one request belong together."""

import pytest

from functions.tracing import trace_in

TRACE = "0123456789abcdef0123456789abcdef"
FULL = f"projects/my-project/traces/{TRACE}"


@pytest.mark.parametrize(
    "header, value, expected",
    [
        pytest.param("traceparent", f"00-{TRACE}-00f067aa0ba902b7-01", FULL, id="the standard's"),
        pytest.param("x-cloud-trace-context", f"{TRACE}/123;o=1", FULL, id="Google's"),
        pytest.param("x-cloud-trace-context", TRACE, FULL, id="without a span"),
        pytest.param("x-cloud-trace-context", f'{TRACE}"\n{{"severity":"x"', "", id="forged"),
        pytest.param("traceparent", "../../" + TRACE, "", id="a path"),
        pytest.param("authorization", TRACE, "", id="another header"),
    ],
)
def test_a_trace_is_named_as_cloud_logging_names_it(header: str, value: str, expected: str) -> None:
    """Or not at all: a header is written by whoever calls."""
    assert expected == trace_in({header: value}, "my-project")


def test_without_a_project_there_is_no_trace() -> None:
    """Its name would be wrong."""
    assert "" == trace_in({"x-cloud-trace-context": TRACE}, "")
