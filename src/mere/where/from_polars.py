"""Read a polars expression by the JSON that it serialises to; polars itself is not needed."""

import json
from collections.abc import Callable
from datetime import date, time, timedelta
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from mere.errors import InvalidInputError
from mere.model.expr import Expr, call, col, conjunction, disjunction, lit
from mere.where.scalars import from_moment, from_scalar

_HINT = "write it as SQL text or with mere.col()"
_UNITS = {"Milliseconds": "ms", "Microseconds": "us", "Nanoseconds": "ns"}
_MICROSECONDS = {"Milliseconds": 1000, "Microseconds": 1}
_TWO = {
    "Eq": "eq",
    "NotEq": "ne",
    "Lt": "lt",
    "LtEq": "le",
    "Gt": "gt",
    "GtEq": "ge",
    "Plus": "add",
    "Minus": "sub",
    "Multiply": "mul",
    "TrueDivide": "div",
}
_EVERY = {
    "1y": "year",
    "1q": "quarter",
    "1mo": "month",
    "1w": "week",
    "1d": "day",
    "1h": "hour",
    "1m": "minute",
    "1s": "second",
}
_PARTS = ("Year", "Quarter", "Month", "Day", "Hour", "Minute", "Second")
_EPOCH = date(1970, 1, 1)


def from_polars(expression: Any) -> Expr:
    """Return a polars expression as one of our own.

    Raises:
        InvalidInputError: If it holds what cannot be said here; named.
    """
    return _read(json.loads(expression.meta.serialize(format="json")))


def _refused(what: object) -> InvalidInputError:
    msg = f"cannot translate the polars expression {json.dumps(what)[:200]}"
    return InvalidInputError(msg, hint=_HINT)


def _read(node: Any) -> Expr:
    if isinstance(node, dict) and len(node) == 1:
        ((name, body),) = node.items()
        rule = _RULES.get(name)
        if rule is not None:
            return rule(body)
    raise _refused(node)


def _binary(body: Any) -> Expr:
    op, left, right = body["op"], _read(body["left"]), _read(body["right"])
    if op in _TWO:
        return Expr(_TWO[op], (left, right))
    if op in {"And", "LogicalAnd"}:
        return left & right
    if op in {"Or", "LogicalOr"}:
        return left | right
    if op in {"EqValidity", "NotEqValidity"}:
        both = left.is_not_null() & right.is_not_null()
        same = (left.is_null() & right.is_null()) | (both & (left == right))
        return same if op == "EqValidity" else ~same
    raise _refused(op)


def _literal(body: Any) -> Expr:
    ((name, value),) = body.items()
    if name in {"Dyn", "Scalar"}:
        ((name, value),) = value.items()
    if name == "Null":
        return lit(None)
    if value is None:  # JSON has neither NaN nor an infinity
        msg = "cannot tell whether a polars literal is NaN or infinite"
        raise InvalidInputError(msg, hint="write is_nan(), or give the predicate as SQL text")
    rule = _LITERALS.get(name)
    if rule is not None:
        return rule(value)
    if isinstance(value, bool | int | float | str):
        return lit(value)
    raise _refused(body)


def _moment(value: Any) -> Expr:
    count, unit, zone = value
    return from_moment(count, _UNITS[unit], zoned=zone is not None)


def _duration(value: Any) -> Expr:
    count, unit = value
    if unit not in _MICROSECONDS:
        raise _refused(value)
    return lit(timedelta(microseconds=count * _MICROSECONDS[unit]))


def _time(value: int) -> Expr:
    if value % 1000:
        raise _refused(value)
    seconds, micros = divmod(value // 1000, 1_000_000)
    minutes, second = divmod(seconds, 60)
    return lit(time(minutes // 60, minutes % 60, second, micros))


def _decimal(value: Any) -> Expr:
    unscaled, _, scale = value
    return lit(Decimal(int(unscaled)).scaleb(-scale, Context(prec=100)))


def _values(node: Any) -> list[Expr]:
    """Read the candidates of is_in: a list or Series, as an Arrow stream in bytes."""
    body = node.get("Literal", {}) if isinstance(node, dict) else {}
    data = body.get("Series") or body.get("Scalar", {}).get("List")
    if data is None:
        raise _refused(node)
    table = pa.ipc.open_stream(bytes(data)).read_all()
    return [from_scalar(scalar) for chunk in table.column(0).chunks for scalar in chunk]


def _function(body: Any) -> Expr:
    kind = body["function"]
    group, name = next(iter(kind.items())) if isinstance(kind, dict) else ("", kind)
    options: Any = {}
    if isinstance(name, dict):
        ((name, options),) = name.items()
    rule = _FUNCTIONS.get((group, name))
    if rule is None:
        raise _refused(kind)
    return rule(body["input"], options)


def _is_in(args: list[Any], options: Any) -> Expr:
    operand, candidates = _read(args[0]), _values(args[1])
    known = [value for value in candidates if value.args[0] is not None]
    found = operand.is_in(known) if known else operand.is_null() & lit(None)
    if not options.get("nulls_equal"):
        return found
    if len(known) < len(candidates):
        return operand.is_null() | found
    return operand.is_not_null() & found


def _between(args: list[Any], options: Any) -> Expr:
    operand, low, high = (_read(arg) for arg in args)
    closed = options["closed"]
    if closed == "Both":
        return operand.between(low, high)
    above = operand >= low if closed == "Left" else operand > low
    return above & (operand <= high if closed == "Right" else operand < high)


def _truncate(args: list[Any], _options: Any) -> Expr:
    every = _read(args[1])
    unit = _EVERY.get(every.args[0]) if every.op == "literal" else None
    if unit is None:
        raise _refused(args[1])
    return call("date_trunc", unit, _read(args[0]))


def _contains(args: list[Any], options: Any) -> Expr:
    if not options.get("literal"):
        msg = "cannot translate a search by a regular expression"
        raise InvalidInputError(msg, hint="str.contains(text, literal=True), or SQL text")
    return call("contains", *map(_read, args))


def _cast(body: Any) -> Expr:
    target = body["dtype"].get("Literal") if isinstance(body["dtype"], dict) else None
    kinds = {"Date": "date", "Float64": "float64"}
    if not isinstance(target, str) or target not in kinds or body["options"] != "Strict":
        raise _refused(body["dtype"])
    return _read(body["expr"]).cast(kinds[target])


def _called(name: str) -> Callable[[list[Any], Any], Expr]:
    return lambda args, _options: call(name, *map(_read, args))


_FUNCTIONS: dict[tuple[str, str], Callable[[list[Any], Any], Expr]] = {
    ("Boolean", "IsNull"): lambda args, _: _read(args[0]).is_null(),
    ("Boolean", "IsNotNull"): lambda args, _: _read(args[0]).is_not_null(),
    ("Boolean", "IsNan"): lambda args, _: _read(args[0]).is_nan(),
    ("Boolean", "IsNotNan"): lambda args, _: ~_read(args[0]).is_nan(),
    ("Boolean", "Not"): lambda args, _: ~_read(args[0]),
    ("Boolean", "IsIn"): _is_in,
    ("Boolean", "IsBetween"): _between,
    ("Boolean", "AnyHorizontal"): lambda args, _: disjunction(map(_read, args)),
    ("Boolean", "AllHorizontal"): lambda args, _: conjunction(map(_read, args)),
    ("StringExpr", "StartsWith"): lambda args, _: _read(args[0]).starts_with(_read(args[1])),
    ("StringExpr", "EndsWith"): _called("ends_with"),
    ("StringExpr", "Contains"): _contains,
    ("StringExpr", "Lowercase"): _called("lower"),
    ("StringExpr", "Uppercase"): _called("upper"),
    ("StringExpr", "LenChars"): _called("length"),
    ("TemporalExpr", "Truncate"): _truncate,
    ("TemporalExpr", "Date"): lambda args, _: _read(args[0]).cast("date"),
    **{("TemporalExpr", name): _called(name.lower()) for name in _PARTS},
    ("StructExpr", "FieldByName"): lambda args, name: _read(args[0]).field(name),
    ("", "Abs"): _called("abs"),
    ("", "Negate"): lambda args, _: -_read(args[0]),
    ("", "Coalesce"): _called("coalesce"),
}
_LITERALS: dict[str, Callable[[Any], Expr]] = {
    "Binary": lambda value: lit(bytes(value)),
    "Date": lambda value: lit(_EPOCH + timedelta(days=value)),
    "Datetime": _moment,
    "Duration": _duration,
    "Time": _time,
    "Decimal": _decimal,
}
_RULES: dict[str, Callable[[Any], Expr]] = {
    "Column": col,
    "Literal": _literal,
    "BinaryExpr": _binary,
    "Function": _function,
    "Cast": _cast,
    "Alias": lambda body: _read(body[0]),
    "Ternary": lambda body: Expr(
        "case", (_read(body["predicate"]), _read(body["truthy"]), _read(body["falsy"]))
    ),
}
