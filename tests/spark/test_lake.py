"""A lake on Spark, through the public API, with the reference implementation as witness."""

import datetime as dt

import polars as pl
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

import mere
from mere.errors import InvalidInputError, SchemaMismatchError, TaskError

pytestmark = pytest.mark.spark

COLUMNS = {"id": "int64", "sym": "varchar", "ts": "timestamptz", "price": "float64"}


@pytest.fixture
def lake(tmp_path):
    with mere.connect(tmp_path / "shop.db") as opened:
        yield opened


def trades(spark, start, stop):
    """Return trades of three symbols, one per minute, over some days."""
    return spark.range(start, stop, numPartitions=3).select(
        "id",
        F.concat(F.lit("s"), F.col("id") % 3).alias("sym"),
        F.timestamp_seconds(1704067200 + F.col("id") * 60).alias("ts"),
        (F.col("id") / 2).alias("price"),
    )


def rows(frame):
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def test_a_frame_is_appended_in_few_files_and_read_back_by_everyone(spark, lake):
    table = lake.create_table("trades", COLUMNS, partition_by=["day(ts)", "sym"])
    report = lake.on(spark).table("trades").append(trades(spark, 0, 3000))
    assert (report.rows_inserted, report.files_added) == (3000, 9), "three days of three symbols"
    assert table.count() == 3000
    assert rows(table.scan().to_spark(spark)) == rows(trades(spark, 0, 3000))
    arrow = table.scan(where="sym = 's1'").to_arrow()
    assert sorted(arrow["id"].to_pylist()) == list(range(1, 3000, 3))
    assert sum(file.rows for file in report.files) == 3000


def test_a_filtered_scan_reads_only_files_that_can_match(spark, lake):
    on_spark = lake.on(spark)
    table = on_spark.create_table("trades", COLUMNS, partition_by=["sym"])
    table.append(trades(spark, 0, 300))
    found = table.scan(where="sym = 's2' AND price >= 140", columns=["id"]).to_spark()
    assert found.columns == ["id"]
    assert len(found.inputFiles()) == 1
    assert sorted(row.id for row in found.collect()) == list(range(281, 300, 3))


def test_an_older_version_is_read_as_it_was(spark, lake):
    table = lake.on(spark).create_table("trades", COLUMNS)
    first = table.append(trades(spark, 0, 10)).version
    table.append(trades(spark, 10, 20))
    assert table.scan(version=first).to_spark().count() == 10
    assert table.scan().to_spark().count() == 20


def test_a_scan_is_pinned_while_others_append(spark, lake):
    table = lake.on(spark).create_table("trades", COLUMNS)
    table.append(trades(spark, 0, 10))
    frame = table.scan().to_spark()
    table.append(trades(spark, 10, 20))
    assert frame.count() == 10


def test_partitions_are_overwritten_from_a_frame(spark, lake):
    table = lake.on(spark).create_table("trades", COLUMNS, partition_by=["sym"])
    table.append(trades(spark, 0, 30))
    table.overwrite(trades(spark, 100, 103).where("sym = 's1'"), partitions="dynamic")
    found = rows(table.scan(columns=["sym", "id"]).to_spark())
    assert len(found) == 21
    assert [row for row in found if row[0] == "s1"] == [("s1", 100)]


def test_an_empty_frame_appends_nothing(spark, lake):
    table = lake.on(spark).create_table("trades", COLUMNS)
    report = table.append(trades(spark, 0, 0))
    assert (report.rows_inserted, report.files_added) == (0, 0)
    assert table.scan().to_spark().collect() == []


def test_columns_that_do_not_fit_are_named_before_any_job_runs(spark, lake):
    table = lake.on(spark).create_table("trades", COLUMNS)
    frame = trades(spark, 0, 10).withColumn("price", F.lit("dear")).withColumn("more", F.lit(1))
    with pytest.raises(SchemaMismatchError, match=r"(?s)price.*more"):
        table.append(frame)
    assert table.count() == 0


def test_what_the_reference_implementation_made_reads_the_same_at_every_version(
    spark, tmp_path, oracle
):
    path = tmp_path / "theirs.db"
    con = oracle(f"sqlite:{path}", data_path=tmp_path / "data", data_inlining_row_limit=0)
    for statement in (
        "CREATE TABLE t (a BIGINT, b BIGINT, u UUID, n STRUCT(x BIGINT, y VARCHAR))",
        "INSERT INTO t SELECT i, 100 + i, uuid(), {'x': i, 'y': 'y' || i} FROM range(20) r(i)",
        "DELETE FROM t WHERE a % 5 = 0",
        "UPDATE t SET b = -1 WHERE a = 7",
        "ALTER TABLE t RENAME COLUMN a TO old",
        "ALTER TABLE t RENAME COLUMN b TO a",
        "ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 42",
        "INSERT INTO t SELECT i, i, uuid(), NULL, i FROM range(3) r(i)",
        "DELETE FROM t WHERE old = 8",
        "CALL ducklake_merge_adjacent_files('lake')",
        "DELETE FROM t WHERE a = -1",
        "ALTER TABLE t DROP COLUMN u",
    ):
        con.execute(statement)
    newest = con.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").fetchall()[0][0]
    with mere.connect(path) as lake:
        for version in range(2, newest + 1):
            frame = lake.table("t").scan(version=version).to_spark(spark)
            expected = con.execute(f"SELECT * FROM t AT (VERSION => {version})").fetchall()
            found = [tuple(row.asDict(recursive=True).values()) for row in frame.collect()]
            assert sorted(map(spelled, found)) == sorted(map(spelled, expected)), version
        frame = lake.table("t").scan().to_spark(spark)
        assert frame.where("a < 5 AND b = 42").count() == 0
        assert frame.where("old < 5 AND b = 42").count() == 4


def spelled(row):
    return repr(tuple(str(value) if not isinstance(value, dict) else value for value in row))


def test_a_moment_means_the_same_for_spark_and_for_arrow(spark, lake):
    table = lake.on(spark).create_table("trades", COLUMNS)
    table.append(trades(spark, 0, 1))
    assert table.scan().to_arrow()["ts"].to_pylist() == [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)]


def test_rows_go_through_a_function_of_dataframes_into_other_partitions(spark, lake):
    lake.create_table("trades", COLUMNS | {"n": "uint8", "u": "uuid"})
    table = lake.on(spark).table("trades")
    table.append(trades(spark, 0, 300))
    lake.table("trades").delete("id = 5")
    lake.table("trades").update({"n": "7"})
    version, before = lake.version, lake.table("trades").scan().to_arrow().to_pylist()

    def by_hour(frame):
        return frame.withColumn("hour", F.hour(F.convert_timezone(None, F.lit("UTC"), "ts")))

    would = table.repartition(["sym", "hour"], transform=by_hour, dry_run=True)
    report = table.repartition(["sym", "hour"], transform=by_hour)
    assert (lake.version, would.partitions, report.partitions) == (version + 1, 15, 15)
    assert (report.rows_before, report.rows_after, report.rows_deleted) == (299, 299, 299)
    now = lake.table("trades").scan().to_arrow()
    assert [str(now.schema.field(n).type) for n in ("n", "hour")] == ["uint8", "int32"]
    told = sorted(({**row, "hour": row["ts"].hour} for row in before), key=lambda row: row["id"])
    assert sorted(now.to_pylist(), key=lambda row: row["id"]) == told
    with pytest.raises(InvalidInputError, match="299 rows went into the function, 150 came out"):
        table.repartition("sym", transform=lambda frame: frame.where("id % 2 = 0"))
    copied = table.repartition("sym", into="even", transform=lambda f: f.where("id % 2 = 0"),
                               allow_row_change=True)  # fmt: skip
    assert (copied.rows_after, lake.table("even").count(), table.count()) == (150, 150, 299)
    assert lake.table("even").schema.field("n").type == now.schema.field("n").type
    with pytest.raises(TaskError, match="failed"):
        table.repartition("sym", transform=lambda frame: frame.select("nope"))

    def of_polars(df: pl.DataFrame) -> pl.DataFrame:
        return df

    for lake_, transform in ((lake.on(spark), of_polars), (lake, of_spark)):
        with pytest.raises(InvalidInputError, match="the work is done"):
            lake_.table("trades").repartition("sym", transform=transform)


def of_spark(df: DataFrame) -> DataFrame:
    return df
