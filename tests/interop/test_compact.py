"""Rows that move between files: every version shows what it showed, here and in DuckDB."""

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import mere


@pytest.fixture
def place(request, tmp_path):
    """Return (URL for mere, name for DuckDB) of a place for a lake on the catalog asked for."""
    catalog = getattr(request, "param", "sqlite")
    if catalog == "sqlite":
        return str(tmp_path / "x.db"), f"sqlite:{tmp_path / 'x.db'}"
    if catalog == "duckdb":
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
            answer = duck.execute(statements[-1])
            return Counter(answer.fetchall())

    return run


def here(lake, last):
    """Return rows and changes of all versions as mere reads them."""
    table = lake.table("t")
    first = lake.snapshots()["version"].to_pylist()[0]
    rows = {}
    for version in range(max(first, 1), last + 1):
        found = table.scan(version=version).to_arrow().to_pylist()
        rows[version] = Counter(tuple(row.items()) for row in found)
    changes = table.changes(max(first, 1), last).to_pylist()
    return rows, Counter(tuple(row.items()) for row in changes)


@pytest.fixture
def there(place, oracle, tmp_path):
    """Hand out a function that returns rows and changes of versions as DuckDB reads them.

    Changes are asked for version by version: over a range DuckDB dates the ends of a row that was
    changed twice by its last one, when a file holds both of its old versions.
    """

    def read(versions):
        feed = "FROM ducklake_table_changes('lake', 'main', 't', {0}, {0})"
        with oracle(place[1], data_path=f"{tmp_path}/files/") as duck:
            return {
                v: [
                    Counter(duck.execute(question).fetchall())
                    for question in (f"FROM t AT (VERSION => {v})", feed.format(v))
                ]
                for v in versions
            }

    return read


@pytest.fixture
def there_over(place, oracle, tmp_path):
    """Hand out a function that returns the changes of ranges as DuckDB tells them."""

    def read(ranges):
        feed = "FROM ducklake_table_changes('lake', 'main', 't', {}, {})"
        with oracle(place[1], data_path=f"{tmp_path}/files/") as duck:
            return {of: Counter(duck.execute(feed.format(*of)).fetchall()) for of in ranges}

    return read


MIXED = (
    "CREATE TABLE t (i INTEGER, s VARCHAR)",
    "INSERT INTO t SELECT range, 'a' FROM range(10)",
    "DELETE FROM t WHERE i IN (1, 2)",
    "INSERT INTO t SELECT range, 'b' FROM range(10, 15)",
    "UPDATE t SET s = 'u' WHERE i IN (3, 12)",
    "DELETE FROM t WHERE i IN (5, 13)",
    "INSERT INTO t VALUES (99, NULL)",
    "UPDATE t SET s = 'v' WHERE i IN (3, 4)",
)
COLUMNS = (
    *MIXED[:3],
    "ALTER TABLE t ADD COLUMN z INTEGER DEFAULT 7",
    "INSERT INTO t VALUES (20, 'c', 1), (21, 'd', NULL)",
    "INSERT INTO t VALUES (22, 'c', 1)",
    "ALTER TABLE t RENAME COLUMN s TO r",
    "INSERT INTO t VALUES (23, 'c', 1)",
    "ALTER TABLE t ALTER COLUMN i SET DATA TYPE BIGINT",
    "INSERT INTO t VALUES (5000000000, 'e', 2)",
    "INSERT INTO t VALUES (5000000001, 'e', 2)",
    "ALTER TABLE t DROP COLUMN z",
    "INSERT INTO t VALUES (31, 'x')",
    "INSERT INTO t VALUES (32, 'x')",
    "DELETE FROM t WHERE i IN (3, 22, 31)",
)
SMALL = (
    "CREATE TABLE t (i INTEGER, s VARCHAR)",
    "INSERT INTO t SELECT range, 'f' FROM range(40)",
    "INSERT INTO t SELECT range, 'g' FROM range(40, 80)",
    "INSERT INTO t VALUES (100, 'a'), (101, NULL), (102, 'c')",
    "DELETE FROM t WHERE i IN (3, 50, 100)",
    "UPDATE t SET s = 'u' WHERE i IN (4, 101)",
    "DELETE FROM t WHERE i IN (5, 6)",
)
MERGED = (*MIXED[:6], "CALL ducklake_merge_adjacent_files('lake')", *MIXED[6:])
FLUSHED = (*SMALL, "CALL ducklake_flush_inlined_data('lake')", "DELETE FROM t WHERE i > 70")
HISTORIES = {
    "rows": (MIXED, 0),
    "columns": (COLUMNS, 0),
    "small": (SMALL, 10),
    "merged": (MERGED, 0),
    "flushed": (FLUSHED, 10),
}


MATRIX = [
    *(("sqlite", "pyarrow", history) for history in HISTORIES),
    ("sqlite", "duckdb", "columns"),
    ("duckdb", "duckdb", "columns"),
    ("duckdb", "pyarrow", "small"),
    ("postgresql", "pyarrow", "columns"),
    ("postgresql", "pyarrow", "small"),
]


@pytest.mark.parametrize(("place", "kernel", "history"), MATRIX, indirect=["place"])
def test_no_version_and_no_change_looks_different_after_files_were_merged(
    place, ask, there, history, kernel
):
    statements, limit = HISTORIES[history]
    ask(*statements, limit=limit)
    with mere.connect(place[0], kernel=kernel) as lake:
        table = lake.table("t")
        last = lake.version
        before, seen = here(lake, last), there(range(1, last + 1))
        files = len(table.files())
        report = table.compact()
        assert (report.before_file_count, report.files_added > 0) == (files, True)
        assert report.after_file_count == len(table.files()) < files
        assert report.version == last + 1
        assert here(lake, last) == before
        assert there(range(1, last + 1)) == seen
        assert not table.changes(last + 1).num_rows
        again = table.compact()
        assert (again.compacted_file_count, again.version) == (0, last + 1)
        assert lake.doctor().healthy
    ask(
        "DELETE FROM t WHERE i = 7",
        "UPDATE t SET i = 1000 WHERE i = 8",
        "INSERT INTO t FROM t WHERE i = 9",
        "CALL ducklake_merge_adjacent_files('lake')",
        "SELECT 1",
    )
    now = ask("FROM t")
    with mere.connect(place[0]) as lake:
        assert here(lake, last) == before
        rows = Counter(tuple(row.values()) for row in lake.table("t").scan().to_arrow().to_pylist())
        assert rows == now
        assert rows.total() == before[0][last].total()


ONCE = (
    "CREATE TABLE t (i INTEGER, s VARCHAR)",
    "INSERT INTO t SELECT range, 'a' FROM range(12)",
    "UPDATE t SET s = 'u' WHERE i IN (3, 4)",
    "DELETE FROM t WHERE i IN (1, 8)",
    "INSERT INTO t SELECT range, 'b' FROM range(20, 26)",
    "UPDATE t SET s = 'v', i = i + 100 WHERE i IN (5, 21)",
    "DELETE FROM t WHERE i IN (2, 22)",
)
SHAPES = {
    "compact": lambda table: table.compact(),
    "cluster": lambda table: table.cluster(["s", "i"], order="zorder"),
    "repartition": lambda table: table.repartition(["s"]),
}


@pytest.mark.parametrize(
    ("place", "verbs"),
    [
        *(("sqlite", [verb]) for verb in SHAPES),
        *((kind, list(SHAPES)) for kind in ("duckdb", "postgresql")),
    ],
    indirect=["place"],
)
def test_every_range_of_changes_is_told_alike_after_rows_moved(place, ask, there_over, verbs):
    ask(*ONCE)
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        last = lake.version
        ranges = [(a, b) for a in range(1, last + 1) for b in sorted({a, min(a + 2, last), last})]

        def ours():
            return {of: table.changes(*of).to_pylist() for of in ranges}

        before, seen = ours(), there_over(ranges)
        kinds = Counter(row["change_type"] for row in before[1, last])
        changed = {"update_preimage": 4, "update_postimage": 4, "delete": 4}
        assert kinds == {"insert": 18, **changed}
        for (since, until), rows in before.items():
            assert Counter(tuple(row.values()) for row in rows) == seen[since, until]
        for verb in verbs:
            assert SHAPES[verb](table).files_removed
            assert ours() == before, verb
            assert not table.changes(last + 1).num_rows
        assert there_over(ranges) == seen
        assert lake.doctor().healthy


def test_what_copies_of_rows_say_of_their_past_is_kept(place, there, tmp_path):
    with mere.connect(place[0], data_path=tmp_path / "files") as lake:
        table = lake.create_table("t", {"i": "int64", "s": "varchar"})
        table.append([{"i": n, "s": "a"} for n in range(9)])
        table.set_option("mere_write_mode", "copy-on-write")
        table.update({"s": "'b'"}, where="i = 3")
        table.delete("i = 4")
        table.append([{"i": n, "s": "c"} for n in range(9, 12)])
        table.update({"s": "'d'"}, where="i IN (3, 10)")
        table.append([{"i": 12, "s": "c"}])
        last = lake.version
        before = here(lake, last)
        assert before[1].total() < 25
        assert table.compact().files_added == 1
        assert here(lake, last) == before
        table.update({"s": "'e'"}, where="i = 5")
        (old, new) = table.changes(last + 2).to_pylist()
        assert (old["s"], new["s"], new["change_type"]) == ("a", "e", "update_postimage")
        assert lake.doctor().healthy
    assert there([last])[last][0].total() == 12


def test_the_history_tells_of_old_versions_what_it_told(place, tmp_path):
    with mere.connect(place[0], data_path=tmp_path / "files") as lake:
        table = lake.create_table("t", {"i": "int64", "s": "varchar"})
        for start in (0, 10, 25):
            table.append([{"i": n, "s": "a"} for n in range(start, start + 9)])
            table.delete(f"i = {start + 1}")
        table.update({"s": "'b'"}, where="i < 5")
        before = table.history().to_pylist()
        table.compact()
        table.append([{"i": 100, "s": "c"}])
        table.cluster("i")
        *old, compact, append, cluster = table.history().to_pylist()
        assert old == before
        counted = [(row["files_added"], row["files_removed"]) for row in (compact, append, cluster)]
        assert counted == [(1, 4), (1, 0), (1, 2)]
        assert (append["rows_inserted"], compact["rows_inserted"]) == (1, 0)
        assert [row["operation"] for row in (compact, cluster)] == ["compact", "cluster"]
        lake.expire(0)
        assert lake.doctor().healthy


def test_files_that_a_restored_version_lists_again_wait_until_no_other_lists_them(place, tmp_path):
    with mere.connect(place[0], data_path=tmp_path / "files") as lake:
        table = lake.create_table("t", {"i": "int64"})
        for start in (0, 10, 20):
            table.append([{"i": n} for n in range(start, start + 9)])
        table.delete("i > 5")
        table.restore(version=4)
        table.append([{"i": 100}])
        table.append([{"i": 101}])
        last = lake.version
        before = here(lake, last)
        table.compact()
        assert here(lake, last) == before
        lake.expire(0)
        assert table.compact().files_added > 0
        assert len(table.files()) == 1
        lake.vacuum(0)
        assert table.count() == 29
        assert lake.doctor(deep=True).healthy


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_rows_that_went_through_a_function_are_told_as_updates_by_duckdb_too(place, ask, there):
    ask(*SMALL[:4], "DELETE FROM t WHERE i BETWEEN 3 AND 50", limit=10)
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        last = lake.version
        seen, rows = there(range(1, last + 1)), ask("FROM t", limit=10)

        def longer(batch: pa.Table) -> pa.Table:
            return batch.append_column("n", pc.utf8_length(batch["s"]))

        report = table.repartition(["s"], transform=longer)
        assert (report.rows_updated, report.partitions) == (rows.total(), 5)
        ours = Counter(tuple(row.values()) for row in table.changes(last + 1).to_pylist())
        assert lake.doctor().healthy
    now = there([last + 1])[last + 1]
    assert now[0] == Counter((i, s, None if s is None else len(s)) for i, s in rows.elements())
    assert now[1] == ours
    assert {kind for _, _, kind, *_ in ours} == {"update_preimage", "update_postimage"}
    assert there(range(1, last + 1)) == seen
    ask("UPDATE t SET n = 5 WHERE i = 60", "DELETE FROM t WHERE i = 61", "SELECT 1")
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        assert table.count("n = 5") == 1
        gone = table.repartition([], transform=longer_still, allow_row_change=True)
        assert (gone.rows_before, gone.rows_after) == (rows.total() - 1, 2 * rows.total() - 2)
    assert ask("SELECT count(*) FROM t") == Counter([(2 * rows.total() - 2,)])


def longer_still(batch: pa.Table) -> pa.Table:
    return pa.concat_tables([batch, batch])
