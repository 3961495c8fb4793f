"""Rows of a folder are deleted, updated and upserted, and files get fewer: the classes by name."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mere
from mere.datasets import ParquetCompactor, ParquetCRUD

CHANGED = {
    "partitions_affected",
    "files_read",
    "files_written",
    "files_deleted",
    "rows_before",
    "rows_after",
    "rows_deleted",
    "rows_updated",
    "rows_inserted",
}
TRADES = pa.table(
    {
        "product_id": pa.array(["A", "A", "A", "B", "B", "B"]),
        "date": pa.array(["2025-11-26", "2025-11-26", "2025-11-27"] * 2),
        "trade_id": pa.array(range(1, 7), pa.int64()),
        "price": pa.array([2.0, 3.0, None, 4.0, None, 1.0]),
        "spread": pa.array([None, 0.5, None, 0.25, None, 1.0]),
        "spread_bps": pa.array([None, 5.0, None, None, None, 1.0]),
    }
)
KEY = ["product_id", "trade_id"]
BY = ["product_id", "date"]


@pytest.fixture
def trades(ground):
    """Make trades in four partitions."""
    return ground.write("trades", TRADES, BY, files=2)


@pytest.fixture
def crud(ground, trades):
    """Change them."""
    return ParquetCRUD(trades, **ground.how)


def counts(stats):
    return stats["rows_inserted"], stats["rows_updated"], stats["rows_deleted"]


def test_a_delete_counts_what_goes_and_leaves_nulls(ground, trades, crud):
    names = ground.names(trades)
    dry = crud.delete(pl.col("price") > 2.5, dry_run=True)
    assert (counts(dry), ground.names(trades)) == ((0, 0, 2), names)
    done = crud.delete(filter_expr=pl.col("price") > 2.5)
    assert done.keys() >= CHANGED
    assert counts(done) == counts(dry)
    assert (done["rows_before"], done["rows_after"]) == (6, 4)
    assert (done["partitions_affected"], done["files_deleted"], done["files_written"]) == (2, 2, 0)
    assert ground.rows(trades, "trade_id", "price") == [(1, 2.0), (3, None), (5, None), (6, 1.0)]
    assert counts(crud.delete("trade_id IN (1, 3)")) == (0, 0, 2)
    assert ground.rows(trades, "trade_id") == [(5,), (6,)]


def test_partitions_are_found_by_any_of_their_keys(ground, trades, crud):
    everything = pl.col("trade_id") > 0
    for within, found in (
        ({"date": "2025-11-26"}, 4),
        ({"product_id": "A"}, 3),
        ({"product_id": "A", "date": "2025-11-26"}, 2),
        ("product_id=B/date=2025-11-27", 1),
        (["date=2025-11-27", "product_id=A"], 4),
        ([("date", ">", "2025-11-26")], 2),
        (pl.col("product_id") == "B", 3),
    ):
        stats = crud.delete(everything, partition_filter=within, dry_run=True)
        assert stats["rows_deleted"] == found, within
    crud.delete(everything, {"product_id": "B"})
    assert ground.rows(trades, "product_id") == [("A",)] * 3


def test_an_update_reads_the_row_as_it_was(ground, trades, crud):
    sets = {"spread": pl.col("price") - 1, "spread_bps": pl.col("price") * 100}
    assert counts(crud.update(pl.col("spread").is_null(), sets, dry_run=True)) == (0, 3, 0)
    assert counts(crud.update(pl.col("spread").is_null(), sets)) == (0, 3, 0)
    assert ground.rows(trades, "trade_id", "spread", "spread_bps") == [
        *[(1, 1.0, 200.0), (2, 0.5, 5.0), (3, None, None)],
        *[(4, 0.25, None), (5, None, None), (6, 1.0, 1.0)],
    ]
    stats = crud.update(pl.col("trade_id") == 6, {"date": "2025-11-30", "price": None})
    assert counts(stats) == (0, 1, 0)
    assert "product_id=B/date=2025-11-30" in {n.rpartition("/")[0] for n in ground.names(trades)}
    with pytest.raises(ValueError, match="unknown column 'nope'"):
        crud.update(pl.col("trade_id") == 6, {"nope": 1})


def test_an_upsert_without_all_columns_keeps_them_and_inserts_the_rest(ground, trades, crud):
    new = pl.DataFrame(
        {
            "product_id": ["A", "A"],
            "trade_id": [2, 99],
            "price": [None, 7.0],
            "date": ["2025-11-28", "2025-11-26"],
        },
        schema_overrides={"price": pl.Float64},
    )
    data = ground.engine.createDataFrame(new.to_arrow()) if ground.engine != "local" else new
    dry = crud.upsert(data, KEY, BY, dry_run=True)
    stats = crud.upsert(new_data=data, key_cols=KEY, partition_cols=BY)
    assert counts(stats) == counts(dry) == (1, 1, 0)
    rows = ground.rows(trades, "trade_id", "date", "price", "spread")
    assert (2, "2025-11-28", None, 0.5) in rows
    assert (99, "2025-11-26", 7.0, None) in rows
    assert len(rows) == 7
    moved = [
        name for name in ground.names(trades) if name.startswith("product_id=A/date=2025-11-28")
    ]
    assert len(moved) == 1
    only = crud.upsert(data, KEY, BY, update_cols=["date"])
    assert counts(only) == (0, 2, 0)


def test_a_key_that_was_there_twice_is_there_once_after_an_upsert(ground, trades, crud):
    ground.put("trades/product_id=A/date=2025-11-26/again.parquet", TRADES.slice(0, 2))
    new = pl.DataFrame(
        {"product_id": ["A"], "trade_id": [1], "date": ["2025-11-26"], "price": [9.0]}
    )
    dry = crud.upsert(new, KEY, BY, dry_run=True)
    stats = crud.upsert(new, KEY, BY)
    assert counts(stats) == counts(dry) == (0, 1, 1)
    assert stats["files_deleted"] > 0
    ids = [key for (key,) in ground.rows(trades, "trade_id")]
    assert ids == [1, 2, 2, 3, 4, 5, 6]
    assert (1, 9.0) in ground.rows(trades, "trade_id", "price")


def test_what_an_upsert_needs_is_asked_for_first(ground, trades, crud):
    names = ground.names(trades)
    good = pl.DataFrame({"product_id": ["A"], "trade_id": [1], "date": ["2025-11-26"]})
    with pytest.raises(ValueError, match="Partition columns not found in data: date"):
        crud.upsert(good.drop("date"), KEY, BY)
    with pytest.raises(ValueError, match="Key columns not found in new_data: trade_id"):
        crud.upsert(good.drop("trade_id"), KEY, BY)
    with pytest.raises(ValueError, match=r"more than once|twice"):
        crud.upsert(pl.concat([good, good]), KEY, BY)
    with pytest.raises(FileNotFoundError, match="no matching Parquet files"):
        ParquetCRUD(ground.path("nowhere"), **ground.how).delete(pl.col("a") == 1)
    assert ground.names(trades) == names


def test_files_are_copied_before_they_go(ground, trades):
    crud = ParquetCRUD(trades, backup_dir=ground.path("backup"), **ground.how)
    assert crud.delete(pl.col("trade_id") == 1, dry_run=True)["backup"] == []
    assert crud.delete(pl.col("trade_id") == 2, create_backup=False)["backup"] == []
    assert ground.names(ground.path("backup")) == []
    stats = crud.delete(pl.col("trade_id") <= 3)
    names = ground.names(ground.path("backup"))
    assert stats["backup"] == [f"{ground.path('backup')}/{name}" for name in names]
    assert ground.rows(ground.path("backup"), "trade_id") == [(1,), (3,)]
    assert ParquetCRUD(trades, **ground.how).delete(pl.col("trade_id") == 4)["backup"] == []


def test_compaction_tells_of_files_bytes_and_partitions(ground, trades):
    before = ground.names(trades)
    began = datetime.now(UTC)
    compactor = ParquetCompactor(trades, target_file_size_mb=100, **ground.how)
    dry = compactor.compact(dry_run=True)
    assert ground.names(trades) == before
    done = compactor.compact(min_file_count=2, max_file_size_mb=20, delete_source_files=True)
    for stats in (dry, done):
        assert (stats["files_before"], stats["files_after"]) == (6, 4)
        assert stats["partitions_scanned"] == 4
        assert stats["partitions_compacted"] == 2
        assert began <= stats["start_time"] <= stats["end_time"]
    assert done["bytes_before"] != done["bytes_after"]
    assert done["compression_codec"] == "zstd"
    assert compactor.compact()["partitions_compacted"] == 0


def test_files_that_were_merged_are_kept_where_nobody_reads_them(ground, trades):
    rows = ground.rows(trades)
    ParquetCompactor(trades, **ground.how).compact(delete_source_files=False)
    assert ground.rows(trades) == rows
    kept = [n for n in everything(ground, trades) if n.endswith(".kept")]
    assert len(kept) == 4
    ParquetCRUD(trades, **ground.how).delete(pl.col("trade_id") == 1)
    assert [n for n in everything(ground, trades) if n.endswith(".kept")] == kept


def everything(ground, path):
    inside = path.removeprefix("s3://")
    found = ground.files.get_file_info(pa.fs.FileSelector(inside, recursive=True))
    return sorted(info.path for info in found if info.is_file)


def test_compaction_leaves_alone_what_is_large_or_few(here):
    path = here.write("d", TRADES, ["product_id"], files=3)
    compactor = ParquetCompactor(path)
    assert compactor.compact(min_file_count=4)["files_after"] == 6
    assert compactor.compact(max_file_size_mb=0.000001)["files_after"] == 6
    with pytest.raises(ValueError, match="target_file_size_mb must be greater than 0"):
        ParquetCompactor(path, target_file_size_mb=0).compact()
    with pytest.raises(FileNotFoundError, match="no matching Parquet files"):
        ParquetCompactor(here.path("nowhere")).compact()
    with pytest.raises(ValueError, match="min_file_count must be greater than 0"):
        compactor.compact(min_file_count=0)
    assert compactor.compact(min_file_count=3)["files_after"] == 2


def test_a_folder_becomes_a_table_of_a_lake_without_a_byte_being_rewritten(here, tmp_path):
    path = here.write("trades", TRADES, BY)
    before = {name: Path(path, name).read_bytes() for name in here.names(path)}
    with mere.connect(tmp_path / "shop.db") as lake:
        report = ParquetCRUD(path).adopt(lake, "trades")
        assert (report.files_added, lake.table("trades").count()) == (len(before), 6)
        assert lake.table("trades").partition_by == ("product_id", "date")
        lake.table("trades").delete("trade_id = 1")
        assert lake.table("trades").count() == 5
    assert {name: Path(path, name).read_bytes() for name in here.names(path)} == before


def test_names_of_new_files_sort_by_the_time_they_were_made(here):
    path = here.write("d", TRADES)
    crud = ParquetCRUD(path)
    made = []
    for number in (1, 2):
        crud.update(pl.col("trade_id") == number, {"price": 0.0})
        made += [name for name in here.names(path) if name.startswith("part-")]
    assert made[0] < made[-1]
    assert all(pq.read_metadata(f"{path}/{name}") for name in here.names(path))
