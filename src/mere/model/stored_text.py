"""Read the texts of values as the plain values that columnar files store.

A date is a number of days, a time or timestamp one of its own unit, an interval its months, days
and nanoseconds. So every value has one, also those that Python has no value for: `infinity`,
24:00:00, years before 1 and after 9999.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn
from uuid import UUID

from mere.model.promotion import decimal_parts
from mere.model.values import FLOATS, INTEGERS, TEXTS, read_blob, to_float32

UNITS = {
    "timestamp_s": 1,
    "timestamp_ms": 10**3,
    "timestamp": 10**6,
    "timestamptz": 10**6,
    "timestamp_ns": 10**9,
}
"""How many of a timestamp's unit make a second."""
_DAY_S = 86_400
_DATE = re.compile(r"(\d{4,})-(\d\d)-(\d\d)( \(BC\))?")
_CLOCK = re.compile(r"(\d+):(\d\d):(\d\d)(?:\.(\d{1,9}))?")
_ZONE = re.compile(r"([+-])(\d\d)(?::?(\d\d))?(?::?(\d\d))?|Z")
_PART = re.compile(r"\s*([+-]?\d+)\s+(year|month|mon|day|microsecond)s?\b", re.IGNORECASE)
_ENDLESS = {"infinity": 1, "-infinity": -1}
_LAST_DAY, _LAST_TICK = 2**31 - 1, 2**63 - 1
_NANOS = 10**9
_TRUE, _FALSE = frozenset({"true", "t", "1"}), frozenset({"false", "f", "0"})


def stored(kind: str, text: str) -> Any:
    """Return what a column of a leaf type stores for the text of a value.

    Raises:
        ValueError: If the text is no value of that type.
    """
    if kind in UNITS:
        return _timestamp(text, UNITS[kind])
    if kind in INTEGERS:
        return Decimal(int(text)) if kind.endswith("128") else int(text)
    if decimal_parts(kind) is not None:
        return Decimal(text)
    read = _READ.get(kind)
    if read is None:
        msg = f"values of type {kind} are not kept as text"
        raise ValueError(msg)
    return read(text)


def retyped(old: str, new: str, text: str) -> Any:
    """Return what a column stores now for the text of a value of the type that it had then.

    Raises:
        ValueError: If the text is no value of the old type, or the new one does not hold it.
    """
    if new in TEXTS and old not in TEXTS:
        return str(stored(old, text)).lower() if old == "boolean" else text
    value = stored(old, text)
    if old == new or (old in TEXTS and new in TEXTS):
        return value
    if new in UNITS and (old in UNITS or old == "date"):
        return _rescaled(value, old, new)
    convert = _convert(old, new)
    if convert is None:
        msg = f"a value of type {old} cannot become {new}"
        raise ValueError(msg)
    return convert(value)


def _convert(old: str, new: str) -> Callable[[Any], Any] | None:
    numbers = old in INTEGERS or decimal_parts(old) is not None
    if new in FLOATS and (numbers or old in FLOATS):
        return float
    if numbers and (decimal_parts(new) is not None or new.endswith("128")):
        return Decimal
    return int if old in INTEGERS and new in INTEGERS else None


def _rescaled(value: int, old: str, new: str) -> int:
    last = _LAST_DAY if old == "date" else _LAST_TICK
    if abs(value) == last:
        return _LAST_TICK if value > 0 else -_LAST_TICK
    seconds = _DAY_S if old == "date" else 1
    return value * seconds * UNITS[new] // UNITS.get(old, 1)


def _date(text: str) -> int:
    if text in _ENDLESS:
        return _ENDLESS[text] * _LAST_DAY
    days, end = _days(text)
    _require(text, end)
    return days


def _days(text: str) -> tuple[int, int]:
    """Return the days since 1970 of the date that a text begins with, and where it ends."""
    match = _DATE.match(text)
    if match is None:
        _refuse(text, expected="a date")
    year, month, day = (int(part) for part in match.groups()[:3])
    if match[4]:
        year = 1 - year
    year -= month <= 2  # noqa: PLR2004  years begin in March: the leap day is their last
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    days = era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year
    return days - 719_468, match.end()


def _timestamp(text: str, unit: int) -> int:
    if text in _ENDLESS:
        return _ENDLESS[text] * _LAST_TICK
    days, end = _days(text)
    rest = text[end:].lstrip(" T")
    nanos, end = _clock(rest) if rest else (0, 0)
    zone = _zone(rest[end:])
    return ((days * _DAY_S - zone) * _NANOS + nanos) * unit // _NANOS


def _clock(text: str) -> tuple[int, int]:
    """Return the nanoseconds of the clock that a text begins with, and where it ends."""
    match = _CLOCK.match(text)
    if match is None:
        _refuse(text, expected="a time")
    hours, minutes, seconds, fraction = match.groups()
    whole = int(hours) * 3600 + int(minutes) * 60 + int(seconds)
    return whole * _NANOS + int((fraction or "").ljust(9, "0")), match.end()


def _zone(text: str) -> int:
    """Return the seconds that a zone is ahead of UTC."""
    match = _ZONE.fullmatch(text.strip()) if text.strip() else None
    if match is None or match[1] is None:
        if match is None and text.strip():
            _refuse(text, expected="a zone")
        return 0
    hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
    ahead = hours * 3600 + minutes * 60 + seconds
    return ahead if match[1] == "+" else -ahead


def _time(text: str) -> int:
    nanos, end = _clock(text)
    _require(text, end)
    return nanos // 1000


def _timetz(text: str) -> int:
    """Return the microseconds in UTC: that is all that files keep."""
    nanos, end = _clock(text)
    return (nanos // 1000 - _zone(text[end:]) * 10**6) % (_DAY_S * 10**6)


def _interval(text: str) -> tuple[int, int, int]:
    """Return months, days and nanoseconds."""
    months, days, nanos, place = 0, 0, 0, 0
    while (match := _PART.match(text, place)) is not None:
        count, place = int(match[1]), match.end()
        unit = match[2].lower()
        months += count * {"year": 12, "month": 1, "mon": 1}.get(unit, 0)
        days += count if unit == "day" else 0
        nanos += count * 1000 if unit == "microsecond" else 0
    rest = text[place:].strip()
    if rest:
        found, end = _clock(rest.lstrip("+-"))
        _require(rest.lstrip("+-"), end)
        nanos += -found if rest.startswith("-") else found
    return months, days, nanos


def _boolean(text: str) -> bool:
    folded = text.lower()
    if folded not in _TRUE | _FALSE:
        _refuse(text, expected="true or false")
    return folded in _TRUE


def _require(text: str, end: int) -> None:
    if text[end:].strip():
        _refuse(text[end:], expected="the end")


def _refuse(text: str, *, expected: str) -> NoReturn:
    msg = f"expected {expected}, found {text!r}"
    raise ValueError(msg)


_READ: dict[str, Callable[[str], Any]] = {
    "boolean": _boolean,
    "float32": lambda text: to_float32(float(text)),
    "float64": float,
    "date": _date,
    "time": _time,
    "timetz": _timetz,
    "interval": _interval,
    "varchar": str,
    "json": str,
    "blob": read_blob,
    "uuid": lambda text: UUID(text).bytes,
}
