"""Delete, update and upsert rows of a plain folder: each example of the guide, as it is written.

Only the paths are others, and names that polars has dropped are today's: `pl.len()`, `group_by`.

    python -m examples.folders.parquet_crud_examples
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from examples.folders import market

import mere
from mere.datasets import ParquetCRUD


def _level2(root: Path) -> Path:
    market.write_folder(root / "level2", market.level2(), ["product_id", "date"])
    return root / "level2"


def _count(dataset_dir: Path, where: pl.Expr | None = None) -> int:
    df = pl.scan_parquet(dataset_dir / "**/*.parquet")
    found = df if where is None else df.filter(where)
    count: int = found.select(pl.len()).collect().item()
    return count


def delete(root: Path) -> None:
    """Remove rows matching a filter condition."""
    _level2(root)
    crud = ParquetCRUD(
        dataset_dir=str(root / "level2"),
        backup_dir=str(root / "backups" / "level2"),  # Optional backup
    )

    # Delete specific rows
    stats = crud.delete(
        filter_expr=((pl.col("product_id") == "BTC-USD") & (pl.col("date") == "2025-11-26")),
        partition_filter={"product_id": "BTC-USD", "date": "2025-11-26"},
        dry_run=False,
        create_backup=True,
    )

    print(f"✓ Deleted {stats['rows_deleted']:,} rows")
    assert stats["rows_deleted"] == 240
    assert _count(root / "backups" / "level2") == 240


def update(root: Path) -> None:
    """Modify existing rows."""
    crud = ParquetCRUD(dataset_dir=_level2(root), backup_dir=root / "backups")
    # Update literal value
    stats = crud.update(
        filter_expr=pl.col("side") == "offer",
        update_expr={"side_normalized": "ask"},
        partition_filter={"product_id": "BTC-USD"},
        dry_run=False,
        create_backup=True,
    )
    assert stats["rows_updated"] == _count(root / "level2", pl.col("side_normalized") == "ask")

    # Update with expression
    stats = crud.update(
        filter_expr=pl.col("spread").is_null(),
        update_expr={
            "spread": pl.col("best_ask") - pl.col("best_bid"),
            "spread_bps": ((pl.col("best_ask") - pl.col("best_bid")) / pl.col("mid_price")) * 10000,
        },
        partition_filter={"date": "2025-11-26"},
    )
    assert stats["rows_updated"] == 96
    assert _count(root / "level2", pl.col("spread").is_null() | pl.col("spread_bps").is_null()) == 0


def upsert(root: Path) -> None:
    """Insert or update based on key columns."""
    market.write_folder(root / "trades", market.trades(), ["product_id", "date"])
    crud = ParquetCRUD(root / "trades")
    # New/corrected data
    new_trades = pl.DataFrame(
        {
            "product_id": ["BTC-USD", "BTC-USD"],
            "trade_id": ["12346", "99999"],  # 12346 exists, 99999 new
            "price": [50000.0, 50100.0],
            "size": [1.5, 2.0],
            "date": ["2025-11-26", "2025-11-26"],
        }
    )

    stats = crud.upsert(
        new_data=new_trades,
        key_cols=["product_id", "trade_id"],  # Unique identifier
        partition_cols=["product_id", "date"],
        update_cols=["price", "size"],  # Only update these columns
        dry_run=False,
        create_backup=True,
    )

    print(f"✓ Inserted: {stats['rows_inserted']}, Updated: {stats['rows_updated']}")
    assert (stats["rows_inserted"], stats["rows_updated"]) == (1, 1)
    kept = pl.scan_parquet(root / "trades" / "**/*.parquet").filter(pl.col("price") >= 50000)
    # What new_trades does not say stays, and is NULL in a row that is new.
    assert set(kept.select("trade_id", "side").collect().rows()) == {
        ("12346", "buy"),
        ("99999", None),
    }


def best_practice_1_always_use_backups(root: Path) -> None:
    """Keep what a change takes away."""
    crud = ParquetCRUD(
        dataset_dir=_level2(root),
        backup_dir=root / "backups" / "level2",  # ✓ Enable backups
    )

    # ✓ Create backup per operation
    stats = crud.delete(filter_expr=pl.col("spread_bps") > 500, create_backup=True)
    assert len(stats["backup"]) == stats["files_deleted"] > 0


def best_practice_2_use_dry_run_first(root: Path) -> None:
    """Count, look, then do it."""
    crud = ParquetCRUD(_level2(root))
    # Preview changes without executing
    stats = crud.delete(filter_expr=pl.col("side") == "offer", dry_run=True)
    print(f"Would delete {stats['rows_deleted']} rows")
    assert _count(root / "level2") == 480

    # Confirm, then execute
    done = crud.delete(filter_expr=pl.col("side") == "offer", dry_run=False)
    assert done["rows_deleted"] == stats["rows_deleted"] == 240


def best_practice_3_leverage_partition_filters(root: Path) -> None:
    """Say which partitions are meant, where that is known."""
    crud = ParquetCRUD(_level2(root))
    # The columns of partitions in the condition itself leave out the others as well.
    stats = crud.delete(filter_expr=pl.col("product_id") == "BTC-USD", dry_run=True)
    assert stats["partitions_affected"] == 1

    # ✓ Fast - only scans BTC-USD partitions
    stats = crud.delete(
        filter_expr=pl.col("product_id") == "BTC-USD",
        partition_filter={"product_id": "BTC-USD"},  # ✓ Partition pruning
    )
    assert stats["rows_deleted"] == 240


def best_practice_4_validate_row_counts(root: Path) -> None:
    """Count before and after."""
    dataset_dir = _level2(root)
    crud = ParquetCRUD(dataset_dir)
    # Before operation
    df_before = pl.scan_parquet(dataset_dir / "**/*.parquet")
    count_before = df_before.select(pl.len()).collect().item()

    # Perform operation
    stats = crud.delete(filter_expr=pl.col("spread_bps") > 500)

    # After operation
    df_after = pl.scan_parquet(dataset_dir / "**/*.parquet")
    count_after = df_after.select(pl.len()).collect().item()

    assert count_after == count_before - stats["rows_deleted"]


def workflow_1_fix_data_quality_issues(root: Path) -> None:
    """Delete outliers, fix categorical values, recompute derived fields."""
    crud = ParquetCRUD(dataset_dir=_level2(root), backup_dir=root / "backups")

    # Step 1: Delete outliers
    crud.delete(
        filter_expr=pl.col("spread_bps") > 500,
        partition_filter={"product_id": "BTC-USD"},
        create_backup=True,
    )

    # Step 2: Fix categorical values
    crud.update(
        filter_expr=pl.col("side") == "offer",
        update_expr={"side_normalized": "ask"},
        partition_filter={"product_id": "BTC-USD"},
    )

    # Step 3: Recalculate derived fields
    crud.update(
        filter_expr=pl.col("spread").is_not_null(),
        update_expr={"spread": pl.col("best_ask") - pl.col("best_bid")},
    )
    wide = pl.col("spread_bps") > 500
    assert _count(root / "level2", wide & (pl.col("product_id") == "BTC-USD")) == 0


def workflow_2_deduplication(root: Path) -> None:
    """Find duplicates, and upsert what is left of them: each key is there once afterwards."""
    dataset_dir = root / "trades"
    market.write_folder(dataset_dir, market.trades(), ["product_id", "date"])
    crud = ParquetCRUD(dataset_dir)
    # Read and find duplicates
    df = pl.scan_parquet(dataset_dir / "**/*.parquet")
    counted = df.group_by(["product_id", "trade_id"]).agg(pl.len().alias("count"))
    duplicates = counted.filter(pl.col("count") > 1).collect()

    print(f"Found {len(duplicates)} duplicate trade IDs")

    # Deduplicate
    df_deduped = df.unique(subset=["product_id", "trade_id"], keep="first").collect()

    # Upsert deduplicated data (replaces duplicates)
    crud.upsert(
        new_data=df_deduped,
        key_cols=["product_id", "trade_id"],
        partition_cols=["product_id", "date"],
        create_backup=True,
    )
    assert (len(duplicates), _count(dataset_dir)) == (4, 40)


def workflow_3_incremental_data_loading(root: Path) -> None:
    """Insert what is new, and update what is there."""
    crud = ParquetCRUD(_level2(root))
    new = market.level2().filter(pl.col("product_id") == "BTC-USD").tail(10)
    shifted = new.with_columns(pl.col("sequence_num") + 5, price=pl.lit(7.0), volume=pl.lit(2.0))
    shifted.write_parquet(root / "external_data.parquet")

    # Load new data from external source
    new_data = pl.read_parquet(root / "external_data.parquet")

    # Upsert (insert new, update existing)
    stats = crud.upsert(
        new_data=new_data,
        key_cols=["product_id", "sequence_num"],
        partition_cols=["product_id", "date"],
        update_cols=["price", "volume"],  # Only update these fields
    )
    assert (stats["rows_inserted"], stats["rows_updated"]) == (5, 5)


def performance_tip_batch_operations(root: Path) -> None:
    """One call for many values."""
    crud = ParquetCRUD(_level2(root))
    products = ["BTC-USD", "ETH-USD"]
    assert crud.delete(filter_expr=pl.col("product_id").is_in(products))["rows_deleted"] == 480


def performance_tip_lazy_evaluation(root: Path) -> None:
    """Read lazily."""
    dataset_dir = _level2(root)
    # Lazy scan (doesn't load into memory)
    df = pl.scan_parquet(dataset_dir / "**/*.parquet")

    # Operations are lazy (query optimization)
    filtered = df.filter(pl.col("product_id") == "BTC-USD")

    # Only loads data when needed
    result = filtered.collect()
    assert len(result) == 240


def a_way_up(root: Path) -> None:
    """Beyond the guide: the folder becomes a table of a lake, and no byte is rewritten."""
    crud = ParquetCRUD(_level2(root))
    with mere.connect(root / "shop.db") as lake:
        crud.adopt(lake, "level2")
        assert lake.table("level2").count() == 480


EXAMPLES: tuple[Callable[[Path], Any], ...] = (
    delete,
    update,
    upsert,
    best_practice_1_always_use_backups,
    best_practice_2_use_dry_run_first,
    best_practice_3_leverage_partition_filters,
    best_practice_4_validate_row_counts,
    workflow_1_fix_data_quality_issues,
    workflow_2_deduplication,
    workflow_3_incremental_data_loading,
    performance_tip_batch_operations,
    performance_tip_lazy_evaluation,
    a_way_up,
)

if __name__ == "__main__":
    for example in EXAMPLES:
        print(f"== {example.__name__}")
        with tempfile.TemporaryDirectory() as folder:
            example(Path(folder))
