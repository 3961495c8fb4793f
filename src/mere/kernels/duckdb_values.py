"""Let DuckDB compute what Arrow has no functions for."""

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from mere.errors import InvalidInputError
from mere.model.predicate import Expr, columns
from mere.model.schema import Field, Schema
from mere.reading.values import quick_computed, quick_truths
from mere.sqltext import render


def truths(where: Expr, table: pa.Table, schema: Schema) -> pa.ChunkedArray:
    """Tell for each row whether a bound condition is true; where it is NULL, it is not."""
    found = quick_truths(where, table, schema)
    if found is None:
        found = pc.fill_null(_asked(where, table), fill_value=False)
    return found


def computed(expr: Expr, table: pa.Table, target: Field) -> pa.ChunkedArray:
    """Return the value of a bound expression for each row, for a column to take.

    Raises:
        SchemaMismatchError: If a value does not fit the column.
    """
    found = quick_computed(expr, table, target)
    return _asked(expr, table) if found is None else found


def _asked(expr: Expr, table: pa.Table) -> pa.ChunkedArray:
    named = columns(expr)
    kept = table.select([name for name in table.column_names if name in named])
    if not kept.num_columns:
        kept = pa.table({"": pa.nulls(table.num_rows, pa.int8())})
    with _connected(kept) as con:
        return con.sql(f"SELECT {render(expr)} AS value FROM rows").to_arrow_table().column(0)  # noqa: S608  rendered from a bound expression


@contextmanager
def _connected(rows: pa.Table) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open DuckDB with the rows at hand, in their order.

    Raises:
        InvalidInputError: If DuckDB cannot compute what is asked.
    """
    with duckdb.connect(":memory:") as con:
        con.execute("SET TimeZone = 'UTC'")
        con.register("rows", rows)
        try:
            yield con
        except duckdb.Error as error:
            msg = f"DuckDB cannot compute this: {error}"
            raise InvalidInputError(msg, hint="nothing was changed") from error
