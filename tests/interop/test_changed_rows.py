"""What changes rows here is read by DuckDB: the rows, every old version, and how rows changed."""

import pytest

import mere


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
    """Hand out a function that runs statements in DuckDB and returns the rows of each."""

    def all_of(*statements, limit=0):
        options = {"data_path": f"{tmp_path}/files/", "data_inlining_row_limit": limit}
        with oracle(place[1], **options) as duck:
            return [duck.execute(statement).fetchall() for statement in statements]

    return all_of


@pytest.fixture
def change(place, tmp_path):
    """Hand out a function that does something to the table here, and closes the lake."""

    def run(do, **options):
        with mere.connect(place[0], data_path=tmp_path / "files", **options) as lake:
            return do(lake.table("t"))

    return run


def agree(ask, change, *, first=1, feed=True):
    """Compare all versions and ranges of the feed with what DuckDB says."""
    ours = change(lambda t: told(t, first))
    last = max(ours)
    queries: dict[tuple[int, object], str] = {}
    for version in range(first, last + 1):
        at = f"t AT (VERSION => {version})"
        queries[version, "rows"] = f"SELECT * FROM {at}"
        queries[version, "count"] = f"SELECT count(*) FROM {at}"
        for until in (version, last) if feed else ():
            changes = f"ducklake_table_changes('lake', 'main', 't', {version}, {until})"
            queries[version, until] = f"SELECT * FROM {changes}"
    theirs = dict(zip(queries, ask(*queries.values()), strict=True))
    for version, (rows, count, single, ranged) in ours.items():
        assert spelled(rows) == spelled(theirs[version, "rows"]), version
        assert theirs[version, "count"] == [(count,)], version
        if feed:
            assert spelled(single) == spelled(theirs[version, version]), version
            assert spelled(ranged) == spelled(theirs[version, last]), version


def told(table, first):
    """Return what is said here of each version: rows, count, feed of it, feed since it."""
    last = table.version
    return {
        version: (
            values(table.scan(version=version).to_arrow()),
            table.count(version=version),
            values(table.changes(version, version)),
            values(table.changes(version, last)),
        )
        for version in range(first, last + 1)
    }


def values(table):
    return [tuple(row.values()) for row in table.to_pylist()]


def spelled(rows):
    return sorted(map(repr, rows))


@pytest.mark.parametrize("kernel", ["pyarrow", "duckdb"])
def test_deletes_and_updates_are_told_as_duckdb_tells_them(ask, change, kernel):
    ask(
        "CREATE TABLE t (i INTEGER, s VARCHAR, p VARCHAR)",
        "ALTER TABLE t SET PARTITIONED BY (p)",
        "INSERT INTO t SELECT range, 'a', 'p' || range % 2 FROM range(20)",
    )
    changes = (
        lambda t: t.delete("i IN (1, 2, 3)"),
        lambda t: t.delete("i IN (4, 5)"),
        lambda t: t.update({"s": mere.lit("u")}, where="i BETWEEN 5 AND 8"),
        lambda t: t.update({"s": "s || '2'", "p": mere.lit("p9")}, where="i IN (6, 9)"),
        lambda t: t.delete("i = 6 OR i = 8"),
        lambda t: t.delete("p = 'p0'"),
        lambda t: t.update({"s": mere.lit("all")}),
        lambda t: t.append([{"i": 100, "s": "new", "p": "p0"}]),
        lambda t: t.delete("i > 10"),
    )
    change(lambda t: [do(t) for do in changes], kernel=kernel)
    agree(ask, change)


def test_our_changes_and_those_of_duckdb_go_on_top_of_each_other(ask, change):
    ask(
        "CREATE TABLE t (i INTEGER, s VARCHAR)",
        "INSERT INTO t SELECT range, 'a' FROM range(30)",
        "DELETE FROM t WHERE i < 3",
    )
    change(lambda t: t.delete("i = 3"))
    ask("DELETE FROM t WHERE i = 4", "UPDATE t SET s = 'd' WHERE i IN (5, 6)")
    change(lambda t: t.update({"s": mere.lit("m")}, where="i IN (6, 7)"))
    ask("DELETE FROM t WHERE i IN (7, 8)", "UPDATE t SET s = 'e' WHERE i IN (6, 9)")
    change(lambda t: t.delete("i IN (6, 10)"))
    agree(ask, change)


def test_rows_and_deletes_that_lie_in_the_catalog_are_changed_too(ask, change):
    ask(
        "CREATE TABLE t (i INTEGER, s VARCHAR)",
        "INSERT INTO t SELECT range, 'file' FROM range(30)",
        limit=0,
    )
    ask("INSERT INTO t SELECT range, 'inlined' FROM range(100, 106)", limit=10)
    ask("DELETE FROM t WHERE i IN (1, 100)", limit=10)
    dry = change(lambda t: t.delete("i IN (1, 2, 100, 101)", dry_run=True))
    assert dry.rows_deleted == 2
    assert change(lambda t: t.delete("i IN (1, 2, 100, 101)")).rows_deleted == 2
    assert change(lambda t: t.update({"s": mere.lit("u")}, where="i IN (3, 102)")).rows_updated == 2
    ask("DELETE FROM t WHERE i IN (4, 103)", limit=10)
    assert change(lambda t: t.delete("i IN (4, 5, 103, 104)")).rows_deleted == 2
    assert change(lambda t: t.update({"s": "s || i"}, where="i > 25")).rows_updated == 6
    agree(ask, change, first=2)


def test_files_that_duckdb_merged_or_flushed_keep_their_history(ask, change):
    ask("CREATE TABLE t (i INTEGER, s VARCHAR)")
    for start in (0, 10, 20):
        ask(f"INSERT INTO t SELECT range, 'a' FROM range({start}, {start + 10})")
    ask("INSERT INTO t SELECT range, 'b' FROM range(100, 105)", limit=10)
    ask("DELETE FROM t WHERE i IN (101, 11)", limit=10)
    ask("CALL ducklake_merge_adjacent_files('lake')")
    ask("CALL ducklake_flush_inlined_data('lake')")
    change(lambda t: t.delete("i IN (2, 12, 22, 102)"))
    change(lambda t: t.update({"s": mere.lit("u")}, where="i IN (3, 13, 103)"))
    change(lambda t: t.delete("i IN (4, 13)"))
    agree(ask, change, first=2)


def test_duplicates_are_deleted_wherever_they_lie(ask, change):
    ask(
        "CREATE TABLE t (i INTEGER, s VARCHAR)",
        "INSERT INTO t SELECT range % 7, 'f' FROM range(20)",
    )
    ask("INSERT INTO t VALUES (1, 'a'), (8, 'b'), (8, 'c'), (NULL, 'd'), (NULL, 'e')", limit=10)
    change(lambda t: t.deduplicate("i"))
    agree(ask, change)
    found = ask("SELECT i, s FROM t ORDER BY i")[0]
    assert found == [*((n, "f") for n in range(7)), (8, "b"), (None, "d")]
    change(lambda t: t.deduplicate("s", order_by="i", keep="last"))
    agree(ask, change)
    assert ask("SELECT i, s FROM t ORDER BY i")[0] == [(6, "f"), (8, "b"), (None, "d")]


def test_files_written_anew_are_read_by_duckdb_and_changed_on_top(ask, change):
    ask(
        "CREATE TABLE t (i INTEGER, s VARCHAR)",
        "INSERT INTO t SELECT range, 'a' FROM range(30)",
        "DELETE FROM t WHERE i < 3",
    )
    ask("INSERT INTO t SELECT range, 'b' FROM range(100, 105)", limit=10)

    def copying(do):
        def run(t):
            t.set_option("mere_write_mode", "copy-on-write")
            do(t)

        return change(run)

    copying(lambda t: t.delete("i IN (3, 100)"))
    copying(lambda t: t.update({"s": mere.lit("m")}, where="i IN (6, 7, 101)"))
    ask("DELETE FROM t WHERE i IN (8, 102)", "UPDATE t SET s = 'd' WHERE i IN (7, 9)")
    copying(lambda t: t.upsert([{"i": 9, "s": "u"}, {"i": 200, "s": "new"}], on="i"))
    agree(ask, change, feed=False)
    kinds = change(lambda t: t.changes(t.version)["change_type"].to_pylist())
    assert kinds == ["update_preimage", "update_postimage", "insert"]
    ask("CALL ducklake_merge_adjacent_files('lake')", "DELETE FROM t WHERE i = 10")
    agree(ask, change, feed=False)
