"""A folder is written anew under other partitions, all of it or nothing."""

from datetime import datetime, timedelta

import polars as pl
import pyarrow as pa
import pytest

from mere.datasets import Repartitioner
from mere.errors import AlreadyExistsError

START = datetime.fromisoformat("2025-11-26T22:00")
QUOTES = pa.table(
    {
        "product_id": pa.array([f"P{n % 2}" for n in range(24)]),
        "date": pa.array([f"{START + timedelta(minutes=20 * n):%Y-%m-%d}" for n in range(24)]),
        "timestamp": pa.array([START + timedelta(minutes=20 * n) for n in range(24)]),
        "n": pa.array(range(24), pa.int64()),
    }
)


def with_hour(df):
    return df.with_columns(pl.col("timestamp").dt.hour().alias("hour"))


def halved(df):
    return df.filter(pl.col("n") % 2 == 0)


@pytest.fixture
def source(ground):
    """Make a folder of two products and two dates."""
    return ground.write("level2", QUOTES, ["product_id", "date"])


def test_rows_come_to_other_partitions_and_files_keep_the_columns(ground, source):
    repartitioner = Repartitioner(source, ground.path("new"), ["date", "product_id"], **ground.how)
    estimate = repartitioner.estimate_size()
    assert (estimate["num_partitions"], estimate["total_rows"]) == (4, 24)
    assert estimate["avg_rows_per_partition"] == 6
    assert estimate["partition_cols"] == ["date", "product_id"]
    assert estimate["estimated_size_mb"] > 0
    dry = repartitioner.repartition(dry_run=True)
    assert (dry["partitions_created"], ground.names(ground.path("new"))) == (4, [])
    stats = repartitioner.repartition(delete_source=False, validate=True, dry_run=False)
    assert (stats["records_read"], stats["records_written"], stats["errors"]) == (24, 24, 0)
    assert (stats["files_read"], stats["partitions_created"]) == (12, 4)
    assert stats["files_written"] == len(ground.names(ground.path("new"))) >= 4
    assert stats["start_time"] <= stats["end_time"]
    assert ground.rows(ground.path("new")) == ground.rows(source)
    assert {name.rpartition("/")[0] for name in ground.names(ground.path("new"))} == {
        f"date={day}/product_id={product}"
        for day in ("2025-11-26", "2025-11-27")
        for product in ("P0", "P1")
    }
    with pytest.raises(AlreadyExistsError, match="holds Parquet files already"):
        repartitioner.repartition()


def test_a_function_adds_the_column_that_partitions_need(ground, source):
    repartitioner = Repartitioner(source, ground.path("new"), ["product_id", "hour"], **ground.how)
    with pytest.raises(ValueError, match="Partition columns not found in data: hour"):
        repartitioner.repartition()
    with pytest.raises(ValueError, match="Partition columns not found in data: hour"):
        repartitioner.estimate_size()
    assert repartitioner.repartition(transform_fn=with_hour, dry_run=True)["records_written"] == 24
    stats = repartitioner.repartition(transform_fn=with_hour, delete_source=True)
    assert (stats["records_written"], stats["partitions_created"]) == (24, 16)
    assert ground.names(source) == []
    hours = {hour for _, hour in ground.rows(ground.path("new"), "n", "hour")}
    assert hours == {22, 23, *range(6)}


def test_a_function_that_loses_rows_leaves_nothing_behind(ground, source):
    repartitioner = Repartitioner(source, ground.path("new"), ["product_id"], **ground.how)
    lost = "Row count mismatch after repartition: source 24, target 12"
    for dry_run in (True, False):
        with pytest.raises(ValueError, match=lost):
            repartitioner.repartition(delete_source=True, transform_fn=halved, dry_run=dry_run)
    assert ground.names(ground.path("new")) == []
    assert len(ground.rows(source)) == 24
    stats = repartitioner.repartition(validate=False, transform_fn=halved)
    assert (stats["records_read"], stats["records_written"]) == (24, 12)


def test_a_function_gets_no_more_rows_than_a_batch(here):
    source = here.write("level2", QUOTES)
    seen: list[int] = []

    def watched(df: pl.DataFrame) -> pl.DataFrame:
        seen.append(len(df))
        return df

    Repartitioner(source, here.path("new"), ["product_id"], batch_size=5).repartition(
        transform_fn=watched
    )
    assert max(seen) == 5


def test_a_function_may_be_lazy_but_must_return_rows(here):
    source = here.write("level2", QUOTES)
    lazy = Repartitioner(source, here.path("lazy"), "product_id")
    assert lazy.repartition(transform_fn=lambda df: df.lazy())["partitions_created"] == 2
    none = Repartitioner(source, here.path("none"), ["product_id"])
    with pytest.raises(ValueError, match="transform_fn returned None"):
        none.repartition(transform_fn=lambda df: None)  # noqa: ARG005  as a user forgets it
    with pytest.raises(ValueError, match="new_partition_cols names no column"):
        Repartitioner(source, here.path("none"), []).repartition()
    with pytest.raises(AlreadyExistsError, match="holds Parquet files already"):
        Repartitioner(source, source, ["n"]).repartition()


def test_an_error_in_a_function_reaches_the_caller_and_nothing_is_written(here):
    source = here.write("level2", QUOTES)

    def broken(df: pl.DataFrame) -> pl.DataFrame:
        if df["n"].max() == 23 and len(df) < 20:
            msg = "the function's own"
            raise KeyError(msg)
        return df

    repartitioner = Repartitioner(source, here.path("new"), ["product_id"], batch_size=10)
    with pytest.raises(Exception, match="the function's own"):
        repartitioner.repartition(transform_fn=broken, delete_source=True)
    assert (here.names(here.path("new")), len(here.rows(source))) == ([], 24)
    with pytest.raises(FileNotFoundError, match="no matching Parquet files"):
        Repartitioner(here.path("nowhere"), here.path("new"), ["product_id"]).repartition()
