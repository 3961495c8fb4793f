"""How rows changed: as DuckDB tells it, and right where DuckDB goes wrong."""

import pyarrow as pa
import pytest

import mere
from mere.errors import InvalidInputError, SnapshotNotFoundError, UnknownColumnError


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def place(request, tmp_path):
    """Return (URL for mere, name for DuckDB) of a place for a lake on each catalog."""
    if request.param == "sqlite":
        return str(tmp_path / "x.db"), f"sqlite:{tmp_path / 'x.db'}"
    if request.param == "duckdb":
        return str(tmp_path / "x.ducklake"), str(tmp_path / "x.ducklake")
    url = request.getfixturevalue("pg_url")
    return url, f"postgres:{url}"


@pytest.fixture
def ask(place, oracle, tmp_path):
    """Hand out a function that runs statements in DuckDB and returns the rows of the last."""

    def run(*statements, limit=0):
        options = {"data_path": f"{tmp_path}/files/", "data_inlining_row_limit": limit}
        with oracle(place[1], **options) as duck:
            for statement in statements[:-1]:
                duck.execute(statement)
            return duck.execute(statements[-1]).fetchall()

    return run


def ours(place, since, until=None, **more):
    with mere.connect(place[0]) as lake:
        table = lake.table("t").changes(since, until, **more)
    return [tuple(row.values()) for row in table.to_pylist()]


def theirs(ask, since, until):
    query = f"SELECT * FROM ducklake_table_changes('lake', 'main', 't', {since}, {until})"
    return ask(query)


ORDINARY = (
    "CREATE TABLE t (i INTEGER, s VARCHAR)",
    "INSERT INTO t SELECT range, 'a' FROM range(10)",
    "DELETE FROM t WHERE i IN (1, 2)",
    "INSERT INTO t SELECT range, 'b' FROM range(10, 15)",
    "UPDATE t SET s = 'u' WHERE i IN (3, 12)",
    "DELETE FROM t WHERE i IN (5, 13)",
    "UPDATE t SET s = 'v' WHERE i IN (3, 6)",
    "ALTER TABLE t ADD COLUMN z INTEGER DEFAULT 7",
    "INSERT INTO t VALUES (20, 'c', 1)",
    "ALTER TABLE t RENAME COLUMN s TO r",
    "DELETE FROM t WHERE i >= 10",
    "TRUNCATE t",
)
LAST = len(ORDINARY)


def test_an_ordinary_history_is_told_as_duckdb_tells_it(place, ask):
    ask(*ORDINARY, "SELECT 1")
    for since in range(1, LAST + 1):
        for until in {since, since + 1, since + 3, LAST}:
            if until <= LAST:
                found = ours(place, since, until)
                assert sorted(map(str, found)) == sorted(map(str, theirs(ask, since, until)))


def test_changes_come_in_the_order_in_which_they_happened(place, ask):
    ask(*ORDINARY[:5], "SELECT 1")
    assert ours(place, 5) == [
        (5, 3, "update_preimage", 3, "a"),
        (5, 3, "update_postimage", 3, "u"),
        (5, 12, "update_preimage", 12, "b"),
        (5, 12, "update_postimage", 12, "u"),
    ]
    assert [row[0] for row in ours(place, 1)] == sorted(row[0] for row in ours(place, 1))


INLINED = (
    "CREATE TABLE t (i INTEGER, s VARCHAR)",
    "INSERT INTO t SELECT range, 'f' FROM range(40)",
    "INSERT INTO t VALUES (100, 'a'), (101, 'b'), (102, 'c')",
    "DELETE FROM t WHERE i IN (3, 100)",
    "UPDATE t SET s = 'u' WHERE i IN (4, 101)",
    "ALTER TABLE t ADD COLUMN z INTEGER DEFAULT 7",
    "INSERT INTO t VALUES (103, 'd', 1)",
    "UPDATE t SET s = 'w' WHERE i IN (101, 103)",
    "DELETE FROM t WHERE i < 30",
    "DELETE FROM t WHERE i IN (101, 39)",
)
SMALL = [
    *[(2, n, "insert", n, "f", 7) for n in range(40)],
    *[(3, 40 + n, "insert", 100 + n, "abc"[n], 7) for n in range(3)],
    *[(4, 3, "delete", 3, "f", 7), (4, 40, "delete", 100, "a", 7)],
    *[(5, 4, "update_preimage", 4, "f", 7), (5, 4, "update_postimage", 4, "u", 7)],
    *[(5, 41, "update_preimage", 101, "b", 7), (5, 41, "update_postimage", 101, "u", 7)],
    (7, 43, "insert", 103, "d", 1),
    *[(8, 41, "update_preimage", 101, "u", 7), (8, 41, "update_postimage", 101, "w", 7)],
    *[(8, 43, "update_preimage", 103, "d", 1), (8, 43, "update_postimage", 103, "w", 1)],
    *[(9, n, "delete", n, "u" if n == 4 else "f", 7) for n in range(30) if n != 3],
    *[(10, 39, "delete", 39, "f", 7), (10, 41, "delete", 101, "w", 7)],
]


def test_rows_in_the_catalog_change_as_rows_in_files_do(place, ask):
    ask(*INLINED, "SELECT 1", limit=10)
    for since, until in [(1, 10), (2, 2), (3, 3), (4, 5), (5, 5), (6, 8), (8, 8), (9, 9), (10, 10)]:
        assert ours(place, since, until) == [
            row[: 3 + 2 + (until > 5)] for row in SMALL if since <= row[0] <= until
        ]


MAINTENANCE = {
    "flush": "CALL ducklake_flush_inlined_data('lake')",
    "merge": "CALL ducklake_merge_adjacent_files('lake')",
    "rewrite": "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.01)",
}


@pytest.mark.parametrize("steps", [("flush",), ("flush", "merge"), ("flush", "rewrite", "merge")])
def test_maintenance_changes_nothing_about_small_changes(steps, place, ask):
    ask(*INLINED, "SELECT 1", limit=10)
    before = ours(place, 1)
    assert before == SMALL
    for step in steps:
        ask("SELECT 1", MAINTENANCE[step])
        assert ours(place, 1) == before, step
        assert ours(place, 5, 9) == [row for row in before if 5 <= row[0] <= 9]


@pytest.mark.parametrize(("step", "files"), [("merge", 4), ("rewrite", 7)])
def test_maintenance_changes_nothing_about_files(step, files, place, ask):
    history = (*ORDINARY[:2], *ORDINARY[3:4], *ORDINARY[3:4]) if step == "merge" else ORDINARY[:7]
    assert len(history) == files
    ask(*history, "SELECT 1")
    before = ours(place, 1)
    ask("SELECT 1", MAINTENANCE[step])
    with mere.connect(place[0]) as lake:
        assert lake.version == files + 1, "nothing was maintained"
    assert ours(place, 1) == before
    ask("UPDATE t SET s = 'x' WHERE i = 3", "DELETE FROM t WHERE i = 9", "SELECT 1")
    later = ours(place, files + 2)
    assert [(row[1], row[2], row[4]) for row in later] == [
        (3, "update_preimage", "v" if step == "rewrite" else "a"),
        (3, "update_postimage", "x"),
        (9, "delete", "a"),
    ]
    assert ours(place, 1, files + 1) == before


def test_an_overwrite_is_deletes_and_inserts(place, ask):
    ask("CREATE TABLE t (i BIGINT)", "INSERT INTO t VALUES (1), (2)", "SELECT 1")
    ask("INSERT INTO t VALUES (3)", "DELETE FROM t WHERE i = 2", "SELECT 1", limit=10)
    with mere.connect(place[0]) as lake:
        lake.table("t").overwrite(pa.table({"i": [7]}))
    assert ours(place, 5) == [(5, 0, "delete", 1), (5, 2, "delete", 3), (5, 3, "insert", 7)]


def test_changes_are_narrowed_and_streamed(place, ask):
    ask(*ORDINARY, "SELECT 1")
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        kept = table.changes(1, where="i = 3", columns=["r"]).to_pylist()
        assert [(row["snapshot_id"], row["change_type"], row["r"]) for row in kept] == [
            (2, "insert", "a"),
            *[(5, "update_preimage", "a"), (5, "update_postimage", "u")],
            *[(7, "update_preimage", "u"), (7, "update_postimage", "v")],
            (12, "delete", "v"),
        ]
        whole = table.changes(1)
        streamed = table.stream_changes(1)
        assert streamed.schema == whole.schema
        keys = [("snapshot_id", "ascending"), ("rowid", "ascending"), ("change_type", "descending")]
        assert streamed.read_all().sort_by(keys).equals(whole.sort_by(keys))


def test_ends_of_a_range_are_versions_or_times(place, ask):
    ask(*ORDINARY[:4], "SELECT 1")
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        moments = lake.snapshots()["at"].to_pylist()
        assert table.changes(moments[3]).num_rows == 7
        assert table.changes(moments[2], moments[2]).num_rows == 10
        assert table.changes("2999-01-01").num_rows == 0
        assert table.changes(0, 1).num_rows == 0
        with pytest.raises(InvalidInputError, match="since"):
            table.changes(4, 2)
        with pytest.raises(SnapshotNotFoundError):
            table.changes(1, 99)
        with pytest.raises(UnknownColumnError):
            table.changes(1, columns=["nope"])
    ask("SELECT 1", "CALL ducklake_expire_snapshots('lake', versions => [0, 1, 2])")
    with mere.connect(place[0]) as lake:
        with pytest.raises(SnapshotNotFoundError, match="expired"):
            lake.table("t").changes(2)
        assert lake.table("t").changes(3).num_rows == 7
