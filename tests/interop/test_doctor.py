"""A lake that the reference writes is well, whatever it did; and its delete files are looked at."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import mere

WRITTEN = (
    "CREATE TABLE t (id BIGINT, part VARCHAR, price DOUBLE, moment TIMESTAMPTZ)",
    "ALTER TABLE t SET PARTITIONED BY (part)",
    "INSERT INTO t SELECT i, 'p' || i % 2, i / 2, now() FROM range(100) r(i)",
    "INSERT INTO t SELECT i, 'p' || i % 2, NULL, NULL FROM range(100, 200) r(i)",
    "INSERT INTO t VALUES (1000, 'p1', 1.5, now())",
    "DELETE FROM t WHERE id % 7 = 0 AND id < 100",
    "DELETE FROM t WHERE id % 11 = 0",
    "UPDATE t SET price = 7 WHERE id = 3",
)
CHANGED = (
    "CALL ducklake_flush_inlined_data('lake')",
    "ALTER TABLE t ADD COLUMN extra INTEGER DEFAULT 42",
    "INSERT INTO t SELECT i, 'p1', i, now(), i FROM range(200, 300) r(i)",
    "UPDATE t SET price = id WHERE id > 250",
)
MAINTAINED = (
    "CALL ducklake_merge_adjacent_files('lake')",
    "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
    "INSERT INTO t SELECT i, 'p1', i, now(), i FROM range(300, 400) r(i)",
    "CALL ducklake_merge_adjacent_files('lake')",
)
CLEARED = (
    "DELETE FROM t WHERE id < 50",
    "CALL ducklake_expire_snapshots('lake', older_than => now() - INTERVAL 0 SECOND)",
    "CREATE OR REPLACE TABLE t AS SELECT 1 AS a",
)


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def place(request, tmp_path):
    """Return (URL for mere, name for DuckDB) of a fresh lake on each catalog."""
    if request.param == "sqlite":
        return f"sqlite://{tmp_path}/x.db", f"sqlite:{tmp_path / 'x.db'}"
    if request.param == "duckdb":
        return f"duckdb://{tmp_path}/x.ducklake", str(tmp_path / "x.ducklake")
    url = request.getfixturevalue("pg_url")
    return url, f"postgres:{url}"


def test_a_lake_is_well_whatever_the_reference_did_to_it(place, tmp_path, oracle):
    url, name = place
    for steps in (WRITTEN, CHANGED, MAINTAINED, CLEARED):
        con = oracle(name, data_path=f"{tmp_path}/files/")
        for step in steps:
            con.execute(step)
        con.close()
        with mere.connect(url, create=False) as lake:
            diagnosis = lake.doctor(deep=True)
        assert diagnosis.findings == (), steps
        assert diagnosis.undigested == diagnosis.files


def test_totals_that_the_reference_narrows_after_nan_are_found(tmp_path, oracle):
    """It forgets the bounds of a column with NaN, and takes those of the next rows for all."""
    where = f"{tmp_path}/files/"
    con = oracle(f"sqlite:{tmp_path / 'x.db'}", data_path=where, data_inlining_row_limit=0)
    con.execute("CREATE TABLE t (price DOUBLE)")
    for values in ("(0.5), (9.5)", "('nan')", "(1.5)"):
        con.execute(f"INSERT INTO t VALUES {values}")
    con.close()
    with mere.connect(tmp_path / "x.db") as lake:
        (finding,) = lake.doctor().findings
    assert finding.check == "bounds"
    assert "the totals begin at 1.5, the file 0 at 0.5" in finding.detail


def test_files_of_both_clients_are_told_apart_by_their_digests(tmp_path, oracle):
    with mere.connect(tmp_path / "x.db") as lake:
        lake.create_table("t", {"a": "int64"}).append([{"a": 1}])
        con = oracle(f"sqlite:{tmp_path / 'x.db'}", data_inlining_row_limit=0)
        con.execute("INSERT INTO t VALUES (2)")
        con.close()
        diagnosis = lake.doctor(deep=True)
        assert (diagnosis.files, diagnosis.undigested, diagnosis.findings) == (2, 1, ())


@pytest.fixture
def deleted_from(tmp_path, oracle):
    """Open a lake with a table of two files, a large and a small one, with deletes in each."""
    with mere.connect(tmp_path / "x.db") as lake:
        table = lake.create_table("t", {"a": "int64"})
        table.append({"a": list(range(1000))})
        table.append({"a": list(range(1000, 1010))})
        con = oracle(f"sqlite:{tmp_path / 'x.db'}", data_inlining_row_limit=0)
        con.execute("DELETE FROM t WHERE a IN (900, 901, 1005)")
        con.close()
        assert lake.doctor(deep=True).findings == ()
        yield lake


def damage(lake, statement):
    with closing(sqlite3.connect(lake.url.removeprefix("sqlite://"))) as connection:
        connection.execute(statement)
        connection.commit()


def checks(lake, *, deep=False):
    return {finding.check for finding in lake.doctor(deep=deep).findings}


def test_a_delete_file_that_is_gone_is_missed(deleted_from):
    next(Path(deleted_from.data_path).rglob("*-delete.parquet")).unlink()
    assert checks(deleted_from) == {"missing"}


def test_a_delete_file_with_other_counts_is_found(deleted_from):
    damage(deleted_from, "UPDATE ducklake_delete_file SET delete_count = 5")
    assert checks(deleted_from) == {"rows"}


def test_positions_beyond_the_end_of_a_file_are_found_when_pages_are_read(deleted_from):
    damage(  # each delete file goes to the other data file
        deleted_from,
        "UPDATE ducklake_delete_file SET data_file_id = (SELECT sum(data_file_id) "
        "FROM ducklake_data_file) - data_file_id",
    )
    assert checks(deleted_from) == set()
    assert checks(deleted_from, deep=True) == {"positions"}


def test_two_delete_files_in_force_on_one_file_are_found(deleted_from):
    damage(
        deleted_from,
        "UPDATE ducklake_delete_file SET data_file_id = (SELECT min(data_file_id) "
        "FROM ducklake_data_file)",
    )
    assert "deletes" in checks(deleted_from)


def test_deletes_from_a_file_that_is_not_listed_are_found(deleted_from):
    damage(deleted_from, "UPDATE ducklake_delete_file SET data_file_id = 77")
    assert checks(deleted_from) == {"deletes"}
