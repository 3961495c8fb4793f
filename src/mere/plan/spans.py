"""Bound what an expression can yield in one file, from what is known of the file's columns.

A span says: no value is below `low` or above `high` (None: not known, which for floats also means
that NaN can occur, as NaN is the greatest value), and whether NULL and non-NULL values can occur.
Every rule widens when in doubt; none ever narrows.

| expression | span |
|---|---|
| column | its bounds; NaN above the maximum unless the file is known to hold none |
| literal | itself |
| cast | from the ends, where casting keeps the order: `keeps_order` |
| year | from the ends |
| month, day, … | from the ends if all larger parts are the same, else all that the part can be |
| date_trunc | from the ends |
| add, sub, neg | from the ends, over integers, and over moments with days or spans of time |
| anything else | everything |
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mere.errors import InvalidInputError
from mere.model.evaluation import convert, evaluate
from mere.model.expr import Expr
from mere.model.files import Bounds, Value
from mere.model.functions import FUNCTIONS, PARTS, UNITS, date_trunc, moment, part
from mere.model.literals import TICKS
from mere.model.promotion import decimal_parts
from mere.model.schema import Schema
from mere.model.values import FLOATS, INTEGERS, TEXTS, compare, is_nan

UNCOUNTED = frozenset({"timetz", "interval", "variant", "geometry"})
"""Types of which statistics say nothing, and count nothing."""
_INDIRECT = {"timestamp_ns", "timestamptz"}
"""Counted in other units, or with days whose length a time zone decides."""

_RANGES = {
    "quarter": (1, 4),
    "month": (1, 12),
    "day": (1, 31),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
}
_LARGER = {
    "quarter": ("year",),
    "month": ("year",),
    "day": ("year", "month"),
    "hour": ("year", "month", "day"),
    "minute": ("year", "month", "day", "hour"),
    "second": ("year", "month", "day", "hour", "minute"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of one file.

    `bounds` by `column_key`, `parts` by (calendar part, column_key), `buckets` by column_key: the
    number of buckets, and the one that all non-NULL values lie in.
    """

    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    parts: Mapping[tuple[str, str], int] = field(default_factory=dict)
    buckets: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Where the values of an expression lie in one file."""

    low: Value | None = None
    high: Value | None = None
    kind: str | None = None
    null: bool = True
    value: bool = True


def column_key(path: tuple[str, ...]) -> str:
    """Return the name under which facts about a column are kept: names joined by dots."""
    return ".".join(path)


def column_keys(schema: Schema) -> dict[int, str]:
    """Return the key of each leaf that predicates can name, by field id.

    Leaves inside lists and maps have none. Where a dotted name could be two leaves, neither has.
    """
    found: dict[int, str] = {}
    inside = {f.id for f, parent in schema.walk() if parent and parent.type in {"list", "map"}}
    for path, leaf in schema.leaves():
        if leaf.id not in inside and not _below_repeated(path, schema):
            found[leaf.id] = column_key(path)
    keys = list(found.values())
    return {id_: key for id_, key in found.items() if keys.count(key) == 1}


def _below_repeated(path: tuple[str, ...], schema: Schema) -> bool:
    fields = schema.fields
    for name in path[:-1]:
        parent = next(f for f in fields if f.name == name)
        if parent.type != "struct":
            return True
        fields = parent.children
    return False


def span(expr: Expr, facts: Facts) -> Span:
    """Bound what an expression yields in a file of which these facts are known."""
    return _RULES.get(expr.op, _unknown)(expr, facts)


def column_span(expr: Expr, facts: Facts) -> Span:
    """Bound the values of a column."""
    kind = expr.kind
    known = facts.bounds.get(column_key(expr.args))
    if known is None or kind in UNCOUNTED or (known.nulls == 0 and known.values == 0):
        return Span(kind=kind)
    high = _usable(kind, known.maximum)
    if (kind in FLOATS or isinstance(high, float)) and known.nan is not False:
        high = None
    return Span(
        low=_usable(kind, known.minimum),
        high=high,
        kind=kind,
        null=known.nulls != 0,
        value=known.values != 0,
    )


def _usable(kind: str | None, value: Value | None) -> Value | None:
    """Leave out what could not be read as the type, and NaN, which is no bound."""
    if is_nan(value) or (isinstance(value, str) and kind not in TEXTS):
        return None
    return value


def _literal(expr: Expr, _facts: Facts) -> Span:
    value = expr.args[0]
    if value is None:
        return Span(kind=expr.kind, value=False)
    return Span(low=value, high=value, kind=expr.kind, null=False)


def _unknown(expr: Expr, _facts: Facts) -> Span:
    return Span(kind=expr.kind)


def _mapped(inner: Span, kind: str | None, apply: Callable[[Value], Value]) -> Span:
    """Bound a function that keeps the order, and yields NULL for NULL alone."""
    low, high = (_end(apply, end) for end in (inner.low, inner.high))
    return replace(inner, low=low, high=high, kind=kind)


def _end(apply: Callable[[Value], Value], end: Value | None) -> Value | None:
    try:
        return None if end is None or is_nan(end) else apply(end)
    except (InvalidInputError, OverflowError, ValueError):
        return None


def _cast(expr: Expr, facts: Facts) -> Span:
    inner = span(expr.args[0], facts)
    source, target = inner.kind or "", expr.kind or ""
    if not keeps_order(source, target):
        return Span(kind=target)
    return replace(
        _mapped(inner, target, lambda value: convert(value, target, source)),
        null=inner.null or expr.op == "try_cast",
    )


def keeps_order(source: str, target: str) -> bool:
    """Tell whether a cast keeps the order of values, whichever engine does it."""
    if source == target:
        return True
    if source in INTEGERS:
        return target in INTEGERS or target == "float64" or decimal_parts(target) is not None
    if source in TICKS:
        whole = source not in {"timestamptz", "timestamp_ns"}
        return target == "date" or (target == "timestamp" and whole)
    return source in FLOATS and target == "float64"


def _call(expr: Expr, facts: Facts) -> Span:
    name, args = expr.args[0], expr.args[1:]
    if name in PARTS and len(args) == 1:
        return _part(name, args[0], facts)
    if name == "date_trunc" and args[0].op == "literal":
        unit = str(args[0].args[0]).lower()
        if unit in UNITS:
            inner = span(args[1], facts)
            return _mapped(inner, expr.kind, lambda v: date_trunc(unit, moment(v, inner.kind)))
    known = FUNCTIONS.get(name)
    strict = known is not None and known.null_in_null_out
    return Span(kind=expr.kind, null=not strict or any(span(a, facts).null for a in args))


def _part(name: str, arg: Expr, facts: Facts) -> Span:
    inner = span(arg, facts)
    known = facts.parts.get((name, column_key(arg.args))) if arg.op == "column" else None
    if known is not None:
        return Span(low=known, high=known, kind="int64", null=inner.null, value=inner.value)
    found = _mapped(inner, "int64", lambda value: part(name, moment(value, inner.kind)))
    if name == "year" or _same_larger_parts(name, inner):
        return found
    low, high = _RANGES[name]
    return replace(found, low=low, high=high)


def _same_larger_parts(name: str, inner: Span) -> bool:
    if inner.low is None or inner.high is None:
        return False
    low, high = (moment(end, inner.kind) for end in (inner.low, inner.high))
    return all(part(larger, low) == part(larger, high) for larger in _LARGER[name])


def _arithmetic(expr: Expr, facts: Facts) -> Span:
    """Bound sums and differences by the sums and differences of the ends."""
    left, right = (span(arg, facts) for arg in expr.args)
    null = left.null or right.null
    outcome = Span(kind=expr.kind, null=null, value=left.value and right.value)
    exact = {left.kind, right.kind} <= {*INTEGERS, *TICKS, "interval"} - _INDIRECT
    if not exact or outcome.kind is None:
        return outcome
    if expr.op == "add":
        ends = ((left.low, right.low), (left.high, right.high))
    else:
        ends = ((left.low, right.high), (left.high, right.low))
    low, high = (_combined(expr, left, right, pair) for pair in ends)
    return replace(outcome, low=low, high=high)


def _combined(expr: Expr, left: Span, right: Span, pair: tuple[Any, Any]) -> Value | None:
    if pair[0] is None or pair[1] is None:
        return None
    kinds = (left.kind, right.kind)
    args = tuple(Expr("literal", (v,), k) for v, k in zip(pair, kinds, strict=True))
    try:
        return evaluate(Expr(expr.op, args, expr.kind), {})
    except (InvalidInputError, OverflowError, TypeError):
        return None


def _neg(expr: Expr, facts: Facts) -> Span:
    inner = span(expr.args[0], facts)
    if inner.kind not in INTEGERS:
        return Span(kind=expr.kind, null=inner.null, value=inner.value)
    low, high = (_end(lambda value: -value, end) for end in (inner.high, inner.low))
    return replace(inner, low=low, high=high, kind=expr.kind)


_RULES: dict[str, Callable[[Expr, Facts], Span]] = {
    "column": column_span,
    "literal": _literal,
    "cast": _cast,
    "try_cast": _cast,
    "call": _call,
    "add": _arithmetic,
    "sub": _arithmetic,
    "neg": _neg,
}


def signs(left: Span, right: Span) -> frozenset[int]:
    """Return how the values of two spans can compare: -1, 0, 1 for less, equal, greater."""
    if not (left.value and right.value):
        return frozenset()
    kinds = (left.kind, right.kind)
    impossible = {
        -1: _at_least(left.low, right.high, kinds, 0),
        0: _at_least(left.low, right.high, kinds, 1)
        or _at_least(right.low, left.high, kinds[::-1], 1),
        1: _at_least(right.low, left.high, kinds[::-1], 0),
    }
    return frozenset(sign for sign, excluded in impossible.items() if not excluded)


def _at_least(
    low: Value | None, high: Value | None, kinds: tuple[str | None, str | None], least: int
) -> bool:
    """Tell whether both ends are known and `low` compares to `high` with at least that sign."""
    if low is None or high is None:
        return False
    try:
        return compare(low, high, *kinds) >= least
    except InvalidInputError:
        return False
