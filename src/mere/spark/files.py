"""Open files whose names and sizes are known: Spark neither lists a folder nor asks for a size.

The list of files is a class that is compiled on the driver. Where that is not possible (Spark
Connect, or a Spark with other internals) the files are named to Spark's public reader.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the name that Spark's own documentation uses
from pyspark.sql.types import StructType

from mere.model.files import DataFile, DeleteFile
from mere.ports import Store
from mere.spark.compiled import CompileFailedError, load_class
from mere.spark.narrowing import Narrow, answering
from mere.spark.sessions import LIVE

OPTIONS = {
    # Columns are found by the ids in the files: names change, ids stay.
    "spark.sql.parquet.fieldId.read.enabled": "true",
    # Nanoseconds come as numbers, which the projection turns into microseconds.
    "spark.sql.legacy.parquet.nanosAsLong": "true",
}
START, PATH, ROW = "__mere_start", "__mere_path", "__mere_row"
_GLOB = str.maketrans({char: f"\\{char}" for char in "\\*?[]{}"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Parquet files to open: names as Spark finds them, sizes, and what it needs to get there.

    `starts` numbers all rows: each file's first row has the number that stands there.
    """

    root: str
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    options: dict[str, str]
    starts: tuple[int, ...] = ()

    def spell(self) -> str:
        """Spell names, sizes and starts as the compiled list takes them: one text, however many."""
        starts = self.starts or (0,) * len(self.names)
        each = zip(self.names, self.sizes, starts, strict=True)
        return "\0".join(f"{name}\0{size}\0{start}" for name, size, start in each)


def files_of(store: Store, files: Sequence[DataFile | DeleteFile]) -> Files:
    """Return where Spark finds the files."""
    options = store.options("spark")
    return Files(
        root=store.url,
        names=tuple(store.resolve(file.path) for file in files),
        sizes=tuple(file.bytes for file in files),
        options={name.removeprefix("spark.hadoop."): value for name, value in options.items()},
    )


def open_files(
    spark: SparkSession, files: Files, columns: StructType, narrow: Narrow | None = None
) -> DataFrame:
    """Return a DataFrame over the named files, with columns matched by field id.

    `narrow` takes filters of Spark and tells which of the files can match.
    """
    if isinstance(spark, SparkSession):  # a session of Spark Connect is of another class
        try:
            return pinned(spark, files, columns, narrow)
        except CompileFailedError:
            pass  # this Spark has other internals: its public reader does as well, more slowly
    return named(spark, files, columns)


def pinned(
    spark: SparkSession, files: Files, columns: StructType, narrow: Narrow | None = None
) -> DataFrame:
    """Open the files through the compiled list, which tells `START` of rows that are numbered.

    Raises:
        CompileFailedError: If this Spark does not take it.
    """
    load_class(spark, "PinnedFiles")
    jvm: Any = spark._jvm  # noqa: SLF001  the only way into the JVM that PySpark has
    frame = jvm.mere.spark.PinnedFiles.open(
        spark._jsparkSession,  # noqa: SLF001  as above
        files.root,
        files.spell(),
        columns.json(),
        jvm.PythonUtils.toScalaMap({**OPTIONS, **files.options}),
        None if narrow is None else answering(spark, narrow),
        START if files.starts else None,
    )
    return DataFrame(frame, spark)


def named(spark: SparkSession, files: Files, columns: StructType) -> DataFrame:
    """Name the files to the public reader, whose options do not reach the Parquet reader."""
    if not files.names:
        return spark.createDataFrame([], columns)
    for key, value in {**LIVE, **OPTIONS}.items():
        spark.conf.set(key, value)
    reader = spark.read.schema(columns).options(recursiveFileLookup="true", **files.options)
    return reader.parquet(*(name.translate(_GLOB) for name in files.names))


def located(frame: DataFrame) -> DataFrame:
    """Say of each row in which file it lies, and where."""
    return frame.withColumn(PATH, place()).withColumn(ROW, F.col("_metadata.row_index"))


def place() -> Column:
    """Return the file's name as `as_uri` spells it, however Spark was told of the file.

    A pattern costs more per row than reading the row: it is asked only where a scheme must go.
    """
    name = F.col("_metadata.file_path")
    return F.when(name.startswith("file:"), F.regexp_replace(name, "^file:/+", "/")).otherwise(name)
