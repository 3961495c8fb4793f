"""Rows are changed on Spark's executors, as they are on local threads."""

import pytest

import mere
from mere.plan import duplicates as planned

pytestmark = pytest.mark.spark


@pytest.fixture
def lake(tmp_path):
    with mere.connect(tmp_path / "shop.db") as opened:
        yield opened


def test_duplicates_are_found_by_executors_in_one_step_or_two(spark, lake, monkeypatch):
    table = lake.create_table("t", {"k": "int64", "v": "varchar"})
    for batch in "abc":
        table.append([{"k": n % 20, "v": batch} for n in range(30)])
    version = table.version
    on_spark = lake.on(spark).table("t")
    assert on_spark.deduplicate("k", keep="last").rows_deleted == 70
    assert set(table.scan().to_arrow()["v"].to_pylist()) == {"c"}
    table.restore(version=version)
    monkeypatch.setattr(planned, "TASK_ROWS", 40)
    report = on_spark.deduplicate("k")
    assert (report.rows_deleted, table.count()) == (70, 20)
    assert "buckets" in report.plan
    assert set(table.scan().to_arrow()["v"].to_pylist()) == {"a"}


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
def test_frames_are_merged_by_executors_whether_few_rows_or_many(spark, lake, monkeypatch, mode):
    table = lake.create_table(
        "t", {"p": "varchar", "k": "int64", "v": "varchar"}, partition_by=["p"]
    )
    table.set_option("mere_write_mode", mode)
    table.append([{"p": "ab"[n % 2], "k": n, "v": "old"} for n in range(100)])
    on_spark = lake.on(spark).table("t")
    few = spark.sql("SELECT id AS k, 'few' AS v, 'a' AS p FROM range(98, 102)")
    report = on_spark.upsert(few, on="k")
    assert (report.rows_updated, report.rows_inserted) == (2, 2)
    assert "broadcast" in report.plan
    assert report.plan.startswith(mode)
    monkeypatch.setattr("mere.ops.mutate.source.FEW_ON_SPARK", 100)
    many = spark.sql("SELECT id AS k, 'many' AS v, if(id % 2 = 0, 'a', 'b') AS p FROM range(300)")
    report = on_spark.upsert(many, on=["p", "k"])
    assert (report.rows_updated, report.rows_inserted) == (100, 200)
    assert "shuffled" in report.plan
    assert table.count("v = 'many'") == 300
    assert on_spark.delete("k % 3 = 0").rows_deleted == table.count(version=table.version - 1) - (
        table.count()
    )
    frame = spark.sql("SELECT 'a' AS p, CAST(2 AS BIGINT) AS k, 'new' AS v")
    assert on_spark.overwrite(frame, where="p = 'a' AND k < 10").rows_inserted == 1
    assert table.count("p = 'a' AND k < 10") == 1
