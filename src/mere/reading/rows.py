"""Keep the rows that match a predicate, exactly."""

from contextlib import suppress

import pyarrow as pa

from mere.arrow.judging import judged
from mere.arrowexpr import to_pyarrow
from mere.errors import UnsupportedError
from mere.model.predicate import Expr
from mere.model.schema import Schema
from mere.reading.masks import mask


def matching(table: pa.Table, where: Expr, schema: Schema) -> pa.Table:
    """Return the rows for which a bound predicate is true; NULL is not.

    Arrow judges whole columns, first by its functions, then by an expression, which takes longer
    to get ready; what neither says exactly is judged row by row. `schema` describes the columns.
    """
    found = mask(where, table, schema)
    if found is None:
        with suppress(UnsupportedError, pa.ArrowInvalid):  # the latter where whole numbers overflow
            return table.filter(to_pyarrow(where))
        found = judged(table, where)
    if isinstance(found, pa.Scalar):
        return table if found.as_py() else table.slice(0, 0)
    return table.filter(found)
