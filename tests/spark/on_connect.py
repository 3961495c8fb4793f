"""What a client of Spark Connect does with a lake; says `RIGHT` step by step.

Started as a program by the test beside it: a process has sessions of one kind only.
"""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tests.spark.streams import ended

import mere
import mere.spark
from mere.errors import TableNotFoundError
from mere.lake import Lake


def main(folder: Path) -> None:
    """Run every step in one session."""
    os.environ["PYSPARK_PYTHON"] = sys.executable  # for the server that comes with the session
    with mere.connect(folder / "shop.db") as lake:
        spark: Any = SparkSession.builder.remote("local[2]").getOrCreate()
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        assert "connect" in type(spark).__module__, spark
        mere.spark.register(spark)
        for step in (write, read, replace, stream, scan, fail):
            step(spark, lake, folder)
            print("RIGHT", step.__name__, flush=True)  # noqa: T201  the test reads it
        spark.stop()


def ids(frame: Any) -> list[int]:
    """Return the numbers of a frame's rows, in order."""
    return sorted(row.id for row in frame.select("id").collect())


def write(spark: Any, lake: Lake, folder: Path) -> None:
    """Append frames to a table that is not there yet, and to one that is."""
    del folder
    for first in (0, 5):
        frame = spark.range(first, first + 5).selectExpr("id", "id % 2 AS part")
        options = {"lake": lake.url, "partition_by": "part"}
        frame.write.format("mere").options(**options).mode("append").save("t")
    assert lake.table("t").count() == 10
    assert len(lake.table("t").partitions()) == 2


def read(spark: Any, lake: Lake, folder: Path) -> None:
    """Read a table, an older version of it, and some of its rows."""
    del folder
    found = spark.read.format("mere").option("lake", lake.url)
    frame = found.load("t")
    assert ids(frame.where("part = 1")) == [1, 3, 5, 7, 9]
    assert ids(frame) == list(range(10))
    first = lake.table("t").history()["version"].to_pylist()[0]
    assert ids(found.option("version", first).load("t")) == list(range(5))
    some = spark.read.format("mere").option("lake", lake.url).option("where", "id > 7")
    assert ids(some.load("t")) == [8, 9]


def replace(spark: Any, lake: Lake, folder: Path) -> None:
    """Overwrite all rows."""
    del folder
    frame = spark.range(3).selectExpr("id", "id % 2 AS part")
    frame.write.format("mere").option("lake", lake.url).mode("overwrite").save("t")
    assert sorted(lake.table("t").scan().to_arrow()["id"].to_pylist()) == [0, 1, 2]


def stream(spark: Any, lake: Lake, folder: Path) -> None:
    """Copy a table by a stream, in two runs, each row once."""
    for more in ([], [{"id": 7, "part": 1}]):
        if more:
            lake.table("t").append(more)
        source = spark.readStream.format("mere").option("lake", lake.url).load("t")
        sink = source.writeStream.format("mere").option("lake", lake.url)
        sink = sink.option("checkpointLocation", str(folder / "checkpoint"))
        ended(sink.trigger(availableNow=True), "copy")
    assert sorted(lake.table("copy").scan().to_arrow()["id"].to_pylist()) == [0, 1, 2, 7]


def scan(spark: Any, lake: Lake, folder: Path) -> None:
    """Hand a pinned scan to the session, with rows that were deleted."""
    del folder
    lake.table("t").delete("id = 1")
    assert ids(lake.table("t").scan("part = 1").to_spark(spark)) == [7]
    assert ids(lake.table("t").scan().to_spark(spark)) == [0, 2, 7]


def fail(spark: Any, lake: Lake, folder: Path) -> None:
    """Tell of a table that is not there by the name of the error."""
    del folder
    frame = spark.read.format("mere").option("lake", lake.url)
    with pytest.raises(PySparkException) as caught:
        frame.load("nothing").collect()
    assert isinstance(mere.spark.original(caught.value), TableNotFoundError), caught.value


if __name__ == "__main__":
    main(Path(sys.argv[1]))
