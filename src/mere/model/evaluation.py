"""Say what an expression means for one row: the reference that every engine must agree with.

Logic is three-valued: a comparison with NULL is NULL, and NULL is no match. NaN equals NaN and is
greater than every other number, -0.0 equals 0.0. `/` keeps fractions, division by zero yields
an infinity or NaN, `%` takes the sign of the left side and yields NULL for zero.
"""

import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from mere.errors import InvalidInputError, UnsupportedError
from mere.model.expr import Expr
from mere.model.files import Value
from mere.model.functions import FUNCTIONS, canonical, knows, moment
from mere.model.literals import TICKS, place, typed_value
from mere.model.promotion import decimal_parts
from mere.model.values import INTEGERS, TEXTS, compare, is_nan, partition_text

_WIDE = Context(prec=100)
_COMPARED: dict[str, Callable[[int], bool]] = {
    "eq": lambda sign: sign == 0,
    "ne": lambda sign: sign != 0,
    "lt": lambda sign: sign < 0,
    "le": lambda sign: sign <= 0,
    "gt": lambda sign: sign > 0,
    "ge": lambda sign: sign >= 0,
}


def evaluate(expr: Expr, row: Mapping[str, Value | None]) -> Value | None:
    """Return the value of an expression for one row; None is NULL.

    `row` maps top-level column names to typed values, a struct to a mapping.

    Raises:
        UnsupportedError: If it calls a function whose meaning is not known here.
        InvalidInputError: If a value cannot be cast, or two have no common order.
    """
    return _RULES.get(expr.op, _strict)(expr, row)


def _column(expr: Expr, row: Mapping[str, Value | None]) -> Value | None:
    value: Any = row
    for name in expr.args:
        value = None if value is None else value[name]
    return value


def _literal(expr: Expr, _row: Mapping[str, Value | None]) -> Value | None:
    return expr.args[0]


def _logic(expr: Expr, row: Mapping[str, Value | None]) -> bool | None:
    decisive = expr.op == "or"
    unknown = False
    for arg in expr.args:
        found = evaluate(arg, row)
        if found is None:
            unknown = True
        elif bool(found) is decisive:
            return decisive
    return None if unknown else not decisive


def _is_null(expr: Expr, row: Mapping[str, Value | None]) -> bool:
    return evaluate(expr.args[0], row) is None


def _in(expr: Expr, row: Mapping[str, Value | None]) -> bool | None:
    operand = expr.args[0]
    value = evaluate(operand, row)
    if value is None:
        return None
    found = [(evaluate(arg, row), arg.kind) for arg in expr.args[1:]]
    if any(v is not None and not compare(value, v, operand.kind, k) for v, k in found):
        return True
    return None if any(v is None for v, _ in found) else False


def _between(expr: Expr, row: Mapping[str, Value | None]) -> bool | None:
    operand, low, high = expr.args
    parts = (Expr("ge", (operand, low)), Expr("le", (operand, high)))
    return _logic(Expr("and", parts), row)


def _case(expr: Expr, row: Mapping[str, Value | None]) -> Value | None:
    for condition, value in zip(expr.args[:-1:2], expr.args[1:-1:2], strict=True):
        if evaluate(condition, row):
            return evaluate(value, row)
    return evaluate(expr.args[-1], row)


def _call(expr: Expr, row: Mapping[str, Value | None]) -> Value | None:
    name = canonical(expr.args[0])
    found = [moment(evaluate(arg, row), arg.kind) for arg in expr.args[1:]]
    if not knows(name, found):
        msg = f"the function {expr.args[0]} is not known without an engine"
        raise UnsupportedError(msg, hint=f"known: {', '.join(sorted(FUNCTIONS))}")
    function = FUNCTIONS[name]
    if function.null_in_null_out and any(value is None for value in found):
        return None
    try:
        return function.apply(*found)
    except (TypeError, AttributeError) as error:
        msg = f"cannot compute {expr} of {', '.join(map(repr, found))}"
        raise InvalidInputError(msg) from error


def _strict(expr: Expr, row: Mapping[str, Value | None]) -> Value | None:
    """Evaluate what yields NULL as soon as one argument is NULL."""
    found = [evaluate(arg, row) for arg in expr.args]
    if any(value is None for value in found):
        return None
    if expr.op in _COMPARED:
        return _COMPARED[expr.op](compare(*found, *(arg.kind for arg in expr.args)))
    return _PLAIN[expr.op](expr, *found)


def like_pattern(pattern: str, escape: str = "") -> re.Pattern[str]:
    """Compile a LIKE pattern: `%` is any text, `_` one character."""
    parts: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            parts.append(re.escape(next(characters, "")))
        else:
            parts.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    return re.compile("".join(parts), re.DOTALL)


def _like(_expr: Expr, value: str, pattern: str, escape: str = "") -> bool:
    return like_pattern(pattern, escape).fullmatch(value) is not None


def _number(value: Value, other: Value) -> Value:
    """Return a number that arithmetic with the other keeps: floats win over decimals."""
    return float(value) if isinstance(other, float) and isinstance(value, Decimal) else value


def _shift(value: date, by: Value) -> date:
    """Add days, or a span of time, to a date or timestamp."""
    if isinstance(by, timedelta) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)  # noqa: DTZ001  dates have no zone
    return value + (by if isinstance(by, timedelta) else timedelta(days=by))


def _add(expr: Expr, left: Value, right: Value) -> Value:
    left, right = _moments(expr, left, right)
    if isinstance(left, date):
        return _shift(left, right)
    if isinstance(right, date):
        return _shift(right, left)
    a, b = _number(left, right), _number(right, left)
    return _WIDE.add(a, b) if Decimal in {type(a), type(b)} else a + b


def _sub(expr: Expr, left: Value, right: Value) -> Value:
    left, right = _moments(expr, left, right)
    if isinstance(left, date) and isinstance(right, date):
        return _apart(left, right)
    if isinstance(left, date):
        return _shift(left, -right)
    a, b = _number(left, right), _number(right, left)
    return _WIDE.subtract(a, b) if Decimal in {type(a), type(b)} else a - b


def _moments(expr: Expr, *values: Value) -> list[Value]:
    return [moment(v, arg.kind) for v, arg in zip(values, expr.args, strict=True)]


def _apart(left: date, right: date) -> Value:
    if not isinstance(left, datetime) and not isinstance(right, datetime):
        return (left - right).days
    return _naive(left) - _naive(right)


def _naive(value: date) -> datetime:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return datetime(value.year, value.month, value.day)  # noqa: DTZ001  dates have no zone


def _mul(_expr: Expr, left: Value, right: Value) -> Value:
    a, b = _number(left, right), _number(right, left)
    return _WIDE.multiply(a, b) if Decimal in {type(a), type(b)} else a * b


def _div(_expr: Expr, left: Value, right: Value) -> float:
    a, b = float(left), float(right)
    if b:
        return a / b
    if not a or is_nan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _mod(_expr: Expr, left: Value, right: Value) -> Value | None:
    if not right and not isinstance(right, float):
        return None
    a, b = _number(left, right), _number(right, left)
    if Decimal in {type(a), type(b)}:
        return _WIDE.remainder(a, b)
    if isinstance(a, float) or isinstance(b, float):
        finite = math.isfinite(a) and not is_nan(b) and b
        return math.fmod(a, b) if finite else math.nan
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def _cast(expr: Expr, value: Value) -> Value:
    kind, source = expr.kind or "", expr.args[0].kind
    try:
        return convert(value, kind, source)
    except InvalidInputError:
        if expr.op == "try_cast":
            return None
        raise


def convert(value: Value, kind: str, source: str | None = None) -> Value:
    """Return a value as another type, rounding as SQL does.

    Raises:
        InvalidInputError: If the type has no such value.
    """
    if isinstance(value, str) and kind not in TEXTS:
        return typed_value(kind, value)
    if kind in TEXTS:
        return partition_text(source or kind, value) if not isinstance(value, str) else value
    if kind == "boolean" and not isinstance(value, bool):
        return bool(value)
    found = place(kind, _rounded(value, kind), value_kind=source)
    if found.floor is None or not (found.exact or kind in TICKS):
        msg = f"{value!r} does not fit into {kind}"
        raise InvalidInputError(msg)
    return found.floor


def _rounded(value: Value, kind: str) -> Value:
    if kind in INTEGERS and isinstance(value, float):
        return value if math.isinf(value) or is_nan(value) else round(value)
    if kind in INTEGERS and isinstance(value, Decimal):
        return int(value.to_integral_value(ROUND_HALF_UP))
    parts = decimal_parts(kind)
    if parts and isinstance(value, Decimal | float) and math.isfinite(value):
        exactly = Decimal(repr(value)) if isinstance(value, float) else value
        return exactly.quantize(Decimal(1).scaleb(-parts[1]), ROUND_HALF_UP, _WIDE)
    return value


_PLAIN: dict[str, Callable[..., Value | None]] = {
    "not": lambda _expr, value: not value,
    "is_nan": lambda _expr, value: is_nan(value),
    "neg": lambda _expr, value: -value,
    "like": _like,
    "starts_with": lambda _expr, value, prefix: value.startswith(prefix),
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "mod": _mod,
    "cast": _cast,
    "try_cast": _cast,
}
_RULES: dict[str, Callable[[Expr, Mapping[str, Value | None]], Value | None]] = {
    "column": _column,
    "literal": _literal,
    "and": _logic,
    "or": _logic,
    "is_null": _is_null,
    "in": _in,
    "between": _between,
    "case": _case,
    "call": _call,
}
