"""A table that becomes what it was: rows, columns and layout, here and in DuckDB."""

from collections import Counter
from pathlib import Path

import pytest

import mere
from mere.errors import InvalidInputError, SnapshotNotFoundError, TableNotFoundError


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
            answer = duck.execute(statements[-1])
            return [c[0] for c in answer.description], answer.fetchall()

    return run


@pytest.fixture
def files(tmp_path):
    """Name the folder of a lake's data, where DuckDB looks for it too."""
    return tmp_path / "files"


def here(table, version=None):
    """Return columns and rows as mere reads them."""
    found = table.scan(version=version).to_arrow()
    return found.column_names, Counter(tuple(row.values()) for row in found.to_pylist())


@pytest.fixture
def there(place, oracle):
    """Hand out a function that returns columns and rows of versions, as DuckDB reads them."""

    def read(*versions):
        found = {}
        with oracle(place[1]) as duck:
            for version in versions:
                answer = duck.execute(f"FROM t AT (VERSION => {version})")
                found[version] = [c[0] for c in answer.description], Counter(answer.fetchall())
        return found

    return read


def applied(rows, changes):
    """Return rows after changes, which must fit them."""
    rows = Counter(rows)
    for change in changes:
        took = change["change_type"] in ("delete", "update_preimage")
        row = tuple(change.values())[3:]
        assert not took or rows[row] > 0, change
        rows[row] += -1 if took else 1
    return +rows


ROWS = (
    "CREATE TABLE t (i INTEGER, s VARCHAR)",
    "INSERT INTO t SELECT range, 'a' FROM range(10)",
    "DELETE FROM t WHERE i IN (1, 2)",
    "INSERT INTO t SELECT range, 'b' FROM range(10, 15)",
    "UPDATE t SET s = 'u' WHERE i IN (3, 12)",
    "DELETE FROM t WHERE i IN (5, 13)",
    "TRUNCATE t",
)
COLUMNS = (
    *ROWS[:3],
    "ALTER TABLE t ADD COLUMN z INTEGER DEFAULT 7",
    "INSERT INTO t VALUES (20, 'c', 1), (21, 'd', NULL)",
    "ALTER TABLE t RENAME COLUMN s TO r",
    "ALTER TABLE t ALTER COLUMN i SET DATA TYPE BIGINT",
    "INSERT INTO t VALUES (5000000000, 'e', 2)",
    "ALTER TABLE t DROP COLUMN z",
    "ALTER TABLE t SET PARTITIONED BY (r)",
    "INSERT INTO t SELECT range, 'p' FROM range(30, 40)",
    "ALTER TABLE t RESET PARTITIONED BY",
    "ALTER TABLE t ADD COLUMN z VARCHAR",
    "DELETE FROM t WHERE i > 3",
)
SMALL = (
    "CREATE TABLE t (i INTEGER, s VARCHAR)",
    "INSERT INTO t SELECT range, 'f' FROM range(40)",
    "INSERT INTO t VALUES (100, 'a'), (101, NULL), (102, 'c')",
    "DELETE FROM t WHERE i IN (3, 100)",
    "UPDATE t SET s = 'u' WHERE i IN (4, 101)",
    "ALTER TABLE t ADD COLUMN z INTEGER DEFAULT 7",
    "INSERT INTO t VALUES (103, 'd', 1)",
    "ALTER TABLE t RENAME COLUMN s TO r",
    "UPDATE t SET r = 'w' WHERE i IN (101, 103)",
    "DELETE FROM t WHERE i < 30",
)
FLUSHED = (*SMALL[:7], "CALL ducklake_flush_inlined_data('lake')", "DELETE FROM t WHERE i > 20")
MERGED = (*ROWS[:6], "CALL ducklake_merge_adjacent_files('lake')", "DELETE FROM t WHERE i > 6")


@pytest.mark.parametrize(
    ("history", "limit"),
    [(ROWS, 0), (COLUMNS, 0), (SMALL, 10), (FLUSHED, 10), (MERGED, 0)],
    ids=["rows", "columns", "small", "flushed", "merged"],
)
def test_every_version_can_come_back_and_none_in_between_changes(place, ask, there, history, limit):
    ask(*history, "SELECT 1", limit=limit)
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        last = table.version
        known = there(*range(1, last + 1))
        for version in (2, last, last - 3, 1, last - 1):
            before = here(table)
            report = table.restore(version=version)
            now = table.version
            known[now] = known[version]
            assert here(table) == known[version]
            assert table.count() == report.rows_after == known[version][1].total()
            told = table.changes(now, now).to_pylist()
            if before[0] == known[version][0]:
                assert applied(before[1], told) == known[version][1]
        assert {version: here(table, version) for version in known} == known == there(*known)


def test_rows_written_after_a_restore_lie_beside_those_that_came_back(place, ask, there):
    ask(*COLUMNS, "SELECT 1")
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        table.restore(version=5)
        table.append([{"i": 50, "s": "new", "z": 3}])
        version = table.version
    ask("INSERT INTO t VALUES (51, 'x', NULL)", "DELETE FROM t WHERE i IN (4, 50)", "SELECT 1")
    ask("ALTER TABLE t ADD COLUMN y INTEGER", "INSERT INTO t VALUES (52, 'y', 1, 2)", "SELECT 1")
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        assert (50, "new", 3) in here(table, version)[1]
        after = range(version, table.version + 1)
        assert {at: here(table, at) for at in after} == there(*after)
        assert here(table)[1].keys() >= {(51, "x", None, None), (52, "y", 1, 2)}
        assert {50, 4}.isdisjoint(row[0] for row in here(table)[1])


def test_no_file_is_written_where_the_catalog_can_guard_what_is_listed_twice(place, ask, tmp_path):
    ask(*ROWS[:2], ROWS[3], "TRUNCATE t", "SELECT 1")
    files = set(Path(tmp_path / "files").rglob("*.parquet"))
    with mere.connect(place[0]) as lake:
        report = lake.table("t").restore(version=3)
        assert report.files_added == 2
        assert report.rows_inserted == report.rows_after == 15
        added = set(Path(tmp_path / "files").rglob("*.parquet")) - files
        assert len(added) == (2 if "ducklake" in place[0] else 0)
        assert (report.copied_bytes > 0) == bool(added)


CLEANUPS = {
    "expire": "CALL ducklake_expire_snapshots('lake', versions => [{old}])",
    "merge": "CALL ducklake_merge_adjacent_files('lake')",
    "rewrite": "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.01)",
}


@pytest.mark.parametrize("cleanup", CLEANUPS)
def test_duckdb_deletes_no_file_that_another_version_lists(place, ask, there, cleanup):
    ask(*ROWS, "SELECT 1")
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        table.restore(version=5)
        table.append([{"i": 70, "s": "z"}])
        known = {version: here(table, version) for version in range(1, table.version + 1)}
    old = list(range(1, 8)) if cleanup == "expire" else []
    statement = CLEANUPS[cleanup].format(old=", ".join(map(str, old)))
    ask(statement, "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)", "SELECT 1")
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        known = {version: rows for version, rows in known.items() if version not in old}
        assert {version: here(table, version) for version in known} == known == there(*known)


def test_a_file_that_is_listed_twice_goes_with_the_last_version_that_lists_it(
    place, ask, there, tmp_path
):
    ask(*ROWS, "SELECT 1")
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        table.restore(version=5)
        expected = here(table)
        living = set(table.files()["path"].to_pylist())
        assert not living & set(lake.expire(0).paths)
        lake.vacuum(0)
        assert here(table) == there(table.version)[table.version] == expected
        table.overwrite([{"i": 1, "s": "only"}])
        expired = lake.expire(0)
        assert len(set(expired.paths)) == len(expired.paths) > 0
        lake.vacuum(0)
        left = [str(p) for p in Path(tmp_path / "files").rglob("*.parquet")]
        assert len(left) == 1
        assert here(table) == there(table.version)[table.version]


def test_the_definition_comes_back_with_the_rows(place, files):
    with mere.connect(place[0], data_path=files) as lake:
        table = lake.create_table("t", {"i": "int32", "s": "varchar"}, partition_by=["s"])
        evolving = table.evolve().comment("first").add_check("small", "i < 10").sort_by("i")
        evolving.comment("a number", column="i").commit()
        table.append([{"i": 1, "s": "x"}])
        lake.tag("good")
        evolving = table.evolve().drop_check("small").comment("second").sort_by([])
        evolving.partition_by([]).drop_column("s").widen("i", "int64").commit()
        table.append([{"i": 1 << 40}])
        table.restore(tag="good", message="back", author="me")
        assert table.schema.names == ["i", "s"]
        assert table.checks == {"small": "i < 10"}
        assert (table.comment, table.column_comments) == ("first", {"i": "a number"})
        assert here(table)[1] == Counter([(1, "x")])
        table.overwrite([{"i": 2, "s": "x"}], partitions="dynamic")
        assert here(table)[1] == Counter([(2, "x")])
        with pytest.raises(InvalidInputError, match="small"):
            table.append([{"i": 99, "s": "x"}])
        told = table.history().to_pylist()[-2]
        assert (told["operation"], told["message"], told["author"]) == ("restore", "back", "me")
        assert table.column_comments == {"i": "a number"}


def test_a_table_that_was_renamed_comes_back_under_its_new_name(place, files):
    with mere.connect(place[0], data_path=files) as lake:
        table = lake.create_table("a", {"i": "int64"})
        table.append([{"i": 1}])
        version = table.version
        renamed = lake.rename_table("a", "b")
        renamed.overwrite([{"i": 2}])
        renamed.restore(version=version)
        assert here(renamed)[1] == Counter([(1,)])
        assert lake.tables() == ["main.b"]


def test_what_cannot_be_restored_is_refused_before_anything_is_written(place, files):
    with mere.connect(place[0], data_path=files) as lake:
        table = lake.create_table("t", {"i": "int64"})
        table.append([{"i": 1}])
        version = table.version
        table.append([{"i": 2}])
        with pytest.raises(InvalidInputError, match="what to restore"):
            table.restore()
        with pytest.raises(InvalidInputError, match="one of version"):
            table.restore(version=1, tag="x")
        with pytest.raises(SnapshotNotFoundError, match="99"):
            table.restore(version=99)
        lake.expire(0)
        with pytest.raises(SnapshotNotFoundError, match=f"version {version}"):
            table.restore(version=version)
        lake.drop_table("t")
        lake.create_table("t", {"i": "int64"})
        with pytest.raises(TableNotFoundError, match="was not there"):
            table.restore(version=version + 1)
        assert lake.snapshots()["message"].to_pylist() == [None] * len(lake.snapshots())
    with (
        mere.connect(place[0], read_only=True) as lake,
        pytest.raises(InvalidInputError, match="read_only"),
    ):
        lake.table("t").restore(version=version)


def test_a_transaction_restores_and_goes_on(place, ask, there):
    ask(*COLUMNS, "SELECT 1")
    with mere.connect(place[0]) as lake:
        base = lake.version
        with lake.transaction(message="undo", author="me") as tx:
            table = tx.table("t")
            table.restore(version=3)
            assert here(table) == here(lake.table("t"), 3)
            assert table.schema.names == ["i", "s"]
            table.append([{"i": 77, "s": "tx"}])
            assert table.count() == 9
            with pytest.raises(InvalidInputError, match="changed in this transaction"):
                table.restore(version=2)
        table = lake.table("t")
        assert lake.version == base + 1
        assert here(table)[1] == here(table, 3)[1] + Counter([(77, "tx")])
        assert there(lake.version) == {lake.version: here(table)}
        with lake.transaction() as tx:
            tx.table("t").restore(version=3)
            tx.table("t").overwrite([{"i": 78, "s": "tx"}])
        assert here(table)[1] == Counter([(78, "tx")])
        assert there(lake.version) == {lake.version: here(table)}


def test_rows_that_others_write_meanwhile_are_undone_too(place, files, monkeypatch):
    with (
        mere.connect(place[0], data_path=files) as lake,
        mere.connect(place[0], data_path=files) as other,
    ):
        table = lake.create_table("t", {"i": "int64"})
        table.append([{"i": 1}])
        version = table.version
        table.append([{"i": 2}])
        catalog = lake._session.catalog  # noqa: SLF001
        commit, late = catalog.commit, [other.table("t")]

        def after_another(change):
            while late:
                late.pop().append([{"i": 3}])
            return commit(change)

        monkeypatch.setattr(catalog, "commit", after_another)
        report = table.restore(version=version)
        assert report.retries == 1
        assert here(table)[1] == Counter([(1,)])
        assert here(table, table.version - 1)[1] == Counter([(1,), (2,), (3,)])
