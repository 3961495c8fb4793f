"""Hold the functions that have a meaning here: what they yield and of what type.

A function of any other name may stand in an expression too: engines that know it compute it,
but nothing is concluded from it. Calendar parts of a `timestamptz` are those of UTC.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, TypeAlias

from mere.model.files import Value
from mere.model.values import ns_datetime

Kinds: TypeAlias = Sequence[str | None]
PARTS = ("year", "quarter", "month", "day", "hour", "minute", "second")
UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
_PARTS_IN_UNIT = 3


@dataclass(frozen=True, slots=True)
class Function:
    """One function: how it works on plain values, and what type comes out of which."""

    apply: Callable[..., Any]
    kind: Callable[[Kinds], str | None]
    null_in_null_out: bool = True


def moment(value: Value, kind: str | None = None) -> Value:
    """Return a date or timestamp as Python knows it, whatever unit it is counted in."""
    return ns_datetime(value) if kind == "timestamp_ns" and isinstance(value, int) else value


def part(name: str, value: Value) -> int:
    """Return a calendar part: `part("month", date(2026, 2, 1))` is 2."""
    if name == "quarter":
        return int((value.month - 1) // _PARTS_IN_UNIT + 1)
    if isinstance(value, date) and not isinstance(value, datetime) and name in PARTS[4:]:
        return 0
    return int(getattr(value, name))


def date_trunc(unit: str, value: date) -> datetime:
    """Return the beginning of the year, quarter, month, week, … that a moment lies in."""
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)  # noqa: DTZ001  dates have no zone
    if unit == "week":
        return date_trunc("day", value) - timedelta(days=value.weekday())
    if unit == "quarter":
        month = (value.month - 1) // _PARTS_IN_UNIT * _PARTS_IN_UNIT + 1
        return date_trunc("month", value).replace(month=month)
    names = ("year", "month", "day", "hour", "minute", "second")
    first: dict[str, Any] = {
        name: int(name in {"month", "day"}) for name in names[names.index(unit) + 1 :]
    }
    return value.replace(microsecond=0, **first)


def canonical(name: str) -> str:
    """Return the one name of functions that go by several."""
    return _ALIASES.get(name, name)


def _part_function(name: str) -> Function:
    return Function(lambda value: part(name, value), lambda _: "int64")


def _same(kinds: Kinds) -> str | None:
    return kinds[0] if kinds else None


def _known(kinds: Kinds) -> str | None:
    return next((kind for kind in kinds if kind is not None), None)


def _text(_: Kinds) -> str:
    return "varchar"


def _truth(_: Kinds) -> str:
    return "boolean"


def _truncated(kinds: Kinds) -> str:
    return "timestamptz" if "timestamptz" in kinds else "timestamp"


def _coalesce(*values: Value | None) -> Value | None:
    return next((value for value in values if value is not None), None)


def _concat(*values: Value | None) -> str:
    return "".join(str(value) for value in values if value is not None)


def _timezone(_utc: str, value: datetime) -> datetime:
    """Change between an instant and what the clock shows for it in UTC."""
    return value.replace(tzinfo=UTC if value.tzinfo is None else None)


def _unzoned(kinds: Kinds) -> str:
    return "timestamp" if "timestamptz" in kinds else "timestamptz"


FUNCTIONS: dict[str, Function] = {
    **{name: _part_function(name) for name in PARTS},
    "date_trunc": Function(lambda unit, value: date_trunc(unit.lower(), value), _truncated),
    "lower": Function(str.lower, _text),
    "upper": Function(str.upper, _text),
    "trim": Function(lambda text: text.strip(" "), _text),
    "length": Function(len, lambda _: "int64"),
    "abs": Function(abs, _same),
    "ends_with": Function(str.endswith, _truth),
    "contains": Function(lambda text, part_: part_ in text, _truth),
    "coalesce": Function(_coalesce, _known, null_in_null_out=False),
    "concat": Function(_concat, _text, null_in_null_out=False),
    "||": Function(_concat, _text),
    "timezone": Function(_timezone, _unzoned),
}

_ALIASES = {
    "suffix": "ends_with",
    "prefix": "starts_with",
    "startswith": "starts_with",
    "endswith": "ends_with",
    "len": "length",
    "char_length": "length",
    "lcase": "lower",
    "ucase": "upper",
    "day_of_month": "day",
    "dayofmonth": "day",
    "datetrunc": "date_trunc",
}


def knows(name: str, args: Sequence[Value | time | None]) -> bool:
    """Tell whether a call means something here: its name is known, and a unit is a known one."""
    first = args[0].lower() if args and isinstance(args[0], str) else None
    known = {"date_trunc": UNITS, "timezone": ("utc",)}.get(name)
    return name in FUNCTIONS and (known is None or first in known)
