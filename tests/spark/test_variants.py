"""Spark reads variants as its own, also where DuckDB took them apart."""

import json

import pytest

import mere

pytestmark = pytest.mark.spark


def test_spark_reads_variants_that_duckdb_shredded(spark, tmp_path, oracle):
    connection = oracle(f"sqlite:{tmp_path / 'l.db'}", data_path=tmp_path / "data",
                        data_inlining_row_limit=0)  # fmt: skip
    connection.execute("CREATE TABLE t(id BIGINT, v VARIANT)")
    connection.execute(
        "INSERT INTO t SELECT range, {'a': range, 'b': ['x']}::VARIANT FROM range(50)"
    )
    connection.execute("INSERT INTO t VALUES (50, ('text')::VARIANT)")
    connection.close()
    scan = mere.connect(tmp_path / "l.db").table("t").scan("id >= 49")
    rows = scan.to_spark(spark).selectExpr("id", "to_json(v) AS v").collect()
    found = {row.id: json.loads(row.v) for row in rows}
    assert found == {49: {"a": 49, "b": ["x"]}, 50: "text"}
