"""Turn Arrow columns of a table into what Spark expects them to be, to the last type."""

from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema

from mere.arrow.bare import bare
from mere.model.schema import Field, Schema
from mere.spark.types import to_spark


def arrow_schema(columns: Schema) -> pa.Schema:
    """Return the Arrow schema in which Spark takes rows with these columns."""
    return to_arrow_schema(to_spark(columns), timezone="UTC")


def as_shown(table: pa.Table, columns: Schema) -> pa.Table:
    """Return the rows in the types that Spark shows: text for a UUID, microseconds for finer."""
    target = arrow_schema(columns)
    plain = bare(table)
    made = [
        _shown(plain.column(place), field, target.field(place).type)
        for place, field in enumerate(columns)
    ]
    return pa.Table.from_arrays(made, schema=target)


def _shown(column: pa.ChunkedArray, field: Field, kind: pa.DataType) -> pa.ChunkedArray:
    if _holds(field, "uuid"):
        return pa.chunked_array([pa.array(_spelled(column.to_pylist(), field), kind)])
    if field.type == "timestamp_ns":
        column = pc.floor_temporal(column, unit="microsecond")
    return column.cast(kind, safe=not _holds(field, "timestamp_ns"))


def _holds(field: Field, kind: str) -> bool:
    return field.type == kind or any(_holds(child, kind) for child in field.children)


def _spelled(values: Any, field: Field) -> Any:
    return [_spelled_one(value, field) for value in values]


def _spelled_one(value: Any, field: Field) -> Any:
    """Return a value with its UUIDs as text."""
    if value is None or not field.children:
        return str(UUID(bytes=value)) if value is not None and field.type == "uuid" else value
    if field.type == "list":
        return _spelled(value, field.children[0])
    if field.type == "map":
        key, item = field.children
        return [(_spelled_one(k, key), _spelled_one(v, item)) for k, v in value]
    return {child.name: _spelled_one(value[child.name], child) for child in field.children}
