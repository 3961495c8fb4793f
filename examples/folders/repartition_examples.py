"""Other partitions and fewer files for a plain folder: each example of the guide, as it is written.

Only the paths are others, and `pl.len()` counts rows, as polars has it today.

    python -m examples.folders.repartition_examples
"""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from examples.folders import market

from mere.datasets import ParquetCompactor, Repartitioner

HOURLY = ["product_id", "year", "month", "day", "hour"]


def with_hours(df: pl.DataFrame) -> pl.DataFrame:
    """Add the columns that finer partitions need."""
    ts = pl.col("timestamp").dt
    return df.with_columns(
        ts.year().alias("year"), ts.month().alias("month"), ts.day().alias("day"),
        ts.hour().alias("hour"),
    )  # fmt: skip


def basic_usage(root: Path) -> None:
    """Estimate, then write the folder anew by the hour."""
    market.write_folder(root / "level2", with_hours(market.level2()), ["product_id", "date"])
    repartitioner = Repartitioner(
        source_dir=str(root / "level2"),
        target_dir=str(root / "level2_new"),
        new_partition_cols=["product_id", "year", "month", "day", "hour"],
    )

    # Estimate before executing
    estimates = repartitioner.estimate_size()
    print(f"Will create {estimates['num_partitions']} partitions")

    # Execute
    stats = repartitioner.repartition(
        delete_source=False,  # Keep original (delete manually after verifying)
        validate=True,  # Verify row counts match
        dry_run=False,  # Set True to preview only
    )
    assert stats["partitions_created"] == estimates["num_partitions"] == 8


def with_data_transformation(root: Path) -> None:
    """Add a column on the way."""
    market.write_folder(root / "level2", with_hours(market.level2()), ["product_id", "date"])
    repartitioner = Repartitioner(str(root / "level2"), str(root / "level2_new"), HOURLY)

    def add_minute_field(df: pl.DataFrame) -> pl.DataFrame:
        """Add minute field during repartition."""
        return df.with_columns(pl.col("timestamp").dt.minute().alias("minute"))

    stats = repartitioner.repartition(
        transform_fn=add_minute_field,
        delete_source=False,
        validate=True,
    )
    assert stats["records_written"] == 480
    new = pl.scan_parquet(str(root / "level2_new" / "**/*.parquet"))
    assert "minute" in new.collect_schema()


def production_workflow(root: Path) -> None:
    """Repartition beside, then take the place of the original, which stays as a backup."""
    source = root / "level2"
    temp = root / "level2_temp"
    backup = root / "level2_backup"
    market.write_folder(source, with_hours(market.level2()), ["product_id", "date"])

    # Step 1: Repartition to temp
    repartitioner = Repartitioner(str(source), str(temp), new_partition_cols=HOURLY)
    stats = repartitioner.repartition(delete_source=False, validate=True)

    if stats["errors"] > 0:
        print("❌ Repartitioning failed!")
        shutil.rmtree(temp)
        raise SystemExit(1)

    # Step 2: Backup original
    source.rename(backup)

    # Step 3: Move temp to production
    temp.rename(source)

    # Step 4: Verify queries work
    df = pl.scan_parquet(str(source / "**/*.parquet"))
    count = df.select(pl.len()).collect().item()
    print(f"✓ Query successful: {count:,} rows")
    assert count == 480

    # Step 5: Delete backup (after confirming everything works)
    # shutil.rmtree(backup)  # Manual cleanup  # noqa: ERA001  a step that is taken by hand


def pattern_1_add_time_granularity(root: Path) -> None:
    """From `['product_id', 'date']` to `['product_id', 'year', 'month', 'day', 'hour']`."""
    market.write_folder(root / "old", market.level2(), ["product_id", "date"])
    stats = Repartitioner(root / "old", root / "new", HOURLY).repartition(transform_fn=with_hours)
    assert stats["partitions_created"] == 8


def pattern_2_add_product_partitioning(root: Path) -> None:
    """From `['date', 'hour']` to `['product_id', 'date', 'hour']`."""
    market.write_folder(root / "old", with_hours(market.level2()), ["date", "hour"])
    keys = ["product_id", "date", "hour"]
    assert Repartitioner(root / "old", root / "new", keys).repartition()["partitions_created"] == 8


def pattern_3_simplify_nested_partitions(root: Path) -> None:
    """From six levels down to `['product_id', 'date']`."""
    rows = with_hours(market.level2()).with_columns(pl.col("timestamp").dt.minute().alias("minute"))
    market.write_folder(root / "old", rows, [*HOURLY, "minute"], files=2)
    stats = Repartitioner(root / "old", root / "new", ["product_id", "date"]).repartition()
    assert (stats["files_read"], stats["files_written"]) == (16, 2)


def compaction(root: Path) -> None:
    """Merge small files within their partitions."""
    market.write_folder(root / "market_trades", market.trades(), ["product_id", "date"])
    compactor = ParquetCompactor(
        dataset_dir=str(root / "market_trades"),
        target_file_size_mb=100,  # Target 100MB files
    )

    stats = compactor.compact(
        min_file_count=5,  # Only compact partitions with 5+ files
        max_file_size_mb=20,  # Only consolidate files < 20MB
        delete_source_files=True,  # Delete originals after compaction
        dry_run=False,
    )

    print(f"✓ Compacted {stats['files_before']} → {stats['files_after']} files")
    print(f"  Space saved: {(stats['bytes_before'] - stats['bytes_after']) / (1024**2):.1f} MB")
    assert (stats["files_before"], stats["files_after"]) == (11, 2)


def monitor_file_counts(root: Path) -> None:
    """Best practice 5: count the files of each partition."""

    def count_files(dataset_dir: Path) -> dict[Path, int]:
        """Count parquet files per partition."""
        partitions: dict[Path, int] = {}
        for f in Path(dataset_dir).rglob("*.parquet"):
            partition = f.parent
            partitions[partition] = partitions.get(partition, 0) + 1
        return partitions

    market.write_folder(root / "level2", market.level2(), ["product_id", "date"], files=12)
    # Check fragmentation
    file_counts = count_files(root / "level2")
    fragmented = {k: v for k, v in file_counts.items() if v > 10}
    print(f"Partitions with 10+ files: {len(fragmented)}")
    assert len(fragmented) == 2
    ParquetCompactor(root / "level2").compact()
    assert set(count_files(root / "level2").values()) == {1}


def workflow_4_schema_migration(root: Path) -> None:
    """Repartition with transformation, then compact."""
    market.write_folder(root / "level2", with_hours(market.level2()), ["product_id", "date"])

    def add_hour_minute(df: pl.DataFrame) -> pl.DataFrame:
        return df.with_columns(
            [
                pl.col("timestamp").dt.hour().alias("hour"),
                pl.col("timestamp").dt.minute().alias("minute"),
            ]
        )

    repartitioner = Repartitioner(
        source_dir=str(root / "level2"),
        target_dir=str(root / "level2_new"),
        new_partition_cols=["product_id", "year", "month", "day", "hour"],
    )

    stats = repartitioner.repartition(
        transform_fn=add_hour_minute,
        delete_source=False,
        validate=True,
    )
    assert stats["records_written"] == stats["records_read"] == 480

    # Compact new dataset
    compactor = ParquetCompactor(
        dataset_dir=str(root / "level2_new"),
        target_file_size_mb=100,
    )

    compactor.compact(min_file_count=5, delete_source_files=True)


def performance_tip_monitor_memory_usage(root: Path) -> None:
    """Process in batches."""
    market.write_folder(root / "level2", with_hours(market.level2()), ["product_id", "date"])
    sizes: list[int] = []

    def watched(df: pl.DataFrame) -> pl.DataFrame:
        sizes.append(len(df))
        return df

    repartitioner = Repartitioner(
        source_dir=str(root / "level2"),
        target_dir=str(root / "level2_new"),
        new_partition_cols=HOURLY,
        batch_size=100,  # Process 100 rows at a time
    )
    repartitioner.repartition(transform_fn=watched)
    assert max(sizes) <= 100


def troubleshooting_partition_columns_not_found(root: Path) -> None:
    """Partition columns missing in the data: ensure that columns exist before repartitioning."""
    df = market.level2()
    market.write_folder(root / "old", df, ["product_id", "date"])
    try:
        Repartitioner(root / "old", root / "new", ["product_id", "year", "month"]).repartition()
    except ValueError as error:
        print(error)

    # Check columns
    print(df.columns)

    # Add missing columns
    df = df.with_columns(
        [
            pl.col("timestamp").dt.year().alias("year"),
            pl.col("timestamp").dt.month().alias("month"),
        ]
    )
    market.write_folder(root / "fixed", df, ["product_id", "date"])
    keys = ["product_id", "year", "month"]
    assert Repartitioner(root / "fixed", root / "new", keys).repartition()["errors"] == 0


def troubleshooting_row_count_mismatch(root: Path) -> None:
    """A transform that filters rows: nothing is written, and the message says how many went."""
    market.write_folder(root / "old", with_hours(market.level2()), ["product_id", "date"])

    # Debug transform
    def debug_transform(df: pl.DataFrame) -> pl.DataFrame:
        print(f"Input rows: {len(df)}")
        df_out = df.filter(pl.col("side") == "bid")
        print(f"Output rows: {len(df_out)}")
        return df_out

    repartitioner = Repartitioner(root / "old", root / "new", HOURLY)
    try:
        repartitioner.repartition(transform_fn=debug_transform)
    except ValueError as error:
        print(error)
    assert not list((root / "new").rglob("*.parquet"))
    stats = repartitioner.repartition(transform_fn=debug_transform, validate=False)
    assert (stats["records_read"], stats["records_written"]) == (480, 240)


def troubleshooting_out_of_memory(root: Path) -> None:
    """Compaction streams: a partition need not fit into memory."""
    market.write_folder(root / "level2", market.level2(), ["product_id", "date"])
    partition_dir = root / "level2" / "product_id=BTC-USD" / "date=2025-11-26"
    # Check partition size
    df = pl.read_parquet(partition_dir / "*.parquet")
    print(f"Rows: {len(df):,}, Memory: {df.estimated_size() / (1024**2):.1f} MB")
    assert ParquetCompactor(root / "level2").compact()["files_after"] == 2


EXAMPLES: tuple[Callable[[Path], Any], ...] = (
    basic_usage,
    with_data_transformation,
    production_workflow,
    pattern_1_add_time_granularity,
    pattern_2_add_product_partitioning,
    pattern_3_simplify_nested_partitions,
    compaction,
    monitor_file_counts,
    workflow_4_schema_migration,
    performance_tip_monitor_memory_usage,
    troubleshooting_partition_columns_not_found,
    troubleshooting_row_count_mismatch,
    troubleshooting_out_of_memory,
)

if __name__ == "__main__":
    for example in EXAMPLES:
        print(f"== {example.__name__}")
        with tempfile.TemporaryDirectory() as folder:
            example(Path(folder))
