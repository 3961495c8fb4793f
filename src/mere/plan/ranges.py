"""Say what a predicate demands of single columns: conditions that every matching row fulfils.

They are necessary, not sufficient, and made for a first coarse look at many files at once: a file
none of whose values lie in the range of a column holds no match. A comparison of a calendar
function or a cast of a column is turned into a range of the column itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cmp_to_key, partial
from typing import TypeAlias

from mere.errors import InvalidInputError
from mere.model.expr import Expr
from mere.model.files import Value
from mere.model.functions import UNITS, date_trunc, moment
from mere.model.literals import TICKS, place
from mere.model.values import FLOATS, INTEGERS, TEXTS, after_prefix, compare
from mere.plan.prune import like_prefix
from mere.plan.spans import column_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """What a column's value must be in a row that matches.

    A non-NULL value must lie between `low` and `high` (None: no limit; `…_open`: the limit itself
    is out) and, if `values` is given, be one of these. `value` says whether a non-NULL value can
    match at all, `null` whether NULL can. NaN is above all numbers.
    """

    low: Value | None = None
    high: Value | None = None
    low_open: bool = False
    high_open: bool = False
    values: tuple[Value, ...] | None = None
    null: bool = False
    value: bool = True
    kind: str | None = None


Demands: TypeAlias = dict[str, Range] | None
_NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}


def ranges(expr: Expr) -> dict[str, Range] | None:
    """Return what a bound predicate demands of columns, by `column_key`.

    A column without demand is missing; None says that no row can match at all.
    """
    return _true(expr)


def _true(expr: Expr) -> Demands:
    """Return what must hold for the expression to be true."""
    if expr.op in _NEGATED:
        return _comparison(expr.op, *expr.args)
    rule = _TRUE.get(expr.op)
    return {} if rule is None else rule(expr)


def _false(expr: Expr) -> Demands:
    """Return what must hold for the expression to be false, and so not NULL either."""
    if expr.op in _NEGATED:
        return _comparison(_NEGATED[expr.op], *expr.args)
    rule = _FALSE.get(expr.op)
    return {} if rule is None else rule(expr)


def _all(parts: list[Demands]) -> Demands:
    found: dict[str, Range] = {}
    for part in parts:
        if part is None:
            return None
        for name, one in part.items():
            found[name] = both(found[name], one) if name in found else one
    possible = all(one.null or one.value for one in found.values())
    return found if possible else None


def _any(parts: list[Demands]) -> Demands:
    possible = [part for part in parts if part is not None]
    if not possible:
        return None
    shared = set(possible[0]).intersection(*possible[1:])
    return {name: _widest([part[name] for part in possible]) for name in sorted(shared)}


def _widest(found: list[Range]) -> Range:
    """Return the least range of what lies in any of them; long lists are joined by halves."""
    if len(found) == 1:
        return found[0]
    middle = len(found) // 2
    return either(_widest(found[:middle]), _widest(found[middle:]))


def both(one: Range, other: Range) -> Range:
    """Return the range of what lies in both."""
    low = _tighter(one, other, "low", 1)
    high = _tighter(one, other, "high", -1)
    found = Range(
        low=low.low,
        low_open=low.low_open,
        high=high.high,
        high_open=high.high_open,
        values=_shared(one, other),
        null=one.null and other.null,
        value=one.value and other.value,
        kind=one.kind,
    )
    return replace(found, value=found.value and not _is_empty(found))


def either(one: Range, other: Range) -> Range:
    """Return the least range of what lies in one of them."""
    if not (one.value and other.value):
        return replace(other if other.value else one, null=one.null or other.null)
    low = _looser(one, other, "low", 1)
    high = _looser(one, other, "high", -1)
    values = None
    if one.values is not None and other.values is not None:
        values = _sorted((*one.values, *other.values), one.kind)
    return Range(
        low=low.low,
        low_open=low.low_open,
        high=high.high,
        high_open=high.high_open,
        values=values,
        null=one.null or other.null,
        kind=one.kind,
    )


def _tighter(one: Range, other: Range, end: str, sign: int) -> Range:
    """Return the range whose end excludes more: the greater low (1), the lesser high (-1)."""
    a, b = getattr(one, end), getattr(other, end)
    if a is None or b is None:
        return other if a is None else one
    found = compare(a, b, one.kind, other.kind) * sign
    if found == 0:
        return one if getattr(one, f"{end}_open") else other
    return one if found > 0 else other


def _looser(one: Range, other: Range, end: str, sign: int) -> Range:
    if getattr(one, end) is None or getattr(other, end) is None:
        return one if getattr(one, end) is None else other
    return other if _tighter(one, other, end, sign) is one else one


def _shared(one: Range, other: Range) -> tuple[Value, ...] | None:
    if one.values is None or other.values is None:
        known = one.values if one.values is not None else other.values
        within = other if one.values is not None else one
        return None if known is None else tuple(v for v in known if admits(within, v))
    return tuple(v for v in one.values if admits(other, v))


def _is_empty(found: Range) -> bool:
    if found.values is not None and not found.values:
        return True
    if found.low is None or found.high is None:
        return False
    sign = compare(found.low, found.high, found.kind, found.kind)
    return sign > 0 or (sign == 0 and (found.low_open or found.high_open))


def admits(demand: Range, value: Value | None) -> bool:
    """Tell whether a column's value fulfils what is demanded of it."""
    if value is None:
        return demand.null
    if not demand.value:
        return False
    order = partial(compare, left_kind=demand.kind, right_kind=demand.kind)
    if demand.values is not None and all(order(value, v) for v in demand.values):
        return False
    if demand.low is not None and order(value, demand.low) < demand.low_open:
        return False
    return demand.high is None or order(demand.high, value) >= demand.high_open


def _sorted(values: tuple[Value, ...], kind: str | None) -> tuple[Value, ...]:
    order = partial(compare, left_kind=kind, right_kind=kind)
    found: list[Value] = []
    for value in sorted(values, key=cmp_to_key(order)):
        if not found or order(found[-1], value):
            found.append(value)
    return tuple(found)


def _comparison(op: str, left: Expr, right: Expr) -> Demands:
    if right.op != "literal":
        sides = [{column_key(e.args): Range(kind=e.kind)} for e in (left, right) if _is_column(e)]
        return _all([*sides])
    value = right.args[0]
    if value is None:
        return None
    return _through(left, _RANGES[op](value, right.kind))


def _is_column(expr: Expr) -> bool:
    return expr.op == "column"


_RANGES: dict[str, Callable[[Value, str | None], Range]] = {
    "eq": lambda v, kind: Range(low=v, high=v, values=(v,), kind=kind),
    "ne": lambda _, kind: Range(kind=kind),
    "lt": lambda v, kind: Range(high=v, high_open=True, kind=kind),
    "le": lambda v, kind: Range(high=v, kind=kind),
    "gt": lambda v, kind: Range(low=v, low_open=True, kind=kind),
    "ge": lambda v, kind: Range(low=v, kind=kind),
}


def _through(expr: Expr, demand: Range) -> Demands:
    """Turn what is demanded of an expression into what that demands of the column inside."""
    if expr.op == "column":
        return {column_key(expr.args): replace(demand, kind=expr.kind)}
    steps = _steps(expr)
    if steps is not None and expr.args[-1].kind in TICKS:
        first, after = steps
        return _through(expr.args[-1], _moments(demand, first, after, expr.args[-1].kind or ""))
    if expr.op in {"add", "sub"} and expr.args[1].op == "literal":
        return _shifted(expr, demand)
    return {}


Step: TypeAlias = Callable[[Value], datetime]


def _steps(expr: Expr) -> tuple[Step, Step] | None:
    """Return, for a function that cuts moments, where its values begin and where they end."""
    if expr.op == "cast" and expr.kind == "date":
        return _midnight, lambda day: _midnight(day) + timedelta(days=1)
    if expr.op != "call":
        return None
    if expr.args[0] == "year" and len(expr.args) == 2:  # noqa: PLR2004  name and column
        return _new_year, lambda year: _new_year(year + 1)
    unit = expr.args[1].args[0] if expr.args[0] == "date_trunc" else None
    if not isinstance(unit, str) or unit.lower() not in UNITS:
        return None
    return partial(_ceiling, unit.lower()), partial(_next, unit.lower())


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)  # noqa: DTZ001  moments are in UTC


def _new_year(year: int) -> datetime:
    return datetime(year, 1, 1)  # noqa: DTZ001  moments are in UTC


def _next(unit: str, value: datetime) -> datetime:
    start = date_trunc(unit, moment(value).replace(tzinfo=None))
    longest = {"year": 366, "quarter": 92, "month": 31, "week": 7, "day": 1}
    days = longest.get(unit)
    return date_trunc(
        unit, start + (timedelta(days=days) if days else timedelta(**{f"{unit}s": 1}))
    )


def _ceiling(unit: str, value: datetime) -> datetime:
    naive = moment(value).replace(tzinfo=None)
    return naive if date_trunc(unit, naive) == naive else _next(unit, naive)


def _moments(demand: Range, first: Step, after: Step, kind: str) -> Range:
    """Turn a range of a cutting function's values into the range of moments that it cuts."""
    found = Range(kind=kind)
    if demand.low is not None:
        start = _placed(after if demand.low_open else first, demand.low, kind)
        if start is not None:
            found = replace(found, low=start[0], low_open=not start[1])
    if demand.high is not None:
        end = _placed(first if demand.high_open else after, demand.high, kind)
        if end is not None:
            found = replace(found, high=end[0], high_open=end[1])
    return found


def _placed(step: Step, value: Value, kind: str) -> tuple[Value, bool] | None:
    """Return the last value of the type up to a moment, and whether it is that moment."""
    try:
        found = place(kind, step(value))
    except (InvalidInputError, ValueError, OverflowError, TypeError):
        return None
    return None if found.floor is None else (found.floor, found.exact)


def _shifted(expr: Expr, demand: Range) -> Demands:
    inner, by = expr.args[0], expr.args[1].args[0]
    if inner.kind not in INTEGERS or expr.args[1].kind not in INTEGERS or by is None:
        return {}
    shift = by if expr.op == "add" else -by
    low, high = (None if end is None else end - shift for end in (demand.low, demand.high))
    values = None if demand.values is None else tuple(v - shift for v in demand.values)
    return _through(inner, replace(demand, low=low, high=high, values=values, kind=inner.kind))


def _in(expr: Expr) -> Demands:
    candidates = [c for c in expr.args[1:] if c.args[0] is not None]
    return _any([_comparison("eq", expr.args[0], c) for c in candidates])


def _between(expr: Expr) -> Demands:
    operand, low, high = expr.args
    return _all([_comparison("ge", operand, low), _comparison("le", operand, high)])


def _present(expr: Expr) -> Demands:
    """Demand a value: what is asked of NULL is NULL."""
    operand = expr.args[0]
    return {column_key(operand.args): Range(kind=operand.kind)} if _is_column(operand) else {}


def _absent(expr: Expr) -> Demands:
    operand = expr.args[0]
    if not _is_column(operand):
        return {}
    return {column_key(operand.args): Range(null=True, value=False, kind=operand.kind)}


def _truth(expr: Expr, *, truth: bool) -> Demands:
    return {column_key(expr.args): _RANGES["eq"](truth, "boolean")}


def _constant(expr: Expr, *, truth: bool) -> Demands:
    value = expr.args[0]
    return {} if value is not None and bool(value) is truth else None


def _nan(expr: Expr) -> Demands:
    if expr.args[0].kind not in FLOATS:
        return {}
    return _through(expr.args[0], _RANGES["eq"](float("nan"), expr.args[0].kind))


def _begins(expr: Expr) -> Demands:
    operand, text = expr.args[0], expr.args[1]
    if text.op != "literal" or operand.kind not in TEXTS or expr.args[2:]:
        return _present(expr)
    if text.args[0] is None:
        return None
    prefix, rest = like_prefix(text.args[0]) if expr.op == "like" else (text.args[0], "%")
    if not rest:
        return _through(operand, _RANGES["eq"](prefix, operand.kind))
    after = after_prefix(prefix)
    limit = Range(low=prefix or None, high=after, high_open=after is not None, kind=operand.kind)
    return _through(operand, limit)


_TRUE: Mapping[str, Callable[[Expr], Demands]] = {
    "and": lambda expr: _all([_true(arg) for arg in expr.args]),
    "or": lambda expr: _any([_true(arg) for arg in expr.args]),
    "not": lambda expr: _false(expr.args[0]),
    "literal": partial(_constant, truth=True),
    "column": partial(_truth, truth=True),
    "is_null": _absent,
    "in": _in,
    "between": _between,
    "is_nan": _nan,
    "starts_with": _begins,
    "like": _begins,
}
_FALSE: Mapping[str, Callable[[Expr], Demands]] = {
    "and": lambda expr: _any([_false(arg) for arg in expr.args]),
    "or": lambda expr: _all([_false(arg) for arg in expr.args]),
    "not": lambda expr: _true(expr.args[0]),
    "literal": partial(_constant, truth=False),
    "column": partial(_truth, truth=False),
    "is_null": _present,
    "in": _present,
    "between": _present,
    "is_nan": _present,
    "starts_with": _present,
    "like": _present,
}
