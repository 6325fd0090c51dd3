"""What all list methods share: pages, filters, places that do not answer."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

from sandbox.errors import bad_field
from sandbox.resources import zone_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sandbox.asked import Ask
    from sandbox.cloud import Cloud
    from sandbox.errors import JsonObject

PAGE_SIZE_DEFAULT = 500
PAGE_SIZE_MAX = 1000

_TERM = re.compile(
    r"(?P<not>NOT\s+|-)?(?P<path>[A-Za-z_][\w./-]*)\s*(?P<sign>!=|<=|>=|=|:|<|>)\s*"
    r'(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s"]+))'
)
_AND = re.compile(r"\s+(?:AND\s+)?", re.IGNORECASE)


def in_location(
    cloud: Cloud, ask: Ask, collection: str, names: Iterable[str], show: Callable[[str], JsonObject]
) -> JsonObject:
    """Answer one page of what is in a location, or with ``-`` in all of them.

    Zones that do not answer are named, and hold nothing back otherwise; zones that are hidden
    are left out without a word.
    """
    is_everywhere = zone_of(ask.location) == "-"
    silent = set(cloud.settings.unreachable)
    if not is_everywhere:
        silent &= {zone_of(ask.location)}
    if not is_everywhere and not silent:
        cloud.check_location(ask.location)
    left_out = silent | set(cloud.settings.hidden if is_everywhere else ())
    prefix = f"projects/{ask.project}/" if is_everywhere else f"{ask.location}/"
    found = sorted(
        name for name in names if name.startswith(prefix) and zone_of(name) not in left_out
    )
    answer = paged(ask, collection, found, show)
    if silent:
        answer["unreachable"] = [
            f"projects/{ask.project}/locations/{zone}" for zone in sorted(silent)
        ]
    return answer


def paged(
    ask: Ask, collection: str, names: Sequence[str], show: Callable[[str], JsonObject]
) -> JsonObject:
    """Answer the page that is asked for, of those that the filter lets through."""
    keep = filter_of(ask.params.get("filter", ""))
    if ask.params.get("filter"):
        names = [name for name in names if keep(show(name))]
    page, token = _page(ask, names)
    answer: JsonObject = {collection: [show(name) for name in page]} if page else {}
    return {**answer, "nextPageToken": token} if token else answer


def filter_of(text: str) -> Callable[[JsonObject], bool]:
    """Read a filter: comparisons of fields, all of which must hold.

    The part of Google's filter language that its list methods are asked in practice: ``=``,
    ``!=``, ``:``, ``<``, ``>``, ``NOT``, ``AND``. Raises INVALID_ARGUMENT for all else.
    """
    terms: list[re.Match[str]] = []
    rest = text.strip()
    while rest:
        term = _TERM.match(rest)
        if term is None:
            raise bad_field("filter", f"Invalid list filter. Error parsing filter at '{rest}'.")
        terms.append(term)
        rest = rest[term.end() :]
        if gap := _AND.match(rest):
            rest = rest[gap.end() :]
    return lambda shown: all(_holds(term, shown) for term in terms)


def _holds(term: re.Match[str], shown: JsonObject) -> bool:
    value: object = shown
    for part in term["path"].split("."):
        value = value.get(part) if isinstance(value, dict) else None
    wanted = term["bare"] or re.sub(r"\\(.)", r"\1", term["quoted"] or "")
    return _compares(term["sign"], value, wanted) != bool(term["not"])


def _compares(sign: str, value: object, wanted: str) -> bool:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if value is None:
        return sign == "!="
    if sign == ":":
        has = wanted in value if isinstance(value, dict | list) else wanted in text
        return bool(value) if wanted == "*" else has
    return {
        "=": text == wanted,
        "!=": text != wanted,
        "<": text < wanted,
        "<=": text <= wanted,
        ">": text > wanted,
        ">=": text >= wanted,
    }[sign]


def _page(ask: Ask, names: Iterable[str]) -> tuple[list[str], str]:
    """Cut out the page that the request asks for, and a token for the next one."""
    size = ask.number("pageSize") or PAGE_SIZE_DEFAULT
    try:
        after = base64.b64decode(ask.params.get("pageToken", ""), b"-_", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise bad_field("page_token", "Invalid page_token.") from None
    left = [name for name in names if name > after]
    page = left[: min(size, PAGE_SIZE_MAX)]
    has_more = len(left) > len(page)
    return page, base64.urlsafe_b64encode(page[-1].encode()).decode() if has_more else ""
