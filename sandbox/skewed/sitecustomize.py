# ruff: noqa: INP001, ICN001 - no package: Python looks for this very file; dt would be no clearer
"""Turns the clock of one Python process; Python imports this by its name before anything else.

Only the wall clock: what measures lengths of time is right on a host whose date is wrong, too.
Standard library only, and nothing of this project: it runs in users' programs, in whatever
Python they brought.
"""

from __future__ import annotations

import datetime
import os
import time

SKEW_S = float(os.environ.get("SANDBOX_CLOCK_SKEW_S", "0"))
_time, _time_ns, _clock_gettime = time.time, time.time_ns, time.clock_gettime
_gmtime, _localtime, _strftime, _ctime = time.gmtime, time.localtime, time.strftime, time.ctime
_Datetime = datetime.datetime


def _wall() -> float:
    return _time() + SKEW_S


def _wall_ns() -> int:
    return _time_ns() + int(SKEW_S * 1e9)


def _gettime(clock: int) -> float:
    return _clock_gettime(clock) + (SKEW_S if clock == time.CLOCK_REALTIME else 0.0)


class _Like(type):
    """Every datetime is an instance, also those that C code makes."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _Datetime)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, _Datetime)


class _Skewed(_Datetime, metaclass=_Like):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:  # type: ignore[override]  # a plain one
        return _Datetime.fromtimestamp(_wall(), tz)

    @classmethod
    def utcnow(cls) -> datetime.datetime:  # type: ignore[override]  # a plain one
        return _Datetime.fromtimestamp(_wall(), datetime.timezone.utc).replace(tzinfo=None)  # noqa: UP017 - older Pythons

    @classmethod
    def today(cls) -> datetime.datetime:  # type: ignore[override]  # a plain one
        return _Datetime.fromtimestamp(_wall())


def _turn() -> None:
    """Replace what tells the time."""
    time.time, time.time_ns, time.clock_gettime = _wall, _wall_ns, _gettime
    time.gmtime = lambda seconds=None: _gmtime(_wall() if seconds is None else seconds)
    time.localtime = lambda seconds=None: _localtime(_wall() if seconds is None else seconds)
    time.ctime = lambda seconds=None: _ctime(_wall() if seconds is None else seconds)
    time.strftime = lambda form, parts=None: _strftime(
        form, _localtime(_wall()) if parts is None else parts
    )
    _Skewed.__name__ = _Skewed.__qualname__ = "datetime"
    _Skewed.__module__ = "datetime"
    setattr(datetime, "datetime", _Skewed)  # noqa: B010 - types cannot be assigned to


if SKEW_S:
    _turn()
