"""Rows go through a function into other partitions, or a new table: the seeds' repartitioning."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from uuid import UUID

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import mere
from mere.errors import (
    AlreadyExistsError,
    InvalidInputError,
    NoFilesError,
    SchemaMismatchError,
    TaskError,
    UnknownColumnError,
)

COLUMNS = {"id": "int64", "ts": "timestamp", "product_id": "varchar", "key": "uuid", "n": "uint8"}


def lazily(df: pl.LazyFrame) -> pl.LazyFrame:
    return df.with_columns(hour=pl.col("ts").dt.hour())


def eagerly(df: pl.DataFrame) -> pl.DataFrame:
    return df.with_columns(pl.col("ts").dt.hour().alias("hour"))


def only_for_checkers(df):
    return df.with_columns(hour=pl.col("ts").dt.hour())


only_for_checkers.__annotations__["df"] = "polars.DataFrame"  # which is no name here


def by_pandas(df: pd.DataFrame) -> pd.DataFrame:
    return df.assign(hour=df["ts"].dt.hour)


def by_table(table: pa.Table) -> pa.Table:
    return table.append_column("hour", pc.hour(table["ts"]))


def by_batch(batch: pa.RecordBatch) -> pl.DataFrame:
    return pl.DataFrame(batch).with_columns(hour=pl.Series(pc.hour(batch["ts"])))


FUNCTIONS = [
    lazily,
    eagerly,
    by_pandas,
    by_table,
    by_batch,
    lambda df: df.with_columns(hour=pl.col("ts").dt.hour()),
]


def made(*ids: int) -> pa.Table:
    started = datetime(2026, 1, 1)  # noqa: DTZ001  a timestamp without a zone
    table = {
        "id": list(ids),
        "ts": [started + timedelta(hours=7 * n) for n in ids],
        "product_id": ["ab"[n % 2] for n in ids],
        "key": [UUID(int=n).bytes for n in ids],
        "n": pa.array([None if n % 5 == 0 else n % 200 for n in ids], pa.uint8()),
    }
    return pa.table(table)


@pytest.fixture
def trades(lake):
    """Make a table of some files, partitioned by product, from which a row was deleted."""
    table = lake.create_table("trades", COLUMNS, partition_by=["product_id"])
    for start in (0, 20, 40):
        table.append(made(*range(start, start + 20)))
    table.delete("id = 3")
    return table


def rows(table, **at):
    return Counter(str(row) for row in table.scan(**at).to_arrow().to_pylist())


def stored(lake):
    return {file.path for file in lake._session.store.list("")}  # noqa: SLF001  the bytes


@pytest.mark.parametrize("transform", FUNCTIONS, ids=lambda one: one.__name__)
def test_a_function_of_any_library_brings_a_new_partition_column_s1_8_s1_11_s1_13(
    lake, trades, transform
):
    version = lake.version
    before = trades.scan(version=version).to_arrow()
    would = trades.repartition(["product_id", "hour"], transform=transform, dry_run=True)
    assert (lake.version, would.dry_run, would.rows_after) == (version, True, 59)
    report = trades.repartition(["product_id", "hour"], transform=transform)
    assert lake.version == report.version == version + 1
    assert (report.rows_before, report.rows_after, report.rows_updated) == (59, 59, 59)
    assert would.partitions == report.partitions == len(trades.partitions())
    assert would.after_file_count == report.after_file_count == len(trades.files())
    assert trades.partition_by == ("product_id", "hour")
    now = trades.scan().to_arrow()
    assert now.schema.names == [*COLUMNS, "hour"]
    assert [now.schema.field(name).type for name in COLUMNS] == before.schema.types
    assert all(row["hour"] == row["ts"].hour for row in now.to_pylist())
    assert len(trades.scan(where="product_id = 'a' AND hour = 0").files()) == 1
    changed = Counter(trades.changes(report.version)["change_type"].to_pylist())
    assert changed == {"update_preimage": 59, "update_postimage": 59}
    assert trades.history().to_pylist()[-1]["operation"] == "repartition"
    old = Counter(str(row) for row in before.to_pylist())
    assert rows(trades, version=version) == old
    assert Counter(str(row) for row in now.select(list(COLUMNS)).to_pylist()) == old
    assert lake.doctor().healthy


def test_an_annotation_that_is_known_to_checkers_only_counts(trades):
    def of_strangers(df: int) -> None:
        del df

    assert trades.repartition("hour", transform=only_for_checkers, dry_run=True).partitions > 1
    with pytest.raises(InvalidInputError, match="annotate its first parameter"):
        trades.repartition("hour", transform=of_strangers)


def keep_some(df: pl.DataFrame) -> pl.DataFrame:
    return df.filter(pl.col("id") % 2 == 0)


def test_a_function_that_drops_rows_is_refused_unless_it_may_s1_9_s1_39_s1_41(lake, trades):
    version, there = lake.version, stored(lake)
    for dry_run in (True, False):
        with pytest.raises(InvalidInputError, match="row count mismatch after repartition: 59"):
            trades.repartition("product_id", transform=keep_some, dry_run=dry_run)
    assert (lake.version, stored(lake)) == (version, there)
    report = trades.repartition([], transform=keep_some, allow_row_change=True)
    assert (report.rows_before, report.rows_after) == (59, 30)
    assert (report.rows_deleted, report.rows_inserted, report.rows_updated) == (59, 30, 0)
    assert Counter(trades.changes(report.version)["change_type"].to_pylist()) == {
        "delete": 59,
        "insert": 30,
    }
    assert set(trades.scan().to_arrow()["id"].to_pylist()) == set(range(0, 60, 2))


def test_a_row_that_is_lost_in_a_later_batch_is_seen_and_nothing_stays(lake):
    table = lake.create_table("t", {"id": "int64"})
    table.append(pa.table({"id": range(200_000)}))
    version, there, asked = lake.version, stored(lake), []

    def lose(batch: pa.Table) -> pa.Table:
        asked.append(batch.num_rows)
        return batch.slice(0, batch.num_rows - (len(asked) == 4))

    with pytest.raises(InvalidInputError, match="row count mismatch"):
        table.repartition("bucket(2, id)", transform=lose)
    assert (lake.version, stored(lake), len(asked)) == (version, there, 4)


@pytest.mark.parametrize(
    ("transform", "kind", "match"),
    [
        (lambda df: df.nope(), TaskError, "'<lambda>' failed: AttributeError"),
        (lambda df: None, InvalidInputError, "returned None"),  # noqa: ARG005
        (lambda df: 7, InvalidInputError, "data is anything"),  # noqa: ARG005
        (lambda df: df.drop("n"), SchemaMismatchError, "leaves out: n"),
        (lambda df: df.with_columns(id=pl.lit("x")), SchemaMismatchError, "id: expected int64"),
        (lambda df: df, UnknownColumnError, "hour"),
        (17, InvalidInputError, "takes a function"),
    ],
)
def test_what_a_function_does_wrong_is_told_and_changes_nothing_s1_38(
    lake, trades, transform, kind, match
):
    version, there = lake.version, stored(lake)
    with pytest.raises(kind, match=match):
        trades.repartition("hour", transform=transform)
    assert (lake.version, stored(lake)) == (version, there)
    assert trades.partition_by == ("product_id",)


def test_a_new_table_takes_what_the_function_returns_in_one_commit_s1_3_s1_42(lake, trades):
    version, before = lake.version, rows(trades)

    def shape(df: pl.DataFrame) -> pl.DataFrame:
        return df.select("id", "key", day=pl.col("ts").dt.date()).filter(pl.col("id") < 30)

    would = trades.repartition("day", transform=shape, into="days", allow_row_change=True)
    report = trades.repartition("day", into="days2", transform=shape, allow_row_change=True)
    assert (would.table, report.version) == ("main.days", version + 2)
    assert (report.rows_before, report.rows_after, report.files_removed) == (0, 29, 0)
    days = lake.table("days2")
    assert days.partition_by == ("day",)
    assert days.schema.names == ["id", "key", "day"]
    assert [str(days.schema.field(n).type) for n in ("id", "day")] == ["int64", "date32[day]"]
    assert days.schema.field("key").type == trades.schema.field("key").type
    assert (days.count(), rows(trades), len(days.partitions())) == (29, before, report.partitions)
    assert [row["operation"] for row in days.history().to_pylist()] == ["create and append"]
    copied = trades.repartition(["bucket(3, id)"], into="copy")
    assert (copied.rows_after, rows(lake.table("copy"))) == (59, before)
    there = stored(lake)
    with pytest.raises(AlreadyExistsError, match="days"):
        trades.repartition("day", into="days", transform=shape)
    assert stored(lake) == there
    assert lake.doctor().healthy


def test_a_new_table_that_somebody_else_makes_meanwhile_stays_theirs(lake, trades, meanwhile):
    there = stored(lake)
    meanwhile(lambda: lake.create_table("new", {"x": "int64"}))
    with pytest.raises(AlreadyExistsError):
        trades.repartition([], into="new")
    assert lake.table("new").schema.names == ["x"]
    assert stored(lake) == there


def test_rows_that_come_meanwhile_go_through_too_and_only_they(trades, meanwhile):
    asked = []

    def count(table: pa.Table) -> pa.Table:
        asked.extend(table["id"].to_pylist())
        return by_table(table)

    meanwhile(lambda: trades.append(made(100, 101)))
    report = trades.repartition("hour", transform=count)
    assert (report.retries, report.rows_updated) == (1, 61)
    assert Counter(asked)[100] == 1
    assert Counter(asked)[0] == 2  # once in the sample
    assert trades.count("hour IS NULL") == 0
    assert trades.count() == 61


@pytest.mark.parametrize("kernel", ["pyarrow", "duckdb"])
def test_rows_that_change_meanwhile_are_done_again(lake, trades, meanwhile, kernel):
    meanwhile(
        lambda: trades.update({"n": "7"}, where="id = 10"),
        lambda: trades.evolve().add_column("more", "int64", default=1).commit(),
        lambda: trades.delete("id = 11"),
    )
    table = lake.on(kernel=kernel).table("trades")
    report = table.repartition(["bucket(2, id)"], transform=eagerly)
    assert (report.retries, report.rows_after) == (3, 58)
    (row,) = trades.scan("id = 10").to_arrow().to_pylist()
    assert (row["n"], row["more"], row["hour"]) == (7, 1, row["ts"].hour)
    assert lake.doctor().healthy


def test_far_too_many_partitions_of_a_new_column_are_refused_with_advice(lake, trades, monkeypatch):
    monkeypatch.setattr("mere.plan.repartition.MOST_PARTITIONS", 20)
    there = stored(lake)
    for into in (None, "new"):
        with pytest.raises(InvalidInputError, match="makes about 59 partitions") as error:
            trades.repartition("x", transform=lambda df: df.with_columns(x=df["id"]), into=into)
    assert "coarser" in str(error.value.hint)
    assert stored(lake) == there


def test_deeper_and_simpler_partitions_of_the_same_rows_s1_13_s1_15(trades):
    def parts(df: pl.DataFrame) -> pl.DataFrame:
        at = pl.col("ts").dt
        return df.with_columns(year=at.year(), month=at.month(), day=at.day(), hour=at.hour())

    before = rows(trades)
    deep = trades.repartition(["product_id", "year", "month", "day", "hour"], transform=parts)
    assert deep.partitions == len(trades.partitions()) > 50
    flat = trades.repartition(["product_id", "month(ts)"])
    assert flat.after_file_count == 2
    assert trades.compact(min_files=5).compacted_file_count == 0
    now = trades.scan(columns=list(COLUMNS)).to_arrow().to_pylist()
    assert Counter(map(str, now)) == before


def test_a_table_without_rows_and_a_choice_of_files_are_refused(lake, trades):
    empty = lake.create_table("empty", COLUMNS)
    with pytest.raises(NoFilesError):
        empty.repartition("n", transform=eagerly)
    with pytest.raises(InvalidInputError, match="all rows go"):
        trades.repartition("n", transform=eagerly, where="id > 5")
    with lake.transaction() as both, pytest.raises(InvalidInputError, match="transaction"):
        both.table("trades").repartition("n", transform=eagerly)


def test_memory_is_bounded_by_what_was_said(tmp_path):
    with mere.connect(tmp_path / "x.db") as lake:
        table = lake.create_table("t", {"id": "int64", "p": "int64"})
        table.append(pa.table({"id": range(300_000), "p": [n % 5 for n in range(300_000)]}))
        taken = []

        def note(batch: pa.Table) -> pa.Table:
            taken.append(batch.num_rows)
            return batch

        table.repartition("p", transform=note, memory_mb=1)
        assert max(taken[1:]) <= 1 << 16
        assert len(table.row_groups()) > 5  # groups were written before they were full
        assert table.scan("p = 3").to_arrow()["id"].to_pylist() == list(range(3, 300_000, 5))
