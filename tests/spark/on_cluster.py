"""What a driver does on a cluster while its workers are killed; says `RIGHT` step by step.

Started as a program by the test beside it: a process has one SparkContext, and the tests' own is
local.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import functions as F  # noqa: N812
from tests.spark.cluster import Cluster, running
from tests.spark.streams import ended

import mere
import mere.spark
from mere.lake import Lake

SETTINGS: dict[str, Any] = {
    "spark.executor.memory": "512m",
    "spark.executor.cores": 1,
    "spark.speculation": True,
    "spark.speculation.interval": "200ms",
    "spark.speculation.minTaskRuntime": "500ms",
    "spark.speculation.multiplier": 1.1,
    "spark.speculation.quantile": 0.5,
    "spark.sql.shuffle.partitions": 8,
    "spark.task.maxFailures": 4,
    "spark.log.level": "OFF",
}
ROWS = 40_000
PARTS = 8


def main(folder: Path) -> None:
    """Run every step on one cluster and one session."""
    with running(folder) as machines:
        spark = mere.spark.session("on-cluster", master=machines.url, **SETTINGS)
        wait(lambda: executors(spark) == 2, "both executors")
        with mere.connect(folder / "shop.db") as lake:
            lake.create_table("t", {"id": "int64", "part": "int64"}, partition_by=["part"])
            for step in (append, overwrite, stream, compact, cluster, fail_twice):
                step(spark, lake, machines, folder)
                print("RIGHT", step.__name__, flush=True)  # noqa: T201  the test reads it
        spark.stop()


def append(spark: Any, lake: Any, machines: Cluster, folder: Path) -> None:
    """Lose a worker in the middle of an append."""
    with losing_one(machines, folder):
        report = lake.on(spark).table("t").append(frame(spark, 0, folder))
    assert report.rows_inserted == ROWS, report
    check(lake, "t", range(ROWS))
    restore(spark, machines)


def overwrite(spark: Any, lake: Any, machines: Cluster, folder: Path) -> None:
    """Lose one while half of the partitions are replaced."""
    fresh = frame(spark, ROWS, folder).where("part < 4")
    with losing_one(machines, folder):
        lake.on(spark).table("t").overwrite(fresh, partitions="dynamic")
    check(lake, "t", [i if i % PARTS >= 4 else i + ROWS for i in range(ROWS)])
    restore(spark, machines)


def stream(spark: Any, lake: Any, machines: Cluster, folder: Path) -> None:
    """Lose one while a stream is written, in several batches."""
    for part in range(3):
        ids = list(range(part * 1000, part * 1000 + 1000))
        table = pa.table({"id": ids, "part": [i % PARTS for i in ids]})
        if part:
            lake.table("src").append(table)
        else:
            lake.create_table("src", table).append(table)
    read = spark.readStream.format("mere").option("lake", lake.url).option("max_snapshots", 1)
    first = lake.table("src").history()["version"].to_pylist()[1]
    rows = read.option("from_version", first).load("src")
    slow = rows.repartition(PARTS).mapInArrow(slowly(folder), rows.schema)
    writer = slow.writeStream.format("mere").option("lake", lake.url)
    with losing_one(machines, folder):
        kept = writer.option("checkpointLocation", str(folder / "checkpoint"))
        ended(kept.trigger(availableNow=True), "copy")
    check(lake, "copy", range(3000))
    assert lake.table("copy").history().num_rows == 3, "one version per batch"
    restore(spark, machines)


def compact(spark: Any, lake: Any, machines: Cluster, folder: Path) -> None:
    """Lose one while small files are merged."""
    rows, table = small(spark, lake, folder, "small")
    with losing_one(machines, folder):
        table.compact()
    check(lake, "small", rows)
    assert lake.table("small").files().num_rows == PARTS
    restore(spark, machines)


def cluster(spark: Any, lake: Any, machines: Cluster, folder: Path) -> None:
    """Lose one while rows are ordered, within and across files."""
    rows, table = small(spark, lake, folder, "mixed")
    before = table.history().num_rows
    with losing_one(machines, folder):
        table.cluster("id")
    check(lake, "mixed", rows)
    assert table.history().num_rows == before + 1
    for file in lake.table("mixed").files().to_pylist():
        ids = pq.read_table(f"{lake.data_path}{file['path']}", columns=["id"])["id"].to_pylist()
        assert ids == sorted(ids)
    restore(spark, machines)


def small(spark: Any, lake: Any, folder: Path, name: str) -> tuple[list[int], Any]:
    """Return ids in small files of every partition, and their table, whose work takes its time."""
    ids = list(range(3 * PARTS * 50))
    lake.create_table(name, {"id": "int64", "part": "int64"}, partition_by=["part"])
    for part in range(3):
        some = ids[part::3][::-1]
        lake.table(name).append(pa.table({"id": some, "part": [i % PARTS for i in some]}))
    session = lake.on(spark)._session  # noqa: SLF001  there is no other way to be slow
    return ids, Lake(replace(session, kernel=Slowly(session.kernel, folder))).table(name)


@dataclass(frozen=True)
class Slowly:
    """A kernel that takes its time before it moves rows, and notes on whose machine it is."""

    kernel: Any
    folder: Path

    @property
    def name(self) -> str:
        return str(self.kernel.name)

    def rewrite(self, task: Any, *, store: Any) -> Any:
        note(self.folder, f"{task.number}{'cut' if task.cuts else ''}")
        return self.kernel.rewrite(task, store=store)


def fail_twice(spark: Any, lake: Any, machines: Cluster, folder: Path) -> None:
    """Every task fails twice, then does it right."""
    del machines
    lake.create_table("again", {"id": "int64", "part": "int64"})
    plain = spark.range(1000, numPartitions=PARTS).select("id", (F.col("id") % PARTS).alias("part"))
    lake.on(spark).table("again").append(plain.mapInArrow(failing(folder), plain.schema))
    check(lake, "again", range(1000))
    assert len(list((folder / "failures").iterdir())) >= 2 * PARTS


def frame(spark: Any, start: int, folder: Path) -> Any:
    """Return rows that take their time."""
    rows = spark.range(start, start + ROWS, numPartitions=PARTS)
    made = rows.select("id", (F.col("id") % PARTS).alias("part"))
    return made.mapInArrow(slowly(folder), made.schema)


def slowly(folder: Path) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what passes rows on after a while, and notes on whose machine it is."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            context = TaskContext.get()
            assert context is not None
            note(folder, str(context.partitionId()))
            yield batch

    return work


def note(folder: Path, what: str) -> None:
    """Say what is begun, by which attempt and on whose machine, and wait for the blow."""
    context = TaskContext.get()
    assert context is not None
    (machine,) = [part for part in Path.cwd().parts if part.startswith("worker-")]
    (folder / "busy" / f"{what}@{context.taskAttemptId()}@{machine}").touch()
    time.sleep(0.8)


def failing(folder: Path) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what passes some rows on and fails, twice per Spark partition."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        notes = folder / "failures"
        notes.mkdir(exist_ok=True)
        before = len(list(notes.glob(f"{context.partitionId()}-*")))
        yield next(batches)
        if before < 2:
            (notes / f"{context.partitionId()}-{context.taskAttemptId()}").touch()
            msg = "not yet"
            raise OSError(msg)
        yield from batches

    return work


class losing_one:  # noqa: N801  read as a phrase
    """Kill a worker as soon as it has rows at hand; insist that it came to that."""

    def __init__(self, machines: Cluster, folder: Path) -> None:
        self.machines = machines
        self.folder = folder / "busy"
        self.killed = threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def watch(self) -> None:
        deadline = time.monotonic() + 120
        while not list(self.folder.glob(f"*@{self.machines.name(-1)}")):
            if time.monotonic() > deadline:
                return
            time.sleep(0.02)
        self.machines.kill_worker(-1)
        self.killed.set()

    def __enter__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        for note in self.folder.iterdir():
            note.unlink()
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.thread.join()
        assert self.killed.is_set(), "no worker was killed"
        attempts = [note.name.split("@")[0] for note in self.folder.iterdir()]
        assert len(attempts) > len(set(attempts)), f"nothing had to be done again: {attempts}"


def check(lake: Any, name: str, expected: Any) -> None:
    found = sorted(lake.table(name).scan(columns=["id"]).to_arrow()["id"].to_pylist())
    assert found == sorted(expected), f"{name}: {len(found)} rows, {len(set(found))} different"
    files = lake.table(name).files()["path"].to_pylist()
    assert len(files) == len(set(files))


def restore(spark: Any, machines: Cluster) -> None:
    """Bring a new machine in the place of the lost one."""
    machines.add_worker()
    wait(lambda: executors(spark) == 2, "a new executor")


def executors(spark: Any) -> int:
    return len(spark.sparkContext.statusTracker().getExecutorInfos()) - 1


def wait(until: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 120
    while not until():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.2)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
