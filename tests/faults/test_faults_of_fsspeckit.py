"""What fsspeckit 0.25 was seen to do wrong with plain folders goes right here, fault by fault.

Each test bears the name that the fault was given; the figures in it are those of the original.
"""

import math
import shutil
import subprocess
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import fsspec
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.dirfs import DirFileSystem
from tests import jobs

from mere.catalogs.directory import DirectoryCatalog
from mere.datasets import (
    DuckDBParquetHandler,
    ParquetCompactor,
    ParquetCRUD,
    Repartitioner,
    collect_dataset_stats,
    compact_parquet_dataset_pyarrow,
    folder,
    optimize_parquet_dataset_pyarrow,
)
from mere.errors import MereError

KERNELS = pytest.mark.parametrize("kernel", ["pyarrow", "duckdb"])


def put(path, rows, **options):
    """Write one file, as somebody else would."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows if isinstance(rows, pa.Table) else pa.table(rows), path, **options)


def shown(path, columns="*"):
    """Return the rows that a reader finds that knows nothing of us."""
    where = str(path).replace("'", "''")
    query = f"SELECT {columns} FROM read_parquet('{where}/**/*.parquet', union_by_name=true)"
    return sorted(duckdb.sql(query).fetchall(), key=repr)


def names(path):
    return sorted(str(file.relative_to(path)) for file in path.rglob("*.parquet"))


@pytest.fixture
def people(tmp_path):
    """Make five files of ten people each."""
    for n in range(5):
        rows = {"id": range(n * 10, n * 10 + 10), "a": [1.0] * 10, "b": [f"b{n}"] * 10}
        put(tmp_path / "people" / f"f{n}.parquet", rows)
    return tmp_path / "people"


def test_object_store_compaction_loses_partition_columns(tmp_path):
    files = fsspec.filesystem("memory")
    root = f"/{tmp_path.name}/lost"
    for day in "abc":
        for n in range(2):
            with files.open(f"{root}/d={day}/{n}.parquet", "wb") as sink:
                pq.write_table(pa.table({"x": [n]}), sink)
    done = compact_parquet_dataset_pyarrow(root, 128, filesystem=files)
    assert (done["before_file_count"], done["after_file_count"]) == (6, 3)
    left = [name for name in files.find(root) if name.endswith(".parquet")]
    assert {name.removeprefix(root).split("/")[1] for name in left} == {"d=a", "d=b", "d=c"}
    found = folder(root, filesystem=files).scan(columns=["d", "x"]).to_arrow().to_pylist()
    assert {(row["d"], row["x"]) for row in found} == {(d, x) for d in "abc" for x in (0, 1)}
    files.rm(f"/{tmp_path.name}", recursive=True)


def crashed(stage, was, path, verb):
    """Yield what others and we see after a death at some calls of a verb."""
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(was, path)
    calls = stage.run("change_folder", path=str(path), verb=verb).result
    after = shown(path, "id, part, text")
    for at in sorted({len(calls) // 2, len(calls) * 3 // 4, len(calls) - 1, len(calls)}):
        shutil.rmtree(path)
        shutil.copytree(was, path)
        assert stage.run("change_folder", path=str(path), verb=verb, at=at).killed
        folder(path).count()  # whoever opens it brings it to one end or the other
        yield after, shown(path, "id, part, text")


@pytest.fixture
def parts(tmp_path):
    """Make a folder of two partitions for jobs that die."""
    path = tmp_path / "was"
    for name, ids in {"a": (1, 2), "b": (3, 4), "c": (1, 3, 5, 6)}.items():
        table = jobs.rows(*ids, text=name)
        for part in (0, 1):
            some = table.filter([value == part for value in table["part"].to_pylist()])
            put(path / f"part={part}" / f"{name}.parquet", some)
    return path


def test_kill_during_local_compaction_loses_rows(stage, parts, tmp_path):
    before = shown(parts, "id, part, text")
    path = tmp_path / "here"
    for after, found in crashed(stage, parts, path, "compact"):
        assert after == found == before
    compact_parquet_dataset_pyarrow(str(path), 128)
    assert shown(path, "id, part, text") == before


@pytest.mark.parametrize("verb", ["upsert", "overwrite"])
def test_kill_during_merge_or_overwrite_leaves_all_or_nothing(stage, parts, tmp_path, verb):
    before, path = shown(parts, "id, part, text"), tmp_path / "here"
    for after, found in crashed(stage, parts, path, verb):
        assert after != before
        assert found in (before, after)
        jobs.FOLDER_VERBS[verb](folder(path))  # the next one sees what everybody sees
        assert shown(path, "id, part, text") == after


def test_object_store_crash_doubles_rows(s3, monkeypatch):
    where = f"{s3.url}/crash"
    rows = pa.table({"n": range(20)})
    for part in (rows, rows):
        folder(where, schema=rows.schema).append(part)
    real = DirectoryCatalog.commit

    def deleting_fails(self, *change):
        def gone(_paths):
            msg = "the machine went away"
            raise OSError(msg)

        with monkeypatch.context() as patch:
            patch.setattr(type(self._store), "delete", lambda _store, paths: gone(paths))
            return real(self, *change)

    with monkeypatch.context() as patch:
        patch.setattr(DirectoryCatalog, "commit", deleting_fails)
        with pytest.raises((MereError, OSError)):
            compact_parquet_dataset_pyarrow(where, 128)
    # The lock stayed, and its process lives: all but the impatient wait a minute for it.
    assert jobs.numbered_folder(where, jobs.Fuse(), patience_s=0).count() == 40
    assert folder(where).count() == 40
    assert folder(where).scan().to_arrow().num_rows == 40
    assert collect_dataset_stats(where)["total_rows"] == 40


def test_two_merges_lose_updates_or_crash(people):
    wrong = []

    def merge(ids, value):
        try:
            for number in ids:
                new = pl.DataFrame({"id": [number], "a": [value]})
                ParquetCRUD(people).upsert(new, ["id"], [])
        except Exception as error:  # noqa: BLE001  the other thread must hear of it
            wrong.append(error)

    both = [threading.Thread(target=merge, args=(range(k, 6, 2), float(k))) for k in (0, 1)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert wrong == []
    expected = [(n, float(n % 2) if n < 6 else 1.0) for n in range(50)]
    assert shown(people, "id, a") == sorted(expected, key=repr)


def test_merge_during_compaction_is_lost(people, monkeypatch):
    real = DirectoryCatalog.commit

    def late(self, *change):
        with monkeypatch.context() as patch:
            patch.setattr(DirectoryCatalog, "commit", real)
            ParquetCRUD(people).update("id = 3", {"a": 7.0})
        monkeypatch.setattr(DirectoryCatalog, "commit", real)
        return real(self, *change)

    monkeypatch.setattr(DirectoryCatalog, "commit", late)
    with suppress(MereError):
        compact_parquet_dataset_pyarrow(str(people), 128)
    assert (len(shown(people)), shown(people, "a").count((7.0,))) == (50, 1)


def test_a_polling_reader_is_never_told_a_wrong_number_of_rows(people):
    over, told = threading.Event(), []

    def poll():
        while not over.is_set():
            told.append(collect_dataset_stats(str(people))["total_rows"])
            told.append(folder(people).count())

    reader = threading.Thread(target=poll)
    reader.start()
    for n in range(5):
        ParquetCRUD(people).update(f"id = {n}", {"a": 2.0})
        compact_parquet_dataset_pyarrow(str(people), 128)
    over.set()
    reader.join()
    assert set(told) == {50}


def test_leftover_staging_counted_as_data(people):
    for name in (".staging_x.parquet", "_staging/y.parquet", ".hidden/z.parquet"):
        put(people / name, {"id": [0], "a": [9.0], "b": ["x"]})
    assert collect_dataset_stats(str(people))["total_rows"] == 50
    assert compact_parquet_dataset_pyarrow(str(people), 128)["compacted_file_count"] == 5
    stats = ParquetCRUD(people).upsert(pl.DataFrame({"id": [0], "a": [5.0]}), ["id"], [])
    assert (stats["rows_updated"], stats["rows_before"]) == (1, 50)


def test_handler_compact_is_a_silent_no_op(people):
    handler = DuckDBParquetHandler()
    assert handler.compact_parquet_dataset(str(people), 128)["after_file_count"] == 1
    assert handler.optimize_parquet_dataset(str(people), ["id"])["after_file_count"] == 1
    for call in (handler.compact_parquet_dataset, compact_parquet_dataset_pyarrow):
        with pytest.raises(ValueError, match="must be greater than 0"):
            call(str(people), -1)
        with pytest.raises(FileNotFoundError):
            call(str(people / "nowhere"), 128)


def test_default_dirfilesystem_cannot_compact(people):
    files = DirFileSystem(str(people.parent), fsspec.filesystem("file"))
    done = compact_parquet_dataset_pyarrow(people.name, 128, filesystem=files)
    assert (done["before_file_count"], done["after_file_count"]) == (5, 1)
    assert len(shown(people)) == 50


def test_partition_filter_is_a_string_prefix(tmp_path):
    for month in (1, 10, 11):
        for n in range(2):
            put(tmp_path / "m" / f"month={month}" / f"{n}.parquet", {"n": [n]})
    for within, found in ((["month=1"], 2), ("month=1", 0), ("month=10", 2)):
        done = compact_parquet_dataset_pyarrow(str(tmp_path / "m"), 128, partition_filter=within)
        assert done["compacted_file_count"] == found
    assert len([name for name in names(tmp_path / "m") if "month=11" in name]) == 2


@KERNELS
def test_optimize_does_not_order(people, kernel):
    calls = {
        "pyarrow": optimize_parquet_dataset_pyarrow,
        "duckdb": DuckDBParquetHandler().optimize_parquet_dataset,
    }
    call = calls[kernel]
    with pytest.raises(ValueError, match=r"unknown column 'nope'.*id, a, b"):
        call(str(people), ["nope"])
    put(people / "last.parquet", {"id": [None, 7, -1], "a": [0.0] * 3, "b": ["z"] * 3})
    call(str(people), zorder_columns=["id"])
    (name,) = names(people)
    ids = pq.read_table(people / name)["id"].to_pylist()
    assert ids == [*sorted(n for n in ids if n is not None), None]


@KERNELS
def test_compaction_silently_changes_codec_to_snappy(tmp_path, kernel):
    for n in range(4):
        text = [f"some words that repeat {i % 9}" for i in range(2000)]
        put(tmp_path / "z" / f"{n}.parquet", {"t": text}, compression="zstd", compression_level=9)
    done = folder(tmp_path / "z", kernel=kernel).compact()
    (name,) = names(tmp_path / "z")
    column = pq.read_metadata(tmp_path / "z" / name).row_group(0).column(0)
    assert (column.compression, done.compression_codec) == ("ZSTD", "zstd")
    assert done.after_total_bytes <= done.before_total_bytes


def test_target_rows_fragments(tmp_path):
    for n in range(4):
        put(tmp_path / "t" / f"{n}.parquet", {"n": range(n * 1000, n * 1000 + 1000)})
    before = names(tmp_path / "t")
    for _ in range(2):
        compact_parquet_dataset_pyarrow(str(tmp_path / "t"), target_rows_per_file=300)
        assert names(tmp_path / "t") == before


@KERNELS
def test_partial_upsert_nulls_the_other_columns(people, kernel):
    new = pl.DataFrame({"id": [3, 99], "b": ["new", "new"]})
    ParquetCRUD(people, kernel=kernel).upsert(new, ["id"], [])
    found = {row[0]: row[1:] for row in shown(people)}
    assert (found[3], found[99], len(found)) == ((1.0, "new"), (None, "new"), 51)


@KERNELS
def test_nan_key_upsert_is_lost_but_counted(tmp_path, kernel):
    put(tmp_path / "n" / "f.parquet", {"k": [1.0, math.nan], "v": ["a", "b"]})
    new = pl.DataFrame({"k": [math.nan, 2.0], "v": ["up", "new"]})
    stats = ParquetCRUD(tmp_path / "n", kernel=kernel).upsert(new, ["k"], [])
    assert (stats["rows_updated"], stats["rows_inserted"]) == (1, 1)
    assert shown(tmp_path / "n", "v") == [("a",), ("new",), ("up",)]


def test_upsert_without_partition_columns_breaks_the_layout(tmp_path):
    for day in "xy":
        put(tmp_path / "p" / f"d={day}" / "f.parquet", {"id": [ord(day)], "d": [day], "v": [0]})
    crud = ParquetCRUD(tmp_path / "p")
    with pytest.raises(ValueError, match="Partition columns not found in data: d"):
        crud.upsert(pl.DataFrame({"id": [ord("y")], "v": [1]}), ["id"], [])
    new = pl.DataFrame({"id": [ord("y"), 5], "d": ["x", "z"], "v": [1, 2]})
    assert crud.upsert(new, ["id"], [])["rows_updated"] == 1
    assert {Path(name).parent.name for name in names(tmp_path / "p")} == {"d=x", "d=z"}
    assert shown(tmp_path / "p", "id, d, v") == [(120, "x", 0), (121, "x", 1), (5, "z", 2)]


def test_new_source_column_dropped_silently(people):
    before = names(people)
    new = pl.DataFrame({"id": [1], "colour": ["red"]})
    with pytest.raises(ValueError, match="colour"):
        ParquetCRUD(people).upsert(new, ["id"], [])
    assert names(people) == before
    folder(people).append(new, merge_schema=True)
    assert ("red",) in shown(people, "colour")


@KERNELS
def test_leading_zero_partition_values_break_merge(tmp_path, kernel):
    for m in ("01", "1", "1.0", "true"):
        put(tmp_path / "m" / f"m={m}" / "f.parquet", {"id": [m], "v": [0]})
    new = pl.DataFrame({"m": ["01", "true"], "id": ["01", "true"], "v": [1, 1]})
    stats = ParquetCRUD(tmp_path / "m", kernel=kernel).upsert(new, ["m", "id"], ["m"])
    assert (stats["rows_updated"], stats["rows_inserted"]) == (2, 0)
    found = folder(tmp_path / "m").scan(columns=["m", "v"]).to_arrow().to_pylist()
    expected = {"01": 1, "1": 0, "1.0": 0, "true": 1}
    assert {row["m"]: row["v"] for row in found} == expected
    assert {Path(name).parent.name for name in names(tmp_path / "m")} == {
        f"m={m}" for m in expected
    }


def test_unknown_partition_column_ignored_after_deleting(people):
    before = names(people)
    with pytest.raises(ValueError, match="nope"):
        DuckDBParquetHandler().write_parquet(pa.table({"id": [1]}), str(people), None, ["nope"])
    with pytest.raises(ValueError, match="nope"):
        folder(people).repartition("nope")
    with pytest.raises(ValueError, match="Partition columns not found in data: nope"):
        Repartitioner(people, people.parent / "new", ["nope"]).repartition(delete_source=True)
    assert names(people) == before


@KERNELS
def test_sql_filters_mean_what_sql_says(tmp_path, kernel):
    rows = {
        "n": [-2, 5, None, 7],
        "f": [True, False, None, True],
        "x": [1.5, math.nan, None, -0.5],
        "t": ["apple", "it's", None, "pear"],
    }
    put(tmp_path / "s" / "f.parquet", rows)
    crud = ParquetCRUD(tmp_path / "s", kernel=kernel)
    for text, found in (
        ("f IS TRUE", 2),
        ("n NOT IN (5, 6)", 2),
        ("x IS NULL", 1),
        ("n BETWEEN -3 AND 5", 2),
        ("t LIKE 'p%'", 1),
        ("n > -2.5 AND x < 0", 1),
        ("t = 'it''s'", 1),
        ("lower(t) = 'apple' OR abs(n) = 7", 2),
        ("NOT (n = 5)", 2),
    ):
        assert crud.delete(text, dry_run=True)["rows_deleted"] == found, text


def test_duckdb_ignores_max_rows_per_file_and_quotes_in_paths(tmp_path):
    path = tmp_path / "it's here"
    for n in range(4):
        put(path / f"f'{n}.parquet", {"n": range(n * 10, n * 10 + 10)})
    handler = DuckDBParquetHandler()
    done = handler.optimize_parquet_dataset(str(path), ["n"], target_rows_per_file=8)
    rows = [pq.read_metadata(path / name).num_rows for name in names(path)]
    assert (done["after_file_count"], sum(rows), max(rows)) == (5, 40, 8)
    assert handler.read_parquet(str(path)).num_rows == 40


def test_merge_looks_only_where_a_key_can_be(tmp_path):
    for n in range(20):
        put(
            tmp_path / "k" / f"{n:02}.parquet",
            {"id": range(n * 100, n * 100 + 100), "v": [0] * 100},
        )
    new = pl.DataFrame({"id": [*range(500, 700), *range(5000, 6000)], "v": [1] * 1200})
    stats = ParquetCRUD(tmp_path / "k").upsert(new, ["id"], [])
    assert (stats["rows_updated"], stats["rows_inserted"]) == (200, 1000)
    assert (stats["files_read"], stats["files_deleted"]) == (2, 2)


def test_dedupe_keeps_what_was_asked_for_and_rewrites_nothing_without_duplicates(people):
    before = names(people)
    assert folder(people).deduplicate("id").rows_deleted == 0
    assert names(people) == before
    put(people / "again.parquet", {"id": [3, 3], "a": [5.0, 9.0], "b": ["x", "y"]})
    again = folder(people).deduplicate("id", order_by="a", keep="last")
    assert (again.rows_deleted, again.files_removed) == (2, 2)
    assert (3, 9.0, "y") in shown(people)
    assert len(names(people)) < len(before) + 1


def test_memory_stays_bounded_while_a_partition_is_merged(tmp_path):
    program = """
import sys, numpy as np, pyarrow as pa, pyarrow.parquet as pq
from mere.datasets import folder
from mere.runners.local import LocalRunner
path = sys.argv[1]
for n in range(30):
    rows = pa.table({f"c{k}": np.random.default_rng(n).random(250_000) for k in range(4)})
    pq.write_table(rows, f"{path}/{n}.parquet", row_group_size=50_000)
del rows
before = pa.default_memory_pool().max_memory()
folder(path, runner=LocalRunner(workers=1)).compact(memory_mb=32)
size = folder(path).scan().head.bytes
print(max(pa.default_memory_pool().max_memory() - before, 0), size)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], check=True, capture_output=True, text=True
    )
    more, size = map(int, done.stdout.split())
    assert size > 200_000_000
    assert more < size // 2


@KERNELS
def test_merge_keeps_the_order_of_rows_and_their_types(people, kernel):
    put(people / "f0.parquet", {"id": [9, 2, 7, 1], "a": [1.0] * 4, "b": ["b"] * 4})
    crud = ParquetCRUD(people, kernel=kernel)
    stats = crud.upsert(pl.DataFrame({"id": [7], "a": [3.0]}), ["id"], [])
    assert stats["rows_updated"] == 1
    found = [pq.read_table(people / n)["id"].to_pylist() for n in names(people)]
    assert [9, 2, 7, 1] in found
    with pytest.raises(ValueError, match="a"):
        crud.upsert(pl.DataFrame({"id": [7, 100], "a": ["text", "text"]}), ["id"], [])
    kinds = {pq.read_schema(people / name).field("a").type for name in names(people)}
    assert kinds == {pa.float64()}


def test_schema_drift_is_no_reason_to_refuse_and_a_broken_file_is_named(people):
    more = pa.schema([("id", pa.int64()), ("a", pa.float64()), ("b", pa.large_string())])
    put(people / "large.parquet", pa.table({"id": [90], "a": [0.0], "b": ["l"]}, schema=more))
    wider = {"id": [91], "a": [0.0], "b": ["w"], "c": [datetime(2026, 1, 1, tzinfo=UTC)]}
    put(people / "wider.parquet", wider)
    assert compact_parquet_dataset_pyarrow(str(people), 128)["after_file_count"] == 1
    assert len(shown(people, "id, a, b, c")) == 52
    (people / "broken.parquet").write_bytes(b"PAR1 nothing of this is Parquet PAR1")
    with pytest.raises(MereError, match=r"broken\.parquet"):
        compact_parquet_dataset_pyarrow(str(people), 128)


def test_keys_are_compared_exactly_however_many_there_are(people):
    rows = {
        "id": [*range(50_000), *range(49_000, 50_000)],
        "a": [0.0] * 51_000,
        "b": ["x"] * 51_000,
    }
    put(people / "many.parquet", rows)
    folder(people).deduplicate("id")
    assert duckdb.sql(
        f"SELECT count(*), count(DISTINCT id) FROM '{people}/*.parquet'"
    ).fetchone() == (
        50_000,
        50_000,
    )


def test_nothing_here_needs_one_operating_system():
    program = (
        "import sys; sys.modules['fcntl'] = None; import mere.catalogs.directory as d; print(d)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_compaction_by_class_and_by_function_come_to_the_same(people, tmp_path):
    shutil.copytree(people, tmp_path / "copy")
    one = ParquetCompactor(people).compact()
    other = compact_parquet_dataset_pyarrow(str(tmp_path / "copy"), 100)
    assert one["compacted_file_count"] == other["compacted_file_count"] == 5
    assert shown(people) == shown(tmp_path / "copy")
