"""Read the least and greatest value of one column."""

from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from mere.arrow.bare import bare
from mere.model.files import Value
from mere.model.schema import Field
from mere.model.values import INTEGERS
from mere.plan.extremes import NAN, better
from mere.ports import Reading
from mere.readers import streams


def read(reading: Reading, *, sign: int) -> Value | None:
    """Return the least (`sign` -1) or greatest (1) value of the one column that is asked for."""
    (field,) = reading.schema.fields
    best: Value | None = None
    for table in streams.tables(reading):
        best = better(best, _extreme(bare(table).column(0), field, sign), field, sign)
    return best


def _extreme(column: pa.ChunkedArray, field: Field, sign: int) -> Value | None:
    if pa.types.is_floating(column.type):
        numbers = column.filter(pc.invert(pc.is_nan(column)))
        if numbers.length() - numbers.null_count < column.length() - column.null_count:
            only = numbers.length() == numbers.null_count
            return NAN if sign > 0 or only else pc.min(numbers).as_py()
    if pa.types.is_timestamp(column.type) and field.type == "timestamp_ns":
        column = column.cast(pa.int64())
    if pa.types.is_fixed_size_binary(column.type):
        column = column.cast(pa.binary())
    found = pc.min_max(column)["max" if sign > 0 else "min"].as_py()
    return _typed(found, field)


def _typed(value: Any, field: Field) -> Value | None:
    """Return the value as the catalog's bounds hold it."""
    if value is None:
        return None
    if field.type == "uuid":
        return UUID(bytes=value)
    return int(value) if field.type in INTEGERS else value
