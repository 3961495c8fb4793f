"""Look at the columns of a Spark DataFrame, and bring the rows of one partition together."""

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  the name that Spark's own documentation uses
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, NullType, StructType, TimestampType

from mere.arrow import arrow_type, from_arrow, to_arrow
from mere.arrow.partitions import transform_column
from mere.errors import UnsupportedError
from mere.model.layout import Layout, PartitionKey, SortKey
from mere.model.schema import Field, Schema

_CALENDAR: dict[str, Callable[[Column], Column]] = {
    "year": F.year,
    "month": F.month,
    "day": F.dayofmonth,
    "hour": F.hour,
}


def columns_of(struct: StructType, *, untyped: str | None = "varchar") -> Schema:
    """Return the columns of a Spark DataFrame as columns of a table, without ids, all nullable.

    A column of Spark's type void becomes `untyped`; with None it is left out: it fits any type.

    Raises:
        UnsupportedError: If no table can hold a column; the message names it.
    """
    for field in struct.fields:
        if "variant" in field.dataType.simpleString():
            msg = f"column {field.name!r} has Spark's type variant, which cannot be written yet"
            raise UnsupportedError(msg, hint="cast it to string: to_json(column)")
    try:
        found = from_arrow(to_arrow_schema(struct, timezone="UTC"), untyped=untyped)
    except PySparkException as error:
        msg = f"the DataFrame has a column that no table can hold: {error}"
        raise UnsupportedError(msg, hint="cast it first, as to string") from error
    return Schema(fields=tuple(_nullable(field) for field in found))


def arrow_of(struct: StructType) -> pa.Schema:
    """Return the columns of a Spark DataFrame as Arrow hands them over; a void one holds NULL."""
    found = to_arrow(columns_of(struct), ids=False)
    for place, field in enumerate(struct.fields):
        if isinstance(field.dataType, NullType):
            found = found.set(place, pa.field(field.name, pa.null()))
    return found


def cluster(rows: DataFrame, *, schema: Schema, layout: Layout) -> DataFrame:
    """Bring rows of one table partition together and in order; columns stay as they are.

    Spark balances while it shuffles: a big partition is cut for several tasks, small ones share
    one. Without partitions nothing is shuffled.
    """
    there = {name.casefold(): name for name in rows.columns}
    found = {f.id: (f, there[f.name.casefold()]) for f in schema if f.name.casefold() in there}
    keys = [_key(rows, key, *found[key.column]) for key in layout.keys if key.column in found]
    order = [
        _ordered(_column(found[sort.column][1]), sort)
        for sort in layout.order
        if sort.column in found
    ]
    helpers = [f"__mere_key_{i}" for i in range(len(keys))]
    together = rows.withColumns(dict(zip(helpers, keys, strict=True))) if keys else rows
    if keys:
        together = together.hint("rebalance", *(F.col(name) for name in helpers))
    if keys or order:
        together = together.sortWithinPartitions(*(F.col(name) for name in helpers), *order)
    return together.drop(*helpers)


def _column(name: str) -> Column:
    quoted = name.replace("`", "``")
    return F.col(f"`{quoted}`")


def _key(rows: DataFrame, key: PartitionKey, field: Field, name: str) -> Column:
    """Return what rows of one partition have in common, as the table counts partitions."""
    column = _column(name)
    if key.transform == "bucket" and hasattr(F, "arrow_udf"):  # new in Spark 4.1
        bucket: Callable[[Column], Column] = F.arrow_udf(_bucket_of(key, field), LongType())
        return bucket(column)
    if key.transform not in _CALENDAR:
        return column
    if isinstance(rows.schema[name].dataType, TimestampType):  # days of a table are days in UTC
        local = column.cast("timestamp_ntz")
        column = F.convert_timezone(F.current_timezone(), F.lit("UTC"), local)
    return _CALENDAR[key.transform](column)


def _ordered(column: Column, sort: SortKey) -> Column:
    if sort.descending:
        return column.desc_nulls_first() if sort.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if sort.nulls_first else column.asc_nulls_last()


def _nullable(field: Field) -> Field:
    """Forget NOT NULL: Spark infers it from literals and ranges, and files of a table agree."""
    children = tuple(_nullable(child) for child in field.children)
    return replace(field, nullable=True, children=children)


def _bucket_of(key: PartitionKey, field: Field) -> Callable[[pa.Array], pa.Array]:
    """Return the function that finds the bucket of each value, as the kernels will find it."""
    kind = "varchar" if field.type == "uuid" else field.type  # Spark holds a uuid as its text
    column = replace(field, type=kind)

    def bucket(values: pa.Array) -> pa.Array:
        return transform_column(key, column, values.cast(arrow_type(column))).cast(pa.int64())

    return bucket
