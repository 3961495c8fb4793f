"""Every reader answers every question alike, lazily, and names the file that is damaged."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import mere
from mere.arrow import to_arrow
from mere.errors import CorruptionError, MereError, UnsupportedError
from mere.model.files import Bounds
from mere.model.layout import Layout, PartitionKey
from mere.model.predicate import bind, col
from mere.model.schema import Schema
from mere.ports import Reading
from mere.readers import arrow
from mere.readers import dataset as dataset_reader
from mere.readers import duckdb as duckdb_reader
from mere.readers import polars as polars_reader
from mere.stores import open_store
from mere.testing.predicates import TRADES, trades
from mere.testing.questions import QUESTIONS
from mere.testing.readers import answers, reading, rows_of, write_deletes, write_file

TO_ARROW: Mapping[str, Callable[[Any], pa.Table]] = {
    "arrow": lambda table: table,
    "daft": lambda frame: frame.to_arrow(),
    "datafusion": lambda frame: frame.to_arrow_table(),
    "dataset": lambda dataset: dataset.to_table(),
    "duckdb": lambda relation: relation.to_arrow_table(),
    "pandas": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "polars": lambda frame: frame.collect().to_arrow(),
}
OPTIONS: Mapping[str, Mapping[str, Any]] = {"pandas": {"types_mapper": pd.ArrowDtype}}
NATIVE = ("arrow", "duckdb", "polars")


def ask(engine: str, asked: Reading) -> pa.Table:
    module = import_module(f"mere.readers.{engine}")
    return TO_ARROW[engine](module.read(asked, **OPTIONS.get(engine, {})))


def question(name: str) -> Any:
    return next(q for q in QUESTIONS if q.name == name)


@pytest.fixture(params=sorted(TO_ARROW))
def engine(request):
    return request.param


@pytest.fixture
def store(tmp_path):
    return open_store(str(tmp_path / "lake"))


@pytest.fixture
def two_files(store):
    """Ask for two files of trades, in row groups of ten."""
    rows = trades()
    files = [
        write_file(store, "a.parquet", rows[:30], TRADES, group_rows=10, id=1),
        write_file(store, "b.parquet", rows[30:], TRADES, group_rows=10, id=2),
    ]
    return reading(store, TRADES, files)


@dataclass
class Watched:
    """A store that remembers which files were opened."""

    store: Any
    opened: list[str] = field(default_factory=list)

    def open(self, path):
        self.opened.append(path)
        return self.store.open(path)

    def read(self, path, *span):
        self.opened.append(path)
        return self.store.read(path, *span)

    def __getattr__(self, name):
        return getattr(self.store, name)


def watched(asked: Reading) -> tuple[Reading, list[str]]:
    store = Watched(asked.store)
    return replace(asked, store=store), store.opened


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_a_reader_returns_exactly_the_rows_and_columns_asked_for(engine, question, store):
    asked, expected = question.pose(store)
    try:
        table = ask(engine, asked)
    except UnsupportedError:
        if engine == "dataset":
            pytest.skip("a plain dataset cannot say this")
        raise
    assert answers(table, asked.schema) == rows_of(expected)


@pytest.mark.parametrize("limit", [0, 1, 7, 35, 1000])
def test_a_limit_gives_that_many_of_the_rows(engine, limit, two_files):
    found = answers(ask(engine, replace(two_files, limit=limit)), TRADES)
    assert len(found) == min(limit, 60)
    assert set(found) <= set(rows_of(trades()))


def test_a_limit_counts_the_rows_that_match(engine, two_files):
    where = bind(col("id") > 20, TRADES)
    found = answers(ask(engine, replace(two_files, where=where, limit=5)), TRADES)
    matching = [row for row in trades() if row["id"] is not None and row["id"] > 20]
    assert len(found) == 5
    assert set(found) <= set(rows_of(matching))


def test_a_sum_that_no_column_could_hold_is_judged_row_by_row(two_files):
    where = bind(col("id") + (2**63 - 1) > 2**63, TRADES)
    found = arrow.read(replace(two_files, where=where))
    matching = [row for row in trades() if row["id"] is not None and row["id"] > 1]
    assert answers(found, TRADES) == rows_of(matching)


@pytest.mark.parametrize("name", ["every type", "nested types", "an evolved table", "no rows"])
def test_arrow_rows_have_the_types_of_the_table(name, store):
    asked, _ = question(name).pose(store)
    assert arrow.read(asked).schema == to_arrow(asked.schema, ids=False)
    assert arrow.reader(asked).read_all().schema == to_arrow(asked.schema, ids=False)


def test_rows_come_in_the_order_of_the_files_every_time(two_files):
    expected = [row["at"] for row in trades()]
    for _ in range(3):
        assert arrow.read(two_files)["at"].to_pylist() == expected
        assert arrow.reader(two_files).read_all()["at"].to_pylist() == expected


def test_nothing_is_opened_before_the_first_batch_is_taken(two_files):
    asked, opened = watched(two_files)
    reader = arrow.reader(asked)
    assert opened == []
    reader.read_next_batch()
    assert "a.parquet" in opened


def test_a_limit_leaves_later_files_closed(two_files):
    asked, opened = watched(replace(two_files, limit=3))
    assert arrow.read(asked).num_rows == 3
    assert set(opened) == {"a.parquet"}


def test_a_stream_can_be_left_early(two_files):
    reader = arrow.reader(two_files)
    assert reader.read_next_batch().num_rows == 30
    reader.close()


def test_row_groups_larger_than_the_budget_trickle(two_files, monkeypatch):
    monkeypatch.setattr("mere.readers.streams._HUGE_BYTES", 0)
    monkeypatch.setattr("mere.readers.streams._HUGE_BATCH", 4)
    store = two_files.store
    deletes = write_deletes(store, "gone.parquet", {3: 1, 17: 1})
    files = (replace(two_files.files[0], deletes=deletes), two_files.files[1])
    found = arrow.read(replace(two_files, files=files))
    alive = [row for i, row in enumerate(trades()) if i not in (3, 17)]
    assert answers(found, TRADES) == rows_of(alive)


@pytest.mark.parametrize("engine", ["daft", "datafusion", "dataset", "duckdb", "polars"])
def test_a_lazy_answer_can_be_asked_twice(engine, two_files):
    answer = import_module(f"mere.readers.{engine}").read(two_files)
    once, twice = (answers(TO_ARROW[engine](answer), TRADES) for _ in range(2))
    assert once == twice == rows_of(trades())


@pytest.mark.parametrize("engine", ["dataset", "duckdb", "polars"])
def test_a_table_that_never_changed_needs_no_footers(engine, two_files):
    asked, opened = watched(replace(two_files, stable=True))
    import_module(f"mere.readers.{engine}").read(asked)
    assert opened == []
    assert answers(ask(engine, replace(two_files, stable=True)), TRADES) == rows_of(trades())


# --- what is left out is not read ---------------------------------------------------------------


def damage(path: Path, column: str, group: int) -> None:
    """Overwrite the pages of one column chunk."""
    chunks = pq.read_metadata(path).row_group(group)
    chunk = next(
        found
        for found in (chunks.column(i) for i in range(chunks.num_columns))
        if found.path_in_schema == column
    )
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    data = bytearray(path.read_bytes())
    for at in range(start + chunk.total_compressed_size // 2, start + chunk.total_compressed_size):
        data[at] ^= 0xFF
    path.write_bytes(data)


def test_row_groups_that_cannot_match_are_not_read(two_files):
    damage(Path(two_files.store.resolve("a.parquet")), "at", 2)
    where = bind(col("id") < 9, TRADES)
    assert arrow.read(replace(two_files, where=where)).num_rows == 8
    with pytest.raises(CorruptionError, match=r"a\.parquet"):
        arrow.read(two_files)


@pytest.mark.parametrize("engine", ["arrow", "daft", "datafusion", "pandas"])
def test_columns_that_are_not_asked_for_are_not_read(engine, two_files):
    damage(Path(two_files.store.resolve("a.parquet")), "at", 0)
    names = ("price", "side")
    found = ask(engine, replace(two_files, schema=TRADES.select(names)))
    assert answers(found, TRADES.select(names)) == rows_of(
        {name: row[name] for name in names} for row in trades()
    )


def test_parts_that_are_not_asked_for_are_not_read(two_files):
    damage(Path(two_files.store.resolve("a.parquet")), "where.city", 0)
    where = TRADES.field("where")
    floor = Schema(fields=(replace(where, children=where.children[1:]),))
    found = arrow.read(replace(two_files, table=floor, schema=floor))
    assert answers(found, floor) == rows_of(
        {"where": row["where"] and {"floor": row["where"]["floor"]}} for row in trades()
    )


def test_polars_pushes_filters_and_columns_into_the_files(two_files):
    where = bind((col("id") > 5) & (col("side") == "ask"), TRADES)
    plan = polars_reader.read(replace(two_files, where=where)).select("at").explain()
    assert 'SELECTION: (col("id") > 5) & (col("side") == "ask")' in plan
    assert "PROJECT 3/12 COLUMNS" in plan


def test_polars_streams_only_the_columns_it_needs(two_files):
    damage(Path(two_files.store.resolve("a.parquet")), "at", 0)
    where = bind(col("id") % 7 == 3, TRADES)
    frame = polars_reader.read(replace(two_files, where=where))
    assert frame.select("side").collect().height == 8
    assert frame.select(pl.len()).collect().item() == 8
    assert frame.filter(pl.col("price") == 2.5).select("id").head(1).collect().height == 1


def test_polars_keeps_filters_and_heads_apart(two_files):
    frame = polars_reader.read(replace(two_files, where=bind(col("id") % 1 == 0, TRADES)))
    head = frame.head(10).filter(pl.col("id") >= 8).collect()
    assert head["id"].to_list() == [8, 9, 10]
    tail = frame.filter(pl.col("id") >= 8).head(2).collect()
    assert tail["id"].to_list() == [8, 9]


def test_duckdb_pushes_filters_into_the_files(two_files):
    relation = duckdb_reader.read(two_files).filter("id = 7")
    assert "id=7" in relation.explain().replace(" ", "")


def test_a_dataset_knows_its_partitions_and_bounds(store):
    rows = trades(12)
    layout = Layout(id=4, keys=(PartitionKey(column=TRADES.field("side").id),))
    files = [
        write_file(
            *(store, f"{i}.parquet", [row], TRADES),
            partition_id=4,
            partition=(row["side"],),
            bounds={1: Bounds(minimum=row["id"], maximum=row["id"], nulls=0)},
        )
        for i, row in enumerate(rows)
        if row["id"] is not None
    ]
    found = dataset_reader.read(reading(store, TRADES, files, layout=layout))
    kept = list(found.get_fragments(ds.field("side") == "bid"))
    assert len(kept) == sum(row["side"] == "bid" for row in rows if row["id"] is not None)
    assert len(list(found.get_fragments(ds.field("id") >= 7))) == 5
    assert len(list(found.get_fragments(ds.field("side").is_null()))) == 2


@pytest.mark.parametrize(
    "name",
    ["deleted rows", "an evolved table", "where of columns not asked for", "a name taken again"],
)
def test_a_dataset_refuses_what_it_cannot_say(name, store):
    asked, _ = question(name).pose(store)
    with pytest.raises(UnsupportedError, match=r"Dataset|holds column") as caught:
        dataset_reader.read(asked)
    assert "to_reader" in str(caught.value.hint)


# --- damage is named ----------------------------------------------------------------------------


def remove(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def swap(path: Path) -> None:
    pq.write_table(pa.table({"id": [1]}), path)


def flip(path: Path) -> None:
    damage(path, "at", 1)


@pytest.mark.parametrize("harm", [remove, cut, empty, swap, flip])
@pytest.mark.parametrize("engine", ["arrow", "pandas"])
def test_a_file_that_is_not_what_was_listed_is_named(engine, harm, two_files):
    harm(Path(two_files.store.resolve("b.parquet")))
    with pytest.raises(CorruptionError, match=r"b\.parquet") as caught:
        ask(engine, two_files)
    assert "doctor" in str(caught.value.hint)


@pytest.mark.parametrize("harm", [remove, cut, empty])
def test_no_reader_leaves_out_a_broken_file(engine, harm, two_files):
    harm(Path(two_files.store.resolve("b.parquet")))
    with pytest.raises(Exception, match=r"b\.parquet"):
        ask(engine, two_files)


@pytest.mark.parametrize("harm", [remove, cut])
@pytest.mark.parametrize("engine", NATIVE)
def test_no_reader_brings_rows_back_whose_delete_file_is_broken(engine, harm, store):
    asked, _ = question("deleted rows").pose(store)
    harm(Path(store.resolve("gone.parquet")))
    with pytest.raises((MereError, duckdb.Error), match=r"gone\.parquet"):
        ask(engine, asked)


# --- storage that is not this machine's ---------------------------------------------------------

REMOTE = ("every type", "an evolved table", "deleted rows, some later", "where or", "odd paths")


@pytest.mark.parametrize("name", REMOTE)
def test_a_reader_reads_from_s3(engine, name, s3):
    remote = open_store(f"{s3.url}/lake/")
    asked, expected = question(name).pose(remote)
    try:
        table = ask(engine, asked)
    except UnsupportedError:
        assert engine == "dataset"
    else:
        assert answers(table, asked.schema) == rows_of(expected)


@pytest.mark.parametrize("name", REMOTE)
def test_duckdb_reads_s3_itself_where_it_can(name, s3, duckdb_with):
    remote = open_store(f"{s3.url}/lake/")
    asked, expected = question(name).pose(remote)
    relation = duckdb_reader.read(asked, con=duckdb_with("httpfs"))
    assert answers(relation.to_arrow_table(), asked.schema) == rows_of(expected)


PARTITIONS: Mapping[str, tuple[str, Any]] = {
    "text": ("varchar", "düsseldorf"),
    "empty": ("varchar", ""),
    "long": ("varchar", "x" * 5000),
    "nothing": ("varchar", None),
    "int8": ("int8", -128),
    "int64": ("int64", -(2**63)),
    "uint64": ("uint64", 2**64 - 1),
    "true": ("boolean", True),
    "false": ("boolean", False),
    "date": ("date", date(1582, 10, 4)),
    "float": ("float64", -0.0),
    "moment": ("timestamp", datetime(2026, 1, 2, 3, 4, 5, 6)),  # noqa: DTZ001  the column has none
    "blob": ("blob", b"\x00\xff"),
}


@pytest.mark.parametrize("name", PARTITIONS)
def test_a_partition_column_reads_the_same_whether_the_file_is_asked_or_not(name, tmp_path):
    kind, value = PARTITIONS[name]
    lake = mere.connect(tmp_path / "lake.db")
    table = lake.create_table("t", {"p": kind, "n": "int64"}, partition_by=["p"])
    rows = [{"p": value, "n": n} for n in range(3)]
    table.append(rows)
    scan = table.scan()
    known = scan.to_arrow()
    asked = arrow.read(replace(scan.reading(), layout=Layout()))
    assert known.schema == asked.schema
    assert repr(known.to_pylist()) == repr(asked.to_pylist()) == repr(rows)
    assert table.scan(columns=["p"]).to_arrow().to_pylist() == [{"p": value}] * 3
    wanted = col("p").is_null() if value is None else col("p") == value
    assert table.scan((col("n") > 0) & wanted).to_arrow().num_rows == 2


def test_the_file_is_not_asked_for_what_the_partition_says(tmp_path):
    """Switch the check: a value in the catalog that is not the file's comes out, so it was used."""
    lake = mere.connect(tmp_path / "lake.db")
    table = lake.create_table("t", {"p": "varchar", "n": "int64"}, partition_by=["p"])
    table.append([{"p": "a", "n": 1}])
    asked = table.scan().reading()
    (file,) = asked.files
    lied = replace(asked, files=(replace(file, partition=("b",)),))
    assert arrow.read(lied).to_pylist() == [{"p": "b", "n": 1}]


def test_a_column_that_was_widened_since_is_read_from_the_file(tmp_path):
    lake = mere.connect(tmp_path / "lake.db")
    table = lake.create_table("t", {"p": "int32", "n": "int64"}, partition_by=["p"])
    table.append([{"p": 7, "n": 1}])
    table.evolve().widen("p", "int64").rename_column("p", "q").commit()
    table.append([{"q": 2**40, "n": 2}])
    found = table.scan().to_arrow()
    assert found.schema.field("q").type == pa.int64()
    assert sorted(found.to_pylist(), key=str) == [{"q": 2**40, "n": 2}, {"q": 7, "n": 1}]


def test_many_rows_of_one_value_share_their_memory(tmp_path):
    lake = mere.connect(tmp_path / "lake.db")
    table = lake.create_table("t", {"p": "varchar", "n": "int64"}, partition_by=["p"])
    rows = 300_000
    table.append(pa.table({"p": pa.repeat("x" * 900, rows), "n": pa.arange(0, rows)}))
    found = table.scan(columns=["p"]).to_arrow()
    assert found.num_rows == rows
    assert len({chunk.buffers()[2].address for chunk in found["p"].chunks}) == 1


def test_many_small_files_come_in_order_by_threads_that_are_kept(tmp_path):
    lake = mere.connect(tmp_path / "lake.db")
    table = lake.create_table("t", {"n": "int64"})
    for first in range(0, 40, 10):
        table.append(pa.table({"n": pa.arange(first * 1000, (first + 10) * 1000)}))
    for _ in range(3):
        assert table.scan().to_arrow()["n"].to_pylist() == list(range(40_000))
    readers = [t for t in threading.enumerate() if t.name.startswith("mere-read")]
    assert len(readers) <= max(1, (os.cpu_count() or 1) - 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_process_reads_without_the_threads_of_its_parent(tmp_path):
    code = f"""
import os, mere, pyarrow as pa
table = mere.connect({str(tmp_path / "lake.db")!r}).create_table("t", {{"n": "int64"}})
for _ in range(4):
    table.append(pa.table({{"n": pa.arange(0, 40_000)}}))
assert table.scan().to_arrow().num_rows == 160_000
child = os.fork()
if not child:
    os._exit(table.scan().to_arrow().num_rows != 160_000)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)
