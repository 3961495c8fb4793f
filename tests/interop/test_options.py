"""Options of the format do the same to mere as they do to DuckDB, whoever set them."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mere
from mere.errors import InvalidInputError


@pytest.fixture
def lake(tmp_path):
    with mere.connect(tmp_path / "x.db", data_path=tmp_path / "files") as opened:
        yield opened


@pytest.fixture
def ask(oracle, tmp_path):
    """Hand out a function that asks DuckDB on the same lake."""

    def run(statement):
        with oracle(f"sqlite:{tmp_path / 'x.db'}", data_inlining_row_limit=0) as duck:
            return duck.execute(statement).fetchall()

    return run


@pytest.fixture
def turn(tmp_path):
    """Hand out a function that runs a statement on the catalog's own rows."""

    def run(statement, *values):
        with closing(sqlite3.connect(tmp_path / "x.db")) as link, link:
            return link.execute(statement, values).rowcount

    return run


def ago(days):
    return (datetime.now(UTC) - timedelta(days=days)).isoformat(sep=" ")


@pytest.mark.parametrize(
    ("age", "expired"),
    [
        (None, [0, 1, 2, 3, 4]),
        ("3 days", [0, 1, 2, 3, 4, 5]),
        ("1 month", [0, 1, 2, 3]),
        ("1 year 2 mons", [0, 1]),
        ("100:00:00", [0, 1, 2, 3, 4, 5]),
        ("500h", [0, 1, 2, 3, 4]),
        ("25 days 12:00", [0, 1, 2, 3, 4]),
    ],
)
def test_versions_expire_at_the_age_that_the_lake_says(lake, ask, turn, age, expired):
    table = lake.create_table("t", {"i": "int64"})
    for number in range(6):
        table.append([{"i": number}])
    for version, days in enumerate((9999, 500, 300, 40, 27, 5)):
        turn(
            "UPDATE ducklake_snapshot SET snapshot_time = ? WHERE snapshot_id = ?",
            ago(days),
            version,
        )
    if age is not None:
        ask(f"CALL lake.set_option('expire_older_than', '{age}')")
        theirs = ask("SELECT snapshot_id FROM ducklake_expire_snapshots('lake', dry_run => true)")
        assert sorted(version for (version,) in theirs) == expired
        assert lake.options()["expire_older_than"] == age
    assert sorted(lake.expire(dry_run=True).versions) == expired
    assert sorted(lake.expire("20 days", dry_run=True).versions) == [0, 1, 2, 3, 4]
    assert sorted(lake.expire().versions) == expired


@pytest.mark.parametrize("case", [(None, 2, 1), ("3 days", 2, 0), ("3 days", 4, 1)])
def test_files_are_deleted_after_the_time_that_the_lake_says(lake, ask, turn, case):
    age, days, gone = case
    table = lake.create_table("t", {"i": "int64"})
    table.append([{"i": 1}])
    table.overwrite([{"i": 2}])
    assert len(lake.expire(0).files) == 1
    turn("UPDATE ducklake_files_scheduled_for_deletion SET schedule_start = ?", ago(days))
    if age is not None:
        lake.set_option("delete_older_than", age)
        assert len(ask("CALL ducklake_cleanup_old_files('lake', dry_run => true)")) == gone
    assert len(lake.vacuum("1 day", dry_run=True).files) == 1
    assert len(lake.vacuum().files) == gone
    assert table.scan().to_arrow().to_pylist() == [{"i": 2}]


def test_an_age_that_cannot_be_read_is_named_and_nothing_expires(lake, ask):
    ask("CALL lake.set_option('expire_older_than', '-1 day')")
    with pytest.raises(InvalidInputError, match="'expire_older_than' is '-1 day'") as caught:
        lake.expire()
    assert "lake.set_option" in str(caught.value.hint)
    with pytest.raises(InvalidInputError, match="takes an interval, got 'soon'"):
        lake.set_option("delete_older_than", "soon")


def pages(lake, table):
    """Return for each file the kind of its first data page, 0 or 3 for V2, and its encodings."""
    for row in table.files().to_pylist():
        path = Path(lake.data_path, row["path"])
        chunk = pq.read_metadata(path).row_group(0).column(0)
        start = path.read_bytes()[chunk.data_page_offset :][:2]
        assert (
            start[0] == 0x15
        )  # a page header begins with its kind, as Thrift's compact form has it
        yield start[1] // 2, set(chunk.encodings)


@pytest.mark.parametrize("kernel", ["pyarrow", "duckdb"])
def test_pages_are_of_the_version_that_is_asked_for(tmp_path, ask, kernel):
    rows = pa.table({"i": list(range(5000)), "s": [str(n) for n in range(5000)]})
    with mere.connect(tmp_path / "x.db", data_path=tmp_path / "files", kernel=kernel) as lake:
        table = lake.create_table("t", rows.schema)
        ask("CALL lake.set_option('parquet_version', 2, table_name => 't')")
        table.append(rows)
        table.set_option("parquet_version", "V1")
        table.append(rows)
        new, old = pages(lake, table)
        if kernel == "pyarrow":
            assert (new[0], old[0]) == (3, 0)
        else:
            assert ("DELTA_BINARY_PACKED" in new[1], old[1]) == (True, {"PLAIN"})
        table.set_option("parquet_version", 2)
        table.compact()
        assert next(pages(lake, table)) == new
        assert table.scan("i >= 10").to_arrow()["i"].to_pylist() == [*range(10, 5000)] * 2
        assert lake.doctor(deep=True).healthy
    assert ask("SELECT count(*), sum(i), max(s) FROM t") == [(10_000, 24_995_000, "999")]


@pytest.mark.parametrize("kernel", ["pyarrow", "duckdb"])
def test_rows_are_ordered_later_when_inserts_shall_not_sort(tmp_path, ask, kernel):
    with mere.connect(tmp_path / "x.db", data_path=tmp_path / "files", kernel=kernel) as lake:
        table = lake.create_table("t", {"i": "int64", "p": "int64"}, sort_by=["i"])
        table.append([{"i": n, "p": 1} for n in (3, 1, 2)])
        ask("CALL lake.set_option('sort_on_insert', false)")
        ask("INSERT INTO t VALUES (6, 1), (4, 1), (5, 1)")
        table.append([{"i": n, "p": 1} for n in (9, 7, 8)])
        table.upsert([{"i": n, "p": 2} for n in (7, 12, 10, 11)], on="i")
        given = [1, 2, 3, 6, 4, 5, 9, 8, 7, 12, 10, 11]
        assert table.scan().to_arrow()["i"].to_pylist() == given
        assert ask("SELECT i FROM t ORDER BY i") == [(i,) for i in sorted(given)]
        assert table.sort_by == ("i",)
        table.compact()
        assert table.scan().to_arrow()["i"].to_pylist() != sorted(given)
        table.cluster("i")
        assert table.scan().to_arrow()["i"].to_pylist() == sorted(given)
        ask("CALL lake.set_option('sort_on_insert', true)")
        table.append([{"i": n, "p": 3} for n in (15, 13, 14)])
        assert table.scan("i > 12").to_arrow()["i"].to_pylist() == [13, 14, 15]


def test_options_that_say_nothing_to_mere_are_kept_for_duckdb(lake, ask):
    kept = {"per_thread_output": "true", "auto_compact": "false", "data_inlining_row_limit": "9"}
    table = lake.create_table("t", {"i": "int64"})
    for key, value in kept.items():
        table.set_option(key, value)
    for n in range(2):
        table.append(pa.table({"i": [n]}))
    assert table.files().num_rows == 2
    assert table.compact().files_added == 1
    told = "SELECT option_name, value FROM lake.options() WHERE scope = 'TABLE'"
    assert dict(ask(told)) == kept
