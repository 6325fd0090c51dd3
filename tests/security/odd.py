"""Values that somebody could send who means harm, or whose program is broken."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any, Final

from hypothesis import strategies as st

# What shells, paths, formats, terminals and parsers give a meaning to.
NASTY: Final = (
    "",
    "a b",
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned #",
    "| touch pwned",
    "a\ntouch pwned\n",
    "\r\nX-Header: y",
    "'\"'\"",
    "-rf",
    "--shell",
    "..",
    "../../../etc/passwd",
    "/etc/passwd",
    "a/../../b",
    "%2e%2e%2fb",
    "teams/text/code/x",
    "control/mandates/uid/g1.json",
    "gs://other/x",
    "file:///etc/passwd",
    "{job}",
    "{{job}}{0}{x!r}%s%n",
    "\0",
    "a\0b",
    "\x1b]0;x\x07",
    "\u202etxt.exe",
    "\u2028",
    "Größe-ß-Ω",
    "\U0001f4a5",
    "\ud800",
    "a" * 200,
    "9" * 5000,
    "1e999",
    "NaN",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "__proto__",
)
HUGE: Final = "a" * 2**20
# As text, since Python itself writes no such depth.
DEEP: Final = ("[" * 100_000, '{"a":' * 100_000, "[" * 900 + "]" * 900)

WORDS: Final = st.sampled_from(NASTY) | st.text(max_size=20)
NUMBERS: Final = (
    st.sampled_from([-1, 0, 2**31, 2**53 + 1, 2**63, 10**30, 10**400, -(10**30)])
    | st.integers()
    | st.floats()
)
VALUES: Final = st.none() | st.booleans() | NUMBERS | WORDS
JSON: Final = st.recursive(
    VALUES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def mutated(draw: st.DrawFn, document: object) -> Any:
    """Break a good document in one or two places: another value, one less, or one more."""
    found = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 2))):
        places = list(_places(found))
        if not places:
            return draw(JSON)
        inside, key = draw(st.sampled_from(places))
        match draw(st.sampled_from(["value", "value", "gone", "more", "nested"])):
            case "value":
                inside[key] = draw(JSON)
            case "gone":
                del inside[key]
            case "more" if isinstance(inside, dict):
                inside[draw(WORDS)] = draw(JSON)
            case _:
                inside[key] = [inside[key]]
    return found


def _places(found: Any) -> Iterator[tuple[Any, Any]]:
    """Give every place in a document at which something stands."""
    keys = found if isinstance(found, dict) else range(len(found)) if _is_list(found) else ()
    for key in list(keys):
        yield found, key
        yield from _places(found[key])


def _is_list(found: object) -> bool:
    return isinstance(found, list)


def as_bytes(found: object) -> bytes:
    """Write JSON as a careless program would: halves of characters and no numbers included."""
    try:
        return json.dumps(found).encode()
    except ValueError:  # an integer of too many digits
        return b'{"number": ' + b"9" * 5000 + b"}"
