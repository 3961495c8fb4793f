"""The session that a lake works with."""

import os
import sys
from typing import Any

import pyarrow as pa
import pytest

import mere.spark
from mere.errors import InvalidInputError

MORE: dict[str, Any] = {"spark.sql.shuffle.partitions": 5}
pytestmark = pytest.mark.spark


def test_the_settings_that_matter_are_set(spark):
    found = {
        key: spark.conf.get(key)
        for key in (
            "spark.sql.session.timeZone",
            "spark.sql.parquet.outputTimestampType",
            "spark.sql.sources.parallelPartitionDiscovery.threshold",
            "spark.sql.adaptive.enabled",
            "spark.python.unix.domain.socket.enabled",
            "spark.ui.enabled",
            "spark.app.name",
        )
    }
    assert found == {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000",
        "spark.sql.adaptive.enabled": "true",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.app.name": "tests",
    }


def test_executors_run_this_python(spark):
    found = spark.sparkContext.parallelize([0], 1).map(lambda _: (sys.executable, pa.cpu_count()))
    assert found.collect() == [(sys.executable, 1)], "and each task keeps to its own core"
    assert "PYSPARK_GATEWAY_SECRET" not in os.environ


def test_a_running_session_is_returned_and_set(spark):
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        again = mere.spark.session("other", **MORE)
        assert again.sparkContext is spark.sparkContext
        assert again.conf.get("spark.sql.parquet.outputTimestampType") == "TIMESTAMP_MICROS"
        assert again.conf.get("spark.sql.shuffle.partitions") == "5"
        assert again.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo", "it is the user's"
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        spark.conf.set("spark.sql.shuffle.partitions", "4")


def test_what_a_running_session_cannot_change_is_refused_by_name(spark):
    with pytest.raises(InvalidInputError, match=r"spark\.driver\.memory \(it is 1g\)"):
        mere.spark.session(memory="2g")
    assert mere.spark.session(memory="1g").sparkContext is spark.sparkContext


def test_a_setting_that_is_none_of_sparks_is_refused():
    with pytest.raises(InvalidInputError, match="shuffle_partitions"):
        mere.spark.session(shuffle_partitions=5)
