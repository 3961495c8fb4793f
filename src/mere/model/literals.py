"""Give a literal the type of the column that it is compared to, without changing the answer.

A literal need not be a value of the column's type: 2.5 is none of `int64`, 300 none of `int8`,
23:30 o'clock is none of `date`. So a literal is *placed* among the values of the type: the
greatest one that is not above it, and whether that is the literal itself.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from mere.errors import InvalidInputError
from mere.model.files import Value
from mere.model.promotion import decimal_parts
from mere.model.values import (
    FLOATS,
    INTEGERS,
    TEXTS,
    is_nan,
    ns_datetime,
    parse_ns,
    read_blob,
    to_float32,
    to_ns,
)

TICKS = {
    "timestamp": 1000,
    "timestamptz": 1000,
    "timestamp_ns": 1,
    "timestamp_ms": 1_000_000,
    "timestamp_s": 1_000_000_000,
    "date": 86_400_000_000_000,
}
"""Nanoseconds from one value of a type to the next."""

_WIDE = Context(prec=100)
_INT64 = INTEGERS["int64"]
_LARGEST = {"float32": (2 - 2**-23) * 2.0**127, "float64": (2 - 2**-52) * 2.0**1023}
_TRUTH = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
_NATURAL: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (float, "float64"),
    (str, "varchar"),
    (bytes, "blob"),
    (date, "date"),
    (time, "time"),
    (timedelta, "interval"),
    (UUID, "uuid"),
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a literal lies: `floor` is the greatest value not above it, None when all are above.

    `exact` says that the floor is the literal itself.
    """

    floor: Value | None
    exact: bool = True


class _Misfit(Exception):  # noqa: N818  a signal inside this module, not an error
    """The literal cannot be compared with values of the type."""


def natural_kind(value: Value | None) -> str | None:
    """Return the type that a Python value has by itself; None for NULL."""
    if isinstance(value, datetime):
        return "timestamp" if value.tzinfo is None else "timestamptz"
    if isinstance(value, Decimal):
        return _decimal_kind(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return next((k for k in ("int64", "int128") if _within(k, value)), "float64")
    return next((kind for python, kind in _NATURAL if isinstance(value, python)), None)


def _within(kind: str, value: int) -> bool:
    low, high = INTEGERS[kind]
    return low <= value <= high


def _decimal_kind(value: Decimal) -> str:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        return "float64"
    scale = max(0, -exponent)
    width = max(len(digits) + max(exponent, 0), scale, 1)
    return f"decimal({width},{scale})" if width <= 38 else "float64"  # noqa: PLR2004  the widest


def place(kind: str, value: Value, *, value_kind: str | None = None, name: str = "") -> Place:
    """Place a literal among the values of a type.

    A text is read as the type would spell it; a float meets a decimal by its shortest spelling,
    and a float column by the nearest float; a time without zone is UTC. NaN is above everything.

    Raises:
        InvalidInputError: If such a value cannot be compared with that type.
    """
    rule = _RULES.get("decimal" if kind.startswith("decimal(") else kind)
    try:
        return (rule or _refuse)(kind, _instant(value) if value_kind == "timestamp_ns" else value)
    except (_Misfit, ValueError, TypeError, OverflowError, InvalidOperation) as error:
        column = f"{name} of type {kind}" if name else f"a value of type {kind}"
        msg = f"cannot compare {column} with {_spell(value)}"
        raise InvalidInputError(msg, hint=_hint(kind, rule is not None)) from error


def _refuse(_kind: str, _value: Value) -> Place:
    raise _Misfit


def _spell(value: Value) -> str:
    return f"{value!r} ({natural_kind(value)})"


def _hint(kind: str, comparable: bool) -> str:  # noqa: FBT001  one caller
    if not comparable:
        return "only is_null() and, in a struct, its fields can be asked for"
    if kind in TEXTS:
        return "write the text in quotes, or cast one side"
    return "cast one side, or write a literal of the column's type"


@dataclass(frozen=True, slots=True)
class _Instant:
    """Nanoseconds since 1970, told apart from a number."""

    ns: int


def _instant(value: Value) -> _Instant:
    if isinstance(value, _Instant):
        return value
    if isinstance(value, str):
        found = parse_ns(value)
        if found is None:
            raise _Misfit
        return _Instant(found)
    if isinstance(value, date):
        return _Instant(to_ns(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return _Instant(value)
    raise _Misfit


def _number(value: Value) -> int | float | Decimal:
    if isinstance(value, str):
        text = value.strip()
        endless = text.lower().lstrip("+-") in {"nan", "inf", "infinity"}
        return float(text) if endless else Decimal(text)
    if isinstance(value, bool | int | float | Decimal):
        return value
    raise _Misfit


def _unbounded(value: float | Decimal) -> int:
    """Return 1 for what is above all finite numbers, -1 for below, else 0."""
    if is_nan(value) or value == math.inf:
        return 1
    return -1 if value == -math.inf else 0


def _integer(kind: str, value: Value) -> Place:
    number = _number(value)
    low, high = INTEGERS[kind]
    side = _unbounded(number)
    if side > 0 or (not side and number > high):
        return Place(high, exact=False)
    if side < 0 or number < low:
        return Place(None, exact=False)
    floor = math.floor(number)
    return Place(floor, exact=floor == number)


def _decimal(kind: str, value: Value) -> Place:
    number = _number(value)
    precision, scale = decimal_parts(kind) or (38, 0)
    unit = Decimal(1).scaleb(-scale)
    high = Decimal(10**precision - 1).scaleb(-scale, _WIDE)
    side = _unbounded(number)
    exactly = Decimal(repr(number)) if isinstance(number, float) and not side else Decimal(number)
    if side > 0 or (not side and exactly > high):
        return Place(high, exact=False)
    if side < 0 or exactly < -high:
        return Place(None, exact=False)
    floor = exactly.quantize(unit, ROUND_FLOOR, _WIDE)
    return Place(floor, exact=floor == exactly)


def _float(kind: str, value: Value) -> Place:
    number = _number(value)
    if isinstance(number, float) and (is_nan(number) or math.isinf(number)):
        return Place(number)
    try:
        nearest = float(number)
    except OverflowError:
        nearest = math.inf if number > 0 else -math.inf
    if kind == "float32":
        nearest = to_float32(nearest)
    if math.isinf(nearest):  # too far out for the type, and yet not infinite
        return Place(_LARGEST[kind] if nearest > 0 else nearest, exact=False)
    return Place(nearest)


def _boolean(_kind: str, value: Value) -> Place:
    found = _TRUTH.get(str(value).lower()) if isinstance(value, bool | int | str) else None
    if found is None:
        raise _Misfit
    return Place(found)


def _text(_kind: str, value: Value) -> Place:
    if not isinstance(value, str | UUID):
        raise _Misfit
    return Place(str(value))


def _blob(_kind: str, value: Value) -> Place:
    if not isinstance(value, str | bytes):
        raise _Misfit
    return Place(read_blob(value) if isinstance(value, str) else value)


def _uuid(_kind: str, value: Value) -> Place:
    return Place(value if isinstance(value, UUID) else UUID(_str(value)))


def _str(value: Value) -> str:
    if not isinstance(value, str):
        raise _Misfit
    return value


def _time(_kind: str, value: Value) -> Place:
    return Place(value if isinstance(value, time) else time.fromisoformat(_str(value)))


def _interval(_kind: str, value: Value) -> Place:
    if not isinstance(value, timedelta):
        raise _Misfit
    return Place(value)


def _temporal(kind: str, value: Value) -> Place:
    if kind != "timestamp_ns" and isinstance(value, int):
        raise _Misfit
    ns = _instant(value).ns
    tick = TICKS[kind]
    floor = ns // tick * tick
    if kind == "timestamp_ns":
        if ns > _INT64[1]:
            return Place(_INT64[1], exact=False)
        return Place(None, exact=False) if ns < _INT64[0] else Place(ns)
    moment = ns_datetime(floor)
    typed: Value = moment.replace(tzinfo=UTC) if kind == "timestamptz" else moment
    return Place(moment.date() if kind == "date" else typed, exact=floor == ns)


_RULES: dict[str, Callable[[str, Any], Place]] = {
    **dict.fromkeys(INTEGERS, _integer),
    **dict.fromkeys(FLOATS, _float),
    **dict.fromkeys(TEXTS, _text),
    **dict.fromkeys(TICKS, _temporal),
    "decimal": _decimal,
    "boolean": _boolean,
    "blob": _blob,
    "uuid": _uuid,
    "time": _time,
    "timetz": _time,
    "interval": _interval,
}


def typed_value(kind: str, text: str) -> Value:
    """Return the value of a type that a text spells exactly.

    Raises:
        InvalidInputError: If the text spells none.
    """
    try:
        found = _RULES["decimal" if kind.startswith("decimal(") else kind](kind, text)
    except (KeyError, _Misfit, ValueError, TypeError, OverflowError, InvalidOperation) as error:
        msg = f"{text!r} is no value of type {kind}"
        raise InvalidInputError(msg) from error
    if not found.exact:
        msg = f"{text!r} is no value of type {kind}"
        raise InvalidInputError(msg)
    return found.floor
