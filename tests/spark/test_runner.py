"""Tasks on executors, and rows of a DataFrame fed to a kernel there."""

import datetime as dt
import os
import threading
import time
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from pyspark.sql import functions as F  # noqa: N812

from mere.errors import CommitConflictError, SchemaMismatchError, TaskError, UnsupportedError
from mere.kernels.pyarrow import PyarrowKernel
from mere.model.files import DataFile
from mere.model.layout import Layout, SortKey, parse_key
from mere.model.schema import number
from mere.model.work import Result, Write
from mere.registry import runner as runner_for
from mere.runners.spark import SparkRunner, cluster
from mere.stores import open_store
from mere.testing.runners import RUNNER_CHECKS, Check

pytestmark = pytest.mark.spark


@pytest.fixture
def runner(spark):
    return SparkRunner(spark=spark)


def some(spark, rows=1000, partitions=4):
    """Return rows of three symbols on five days."""
    return spark.range(rows, numPartitions=partitions).select(
        "id",
        F.concat(F.lit("s"), F.col("id") % 3).alias("sym"),
        F.timestamp_seconds(1704067200 + F.col("id") % 5 * 86400).alias("ts"),
    )


# What executors do stands at module level, takes what it needs, and is imported there by name.


def count_rows(rows, *, folder):
    """Count the rows of one stream, and leave a note of the process that did."""
    table = rows.read_all()
    names = ",".join(sorted(set(table["sym"].to_pylist()))) if "sym" in table.column_names else "-"
    Path(folder, f"{os.getpid()}-{names}-{id(table)}").touch()
    return Result(
        rows_in=table.num_rows, rows_out=table.num_rows, files=files_for(table.column_names)
    )


def files_for(names):
    return tuple(DataFile(path=name, bytes=1, rows=1) for name in names)


def fail(_argument, *, error):
    raise error


def fail_once(argument, *, folder):
    """Write a file, then fail; do it right the second time."""
    number = argument.read_all()["id"][0].as_py()
    first = Path(folder, f"first-{number}")
    if not first.exists():
        first.touch()
        msg = "the disk hiccuped"
        raise OSError(msg)
    return Result(rows_in=1, files=files_for([f"second-{number}"]))


def name_of(task):
    return Result(rows_in=int(task.folder), rows_out=os.getpid())


def types_of(rows):
    return Result(files=files_for([str(field) for field in rows.read_all().schema]))


def tasks(runner, count):
    schema = number(runner.schema(pa.table({"a": [1]})))
    return [
        Write(schema=schema, layout=Layout(), folder=str(i), intent="test") for i in range(count)
    ]


@pytest.mark.parametrize("check", RUNNER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("where", ["here", "on executors"])
def test_a_runner_on_spark_keeps_what_every_runner_keeps(check: Check, runner, spark, where):
    check(runner, spark.createDataFrame if where == "on executors" else lambda rows: rows)


def test_a_spark_session_is_taken_for_a_runner(spark):
    assert runner_for(spark) == SparkRunner(spark=spark)
    assert runner_for(spark).name == "spark"


def test_every_partition_is_one_stream_and_every_row_comes_once(runner, spark, tmp_path):
    frame = some(spark)
    schema = number(runner.schema(frame))
    do = partial(count_rows, folder=tmp_path)
    results = runner.feed(do, frame, schema=schema, layout=Layout())
    assert [result.rows_in for result in results] == [250] * 4
    assert str(os.getpid()) not in {note.name.split("-")[0] for note in tmp_path.iterdir()}


def test_partitions_without_rows_give_nothing(runner, spark, tmp_path):
    frame = some(spark).where("id >= 750")
    do = partial(count_rows, folder=tmp_path)
    schema = number(runner.schema(frame))
    assert [r.rows_in for r in runner.feed(do, frame, schema=schema, layout=Layout())] == [250]
    assert runner.feed(do, frame.where("id < 0"), schema=schema, layout=Layout()) == ()


def test_rows_that_lie_here_are_written_from_here(runner, tmp_path):
    rows = pa.table({"sym": ["a", "b"]})
    do = partial(count_rows, folder=tmp_path)
    (result,) = runner.feed(do, rows, schema=number(runner.schema(rows)), layout=Layout())
    assert result.rows_in == 2
    assert [note.name.split("-")[0] for note in tmp_path.iterdir()] == [str(os.getpid())]


def test_streams_have_the_tables_types(runner, spark):
    frame = spark.sql(
        "SELECT TIMESTAMP'2024-01-01' a, TIMESTAMP_NTZ'2024-01-01' b, 1S c, array(1) d, "
        "named_struct('x', DATE'2024-01-01') e, map('k', 1.5BD) f, X'00' g, TIME'01:02:03' h"
    )
    found = runner.feed(types_of, frame, schema=number(runner.schema(frame)), layout=Layout())
    assert [file.path for file in found[0].files] == [
        "pyarrow.Field<a: timestamp[us, tz=UTC]>",
        "pyarrow.Field<b: timestamp[us]>",
        "pyarrow.Field<c: int16>",
        "pyarrow.Field<d: list<element: int32>>",
        "pyarrow.Field<e: struct<x: date32[day]>>",
        "pyarrow.Field<f: map<string, decimal128(2, 1)>>",
        "pyarrow.Field<g: binary>",
        "pyarrow.Field<h: time64[us]>",
    ]


def test_a_variant_column_is_refused_before_anything_runs(runner, spark):
    with pytest.raises(UnsupportedError, match="'v'"):
        runner.schema(spark.sql("SELECT parse_json('1') AS v"))


def test_tasks_are_done_once_each_on_several_executors_processes(runner):
    found = list(runner.run(name_of, tasks(runner, 9)))
    assert sorted(result.rows_in for result in found) == list(range(9))
    assert os.getpid() not in {result.rows_out for result in found}
    assert list(runner.run(name_of, [])) == []


def test_progress_is_told_up_to_the_last_task(spark):
    told: list[tuple[int, int]] = []
    runner = SparkRunner(spark=spark, progress=lambda done, total: told.append((done, total)))
    list(runner.run(partial(nap, seconds=0.6), tasks(runner, 6)))
    assert told, "it took longer than the tracker is asked"
    assert all(done <= total for done, total in told)
    assert told == sorted(told), "it never goes back"


def nap(task, *, seconds):
    time.sleep(seconds)
    return name_of(task)


def leave_notes(task, *, folder):
    """Write a note every tenth of a second, for long."""
    for moment in range(300):
        Path(folder, f"{task.folder}-{moment}").touch()
        time.sleep(0.1)
    return name_of(task)


def test_a_call_that_is_given_up_is_cancelled_on_the_executors(runner, spark, tmp_path):
    """As Ctrl-C does: Spark's own handler cancels, and so does whatever ends the call."""

    def give_up(_done, _total):
        deadline = time.monotonic() + 60
        while not any(tmp_path.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.05)  # progress is told when it changes: the tasks may not have begun
        spark.sparkContext.cancelAllJobs()

    watched = SparkRunner(spark=spark, progress=give_up)
    with pytest.raises(TaskError, match="cancel"):
        list(watched.run(partial(leave_notes, folder=tmp_path), tasks(runner, 2)))
    deadline = time.monotonic() + 20
    before, after = -1, len(list(tmp_path.iterdir()))
    while before != after and time.monotonic() < deadline:
        time.sleep(1)
        before, after = after, len(list(tmp_path.iterdir()))
    assert before == after < 400, "the tasks have ended long before their time"
    assert threading.active_count() < 50


def test_the_jobs_of_one_call_are_tagged_and_the_tag_is_gone_afterwards(runner, spark):
    before = spark.sparkContext.getJobTags()
    list(runner.run(name_of, tasks(runner, 2)))
    assert spark.sparkContext.getJobTags() == before


def test_an_error_in_the_text_of_a_row_is_not_taken_for_ours(runner, spark, tmp_path):
    planted = "[mere:gASVIAAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjAR0cnVllIWUUpQu]"
    frame = spark.range(1).selectExpr(f"cast('{planted}' || id AS int) AS boom")
    do = partial(count_rows, folder=tmp_path)
    with pytest.raises(TaskError, match="CAST_INVALID_INPUT"):
        runner.feed(do, frame, schema=number(runner.schema(frame)), layout=Layout())


def test_more_tasks_than_partitions_are_all_done(runner):
    found = list(runner.run(name_of, tasks(runner, 150)))
    assert sorted(result.rows_in for result in found) == list(range(150))


@pytest.mark.parametrize(
    "error", [SchemaMismatchError("no fit", hint="so"), CommitConflictError("x")]
)
def test_an_error_of_a_task_keeps_its_class_and_hint(runner, error):
    with pytest.raises(type(error)) as caught:
        list(runner.run(partial(fail, error=error), tasks(runner, 1)))
    assert str(caught.value) == str(error)
    assert caught.value.__cause__ is not None


def test_any_other_error_is_a_task_error_with_its_text(runner, spark):
    do = partial(fail, error=KeyError("who knows"))
    frame = some(spark, 10)
    with pytest.raises(TaskError, match="KeyError: 'who knows'"):
        runner.feed(do, frame, schema=number(runner.schema(frame)), layout=Layout())


def test_a_frame_that_cannot_be_computed_is_a_task_error_with_sparks_text(runner, spark, tmp_path):
    frame = spark.range(3).selectExpr("id", "1 / (id - 1) AS boom")
    do = partial(count_rows, folder=tmp_path)
    with pytest.raises(TaskError, match="DIVIDE_BY_ZERO"):
        runner.feed(do, frame, schema=number(runner.schema(frame)), layout=Layout())


def test_only_the_attempt_that_succeeded_counts(runner, spark, tmp_path):
    frame = spark.range(4, numPartitions=4).toDF("id")
    do = partial(fail_once, folder=tmp_path)
    found = runner.feed(do, frame, schema=number(runner.schema(frame)), layout=Layout())
    assert sorted(f.path for r in found for f in r.files) == [f"second-{i}" for i in range(4)]
    assert len(list(tmp_path.iterdir())) == 4, "every partition had failed once"


def layout_of(schema, *keys, order=()):
    return Layout(id=1, keys=tuple(parse_key(key, schema) for key in keys), order=order)


def test_rows_of_one_partition_come_together(spark):
    frame = some(spark, 30_000)
    schema = number(SparkRunner(spark=spark).schema(frame))
    together = cluster(frame, schema=schema, layout=layout_of(schema, "sym", "day(ts)"))
    assert together.columns == frame.columns
    placed = together.select("sym", F.to_date("ts").alias("day"), F.spark_partition_id().alias("i"))
    assert placed.distinct().count() == 15


def test_buckets_come_together_as_the_kernel_counts_them(runner, spark, tmp_path):
    spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    try:
        frame = some(spark, 2000)
        schema = number(runner.schema(frame))
        layout = layout_of(schema, "bucket(8, id)")
        task = Write(schema=schema, layout=layout, folder="t/", intent="0")
        store = open_store(str(tmp_path))
        do = partial(PyarrowKernel(threads=1).write, task=task, store=store)
        found = runner.feed(do, frame, schema=schema, layout=layout)
    finally:
        spark.conf.unset("spark.sql.adaptive.coalescePartitions.enabled")
    buckets = [file.partition for result in found for file in result.files]
    assert len(found) > 1, "several tasks wrote"
    assert sorted(buckets) == [(i,) for i in range(8)], "one file per bucket"


def test_days_are_told_apart_in_utc_whatever_the_sessions_zone(spark):
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        frame = spark.range(48).select(
            F.timestamp_seconds(1704067200 + F.col("id") * 3600).alias("ts")
        )
        schema = number(SparkRunner(spark=spark).schema(frame))
        together = cluster(frame, schema=schema, layout=layout_of(schema, "day(ts)"))
        found = [row.ts for row in together.collect()]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert len(found) == 48
    assert {ts.astimezone(dt.UTC).day for ts in found[:24]} != {1, 2}


def test_a_column_that_the_rows_lack_does_not_cluster(spark):
    frame = some(spark, 100)
    schema = number(SparkRunner(spark=spark).schema(frame))
    layout = layout_of(schema, "sym")
    assert cluster(frame.drop("sym"), schema=schema, layout=layout).count() == 100


def test_rows_arrive_in_the_tables_order(runner, spark, tmp_path):
    frame = some(spark, 3000).orderBy(F.rand(1))
    schema = number(runner.schema(frame))
    order = (SortKey(column=1, descending=True),)
    layout = layout_of(schema, "sym", order=order)
    task = Write(schema=schema, layout=layout, folder="t/", intent="0")
    do = partial(PyarrowKernel(threads=1).write, task=task, store=open_store(str(tmp_path)))
    found = runner.feed(do, frame, schema=schema, layout=layout)
    files = [file for result in found for file in result.files]
    assert sorted(file.partition for file in files) == [("s0",), ("s1",), ("s2",)]
    for file in files:
        ids = ds.dataset(tmp_path / file.path).to_table()["id"]
        assert pc.all(pc.less(ids.slice(1), ids.slice(0, len(ids) - 1))).as_py()


def test_what_is_written_is_read_back_the_same(runner, spark, tmp_path):
    frame = some(spark)
    schema = number(runner.schema(frame))
    layout = layout_of(schema, "sym")
    task = Write(schema=schema, layout=layout, folder="t/", intent="0")
    do = partial(PyarrowKernel(threads=1).write, task=task, store=open_store(str(tmp_path)))
    found = runner.feed(do, frame, schema=schema, layout=layout)
    paths = [str(tmp_path / file.path) for result in found for file in result.files]
    table = ds.dataset(paths).to_table()
    expected = frame.toArrow()
    assert table.num_rows == sum(r.rows_in for r in found) == 1000
    assert table.sort_by("id")["ts"].to_pylist() == expected.sort_by("id")["ts"].to_pylist()
