"""Draw rows, and conditions over them, of every type that a column can have."""

# ruff: noqa: DTZ001 - columns without a time zone are half of what is drawn here

from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st

from mere.model.expr import Expr, call, col, conjunction, disjunction, lit
from mere.model.schema import Schema, from_mapping, number

COLUMNS = {
    "b": "boolean",
    "i8": "int8",
    "i": "int64",
    "u": "uint16",
    "f": "float64",
    "f32": "float32",
    "d": "decimal(9,2)",
    "big": "decimal(38,10)",
    "day": "date",
    "at": "timestamp",
    "s_at": "timestamp_s",
    "ms_at": "timestamp_ms",
    "ns_at": "timestamp_ns",
    "tz": "timestamptz",
    "t": "time",
    "s": "varchar",
    "raw": "blob",
    "id": "uuid",
}
SCHEMA: Schema = number(from_mapping(COLUMNS))

_EPOCH = datetime(1970, 1, 1)
_MOMENTS = [
    _EPOCH,
    datetime(1969, 12, 31, 23, 59, 59),
    datetime(2025, 12, 31, 23, 59, 59),
    datetime(2026, 1, 1),
    datetime(2026, 1, 31, 12, 30),
    datetime(2026, 2, 1),
    datetime(2026, 2, 1, 12),
    datetime(2026, 2, 2),
    datetime(2027, 1, 1),
]
_FINE = [
    *_MOMENTS,
    datetime(2026, 1, 1, 0, 0, 0, 1),
    datetime(2026, 1, 1, 0, 0, 0, 500_000),
    datetime(2025, 12, 31, 23, 59, 59, 999_999),
]
_FLOATS = [0.0, -0.0, 1.5, -1.5, 2.0, 0.1, 1e300, float("inf"), float("-inf"), float("nan")]
_TEXTS = ["", "a", "ab", "abc", "b", "a%b", "a_b", "A", "é", "日本", "\U0010ffff", 'it\'s \\ "x"']
_HALF = [-1, 0, 1, 2]


def _ns(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000


DOMAINS: dict[str, list[Any]] = {
    "boolean": [True, False],
    "int8": [-128, -2, -1, 0, 1, 2, 3, 127],
    "int64": [-(2**63), -1, 0, 1, 2, 3, 2**53, 2**53 + 1, 2**63 - 1],
    "uint16": [0, 1, 2, 3, 65535],
    "float64": _FLOATS,
    "float32": [0.0, -0.0, 1.5, -1.5, 2.0, 0.10000000149011612, *_FLOATS[-3:]],
    "decimal(9,2)": [Decimal(t) for t in ("-1.50", "0.00", "0.10", "1.50", "9999999.99")],
    "decimal(38,10)": [Decimal(t) for t in ("-1.5000000000", "0E-10", "1234567890123456789.5")],
    "date": [m.date() for m in _MOMENTS],
    "timestamp": _FINE,
    "timestamp_s": _MOMENTS,
    "timestamp_ms": [*_MOMENTS, datetime(2026, 1, 1, 0, 0, 0, 1000)],
    "timestamp_ns": [*map(_ns, _FINE), _ns(_MOMENTS[3]) + 1, _ns(_MOMENTS[3]) + 1001],
    "timestamptz": [m.replace(tzinfo=UTC) for m in _FINE],
    "time": [time(0), time(1, 2, 3, 500_000), time(23, 59, 59, 999_999)],
    "varchar": _TEXTS,
    "blob": [b"", b"a", b"\x00a", b"\xff", b"ab'\\"],
    "uuid": [UUID(int=0), UUID(int=1), UUID(int=1 << 127), UUID(int=(1 << 128) - 1)],
}
_NUMBERS: list[Any] = [*_FLOATS, 2.5, 300, -300, 10**30, Decimal("0.105"), Decimal("1.5"), 1, 2]
_INSTANTS: list[Any] = [*_FINE, *DOMAINS["timestamptz"], *DOMAINS["date"]]
_SPELLED = ["2026-01-01", "2026-01-01 00:00:00.000000001", "2026-02-01 12:00:00+00"]
_NUMERIC = ("i8", "i", "u", "f", "f32", "d", "big")
_TEMPORAL = ("day", "at", "s_at", "ms_at", "ns_at", "tz")
_WHOLE = ("i8", "i", "u")
_PATTERNS = ["", "%", "a%", "a_%", "_", "%b", "ab", "a%b", "é%", "\U0010ffff%", "a\\%", "it's%"]
_OPERATIONS: dict[str, Callable[[Expr, Any], Expr]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def values(name: str) -> st.SearchStrategy[Any]:
    """Draw a value of a column, not NULL."""
    return st.sampled_from(DOMAINS[COLUMNS[name]])


def rows(columns: tuple[str, ...] = tuple(COLUMNS)) -> st.SearchStrategy[dict[str, Any]]:
    """Draw a row."""
    return st.fixed_dictionaries({name: st.none() | values(name) for name in columns})


def literals(name: str) -> st.SearchStrategy[Any]:
    """Draw what a column may be compared with: values of its type, and of others that fit."""
    own = values(name)
    if COLUMNS[name] == "timestamp_ns":
        own = own.map(lambda v: Expr("literal", (v,), "timestamp_ns"))
    if name in _NUMERIC:
        return own | st.sampled_from(_NUMBERS) | st.just(None)
    if name in _TEMPORAL:
        return own | st.sampled_from(_INSTANTS) | st.sampled_from(_SPELLED) | st.just(None)
    return own | st.just(None)


_NAMES = st.sampled_from(sorted(COLUMNS))
_OPS = st.sampled_from(sorted(_OPERATIONS))


def _compare(op: str, left: Any, right: Any) -> Expr:
    return _OPERATIONS[op](lit(left), right)


@st.composite
def comparisons(draw: st.DrawFn) -> Expr:
    """Draw a comparison of a column with a literal, either way round."""
    name = draw(_NAMES)
    sides = [col(name), lit(draw(literals(name)))]
    return _compare(draw(_OPS), *(sides if draw(st.integers(0, 3)) else sides[::-1]))


@st.composite
def between_columns(draw: st.DrawFn) -> Expr:
    """Draw a comparison of two columns."""
    family = draw(st.sampled_from([_NUMERIC[:3], ("f", "f32"), _TEMPORAL, ("s",)]))
    two = st.sampled_from(family)
    return _compare(draw(_OPS), col(draw(two)), col(draw(two)))


@st.composite
def memberships(draw: st.DrawFn) -> Expr:
    """Draw IN and BETWEEN."""
    name = draw(_NAMES)
    if draw(st.booleans()):
        return col(name).is_in(draw(st.lists(literals(name), max_size=3)))
    return col(name).between(draw(literals(name)), draw(literals(name)))


@st.composite
def checks(draw: st.DrawFn) -> Expr:
    """Draw conditions on one column without a comparison."""
    which = draw(st.integers(0, 4))
    if which == 0:
        return col(draw(_NAMES)).is_null()
    if which == 1:
        return col(draw(st.sampled_from(("f", "f32")))).is_nan()
    if which == 2:
        return col("s").like(draw(st.sampled_from(_PATTERNS)))
    if which == 3:
        return col("s").starts_with(draw(st.sampled_from(_TEXTS)))
    return col("b")


@st.composite
def computed(draw: st.DrawFn) -> Expr:
    """Draw comparisons of functions, casts and sums of columns."""
    op, which = draw(_OPS), draw(st.integers(0, 3))
    moment = col(draw(st.sampled_from(_TEMPORAL)))
    if which == 0:
        name = draw(st.sampled_from(["year", "quarter", "month", "day", "hour", "minute"]))
        return _compare(op, call(name, moment), draw(st.sampled_from([0, 1, 2, 12, 31, 2026, 1.5])))
    if which == 1:
        unit = draw(st.sampled_from(["year", "quarter", "month", "week", "day", "hour"]))
        return _compare(op, call("date_trunc", unit, moment), draw(st.sampled_from(_MOMENTS)))
    if which == 2:
        return _compare(op, moment.cast("date"), draw(st.sampled_from(_INSTANTS)))
    number_ = col(draw(st.sampled_from(("i8", "u"))))
    wide = number_.cast("int32")
    shifted = draw(st.sampled_from([wide + 1, wide - 2, -wide, wide]))
    return _compare(op, shifted, draw(st.sampled_from([-1, 0, 1, 2.5, 128, 300])))


def conditions(*leaves: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    """Draw conditions joined by AND, OR and NOT."""
    plain = st.one_of(*leaves) if leaves else SIMPLE | computed()
    return st.recursive(
        plain,
        lambda inner: (
            st.lists(inner, min_size=2, max_size=3).map(conjunction)
            | st.lists(inner, min_size=2, max_size=3).map(disjunction)
            | inner.map(lambda e: ~e)
        ),
        max_leaves=4,
    )


SIMPLE = comparisons() | memberships() | checks() | between_columns()

FEWER = settings(max_examples=max(10, settings().max_examples // 3))
"""Where every example is a whole tree, a third of the usual number keeps a test short."""
