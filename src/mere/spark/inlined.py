"""Hand Spark the rows that lie in a catalog: a few, so they travel as they are."""

from pyspark.sql import DataFrame, SparkSession

from mere.arrow.inlined import rows_of
from mere.model.files import InlinedRows
from mere.model.schema import Schema
from mere.spark.shown import as_shown
from mere.spark.types import to_spark


def open_inlined(
    spark: SparkSession, rows: InlinedRows, table: Schema, columns: Schema
) -> DataFrame:
    """Return a DataFrame over the rows, in the types that Spark shows; `table` is the head's."""
    found = rows_of(rows, table).select(list(columns.names))
    return spark.createDataFrame(as_shown(found, columns), to_spark(columns))
