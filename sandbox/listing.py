"""What all list methods share: pages, and places that do not answer."""

from __future__ import annotations

import base64
from functools import cache
from typing import TYPE_CHECKING

from sandbox.errors import bad_field
from sandbox.filters import filter_of, ordered
from sandbox.resources import zone_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sandbox.asked import Ask
    from sandbox.cloud import Cloud
    from sandbox.errors import JsonObject

PAGE_SIZE_DEFAULT = 500
PAGE_SIZE_MAX = 1000


def in_location(
    cloud: Cloud, ask: Ask, collection: str, names: Iterable[str], show: Callable[[str], JsonObject]
) -> JsonObject:
    """Answer one page of what is in a location, or with ``-`` in all of them.

    Zones that do not answer are named, and hold nothing back otherwise; zones that are hidden
    are left out without a word.
    """
    is_everywhere = zone_of(ask.location) == "-"
    silent = set(cloud.settings.unreachable)
    if is_everywhere:
        cloud.check_project(ask.location)
    else:
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
    show = cache(show)
    if ask.params.get("filter"):
        keep = filter_of(ask.params["filter"])
        names = [name for name in names if keep(show(name))]
    names = ordered(ask.params.get("orderBy", ""), names, show)
    page, token = _page(ask, names)
    answer: JsonObject = {collection: [show(name) for name in page]} if page else {}
    return {**answer, "nextPageToken": token} if token else answer


def _page(ask: Ask, names: Sequence[str]) -> tuple[Sequence[str], str]:
    """Cut out the page that the request asks for, and a token for the next one."""
    size = ask.number("pageSize") or PAGE_SIZE_DEFAULT
    try:
        after = base64.b64decode(ask.params.get("pageToken", ""), b"-_", validate=True).decode()
    except ValueError:
        raise bad_field("page_token", "Invalid page_token.") from None
    # What was shown last may be gone by now; then the order of names says where to go on.
    is_there = after in names
    left = names[names.index(after) + 1 :] if is_there else [n for n in names if n > after]
    page = left[: min(size, PAGE_SIZE_MAX)]
    has_more = len(left) > len(page)
    return page, base64.urlsafe_b64encode(page[-1].encode()).decode() if has_more else ""
