"""Read lengths of time as people write them."""

import re
from datetime import timedelta

from mere.errors import InvalidInputError

_UNITS = {
    "s": 1.0, "sec": 1.0, "second": 1.0,
    "m": 60.0, "min": 60.0, "minute": 60.0,
    "h": 3600.0, "hour": 3600.0,
    "d": 86400.0, "day": 86400.0,
    "w": 604800.0, "week": 604800.0,
    "mon": 31 * 86400.0, "month": 31 * 86400.0,
    "y": 366 * 86400.0, "year": 366 * 86400.0,
}  # fmt: skip
_MOST = 1e10
_CLOCK = re.compile(r"(?:^|\s)(\d+):(\d\d)(?::(\d\d))?\s*$")
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*,?", re.IGNORECASE)


def seconds(length: str | float | timedelta) -> float:
    """Return a length of time in seconds: `"7 days"`, `"1h 30min"`, a timedelta, or seconds.

    A month has 31 days and a year 366: what is kept so long is never kept for less. A time of day
    is read as hours, minutes and seconds, as SQL spells intervals.

    Raises:
        InvalidInputError: If it is none of them, or negative.
    """
    found = _seconds(length)
    if found is None or not 0 <= found <= _MOST:
        msg = f"a length of time is needed, got {length!r}"
        raise InvalidInputError(msg, hint="such as '7 days', '12 hours', '30 min' or a timedelta")
    return found


def _seconds(length: str | float | timedelta) -> float | None:
    if isinstance(length, timedelta):
        return length.total_seconds()
    if isinstance(length, bool) or not isinstance(length, str):
        return None if isinstance(length, bool) else float(length)
    clock = _CLOCK.search(length)
    total = 0.0
    if clock is not None:
        hours, minutes, rest = (int(part or 0) for part in clock.groups())
        total, length = hours * 3600.0 + minutes * 60.0 + rest, length[: clock.start()]
    if (not length.strip() and clock is None) or _PART.sub("", length).strip():
        return None
    for number, name in _PART.findall(length):
        unit = name.lower()
        factor = _UNITS.get(unit, _UNITS.get(unit.removesuffix("s")))
        if factor is None:
            return None
        total += float(number) * factor
    return total
