"""What Spark filters after `to_spark` leaves out files, too."""

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812

import mere
from mere.errors import CatalogError
from mere.spark.scan import read

pytestmark = pytest.mark.spark

COLUMNS = {
    "id": "int64",
    "small": "int16",
    "sym": "varchar",
    "day": "date",
    "ts": "timestamptz",
    "clock": "timestamp",
    "price": "decimal(12,2)",
    "x": "float64",
    "ok": "boolean",
    "u": "uuid",
}
START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def rows(part):
    """Return ten rows that no other part has the like of; the last one is nearly empty."""
    made = [
        {
            "id": 10 * part + i,
            "small": part,
            "sym": f"s{part}-{i}",
            "day": START.date() + dt.timedelta(days=part),
            "ts": START + dt.timedelta(days=part, minutes=i),
            "clock": dt.datetime(2024, 1, 1 + part, 0, i),  # noqa: DTZ001  the column has no zone
            "price": Decimal(part) + Decimal(i) / 100,
            "x": part + i / 10,
            "ok": part % 2 == 0,
        }
        for i in range(9)
    ]
    return [*made, {"id": 10 * part + 9, "x": math.nan if part == 0 else None}]


@pytest.fixture
def table(tmp_path):
    with mere.connect(tmp_path / "shop.db") as lake:
        made = lake.create_table("t", COLUMNS)
        for part in range(5):
            made.append(rows(part))
        yield made


def files_read(frame):
    """Run the query, and return how many files its scans opened."""
    frame.collect()
    plan = frame._jdf.queryExecution().executedPlan()  # noqa: SLF001  what Spark really did
    found, waiting = 0, [plan]
    while waiting:
        node = waiting.pop()
        if node.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
            node = node.executedPlan()
        if node.getClass().getSimpleName() == "FileSourceScanExec":
            found += node.metrics().apply("numFiles").value()
        children = node.children()
        waiting.extend(children.apply(i) for i in range(children.size()))
        if hasattr(node, "plan") and node.getClass().getSimpleName().endswith("QueryStageExec"):
            waiting.append(node.plan())
    return found


@pytest.mark.parametrize(
    ("condition", "files"),
    [
        ("id = 23", 1),
        ("id >= 20 AND id < 40", 2),
        ("id < 5 OR id > 45", 2),
        ("NOT (id > 9)", 1),
        ("id IN (3, 43, 900)", 2),
        ("id IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 900, 901, 902)", 1),
        ("small = 3", 1),
        ("sym = 's2-1'", 1),
        ("sym LIKE 's4%'", 1),
        ("day > DATE'2024-01-04'", 1),
        ("ts >= TIMESTAMP'2024-01-02 00:00:00Z' AND ts < TIMESTAMP'2024-01-03 00:00:00Z'", 1),
        ("clock < TIMESTAMP_NTZ'2024-01-01 12:00:00'", 1),
        ("price BETWEEN 2.00 AND 2.05", 1),
        ("x > 4.5", 2),
        ("ok <=> true", 5),
        ("id <=> 23", 1),
        ("id % 10 = 3", 5),
        ("id = 23 AND id % 10 = 3", 1),
        ("u = '550e8400-e29b-41d4-a716-446655440000'", 5),
    ],
)
def test_files_that_cannot_match_are_not_opened_and_every_row_is_there(
    spark, table, condition, files
):
    frame = table.scan().to_spark(spark)
    everything = spark.createDataFrame(table.scan().to_arrow().drop_columns(["u"]))
    found = frame.where(condition)
    if "u =" not in condition:
        expected = sorted(row.id for row in everything.where(condition).collect())
        assert sorted(row.id for row in found.collect()) == expected, condition
    assert files_read(found) <= files


def test_a_filter_of_the_scan_and_one_of_spark_work_together(spark, table):
    frame = table.scan("id >= 20").to_spark(spark)
    assert len(frame.inputFiles()) == 3
    assert files_read(frame.where("id < 30")) == 1
    assert files_read(frame.where("id < 20")) == 0


def test_filters_reach_the_files_of_a_join_s_sides_and_of_renamed_columns(spark, table):
    table.evolve().rename_column("id", "old").add_column("id", "int64", default=7).commit()
    frame = table.scan().to_spark(spark)
    assert files_read(frame.where("old = 23")) == 1
    assert frame.where("old = 23").collect()[0]["id"] == 7
    assert frame.where("id = 7").count() == 50
    joined = frame.where("old = 23").alias("a").join(frame.alias("b"), F.expr("a.sym = b.sym"))
    assert joined.count() == 1


def test_files_with_deleted_rows_are_left_out_as_well(spark, tmp_path, oracle):
    con = oracle(f"sqlite:{tmp_path / 'theirs.db'}", data_path=tmp_path / "data")
    con.execute("CREATE TABLE t (id BIGINT)")
    for part in range(4):
        con.execute(f"INSERT INTO t SELECT {part} * 100 + range FROM range(100)")
        con.execute(f"DELETE FROM t WHERE id = {part} * 100 + 5")
    con.close()
    with mere.connect(tmp_path / "theirs.db") as lake:
        frame = lake.table("t").scan().to_spark(spark)
        found = frame.where("id >= 300")
        assert found.count() == 99
        assert files_read(found) <= 1 + 4, "one of four files, and what says which rows are gone"


def test_a_catalog_that_does_not_answer_costs_time_and_no_rows(spark, table):
    def fail(_expr):
        msg = "gone for lunch"
        raise CatalogError(msg)

    frame = read(table.scan().reading(), spark=spark, find=fail)
    assert frame.where("id = 23").count() == 1
    assert files_read(frame.where("id = 23")) == 5


def test_a_pinned_frame_narrows_by_its_own_version(spark, table):
    frame = table.scan().to_spark(spark)
    table.overwrite(pa.table({"id": [23]}))
    assert [row.sym for row in frame.where("id = 23").collect()] == ["s2-3"]


def test_a_pinned_frame_keeps_its_rows_when_they_are_moved_to_other_files(spark, table):
    frame = table.scan().to_spark(spark)
    table.compact()
    assert [row.sym for row in frame.where("id = 23").collect()] == ["s2-3"]
