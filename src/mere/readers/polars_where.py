"""Say a predicate in polars, where polars means the same by it."""

import re
from collections.abc import Callable
from datetime import date, datetime
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne, or_
from typing import Any, NoReturn
from uuid import UUID

import polars as pl

from mere.model.predicate import Expr
from mere.model.schema import Field, Schema
from mere.model.values import FLOATS, to_ns

_COMPARE: dict[str, Callable[[Any, Any], pl.Expr]] = {
    "eq": eq,
    "ne": ne,
    "lt": lt,
    "le": le,
    "gt": gt,
    "ge": ge,
}
_MASKED = frozenset({"interval", "variant", "geometry", "struct", "list", "map", "int128"})


class _Unsayable(Exception):  # noqa: N818  a signal inside this module, not an error
    """Polars has no expression that is sure to mean the same."""


def to_polars(where: Expr, table: Schema) -> pl.Expr | None:
    """Translate a bound predicate; None when polars cannot be trusted to mean the same."""
    try:
        return _truth(where, table)
    except _Unsayable:
        return None


def _truth(node: Expr, table: Schema) -> pl.Expr:
    if node.op in ("and", "or"):
        parts = [_truth(arg, table) for arg in node.args]
        return reduce(and_ if node.op == "and" else or_, parts)
    if node.op == "not":
        return ~_truth(node.args[0], table)
    if node.op == "literal" and (node.args[0] is None or isinstance(node.args[0], bool)):
        return pl.lit(node.args[0], dtype=pl.Boolean)
    if node.op == "column":
        column, field = _column(node, table)
        return column if field.type == "boolean" else _refuse()
    rule = _RULES.get(node.op)
    return _refuse() if rule is None else rule(node, table)


def _refuse() -> NoReturn:
    raise _Unsayable


def _compare(node: Expr, table: Schema) -> pl.Expr:
    if any(map(_is_null, node.args)):
        return pl.lit(None, dtype=pl.Boolean)
    kind = _kind(node.args, table)
    left, right = (_operand(arg, kind, table) for arg in node.args)
    return _COMPARE[node.op](left, right)


def _between(node: Expr, table: Schema) -> pl.Expr:
    kind = _kind(node.args, table)
    value, low, high = (_operand(arg, kind, table) for arg in node.args)
    return (value >= low) & (value <= high)


def _in(node: Expr, table: Schema) -> pl.Expr:
    kind = _kind(node.args, table)
    value = _operand(node.args[0], kind, table)
    given = [arg for arg in node.args[1:] if not _is_null(arg)]
    found = reduce(or_, [value == _operand(arg, kind, table) for arg in given], pl.lit(value=False))
    if len(given) < len(node.args) - 1:  # NULL among the candidates: not found is not known
        found = found | pl.lit(None, dtype=pl.Boolean)
    # IN asks nothing of a NULL operand but NULL, also of an empty list of candidates.
    return pl.when(value.is_not_null()).then(found) if not given else found


def _null(node: Expr, table: Schema) -> pl.Expr:
    return _column(node.args[0], table)[0].is_null()


def _nan(node: Expr, table: Schema) -> pl.Expr:
    column, field = _column(node.args[0], table)
    if field.type in FLOATS:
        return column.is_nan()
    return pl.when(column.is_not_null()).then(pl.lit(value=False))


def _starts(node: Expr, table: Schema) -> pl.Expr:
    column, prefix = _text(node, table)
    return column.str.starts_with(prefix)


def _like(node: Expr, table: Schema) -> pl.Expr:
    column, pattern = _text(node, table)
    if "\\" in pattern:
        raise _Unsayable
    body = "".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in pattern)
    return column.str.contains(f"(?s)^{body}$")


def _text(node: Expr, table: Schema) -> tuple[pl.Expr, str]:
    column, field = _column(node.args[0], table)
    text = node.args[1].args[0] if node.args[1].op == "literal" else None
    if field.type != "varchar" or not isinstance(text, str):
        raise _Unsayable
    return column, text


_RULES: dict[str, Callable[[Expr, Schema], pl.Expr]] = {
    **dict.fromkeys(_COMPARE, _compare),
    "between": _between,
    "in": _in,
    "is_null": _null,
    "is_nan": _nan,
    "starts_with": _starts,
    "like": _like,
}


def _is_null(node: Expr) -> bool:
    return node.op == "literal" and node.args[0] is None


def _kind(args: tuple[Any, ...], table: Schema) -> str:
    """Return the one type that all columns of a comparison share."""
    kinds = {_column(arg, table)[1].type for arg in args if arg.op != "literal"}
    if len(kinds) != 1 or kinds & _MASKED:
        raise _Unsayable
    return kinds.pop()


def _operand(node: Expr, kind: str, table: Schema) -> pl.Expr:
    return _literal(node.args[0], kind) if node.op == "literal" else _column(node, table)[0]


def _column(node: Expr, table: Schema) -> tuple[pl.Expr, Field]:
    if node.op != "column":
        raise _Unsayable
    field = table.field(node.args[0])
    column = pl.col(field.name)
    for name in node.args[1:]:
        if field.type != "struct":
            raise _Unsayable
        field = Schema(fields=field.children).field(name)
        column = column.struct.field(field.name)
    return column, field


def _literal(value: Any, kind: str) -> pl.Expr:
    """Spell a value as one of the column's type, so that polars has nothing to convert."""
    if value is None:
        raise _Unsayable
    if kind == "timestamp_ns":
        number = to_ns(value) if isinstance(value, date) else value
        return pl.lit(number, dtype=pl.Int64).cast(pl.Datetime("ns"))
    if isinstance(value, UUID):
        value = value.bytes
    if isinstance(value, bool) != (kind == "boolean"):
        raise _Unsayable
    if isinstance(value, datetime) and kind == "date":
        raise _Unsayable
    return pl.lit(value, dtype=_TYPES.get(kind))


_TYPES: dict[str, Any] = {
    "float32": pl.Float32,
    "float64": pl.Float64,
    "date": pl.Date,
    "time": pl.Time,
    "timestamp": pl.Datetime("us"),
    "timestamp_ms": pl.Datetime("ms"),
    "timestamp_s": pl.Datetime("ms"),
    "timestamptz": pl.Datetime("us", "UTC"),
}
"""Where polars would take another type for a value than the column's."""
