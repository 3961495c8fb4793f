"""Answer questions about Spark, line by line, in one session: natively and through mere."""

import json
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the name that Spark's own documentation uses

import mere
from benchmarks import spark_verbs
from benchmarks.meter import peak_bytes
from benchmarks.tree import Tree
from mere.lake import Lake
from mere.model.history import Change, EditFiles

NATIVE, UNLISTED, MERE = "Spark alone", "Spark alone, no listing jobs", "mere"
PRODUCTS, FILES = 100, 8


class Work:
    """One session, one lake, and what was made in it."""

    def __init__(self) -> None:
        """Start Spark."""
        self.tree = Tree()
        self.spark: SparkSession = mere.spark.session(
            "bench", master="local[2]", memory="4g", **{"spark.sql.shuffle.partitions": 8}
        )
        self.spark.sparkContext.setLogLevel("ERROR")
        self.root = Path()
        self.rows = self.keyed = 0

    def make(self, *, root: str, rows: int, files: int) -> dict[str, Any]:
        """Make the rows, the tables that are read, and the many small files."""
        self.root, self.rows = Path(root), rows
        self.spark.conf.set("spark.sql.files.maxRecordsPerFile", 0)
        self.trades().coalesce(2).write.parquet(f"{root}/source")
        lake = self.lake()
        for name in ("whole", "deleted"):
            table = lake.create_table(name, self.source().schema)
            for part in range(FILES):
                low, high = part * rows // FILES, (part + 1) * rows // FILES
                some = self.source().where(f"id >= {low} AND id < {high}")
                table.append(some.coalesce(1))
        lake.table("deleted").delete(f"id < {rows // FILES} AND id % 10 = 0")
        _many(lake, files)
        more = spark_verbs.make(lake, self.source(), rows)
        self.keyed = lake.version
        sizes = lake.table("whole").files()
        size = sum(sizes["bytes"].to_pylist())
        return {"files": sizes.num_rows, "bytes": size, "inserted": more}

    def trades(self) -> DataFrame:
        """Return made-up trades: numbers, moments, texts of few values and of many."""
        mixed = F.xxhash64("id")
        return self.spark.range(self.rows, numPartitions=2).select(
            "id",
            F.format_string("product-%03d", F.pmod(mixed, F.lit(PRODUCTS))).alias("product"),
            F.timestamp_micros(F.lit(1_767_225_600_000_000) + F.col("id") * 86_400).alias("at"),
            F.when(F.pmod(F.xxhash64("id", F.lit(1)), F.lit(2)) == 0, "buy")
            .otherwise("sell")
            .alias("side"),
            (F.pmod(F.xxhash64("id", F.lit(2)), F.lit(100_000)) / 100).alias("price"),
            (F.pmod(F.xxhash64("id", F.lit(3)), F.lit(10**6)) / 997).alias("size"),
            F.pmod(F.xxhash64("id", F.lit(4)), F.lit(10**9)).alias("user"),
            F.concat(F.lit("note "), F.pmod(F.xxhash64("id", F.lit(5)), F.lit(10**4))).alias(
                "note"
            ),
        )

    def source(self) -> DataFrame:
        """Return the rows as a DataFrame that reads files of Spark's own."""
        return self.spark.read.parquet(f"{self.root}/source")

    def lake(self) -> Lake:
        """Open the lake anew: nothing is known of any table."""
        return mere.connect(self.root / "lake.db").on(self.spark)

    def files_of(self, name: str) -> list[str]:
        """Return where the files of a table lie."""
        lake = self.lake()
        found = lake.table(name).scan().files()
        return [f"{lake.data_path}{path}" for path in found["path"].to_pylist()]

    def ask(self, *, question: str, system: str) -> dict[str, Any]:
        """Do one thing once, and say what it took and what it came to."""
        do = _QUESTIONS[question, system](self)
        self.spark._jvm.System.gc()  # noqa: SLF001  what one leaves behind is not the other's
        cpu, wall = self.tree.cpu(), time.perf_counter()
        answer = do()
        took = time.perf_counter() - wall
        spent = self.tree.cpu() - cpu
        found = {"wall": took, "cpu": spent, "peak": peak_bytes(), "answer": answer}
        for path in self.root.glob("out-*"):
            found["files"] = sum(1 for _ in path.rglob("*.parquet"))
            found["bytes"] = sum(file.stat().st_size for file in path.rglob("*.parquet"))
            found["answer"] = (
                self.spark.read.parquet(f"{path}").count() if answer is None else answer
            )
            shutil.rmtree(path)
        return found


def _many(lake: Lake, files: int) -> None:
    """List copies of one small file in a table, each under its own name."""
    session = lake._session  # noqa: SLF001  no verb lists a file that lies there already
    table = lake.create_table("many", {"id": "int64", "text": "varchar"})
    report = lake.on().table("many").append([{"id": n, "text": f"text {n}"} for n in range(100)])
    (one,) = report.files
    whole = session.store.read(one.path)
    head = session.catalog.head(table.name)
    copies = []
    for _ in range(files - 1):
        path = f"{head.folder}{uuid4()}.parquet"
        target = Path(session.store.url) / path
        target.write_bytes(whole)
        copies.append(replace(one, id=0, path=path))
    edit = EditFiles(
        table_id=head.table_id, operation="append", adds=tuple(copies), schema=head.schema
    )
    session.catalog.commit(Change(base=head.snapshot, edits=(edit,)))


Do = Callable[[], Any]


def _planned(frame: DataFrame) -> int:
    frame._jdf.queryExecution().executedPlan()  # noqa: SLF001  planned, and nothing is read
    return len(frame.columns)


_LISTING = "spark.sql.sources.parallelPartitionDiscovery.threshold"


def _plan_native(work: Work, *, listing: bool) -> Do:
    """Plan with Spark's default, a listing job for more than 32 paths, or with this session's."""
    files = work.files_of("many")

    def do() -> int:
        ours = work.spark.conf.get(_LISTING)
        try:
            if listing:
                work.spark.conf.set(_LISTING, 32)
            return _planned(work.spark.read.parquet(*files))
        finally:
            work.spark.conf.set(_LISTING, ours)

    return do


def _plan_mere(work: Work) -> Do:
    return lambda: _planned(work.lake().table("many").scan().to_spark(work.spark))


def _read(name: str, *, through_mere: bool, columns: bool) -> Callable[[Work], Do]:
    def prepared(work: Work) -> Do:
        files = work.files_of(name)

        def do() -> Any:
            if through_mere:
                frame = work.lake().table(name).scan().to_spark(work.spark)
            else:
                frame = work.spark.read.parquet(*files)
            if columns:
                return frame.agg(F.sum("user"), F.count("*")).collect()[0][1]
            frame.write.format("noop").mode("overwrite").save()
            return work.rows

        return do

    return prepared


def _write_native(work: Work, *, split: bool) -> Do:
    def do() -> None:
        frame = work.source()
        out = f"{work.root}/out-{uuid4()}"
        if split:  # brought together first, as mere does it: files are as few
            frame.repartition("product").write.partitionBy("product").parquet(out)
        else:
            frame.write.parquet(out)

    return do


def _write_mere(work: Work, *, split: bool) -> Do:
    folder = work.root / f"out-{uuid4()}"
    folder.mkdir()
    lake = mere.connect(folder / "lake.db").on(work.spark)
    keys = ["product"] if split else []
    table = lake.create_table("t", work.source().schema, partition_by=keys)
    return lambda: table.append(work.source()).rows_inserted


_QUESTIONS: dict[tuple[str, str], Callable[[Work], Do]] = {
    ("plan", NATIVE): lambda work: _plan_native(work, listing=True),
    ("plan", UNLISTED): lambda work: _plan_native(work, listing=False),
    ("plan", MERE): _plan_mere,
    ("full scan", NATIVE): _read("whole", through_mere=False, columns=False),
    ("full scan", MERE): _read("whole", through_mere=True, columns=False),
    ("projection", NATIVE): _read("whole", through_mere=False, columns=True),
    ("projection", MERE): _read("whole", through_mere=True, columns=True),
    ("full scan, deletions in one file of 8", NATIVE): _read(
        "deleted", through_mere=False, columns=False
    ),
    ("full scan, deletions in one file of 8", MERE): _read(
        "deleted", through_mere=True, columns=False
    ),
    ("projection, deletions in one file of 8", NATIVE): _read(
        "deleted", through_mere=False, columns=True
    ),
    ("projection, deletions in one file of 8", MERE): _read(
        "deleted", through_mere=True, columns=True
    ),
    ("bulk write", NATIVE): lambda work: _write_native(work, split=False),
    ("bulk write", MERE): lambda work: _write_mere(work, split=False),
    ("bulk write, 100 partitions", NATIVE): lambda work: _write_native(work, split=True),
    ("bulk write, 100 partitions", MERE): lambda work: _write_mere(work, split=True),
    ("upsert of 0.5 % of rows touching 5 % of files", NATIVE): spark_verbs.upsert_native,
    ("upsert of 0.5 % of rows touching 5 % of files", MERE): spark_verbs.upsert_mere,
    ("compaction of 400 files", NATIVE): spark_verbs.compact_native,
    ("compaction of 400 files", MERE): spark_verbs.compact_mere,
}


def main() -> None:
    """Answer until there are no more questions; what Spark prints goes to standard error."""
    answers, sys.stdout = sys.stdout, sys.stderr
    work = Work()
    for line in sys.stdin:
        asked = json.loads(line)
        answer = getattr(work, asked.pop("do"))(**asked)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    work.spark.stop()


if __name__ == "__main__":
    main()
