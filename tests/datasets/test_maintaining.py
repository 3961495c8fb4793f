"""Small files of a folder become few, its rows come in order: by the names that callers know."""

import json
from datetime import date
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mere.datasets import (
    DuckDBParquetHandler,
    FileInfo,
    collect_dataset_stats,
    collect_dataset_stats_pyarrow,
    compact_parquet_dataset_pyarrow,
    optimize_parquet_dataset_pyarrow,
)

CANONICAL = {
    "before_file_count",
    "after_file_count",
    "before_total_bytes",
    "after_total_bytes",
    "compacted_file_count",
    "rewritten_bytes",
    "compression_codec",
    "dry_run",
}
DAYS = [date(2025, 11, day) for day in (3, 4)]
ROWS = pa.table(
    {
        "user_id": pa.array([n * 37 % 100 if n % 9 else None for n in range(60)], pa.int64()),
        "event_date": pa.array([DAYS[n % 2] for n in range(60)], pa.date32()),
        "text": [f"t{n}" for n in range(60)],
    }
)


class Pyarrow:
    """The functions, with the handler's names."""

    def __init__(self, engine):
        self._engine = engine

    def _collect_dataset_stats(self, path, partition_filter=None):
        return collect_dataset_stats_pyarrow(path, None, partition_filter)

    def compact_parquet_dataset(self, path, *given, **named):
        named["engine"] = self._engine
        return compact_parquet_dataset_pyarrow(path, *given, **named)

    def optimize_parquet_dataset(self, path, *given, **named):
        named["engine"] = self._engine
        return optimize_parquet_dataset_pyarrow(path, *given, **named)


@pytest.fixture
def handler(ground):
    """Maintain folders with the kernel of the place."""
    if ground.kernel == "duckdb":
        with DuckDBParquetHandler(engine=ground.engine) as opened:
            yield opened
    else:
        yield Pyarrow(ground.engine)


@pytest.fixture
def days(ground):
    """Make a folder of two days with three files each."""
    return ground.write("days", ROWS, ["event_date"])


def prefixes(ground, path):
    return sorted({name.rpartition("/")[2].partition("-")[0] for name in ground.names(path)})


def test_compaction_keeps_rows_columns_and_partitions(ground, handler, days):
    before, dry = ground.names(days), handler.compact_parquet_dataset(days, 128, dry_run=True)
    rows = ground.rows(days)
    assert dry.keys() >= CANONICAL | {"planned_groups"}
    assert dry["dry_run"] is True
    assert ground.names(days) == before
    assert sorted(name for group in dry["planned_groups"] for name in group) == [
        f"{days}/{name}" for name in before
    ]
    done = handler.compact_parquet_dataset(days, target_mb_per_file=128)
    assert done.keys() >= CANONICAL
    assert type(done) is dict
    assert json.dumps({name: done[name] for name in CANONICAL})
    counts = ("before_file_count", "after_file_count", "compacted_file_count", "dry_run")
    assert [done[name] for name in counts] == [6, 2, 6, False]
    assert [dry[name] for name in counts] == [6, 2, 6, True]
    assert (ground.rows(days), prefixes(ground, days)) == (rows, ["compact"])
    stats = handler._collect_dataset_stats(days)  # noqa: SLF001  a name that callers know
    assert (stats["total_rows"], len(stats["files"])) == (60, done["after_file_count"])
    assert stats["total_bytes"] == done["after_total_bytes"]
    again = handler.compact_parquet_dataset(days, target_mb_per_file=128)
    assert (again["compacted_file_count"], again["rewritten_bytes"]) == (0, 0)


def test_optimizing_orders_rows_with_nulls_last_in_each_file(ground, handler, days):
    rows = ground.rows(days)
    dry = handler.optimize_parquet_dataset(days, ["user_id", "text"], 256, dry_run=True)
    assert (dry["zorder_columns"], len(dry["planned_groups"])) == (["user_id", "text"], 2)
    done = handler.optimize_parquet_dataset(
        days, zorder_columns=["user_id", "text"], target_rows_per_file=10
    )
    assert done.keys() >= CANONICAL | {"zorder_columns"}
    assert (done["after_file_count"], prefixes(ground, days)) == (6, ["optimized"])
    assert ground.rows(days) == rows
    for name in ground.names(days):
        inside = f"{days}/{name}".removeprefix("s3://")
        users = pq.read_table(inside, filesystem=ground.files)["user_id"].to_pylist()
        assert len(users) <= 10
        assert users == sorted(users, key=lambda user: (user is None, user))


def test_only_the_partitions_that_were_asked_for_are_touched(ground, handler, days):
    kept = [name for name in ground.names(days) if "2025-11-03" in name]
    within = "event_date=2025-11-04"
    assert handler._collect_dataset_stats(days, within)["total_rows"] == 30  # noqa: SLF001  as above
    done = handler.compact_parquet_dataset(days, 128, partition_filter=within)
    assert done["compacted_file_count"] == 3
    assert [name for name in ground.names(days) if "2025-11-03" in name] == kept


def test_what_cannot_be_meant_is_refused_before_anything_is_read(ground, handler):
    for wrong in ({"target_mb_per_file": 0}, {"target_rows_per_file": -5}, {}):
        with pytest.raises(ValueError, match="target"):
            handler.compact_parquet_dataset(ground.path("nowhere"), **wrong)
    with pytest.raises(ValueError, match="target_mb_per_file must be greater than 0"):
        handler.optimize_parquet_dataset(ground.path("nowhere"), ["a"], target_mb_per_file=-1)


def test_a_folder_without_matching_files_is_not_found(ground, handler, days):
    missing = "no matching Parquet files were found under"
    for call in (
        lambda: handler.compact_parquet_dataset(ground.path("nowhere"), 128),
        lambda: handler.optimize_parquet_dataset(ground.path("nowhere"), ["user_id"]),
        lambda: handler._collect_dataset_stats(ground.path("nowhere")),  # noqa: SLF001  as above
        lambda: handler.compact_parquet_dataset(days, 128, None, ["event_date=2031-01-01"]),
        lambda: handler._collect_dataset_stats(days, "event_date=2031-01-01"),  # noqa: SLF001  as above
    ):
        with pytest.raises(FileNotFoundError, match=missing):
            call()


def test_an_unknown_column_is_refused_and_the_known_ones_are_listed(ground, handler, days):
    names = ground.names(days)
    with pytest.raises(ValueError, match=r"unknown column 'nope'.*user_id"):
        handler.optimize_parquet_dataset(days, ["nope"], 128)
    with pytest.raises(ValueError, match="unknown column 'month'"):
        handler.compact_parquet_dataset(days, 128, partition_filter="month=1")
    assert ground.names(days) == names


def test_both_backends_tell_the_same(here):
    told = []
    for name, call in (
        ("one", compact_parquet_dataset_pyarrow),
        ("two", DuckDBParquetHandler().compact_parquet_dataset),
    ):
        path = here.write(name, ROWS, ["event_date"])
        dry, done = call(path, 128, dry_run=True), call(path, 128)
        same = CANONICAL - {"after_total_bytes"}
        told.append([{k: found[k] for k in same} for found in (dry, done)] + [dry.keys()])
    assert told[0] == told[1]


def test_a_codec_is_kept_unless_another_is_asked_for(here):
    for n in range(3):
        here.put(f"d/{n}.parquet", ROWS, compression="gzip")
    path = here.path("d")
    codec = compact_parquet_dataset_pyarrow(path, 128)["compression_codec"]
    assert (codec, codecs(here, path)) == ("gzip", {"GZIP"})
    optimize_parquet_dataset_pyarrow(path, "user_id", compression="zstd")
    assert codecs(here, path) == {"ZSTD"}


def codecs(ground, path):
    metadata = (pq.read_metadata(f"{path}/{name}") for name in ground.names(path))
    return {one.row_group(0).column(0).compression for one in metadata}


def test_statistics_name_files_by_path_bytes_and_rows(here):
    path = here.write("d", ROWS)
    stats = collect_dataset_stats(path, fsspec.filesystem("file"))
    assert all(isinstance(file, FileInfo) for file in stats["files"])
    sizes = {file.path: file.size_bytes for file in stats["files"]}
    assert sizes == {f"{path}/{n}": Path(path, n).stat().st_size for n in here.names(path)}
    assert stats["total_rows"] == 60


def test_files_stay_below_a_number_of_rows_and_none_is_split_for_it(here):
    path = here.write("d", ROWS, files=20)
    done = compact_parquet_dataset_pyarrow(path, target_rows_per_file=25)
    assert done["after_file_count"] == 3
    assert max(f.num_rows for f in collect_dataset_stats(path)["files"]) <= 25
    again = compact_parquet_dataset_pyarrow(path, target_rows_per_file=25)
    assert again["compacted_file_count"] == 0
    assert compact_parquet_dataset_pyarrow(path, target_rows_per_file=5)["rewritten_bytes"] == 0


def test_the_handler_writes_folders_and_reads_them(ground):
    handler = DuckDBParquetHandler(engine=ground.engine)
    path = ground.path("written")
    done = handler.write_parquet(ROWS, path, partition_by=["event_date"])
    assert (done["rows_inserted"], done["files_added"]) == (60, len(ground.names(path)))
    handler.write_parquet(ROWS.slice(0, 5), path)
    assert handler.read_parquet(path, columns=["text"]).num_rows == 65
    assert all(name.startswith("event_date=2025-11-0") for name in ground.names(path))
    with pytest.raises(FileNotFoundError):
        handler.read_parquet(ground.path("nowhere"))
