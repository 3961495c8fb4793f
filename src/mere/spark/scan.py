"""Read a pinned scan with Spark's own Parquet reader."""

from collections.abc import Callable, Collection, Sequence
from functools import reduce
from typing import TypeAlias

from pyspark.sql import DataFrame, SparkSession

from mere.model.files import DataFile
from mere.model.predicate import Expr, columns
from mere.model.schema import Schema
from mere.ports import Reading
from mere.spark.adopted import open_adopted
from mere.spark.files import files_of, open_files
from mere.spark.inlined import open_inlined
from mere.spark.narrowing import Narrow, narrowing
from mere.spark.sessions import session
from mere.spark.types import quoted, shown, stored, stored_name
from mere.spark.visible import is_whole, open_visible
from mere.sqltext import render

# Spark knows the type since 4.1, but does not let it through by default.
TIME = ("spark.sql.timeType.enabled", "true")


Find: TypeAlias = Callable[[Expr], Collection[int]]


def read(
    reading: Reading,
    *,
    spark: SparkSession | None = None,
    find: Find | None = None,
    after: int | None = None,
) -> DataFrame:
    """Return a DataFrame over exactly the rows of a pinned scan.

    Nothing is read yet, and Spark neither lists a folder nor asks for the size of a file. With
    `find`, which tells the ids of the files that can match, Spark's own filters leave out files
    too. Of files that were merged from several snapshots, only rows come that came `after` one.

    Raises:
        UnsupportedError: If Spark has no type for a column.
    """
    spark = spark or session()
    wanted = _wanted(reading)
    if any(leaf.type == "time" for _, leaf in wanted.leaves()):
        spark.conf.set(*TIME)
    frame = _open(spark, reading, wanted, find, after)
    frame = frame.select(*(shown(field, stable=reading.stable) for field in wanted))
    if reading.inlined is not None:
        frame = frame.union(open_inlined(spark, reading.inlined, reading.table, wanted))
    if reading.where is not None:
        frame = frame.where(render(reading.where, "spark"))
    if len(wanted) != len(reading.schema):
        frame = frame.select(*(quoted(name) for name in reading.schema.names))
    return frame if reading.limit is None else frame.limit(reading.limit)


def _wanted(reading: Reading) -> Schema:
    """Return the columns to hand out, then those that only the predicate needs."""
    asked = set(reading.schema.names)
    needed = set() if reading.where is None else columns(reading.where)
    more = tuple(f for f in reading.table if f.name in needed and f.name not in asked)
    return Schema(fields=(*reading.schema.fields, *more))


def _open(
    spark: SparkSession, reading: Reading, schema: Schema, find: Find | None, after: int | None
) -> DataFrame:
    """Open whole files as they are, and the others without what the snapshot does not see."""
    types = stored(schema, stable=reading.stable)
    names = {stored_name(field, stable=reading.stable): field.name for field in schema}
    own = [file for file in reading.files if file.names is None]
    adopted = [file for file in reading.files if file.names is not None]
    whole = [file for file in own if is_whole(file, reading.snapshot, after)]
    mixed = [file for file in own if not is_whole(file, reading.snapshot, after)]

    def asking(files: Sequence[DataFile]) -> Narrow | None:
        return None if find is None else narrowing(find, files, reading.table, names.get)

    frames = open_adopted(spark, reading, adopted, schema, types)
    if mixed:
        frames.append(open_visible(spark, reading, mixed, types, asking(mixed), after=after))
    if whole or not frames:
        listed = files_of(reading.store, whole)
        frames.insert(0, open_files(spark, listed, types, asking(whole)))
    return reduce(DataFrame.union, frames)
