"""Say a bound predicate to pyarrow, with the same answers for NULL and NaN.

pyarrow takes NaN for unordered, and `is_in` of NULL for false; what comes out of here takes NaN for
the greatest value, and NULL for unknown. Where false and NULL make no difference, because the row
does not match either way, the shorter expression is chosen: pyarrow prunes by those.
"""

from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from operator import and_, or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mere.arrow import arrow_type
from mere.errors import UnsupportedError
from mere.model.expr import Expr
from mere.model.files import Value
from mere.model.functions import PARTS, UNITS
from mere.model.literals import TICKS
from mere.model.promotion import decimal_parts
from mere.model.schema import Field
from mere.model.values import FLOATS, INTEGERS, is_nan, to_ns

_STORED = {"uuid": pa.binary(16), "json": pa.string()}
_WIDE = frozenset({"uint64", "int128", "uint128"})
_UNITS = {"timestamp_s": 10**9, "timestamp_ms": 10**6, "timestamp": 1000, "timestamptz": 1000}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def to_pyarrow(expr: Expr, *, exact: bool = False) -> pc.Expression:
    """Return the predicate as pyarrow filters by it; `exact` tells NULL from false.

    Raises:
        UnsupportedError: If pyarrow cannot say it exactly; what and why is named.
    """
    return _write(expr, exact=exact)


def _write(expr: Expr, *, exact: bool = True) -> pc.Expression:
    """Translate; unless `exact`, false may stand for NULL."""
    if expr.op in _COMPARE:
        return _comparison(expr.op, *expr.args)
    if expr.op in {"and", "or"}:
        parts = [_write(arg, exact=exact) for arg in expr.args]
        return reduce(and_ if expr.op == "and" else or_, parts)
    if expr.op == "in":
        return _in(expr, exact=exact)
    rule = _RULES.get(expr.op)
    if rule is None:
        raise _unsupported(expr)
    return rule(expr)


def _unsupported(expr: Expr, why: str = "") -> UnsupportedError:
    msg = f"pyarrow cannot say {expr}{why}"
    return UnsupportedError(msg, hint="kernel or reader duckdb can")


def _type(kind: str | None) -> pa.DataType:
    if kind is None or kind in {"timetz", "interval"}:
        msg = f"pyarrow cannot compare values of type {kind}"
        raise UnsupportedError(msg, hint="kernel or reader duckdb can")
    return _STORED.get(kind) or arrow_type(Field(name="literal", type=kind))


def _scalar(value: Value | None, kind: str | None) -> pa.Scalar:
    found = _type(kind)
    if value is None:
        return pa.scalar(None, found)
    try:
        return pa.scalar(_stored(value, kind or ""), found)
    except (pa.ArrowInvalid, OverflowError) as error:
        msg = f"pyarrow has no {kind} {value}"
        raise UnsupportedError(msg) from error


def _stored(value: Value, kind: str) -> Value:
    if kind == "uuid":
        return value.bytes
    if kind in _UNITS:  # as a count: pyarrow would go through a slower conversion
        return to_ns(value) // _UNITS[kind]
    return Decimal(value) if kind in {"int128", "uint128"} else value


def _literal(expr: Expr) -> pc.Expression:
    return pc.scalar(_scalar(expr.args[0], expr.kind or "boolean"))


def _unknown() -> pc.Expression:
    return pc.scalar(pa.scalar(None, pa.bool_()))


def _column(expr: Expr) -> pc.Expression:
    found = pc.field(*expr.args)
    stored = _STORED.get(expr.kind or "")
    return found if stored is None else found.cast(stored)


def _comparison(op: str, left: Expr, right: Expr) -> pc.Expression:
    if right.op == "literal" and left.kind in FLOATS:
        return _float_literal(op, _write(left), right)
    a, b = _common(left, right)
    if left.kind in FLOATS or right.kind in FLOATS:
        return _floats(op, a, b)
    return _COMPARE[op](a, b)


def _float_literal(op: str, operand: pc.Expression, literal: Expr) -> pc.Expression:
    """Compare floats with a literal, NaN being the greatest."""
    value, nan = literal.args[0], pc.is_nan(operand)
    if is_nan(value):
        if op in {"eq", "ge"}:
            return nan
        if op in {"ne", "lt"}:
            return ~nan
        return (nan | ~nan) if op == "le" else (nan & ~nan)
    plain = _COMPARE[op](operand, _literal(literal))
    return plain | nan if op in {"gt", "ge"} and value is not None else plain


def _floats(op: str, a: pc.Expression, b: pc.Expression) -> pc.Expression:
    if op in {"gt", "le"}:
        op, a, b = {"gt": "lt", "le": "ge"}[op], b, a
    if op in {"ne", "ge"}:
        return ~_floats({"ne": "eq", "ge": "lt"}[op], a, b)
    if op == "eq":
        return (a == b) | (pc.is_nan(a) & pc.is_nan(b))
    return (a < b) | (~pc.is_nan(a) & pc.is_nan(b))


def _common(left: Expr, right: Expr) -> tuple[pc.Expression, pc.Expression]:
    """Translate two sides so that pyarrow compares them as they are."""
    kinds = {left.kind, right.kind}
    a, b = _write(left), _write(right)
    if len(kinds) == 1:
        return a, b
    if kinds <= TICKS.keys():
        unit = pa.timestamp("ns" if "timestamp_ns" in kinds else "us")
        return _naive(a, left.kind, unit), _naive(b, right.kind, unit)
    if kinds & _WIDE or None in kinds:
        raise _unsupported(Expr("eq", (left, right)), ": the types have no common one")
    if "boolean" in kinds:
        a = a.cast(pa.int64()) if left.kind == "boolean" else a
        b = b.cast(pa.int64()) if right.kind == "boolean" else b
    if kinds & FLOATS:
        return a.cast(pa.float64()), b.cast(pa.float64())
    return a, b


def _naive(found: pc.Expression, kind: str | None, unit: pa.DataType) -> pc.Expression:
    zoned = kind == "timestamptz"
    return found.cast(pa.timestamp("us")).cast(unit) if zoned else found.cast(unit)


def _in(expr: Expr, *, exact: bool) -> pc.Expression:
    operand = expr.args[0]
    values = [arg.args[0] for arg in expr.args[1:]]
    kept = [value for value in values if value is not None]
    if 0.0 in kept and operand.kind in FLOATS:
        kept += [0.0, -0.0]  # pyarrow looks bits up
    candidates = pa.array(
        [_stored(value, operand.kind or "") for value in kept], _type(operand.kind)
    )
    inner = _write(operand)
    found = pc.is_in(inner, value_set=candidates)
    if not exact:
        return found
    return found | (_unknown() if None in values else inner.is_null() & _unknown())


def _between(expr: Expr) -> pc.Expression:
    operand, low, high = expr.args
    return _comparison("ge", operand, low) & _comparison("le", operand, high)


def _is_nan(expr: Expr) -> pc.Expression:
    inner = _write(expr.args[0])
    return pc.is_nan(inner) if expr.args[0].kind in FLOATS else inner.is_null() & _unknown()


def _like(expr: Expr) -> pc.Expression:
    operand, pattern, *escape = expr.args
    if any(arg.op != "literal" for arg in (pattern, *escape)):
        raise _unsupported(expr, ": the pattern is no literal")
    text = pattern.args[0]
    if text is None:
        return _write(operand).is_null() & _unknown()
    return pc.match_like(_write(operand), _escaped(text, escape[0].args[0] if escape else ""))


def _escaped(pattern: str, escape: str) -> str:
    """Write a LIKE pattern the way pyarrow reads it, with the backslash as its escape."""
    parts: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            following = next(characters, "")
            parts.append(f"\\{following}" if following in {"%", "_", "\\"} else following)
        else:
            parts.append("\\\\" if character == "\\" else character)
    return "".join(parts)


def _text(expr: Expr) -> str:
    if expr.op != "literal" or not isinstance(expr.args[0], str):
        raise _unsupported(expr, ": only a text is taken here")
    return expr.args[0]


def _starts_with(expr: Expr) -> pc.Expression:
    return pc.starts_with(_write(expr.args[0]), _text(expr.args[1]))


def _number(expr: Expr) -> pc.Expression:
    """Translate an operand of arithmetic, wide enough for the outcome."""
    if expr.kind in FLOATS:
        return _write(expr).cast(pa.float64())
    if expr.kind in INTEGERS.keys() - {"uint64", "uint128"} or expr.kind == "boolean":
        return _write(expr).cast(pa.int64())
    raise _unsupported(expr, ": its arithmetic is not that of whole numbers or floats")


def _arithmetic(expr: Expr) -> pc.Expression:
    functions = {
        "add": pc.add_checked,
        "sub": pc.subtract_checked,
        "mul": pc.multiply_checked,
        "neg": pc.negate_checked,
    }
    operands = [_number(arg) for arg in expr.args]
    if expr.kind in FLOATS:
        operands = [operand.cast(pa.float64()) for operand in operands]
    return functions[expr.op](*operands)


def _div(expr: Expr) -> pc.Expression:
    left, right = (_number(arg).cast(pa.float64()) for arg in expr.args)
    return pc.divide(left, right)


def _mod(expr: Expr) -> pc.Expression:
    left, right = expr.args
    by = right.args[0] if right.op == "literal" else None
    if not isinstance(by, int) or not by or left.kind not in INTEGERS:
        raise _unsupported(expr, ": only whole numbers are divided, by one that is written there")
    number = _number(left)
    whole = pc.divide(number, pc.scalar(by))
    return pc.subtract(number, pc.multiply(whole, pc.scalar(by)))


def _cast(expr: Expr) -> pc.Expression:
    inner, source, target = _write(expr.args[0]), expr.args[0].kind or "", expr.kind or ""
    if source == target:
        return inner
    if target == "date" and source in TICKS:
        return inner.cast(pa.date32(), safe=False)
    plain = source in INTEGERS and (target in INTEGERS or target == "float64")
    if expr.op == "cast" and (plain or (source == "date" and target == "timestamp")):
        return inner.cast(_type(target))
    raise _unsupported(expr, f": it casts {source} otherwise than SQL")


def _case(expr: Expr) -> pc.Expression:
    found = _write(_as(expr.args[-1], expr.kind))
    branches = list(zip(expr.args[:-1:2], expr.args[1:-1:2], strict=True))
    for condition, value in reversed(branches):
        chosen = pc.coalesce(_write(condition), pc.scalar(pa.scalar(value=False)))
        found = pc.if_else(chosen, _write(_as(value, expr.kind)), found)
    return found


def _as(expr: Expr, kind: str | None) -> Expr:
    """Give a literal the type of the whole."""
    if expr.op == "literal" and expr.args[0] is None:
        return Expr("literal", (None,), kind)
    if expr.kind != kind or decimal_parts(kind or ""):
        raise _unsupported(expr, f": it is of type {expr.kind}, not {kind}")
    return expr


def _call(expr: Expr) -> pc.Expression:
    name, args = expr.args[0], expr.args[1:]
    if name in PARTS and len(args) == 1:
        return getattr(pc, name)(_moment(args[0]))
    rule = _FUNCTIONS.get(name)
    if rule is None:
        raise _unsupported(expr, f": it has no function {name} of this meaning")
    return rule(args)


def _moment(expr: Expr) -> pc.Expression:
    if expr.kind not in TICKS:
        raise _unsupported(expr, ": it is no date or timestamp")
    return _write(expr).cast(pa.timestamp("us")) if expr.kind == "date" else _write(expr)


def _date_trunc(args: tuple[Expr, ...]) -> pc.Expression:
    unit = _text(args[0]).lower()
    if unit not in UNITS:
        raise _unsupported(args[0], ": it is no unit of time")
    kind = pa.timestamp("us", "UTC") if args[1].kind == "timestamptz" else pa.timestamp("us")
    cut = pc.floor_temporal(_moment(args[1]), 1, unit)
    return cut.cast(kind, safe=False)


def _concat(args: tuple[Expr, ...], nulls: str) -> pc.Expression:
    if any(arg.kind != "varchar" for arg in args):
        raise _unsupported(args[0], ": only texts are joined")
    parts = [_write(arg) for arg in args]
    return pc.binary_join_element_wise(*parts, pc.scalar(""), null_handling=nulls)


def _coalesce(args: tuple[Expr, ...]) -> pc.Expression:
    kind = next((arg.kind for arg in args if arg.kind is not None), None)
    return pc.coalesce(*(_write(_as(arg, kind)) for arg in args))


_FUNCTIONS: dict[str, Callable[[tuple[Expr, ...]], pc.Expression]] = {
    "date_trunc": _date_trunc,
    "lower": lambda args: pc.utf8_lower(_write(args[0])),
    "upper": lambda args: pc.utf8_upper(_write(args[0])),
    "trim": lambda args: pc.utf8_trim(_write(args[0]), " "),
    "length": lambda args: pc.utf8_length(_write(args[0])).cast(pa.int64()),
    "abs": lambda args: pc.abs_checked(_write(args[0])),
    "contains": lambda args: pc.match_substring(_write(args[0]), _text(args[1])),
    "ends_with": lambda args: pc.ends_with(_write(args[0]), _text(args[1])),
    "coalesce": _coalesce,
    "concat": lambda args: _concat(args, "skip"),
    "||": lambda args: _concat(args, "emit_null"),
}
_RULES: dict[str, Callable[[Expr], pc.Expression]] = {
    "column": _column,
    "literal": _literal,
    "not": lambda expr: ~_write(expr.args[0]),
    "is_null": lambda expr: _write(expr.args[0]).is_null(),
    "is_nan": _is_nan,
    "between": _between,
    "like": _like,
    "starts_with": _starts_with,
    **dict.fromkeys(("add", "sub", "mul", "neg"), _arithmetic),
    "div": _div,
    "mod": _mod,
    "cast": _cast,
    "try_cast": _cast,
    "case": _case,
    "call": _call,
}
