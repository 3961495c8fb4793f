"""Bring many rows of a catalog into Arrow arrays quickly, and compare them at once.

Three domains are enough: whole numbers, floating-point numbers and texts. What does not fit is
NULL, which means "not known" and keeps the file. Every comparison errs on the side of keeping.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from math import ceil, floor, inf, isfinite, nextafter
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from mere.model.files import Value
from mere.model.promotion import decimal_parts
from mere.model.values import FLOATS, INTEGERS, TEXT_BYTES, TEXTS, is_nan, to_ns, to_text
from mere.plan.ranges import Range

Domain = Literal["whole", "float", "text"]
_TYPES = {"whole": pa.int64(), "float": pa.float64(), "text": pa.string()}
_WHOLE = frozenset(INTEGERS) - {"uint64", "int128", "uint128"}
_MOMENTS = {
    "timestamp": pa.timestamp("us"),
    "timestamp_s": pa.timestamp("us"),
    "timestamp_ms": pa.timestamp("us"),
    "timestamp_ns": pa.timestamp("ns"),
    "timestamptz": pa.timestamp("us", "UTC"),
}
_SHAPES = {
    "whole": r"^-?\d{1,18}$",
    "float": r"^-?(\d+(\.\d*)?([eE][-+]?\d+)?|inf)$",
    "date": r"^\d{4}-\d\d-\d\d$",
    "moment": r"^(1[7-9]|20|21)\d\d-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?$",
    "fine": r"^(1[7-9]|20|21)\d\d-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,9})?$",
    "zoned": r"^(1[7-9]|20|21)\d\d-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?\+00$",
}
_TRUE, _FALSE = pa.scalar(value=True), pa.scalar(value=False)
_CUT = TEXT_BYTES - 4
_SLACK = 1e-6
_MOST_VALUES = 32


def column(data: bytes | None, kind: pa.DataType, *, count: int | None) -> pa.Array:
    """Parse one column of lines: an empty line is NULL, a quoted one is the text inside.

    `count` 0 says that there is no line at all.
    """
    if count == 0:
        return pa.array([], kind)
    table = csv.read_csv(
        pa.BufferReader((data or b"") + b"\n"),
        read_options=csv.ReadOptions(column_names=["x"]),
        parse_options=csv.ParseOptions(ignore_empty_lines=False, newlines_in_values=True),
        convert_options=_options({"x": kind}),
    )
    return table["x"].combine_chunks()


def _options(kinds: Mapping[str, pa.DataType]) -> csv.ConvertOptions:
    return csv.ConvertOptions(
        column_types=dict(kinds),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )


def domain(kind: str) -> Domain | None:
    """Return in which domain a column's bounds are compared; None for a type without bounds."""
    if kind in _WHOLE or kind in _MOMENTS or kind in {"date", "boolean"}:
        return "whole"
    if kind in FLOATS or kind == "uint64" or decimal_parts(kind) is not None:
        return "float"
    return "text" if kind in TEXTS or kind in {"blob", "uuid", "time"} else None


def ends(kind: str, texts: pa.Array) -> pa.Array:
    """Turn texts of statistics into comparable values; what is cut or cannot be read is NULL."""
    kept = domain(kind)
    if kept is None:
        return pa.nulls(len(texts), pa.int64())
    if kept == "text":
        short = pc.less_equal(pc.binary_length(texts), 2 * _CUT if kind == "blob" else _CUT)
        folded = {"blob": pc.utf8_upper, "uuid": pc.utf8_lower}.get(kind)
        return pc.if_else(short, folded(texts) if folded else texts, pa.scalar(None, pa.string()))
    target, shape = _target(kind, kept)
    try:
        parsed = texts.cast(target)
    except pa.ArrowInvalid:
        regular = pc.match_substring_regex(texts, _SHAPES[shape])
        parsed = pc.if_else(regular, texts, pa.scalar(None, texts.type)).cast(target)
    if target == pa.date32():
        parsed = parsed.cast(pa.int32())
    return parsed.cast(_TYPES[kept])


def _target(kind: str, kept: Domain) -> tuple[pa.DataType, str]:
    if kind in _MOMENTS:
        shapes = {"timestamptz": "zoned", "timestamp_ns": "fine"}
        return _MOMENTS[kind], shapes.get(kind, "moment")
    if kind == "date":
        return pa.date32(), "date"
    return _TYPES[kept], kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Columnar:
    """The bounds of one column in many files: arrays side by side, NULL for what is not known.

    `nan` says which files may hold NaN; `nulls` and `values` are there when they were asked for.
    """

    kind: str
    ids: pa.Array
    low: pa.Array
    high: pa.Array
    nan: pa.Array | None = None
    nulls: pa.Array | None = None
    values: pa.Array | None = None

    @property
    def bytes(self) -> int:
        """How much memory the arrays take."""
        parts = (self.ids, self.low, self.high, self.nan, self.nulls, self.values)
        return sum(part.nbytes for part in parts if part is not None)


def excluded(column_: Columnar, demand: Range) -> pa.Array | None:
    """Tell for each file whether none of its rows can fulfil the demand; None when nothing says."""
    out: Any = _outside(column_, demand) if demand.value else _TRUE
    if demand.null:
        no_nulls = _FALSE if column_.nulls is None else pc.equal(column_.nulls, 0)
        out = pc.and_kleene(out, no_nulls)
    elif column_.values is not None:
        out = pc.or_kleene(out, pc.equal(column_.values, 0))
    if isinstance(out, pa.Scalar):
        return pa.repeat(out, len(column_.ids)) if out.as_py() else None
    return out


def _outside(column_: Columnar, demand: Range) -> Any:
    """Tell whether all values of a file lie outside of the range, or miss every listed value."""
    kept = domain(column_.kind)
    if kept is None:
        return _FALSE
    high = column_.high
    if column_.nan is not None:
        high = pc.if_else(pc.fill_null(column_.nan, True), pa.scalar(None, high.type), high)  # noqa: FBT003  pyarrow's
    listed = demand.values
    if listed is not None and 1 < len(listed) <= _MOST_VALUES:
        out: Any = _TRUE
        for value in listed:
            out = pc.and_kleene(out, _beside(column_, high, value, value))
        return out
    return _beside(column_, high, demand.low, demand.high)


def _beside(column_: Columnar, high: pa.Array, first: Value | None, last: Value | None) -> Any:
    out: Any = _FALSE
    least, most = _literal(column_.kind, first, -1), _literal(column_.kind, last, 1)
    if least is not None:
        out = pc.or_kleene(out, pc.less(high, least))
    if most is not None:
        out = pc.or_kleene(out, pc.greater(column_.low, most))
    return out


def _literal(kind: str, value: Value | None, sign: int) -> pa.Scalar | None:
    """Return a limit in the column's domain, rounded outward; None when it limits nothing."""
    kept = domain(kind)
    if value is None or kept is None or is_nan(value):
        return None
    try:
        if kept == "whole":
            number = _whole(kind, value, sign)
            return pa.scalar(number, pa.int64()) if abs(number) < 1 << 63 else None
        if kept == "float":
            return pa.scalar(_outward(value, sign), pa.float64())
        return pa.scalar(_text(kind, value), pa.string())
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None


def _whole(kind: str, value: Value, sign: int) -> int:
    if kind in _MOMENTS:
        if not isinstance(value, int):
            value = to_ns(value)
        nanoseconds = int(value)
        return nanoseconds if kind == "timestamp_ns" else nanoseconds // 1000
    if kind == "date":
        day = value.date() if isinstance(value, datetime) else value
        return int((day - date(1970, 1, 1)).days)
    return int(ceil(value) if sign < 0 else floor(value))


def _outward(value: float | Decimal, sign: int) -> float:
    """Move a limit outward by what single precision, or spelling a decimal, may have lost."""
    number = float(value)
    if not isfinite(number):
        return number
    return nextafter(number + sign * abs(number) * _SLACK, sign * inf)


def _text(kind: str, value: Value) -> str:
    if kind in TEXTS:
        if not isinstance(value, str):
            raise TypeError(value)
        return value
    text = to_text(kind, value)
    if text is None:
        raise TypeError(value)
    return text
