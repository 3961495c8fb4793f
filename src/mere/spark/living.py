"""Leave out deleted rows by a set of bits that goes along with the plan, where they are few.

The driver reads which rows are gone, and Spark asks the set for each row while it scans: no join,
no shuffle, no second scan. Where they are many, or Spark has other internals, Spark matches the
positions itself, and they do not pass through the driver.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from mere.model.files import DataFile
from mere.ports import Reading
from mere.reading.living import gone
from mere.spark.compiled import CompileFailedError, load_class
from mere.spark.files import ROW, START, files_of, located, pinned
from mere.spark.narrowing import Narrow

MOST_DELETED = 1 << 21  # numbers of 4 bytes that pass through the driver
MOST_FILES = 256  # delete files that the driver reads
MOST_ROWS = 1 << 27  # one bit of each goes to every executor
_AT_ONCE = 8


def open_living(
    spark: SparkSession,
    reading: Reading,
    files: Sequence[DataFile],
    columns: StructType,
    narrow: Narrow | None = None,
) -> DataFrame | None:
    """Return a DataFrame over the rows that are not deleted as of the snapshot, located.

    None where that must be found out by joins.

    Raises:
        CorruptionError: If a delete file is missing, damaged, or is none.
    """
    starts = (0, *accumulate(file.rows for file in files))
    if not _are_few(files, starts[-1]):
        return None
    if isinstance(spark, SparkSession):  # a session of Spark Connect is of another class
        try:
            load_class(spark, "LivingRows")
            listed = replace(files_of(reading.store, files), starts=starts[:-1])
            frame = located(pinned(spark, listed, columns, narrow))
        except CompileFailedError:
            return None
        numbers = _numbers(reading, files, starts)
        return None if numbers is None else _kept(spark, frame, numbers, starts[-1])
    return None


def _are_few(files: Sequence[DataFile], rows: int) -> bool:
    """Tell whether some of the rows are deleted, but few enough for the driver."""
    read = sum(len(file.every_delete) for file in files)
    asked = read > 0 or any(file.gone for file in files)
    deleted = sum(file.deleted for file in files)
    return asked and deleted <= MOST_DELETED and read <= MOST_FILES and rows <= MOST_ROWS


def _numbers(reading: Reading, files: Sequence[DataFile], starts: Sequence[int]) -> bytes | None:
    """Return the numbers of all deleted rows, None where a position is none of its file's."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = list(pool.map(lambda file: gone(reading.store, file, reading.snapshot), files))
    parts = []
    for file, start, positions in zip(files, starts, found, strict=False):
        places = np.empty(0, np.int64) if positions is None else positions.to_numpy()
        if len(places) and not 0 <= places.min() <= places.max() < file.rows:
            return None
        parts.append(places + start)
    return np.concatenate(parts).astype("<i4").tobytes()


def _kept(spark: SparkSession, frame: DataFrame, numbers: bytes, rows: int) -> DataFrame:
    jvm: Any = spark._jvm  # noqa: SLF001  the only way into the JVM that PySpark has
    kept = jvm.mere.spark.LivingRows.keep(
        spark._jsparkSession,  # noqa: SLF001  as above
        frame._jdf,  # noqa: SLF001  as above
        numbers,
        rows,
        START,
        ROW,
    )
    return DataFrame(kept, spark)
