"""Judge a predicate row by row, exactly: for what no function over whole columns says."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from mere.model.predicate import Expr, columns, evaluate

_ROWS_AT_ONCE = 1 << 14


def judged(table: pa.Table, where: Expr) -> pa.Array:
    """Tell for each row whether a bound predicate is true; NULL is not."""
    named = columns(where)
    kept = table.select([name for name in table.column_names if name in named])
    if not kept.num_columns:
        return pa.array([evaluate(where, {}) is True] * table.num_rows, pa.bool_())
    return pa.array([evaluate(where, row) is True for row in _rows(kept)], pa.bool_())


def evaluated(table: pa.Table, expr: Expr) -> list[Any]:
    """Return the value of a bound expression for each row."""
    named = columns(expr)
    kept = table.select([name for name in table.column_names if name in named])
    if not kept.num_columns:
        return [evaluate(expr, {})] * table.num_rows
    return [evaluate(expr, row) for row in _rows(kept)]


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield rows as plain values; nanoseconds, which Python has no type for, as their number."""
    target = pa.schema([field.with_type(_numbered(field.type)) for field in table.schema])
    if not table.num_columns:
        yield from ({} for _ in range(table.num_rows))
        return
    for batch in table.cast(target).to_batches(_ROWS_AT_ONCE):
        yield from batch.to_pylist()


def _numbered(kind: pa.DataType) -> pa.DataType:
    if kind == pa.timestamp("ns"):
        return pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(_numbered(f.type)) for f in kind])
    return kind
