"""Judge a predicate over whole columns at once, with Arrow's functions.

Where one of those means something else than the reference (`mere.model.evaluation`), it is put
right here: NaN is the greatest number and equals itself, `IN` is NULL for NULL. What none of them
can say exactly is refused with None.
"""

import re
from collections.abc import Callable
from datetime import date
from functools import reduce
from typing import Any, NoReturn, TypeAlias
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from mere.arrow.bare import bare_type
from mere.arrow.types import arrow_type
from mere.model.predicate import Expr
from mere.model.schema import Field, Schema
from mere.model.values import FLOATS, to_ns

Values: TypeAlias = Any
"""An array, a chunked array, or a scalar: Arrow's functions take them all."""

_SILENT = frozenset({"interval", "variant", "geometry", "struct", "list", "map", "timetz"})


class _Unsayable(Exception):  # noqa: N818  a signal inside this module, not an error
    """No function of Arrow means the same."""


def mask(where: Expr, table: pa.Table, schema: Schema) -> Values | None:
    """Return for each row whether a bound predicate is true; None when Arrow cannot say.

    `schema` describes the columns of the table.
    """
    try:
        return _truth(where, table, schema)
    except _Unsayable:
        return None


def _refuse() -> NoReturn:
    raise _Unsayable


def _truth(node: Expr, table: pa.Table, schema: Schema) -> Values:
    if node.op in ("and", "or"):
        join = pc.and_kleene if node.op == "and" else pc.or_kleene
        return reduce(join, (_truth(arg, table, schema) for arg in node.args))
    if node.op == "not":
        return pc.invert(_truth(node.args[0], table, schema))
    if node.op == "literal":
        value = node.args[0]
        plain = value is None or isinstance(value, bool)
        return pa.scalar(value, pa.bool_()) if plain else _refuse()
    if node.op == "column":
        values, field = _column(node, table, schema)
        return values if field.type == "boolean" else _refuse()
    rule = _RULES.get(node.op)
    return _refuse() if rule is None else rule(node, table, schema)


def _compare(node: Expr, table: pa.Table, schema: Schema) -> Values:
    if any(map(_is_null_literal, node.args)):
        return pa.scalar(None, pa.bool_())
    (left, right), floats = _operands(node.args, table, schema)
    return _by_op(node.op, left, right, floats)


def _by_op(op: str, a: Values, b: Values, floats: bool) -> Values:  # noqa: FBT001  a property
    if not floats:
        return _PLAIN[op](a, b)
    if op in ("eq", "ne"):
        same = pc.or_(pc.equal(a, b), pc.and_(pc.is_nan(a), pc.is_nan(b)))
        return same if op == "eq" else pc.invert(same)
    if op in ("gt", "le"):
        a, b = b, a
    less = pc.or_(pc.less(a, b), pc.and_(pc.is_nan(b), pc.invert(pc.is_nan(a))))
    return less if op in ("lt", "gt") else pc.invert(less)


_PLAIN: dict[str, Callable[[Values, Values], Values]] = {
    "eq": pc.equal,
    "ne": pc.not_equal,
    "lt": pc.less,
    "le": pc.less_equal,
    "gt": pc.greater,
    "ge": pc.greater_equal,
}


def _between(node: Expr, table: pa.Table, schema: Schema) -> Values:
    value, low, high = node.args
    parts = (Expr("ge", (value, low)), Expr("le", (value, high)))
    return pc.and_kleene(*(_compare(part, table, schema) for part in parts))


def _in(node: Expr, table: pa.Table, schema: Schema) -> Values:
    operand = node.args[0]
    values, field = _column(operand, table, schema)
    given = [arg for arg in node.args[1:] if not _is_null_literal(arg)]
    if field.type in FLOATS or any(arg.op != "literal" for arg in given):
        parts = (_compare(Expr("eq", (operand, arg)), table, schema) for arg in node.args[1:])
        return reduce(pc.or_kleene, parts, pa.scalar(value=False))
    kind = _kind(field)
    found = pc.is_in(
        values, value_set=pa.array([_stored(arg.args[0], field) for arg in given], kind)
    )
    unknown = pa.scalar(None, pa.bool_())
    if len(given) < len(node.args) - 1:
        found = pc.if_else(found, pa.scalar(value=True), unknown)
    return pc.if_else(pc.is_valid(values), found, unknown)


def _is_null(node: Expr, table: pa.Table, schema: Schema) -> Values:
    operand = node.args[0]
    if operand.op == "column":
        return pc.is_null(_column(operand, table, schema)[0])
    return pc.is_null(_truth(operand, table, schema))


def _is_nan(node: Expr, table: pa.Table, schema: Schema) -> Values:
    values, field = _column(node.args[0], table, schema)
    if field.type in FLOATS:
        return pc.is_nan(values)
    return pc.if_else(pc.is_valid(values), pa.scalar(value=False), pa.scalar(None, pa.bool_()))


def _starts_with(node: Expr, table: pa.Table, schema: Schema) -> Values:
    values, prefix = _text(node, table, schema)
    return pc.starts_with(values, prefix)


def _like(node: Expr, table: pa.Table, schema: Schema) -> Values:
    values, pattern = _text(node, table, schema)
    body = "".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in pattern)
    return pc.match_substring_regex(values, f"(?s)^{body}$")


def _text(node: Expr, table: pa.Table, schema: Schema) -> tuple[Values, str]:
    operand, pattern, *escape = node.args
    values, field = _column(operand, table, schema)
    if escape or field.type != "varchar" or not _is_text(pattern):
        _refuse()
    return values, pattern.args[0]


_RULES: dict[str, Callable[[Expr, pa.Table, Schema], Values]] = {
    **dict.fromkeys(_PLAIN, _compare),
    "between": _between,
    "in": _in,
    "is_null": _is_null,
    "is_nan": _is_nan,
    "starts_with": _starts_with,
    "like": _like,
}


def _is_null_literal(node: Expr) -> bool:
    return node.op == "literal" and node.args[0] is None


def _is_text(node: Expr) -> bool:
    return node.op == "literal" and isinstance(node.args[0], str) and "\0" not in node.args[0]


def _operands(args: tuple[Expr, ...], table: pa.Table, schema: Schema) -> tuple[list[Values], bool]:
    """Return both sides as values of one type, and whether that has NaN."""
    columns = {i: _column(arg, table, schema) for i, arg in enumerate(args) if arg.op != "literal"}
    fields = [field for _, field in columns.values()]
    if len({field.type for field in fields}) != 1 or fields[0].type in _SILENT:
        _refuse()
    sides = [
        columns[i][0]
        if i in columns
        else pa.scalar(_stored(arg.args[0], fields[0]), _kind(fields[0]))
        for i, arg in enumerate(args)
    ]
    return sides, fields[0].type in FLOATS


def _column(node: Expr, table: pa.Table, schema: Schema) -> tuple[Values, Field]:
    if node.op != "column":
        _refuse()
    field = schema.field(node.args[0])
    values = table.column(schema.names.index(field.name))
    for name in node.args[1:]:
        if field.type != "struct":
            _refuse()
        field = Schema(fields=field.children).field(name)
        values = pc.struct_field(values, [field.name])
    stored = bare_type(values.type)
    return (values if stored == values.type else values.cast(stored)), field


def _kind(field: Field) -> pa.DataType:
    return bare_type(arrow_type(field))


def _stored(value: Any, field: Field) -> Any:
    """Return a literal as the column's values are stored."""
    if isinstance(value, UUID):
        return value.bytes
    if field.type == "timestamp_ns" and isinstance(value, date):
        return to_ns(value)
    return value
