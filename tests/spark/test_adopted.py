"""Spark reads files without field ids itself, and finds in their folders what they do not hold."""

import pyarrow as pa
import pytest
from tests import adopted

import mere

pytestmark = pytest.mark.spark


def shown(frame, table):
    found = [{name: plain(v) for name, v in row.asDict().items()} for row in frame.collect()]
    return adopted.rows(pa.Table.from_pylist(found, schema=table.schema))


def plain(value):
    """Return a value as Arrow takes it: Spark hands out rows for structs."""
    if hasattr(value, "asDict"):
        return {name: plain(part) for name, part in value.asDict().items()}
    if isinstance(value, dict):
        return [(key, plain(part)) for key, part in value.items()]
    return [plain(part) for part in value] if isinstance(value, list) else value


def test_spark_reads_what_duckdb_took_in_whatever_became_of_the_table(spark, tmp_path, oracle):
    lake, ask = adopted.lake_of_duckdb(tmp_path, oracle)
    for stage, queries in adopted.STEPS.items():
        if queries:
            ask(*(query.replace("WHERE id", "WHERE ident") for query in queries))
        theirs = ask("FROM t")
        assert shown(lake.table("t").scan().to_spark(spark), theirs) == adopted.rows(theirs), stage


@pytest.mark.parametrize("where", ["p = '7'", "p IS NULL", "id = 2 AND p = 'a b'", "extra = 42"])
def test_spark_finds_the_rows_that_duckdb_finds(spark, tmp_path, oracle, where):
    lake, ask = adopted.lake_of_duckdb(tmp_path, oracle)
    theirs = ask(f"SELECT id, p FROM t WHERE {where}")
    found = lake.table("t").scan(where, ["id", "p"]).to_spark(spark)
    assert shown(found, theirs) == adopted.rows(theirs)
    filtered = lake.table("t").scan().to_spark(spark).where(where).select("id", "p")
    assert shown(filtered, theirs) == adopted.rows(theirs)


def test_spark_reads_and_changes_what_was_adopted_by_its_own_layout(spark, tmp_path):
    days = [("2026-01-01", 1), ("2026-01-02", 2), ("2026-01-02", None)]
    frame = spark.createDataFrame(days, "day string, id int")
    frame.write.partitionBy("day").parquet(f"{tmp_path}/old")
    lake = mere.connect(tmp_path / "lake.db")
    report = lake.adopt(tmp_path / "old", "t")
    assert report.rows_inserted == 3
    table = lake.table("t")
    assert {f.name: str(f.type) for f in table.schema} == {"id": "int32", "day": "date32[day]"}
    seen = table.scan("day = DATE '2026-01-02'").to_spark(spark)
    assert sorted((row.id or 0, str(row.day)) for row in seen.collect()) == [
        (0, "2026-01-02"),
        (2, "2026-01-02"),
    ]
    table.append(spark.sql("SELECT 7 AS id, DATE '2026-01-03' AS day"))
    table.delete("id = 1")
    left = table.scan().to_spark(spark).orderBy("id").collect()
    assert [row.id for row in left] == [None, 2, 7]
