"""Compute what expressions say of rows, exactly as `mere.model.evaluation` would."""

from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from mere import reading
from mere.arrow import arrow_type
from mere.arrow.judging import evaluated, judged
from mere.errors import SchemaMismatchError
from mere.model.predicate import Expr, columns
from mere.model.schema import Field, Schema
from mere.model.values import FLOATS, INTEGERS
from mere.reading.masks import mask


def truths(where: Expr, table: pa.Table, schema: Schema) -> pa.ChunkedArray:
    """Tell for each row whether a bound condition is true; where it is NULL, it is not.

    `schema` describes all columns that the condition may name, in any order.
    """
    found = quick_truths(where, table, schema)
    return pa.chunked_array([judged(table, where)]) if found is None else found


def quick_truths(where: Expr, table: pa.Table, schema: Schema) -> pa.ChunkedArray | None:
    """Return what `truths` does, None when Arrow cannot say it."""
    asked = tuple(field for field in schema if field.name in columns(where))
    found = mask(where, table.select([f.name for f in asked]), Schema(fields=asked))
    if found is None:
        found = reading.projecting.projected(where, table)
    if found is None:
        return None
    if isinstance(found, pa.Scalar):
        found = pa.repeat(found, table.num_rows)
    filled = pc.fill_null(found, fill_value=False)
    return filled if isinstance(filled, pa.ChunkedArray) else pa.chunked_array([filled])


def computed(expr: Expr, table: pa.Table, target: Field) -> pa.ChunkedArray:
    """Return the value of a bound expression for each row, for a column to take.

    Raises:
        SchemaMismatchError: If a value does not fit the column.
    """
    found = quick_computed(expr, table, target)
    if found is not None:
        return found
    return pa.chunked_array([_made(evaluated(table, expr), arrow_type(target), target)])


def quick_computed(expr: Expr, table: pa.Table, target: Field) -> pa.ChunkedArray | None:
    """Return what `computed` does, None when Arrow cannot say it."""
    if expr.op == "column" and len(expr.args) == 1:
        return table.column(expr.args[0])
    if expr.op == "literal":
        value = _made([expr.args[0]], arrow_type(target), target)
        return pa.chunked_array([value.take(_zeros(table))])
    return reading.projecting.projected(expr, table)


def _zeros(table: pa.Table) -> pa.Array:
    return pa.repeat(pa.scalar(0, pa.int64()), table.num_rows)


def _made(values: list[object], kind: pa.DataType, target: Field) -> pa.Array:
    stored = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    try:
        made = pa.array([_plain(value, target.type) for value in values], stored)
    except (pa.ArrowException, OverflowError) as error:
        msg = f"column {target.name!r}: a value does not fit {target.spell()}: {error}"
        raise SchemaMismatchError(msg, hint="nothing was changed") from error
    return made if stored is kind else kind.wrap_array(made)


def _plain(value: object, kind: str) -> object:
    """Return a value as Arrow takes it for a type; one that the type does not have stays."""
    if isinstance(value, UUID):
        return value.bytes
    if isinstance(value, Decimal) and kind in FLOATS:
        return float(value)
    if isinstance(value, Decimal) and kind in INTEGERS and value == value.to_integral_value():
        return int(value)
    return value
