"""Leave out the rows of a file that a snapshot does not see: deleted ones, and those of later.

Also those that are too old, where only what came after a snapshot is asked for.

Only files that hold such rows come here. Where many are deleted, their positions are matched by
Spark itself, so that neither rows nor positions pass through the driver.
"""

import re
from collections.abc import Sequence
from urllib.parse import quote

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the name that Spark's own documentation uses
from pyspark.sql.types import LongType, StructField, StructType

from mere.model.files import DataFile, DeleteFile
from mere.model.schema import SINCE_ID
from mere.ports import Reading
from mere.spark.files import PATH, ROW, files_of, located, open_files, place
from mere.spark.living import open_living
from mere.spark.narrowing import Narrow
from mere.spark.types import quoted

SNAPSHOT_ID = 2147483539
POSITION_ID = 2147483645
SINCE, ORIGIN = "__mere_since", "__mere_origin"
_LEGAL = "/_-.!~'()*,;:$&+=@"


def is_whole(file: DataFile, snapshot: int | None, after: int | None = None) -> bool:
    """Tell whether every row of the file is visible, and came after a snapshot.

    Files whose rows bring their own ids were made of others: rows in them may be older.
    """
    older = after is not None and (file.last is not None or file.row_id_start is None)
    return file.deletes is None and not file.gone and not _is_later(file, snapshot) and not older


def _is_later(file: DataFile, snapshot: int | None) -> bool:
    """Tell whether rows of the file may have come after the snapshot."""
    return snapshot is not None and file.last is not None and file.last > snapshot


def open_visible(
    spark: SparkSession,
    reading: Reading,
    files: Sequence[DataFile],
    columns: StructType,
    narrow: Narrow | None = None,
    *,
    after: int | None = None,
) -> DataFrame:
    """Return a DataFrame over the visible rows of files that hold others too."""
    hidden = [] if after is None else [_hidden(ORIGIN, SINCE_ID)]
    if after is not None or any(_is_later(file, reading.snapshot) for file in files):
        hidden.append(_hidden(SINCE, SNAPSHOT_ID))
    frame = open_undeleted(
        spark, reading, files, StructType([*columns.fields, *hidden]), narrow=narrow
    )
    if hidden and reading.snapshot is not None:
        frame = frame.where(_seen(reading.snapshot))
    if after is not None:
        came = F.coalesce(F.col(ORIGIN), F.col(SINCE))  # of neither: it came with its file
        frame = frame.where(came.isNull() | (came > after))
    return frame.select(*(quoted(name) for name in columns.names))


def open_undeleted(
    spark: SparkSession,
    reading: Reading,
    files: Sequence[DataFile],
    columns: StructType,
    *,
    narrow: Narrow | None = None,
) -> DataFrame:
    """Return a DataFrame over the rows that are not deleted as of the snapshot.

    Beside the columns it tells in `PATH` which file a row is of.
    """
    few = open_living(spark, reading, files, columns, narrow)
    if few is not None:
        return few
    frame = open_files(spark, files_of(reading.store, files), columns, narrow)
    return _without_deleted(spark, reading, files, located(frame))


def _without_deleted(
    spark: SparkSession, reading: Reading, files: Sequence[DataFile], frame: DataFrame
) -> DataFrame:
    """Leave out the rows of located files that are deleted as of the snapshot."""
    deletes = [(file, deleted) for file in files for deleted in file.every_delete]
    if deletes:
        frame = frame.join(_gone(spark, reading, deletes), [PATH, ROW], "left_anti")
    inlined = [file for file in files if file.gone]
    if inlined:
        frame = frame.join(_inlined(spark, reading, inlined), [PATH, ROW], "left_anti")
    return frame


def _gone(
    spark: SparkSession, reading: Reading, deletes: Sequence[tuple[DataFile, DeleteFile]]
) -> DataFrame:
    """Return which rows of which data files are deleted as of the snapshot."""
    store = reading.store
    positions = StructType([_hidden(ROW, POSITION_ID), _hidden(SINCE, SNAPSHOT_ID)])
    listed = files_of(store, [deleted for _, deleted in deletes])
    found = open_files(spark, listed, positions)
    found = found.withColumn("__mere_deletes", place())
    if reading.snapshot is not None:
        found = found.where(_seen(reading.snapshot))
    pairs = pa.table(
        {
            "__mere_deletes": [as_uri(store.resolve(deleted.path)) for _, deleted in deletes],
            PATH: [as_uri(store.resolve(file.path)) for file, _ in deletes],
        }
    )
    known = F.broadcast(spark.createDataFrame(pairs))
    return found.join(known, "__mere_deletes").select(PATH, ROW)


def _inlined(spark: SparkSession, reading: Reading, files: Sequence[DataFile]) -> DataFrame:
    """Return the rows that are deleted by what lies in the catalog."""
    pairs = [(as_uri(reading.store.resolve(f.path)), row) for f in files for row in f.gone]
    paths, rows = zip(*pairs, strict=True)
    return F.broadcast(spark.createDataFrame(pa.table({PATH: paths, ROW: rows})))


def _seen(snapshot: int) -> Column:
    return F.col(SINCE).isNull() | (F.col(SINCE) <= snapshot)


def _hidden(name: str, number: int) -> StructField:
    return StructField(name, LongType(), nullable=True, metadata={"parquet.field.id": number})


def as_uri(name: str) -> str:
    """Spell a file's name as Spark does in `_metadata.file_path`, without the local scheme."""
    scheme, colon, rest = name.partition("://")
    path = rest if colon else name
    coded = "".join(char if char > "\x7f" else quote(char, safe=_LEGAL) for char in path)
    return re.sub("^file:/+", "/", f"{scheme}://{coded}" if colon else coded)
