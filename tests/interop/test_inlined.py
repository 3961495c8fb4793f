"""Small changes that DuckDB keeps in the catalog: read at every snapshot, ended when replaced."""

import pyarrow as pa
import pytest

import mere
from mere.errors import UnsupportedError

LIMIT = 1000
TYPES = {
    "boolean": ("BOOLEAN", "true", "false"),
    "tinyint": ("TINYINT", "(-128)", "127"),
    "bigint": ("BIGINT", "(-9223372036854775808)", "9223372036854775807"),
    "uinteger": ("UINTEGER", "0", "4294967295"),
    "ubigint": ("UBIGINT", "0", "18446744073709551615"),
    "hugeint": ("HUGEINT", "(-1000000000000000)", "1"),
    "float": ("FLOAT", "'-inf'", "0.1"),
    "double": ("DOUBLE", "1e300", "0.1"),
    "decimal(4,1)": ("DECIMAL(4,1)", "(-999.9)", "0.5"),
    "decimal(38,10)": ("DECIMAL(38,10)", "(-0.0000000001)", "1234567890123456789012345678.5"),
    "date": ("DATE", "'0001-01-01'", "'9999-12-31'"),
    "time": ("TIME", "'00:00:00'", "'23:59:59.999999'"),
    "timestamp": ("TIMESTAMP", "'1677-09-22 00:00:00'", "'2262-04-11 01:02:03.000001'"),
    "timestamp_s": ("TIMESTAMP_S", "'1969-12-31 23:59:59'", "'2026-01-01 00:00:00'"),
    "timestamp_ms": ("TIMESTAMP_MS", "'1969-12-31 23:59:59.999'", "'2026-01-01 00:00:00.001'"),
    "timestamp_ns": ("TIMESTAMP_NS", "'1969-12-31 23:59:59.999999999'", "'2026-01-01 00:00:00'"),
    "timestamptz": ("TIMESTAMPTZ", "'1969-12-31 23:59:59+00'", "'2026-03-29 02:30:00+02'"),
    "varchar": ("VARCHAR", "'it''s \"ü\" \U0001f9ca, a\\b'", "''"),
    "blob": ("BLOB", "'\\x00\\xFF''a'::BLOB", "''::BLOB"),
    "uuid": (
        "UUID",
        "'00000000-0000-0000-0000-00000000000f'",
        "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
    ),
    "json": ("JSON", "'{\"a\": [1, null]}'", "'3'"),
}


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
    """Hand out a function that asks DuckDB, which keeps small changes in the catalog."""

    def run(*statements, limit=LIMIT):
        options = {"data_path": f"{tmp_path}/files/", "data_inlining_row_limit": limit}
        with oracle(place[1], **options) as duck:
            for statement in statements[:-1]:
                duck.execute(statement)
            return duck.execute(statements[-1]).to_arrow_table()

    return run


def known(table):
    return sorted(repr({k: str(v) for k, v in row.items()}) for row in table.to_pylist())


def with_numbers(table):
    """Return timestamps in nanoseconds as numbers, which Python has no type for."""
    kinds = [pa.int64() if f.type == pa.timestamp("ns") else f.type for f in table.schema]
    return table.cast(pa.schema([f.with_type(k) for f, k in zip(table.schema, kinds, strict=True)]))


def test_every_type_reads_the_same_from_the_catalog_and_from_files(place, ask):
    columns = [
        f'"{name}" {kind}, "{name} list" {kind}[], "{name} struct" STRUCT(a {kind}, b {kind}[]),'
        f' "{name} map" MAP(VARCHAR, {kind}), "{name} deep" STRUCT(a {kind})[]'
        for name, (kind, _, _) in TYPES.items()
    ]
    rows = [
        ", ".join(
            f"{v}::{kind}, [{v}::{kind}, NULL], {{'a': {v}::{kind}, 'b': [{v}::{kind}]}},"
            f" MAP {{'k': {v}::{kind}}}, [{{'a': {v}::{kind}}}, NULL]"
            for kind, *values in TYPES.values()
            for v in [values[i]]
        )
        for i in (0, 1)
    ]
    rows.append(", ".join("NULL, [], {'a': NULL, 'b': NULL}, MAP {}, NULL" for _ in TYPES))
    for name, limit in (("inlined", LIMIT), ("stored", 0)):
        made = [f"INSERT INTO {name} VALUES ({row})" for row in rows]
        ask(f"CREATE TABLE {name} ({', '.join(columns)})", *made, "SELECT 1", limit=limit)
    with mere.connect(place[0]) as lake:
        inlined, stored = (lake.table(name).scan() for name in ("inlined", "stored"))
        assert not inlined.found.files
        assert stored.found.inlined is None
        ours, theirs = with_numbers(inlined.to_arrow()), with_numbers(stored.to_arrow())
    assert ours.schema == theirs.schema
    for name in ours.column_names:
        assert known(ours.select([name])) == known(theirs.select([name])), name


TEXTS = (
    *("a", "b, c", "", "NULL", "null", '"', "it's", "a\\b", "{x}", "[y]", "k=v", "a:b", " lead"),
    *("trail ", "a'b\\'c", "(", 'a"b', "new\nline", "\\", "\\\\", "x\\", "''", "'", "a'", "'a'"),
    *("\\'", "a,b'c\\", "x''y", "\t", "}", "]", ";", "ü ü", "=", ":", "CAST('x' AS DATE)", "%s"),
)


def test_texts_inside_nested_values_are_read_to_the_letter(place, ask):
    kinds = (
        *("VARCHAR[]", "STRUCT(a VARCHAR, b INTEGER)", "MAP(VARCHAR, VARCHAR)", "VARCHAR[][]"),
        *("STRUCT(a VARCHAR)[]", "STRUCT(q STRUCT(a VARCHAR))", "JSON[]"),
        *("STRUCT(a VARCHAR[], m MAP(VARCHAR, VARCHAR))", "MAP(VARCHAR, STRUCT(a VARCHAR))"),
        'STRUCT("a\'b" VARCHAR, "c, d: e" VARCHAR, "f}" VARCHAR)',
    )
    columns = ", ".join(f"c{i} {kind}" for i, kind in enumerate(kinds))
    made = (
        "[v], {'a': v, 'b': 1}, MAP {v: v}, [[v], NULL], [{'a': v}], {'q': {'a': v}},"
        " [to_json(v)], {'a': [v], 'm': MAP {v: v}}, MAP {v: {'a': v}},"
        " {'a''b': v, 'c, d: e': v, 'f}': v}"
    )
    texts = ", ".join("('" + text.replace("'", "''") + "')" for text in TEXTS)
    for name, limit in (("inlined", LIMIT), ("stored", 0)):
        rows = f"INSERT INTO {name} SELECT {made} FROM (VALUES {texts}) x(v)"
        ask(f"CREATE TABLE {name} ({columns})", rows, "SELECT 1", limit=limit)
    with mere.connect(place[0]) as lake:
        inlined, stored = (lake.table(name).scan() for name in ("inlined", "stored"))
        assert not inlined.found.files
        assert inlined.to_arrow().to_pylist() == stored.to_arrow().to_pylist()


def test_values_that_python_has_none_for_are_read(place, ask):
    ask(
        "CREATE TABLE t (d DATE, ts TIMESTAMP, tz TIMESTAMPTZ, ti TIME, f DOUBLE)",
        "INSERT INTO t VALUES ('infinity', '-infinity', 'infinity', '24:00:00', 'nan')",
        "INSERT INTO t VALUES ('0044-03-15 (BC)', '0044-03-15 (BC) 01:02:03', "
        "'12024-01-01 00:00:00+00', '00:00:00', 'inf')",
        "SELECT 1",
    )
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        inlined = table.scan().to_arrow()
        assert table.count("f = 'nan'") == 1
        assert table.scan("d > '2000-01-01'").to_arrow().num_rows == 1
    ask("SELECT 1", "CALL ducklake_flush_inlined_data('lake')")
    with mere.connect(place[0]) as lake:
        stored = lake.table("t").scan().to_arrow()
    numbers = pa.schema(
        [("d", pa.int32()), *((n, pa.int64()) for n in ("ts", "tz", "ti")), ("f", pa.string())]
    )
    assert known(inlined.cast(numbers)) == known(stored.cast(numbers))


def test_values_that_python_has_none_for_are_replaced(place, ask):
    ask(
        "CREATE TABLE t (d DATE, f DOUBLE)",
        "INSERT INTO t VALUES ('infinity', 1), ('-infinity', 2), (NULL, 3)",
        "INSERT INTO t VALUES ('0044-03-15 (BC)', 4), ('12024-01-01', 5), ('1999-01-01', 6)",
        "SELECT 1",
    )
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        nothing = table.scan().to_arrow().slice(0, 0)
        assert table.overwrite(nothing, where="d > '2000-01-01'").rows_deleted == 2
        assert table.overwrite(nothing, where="d < '0001-01-01'").rows_deleted == 2
    assert ask("SELECT f FROM t ORDER BY f")["f"].to_pylist() == [3, 6]


def test_intervals_are_read(place, ask):
    ask(
        "CREATE TABLE t (i INTERVAL, s STRUCT(a INTERVAL), l INTERVAL[])",
        "INSERT INTO t SELECT i, {'a': i}, [i] FROM (VALUES "
        "(INTERVAL '14 months' + INTERVAL '2 days' + INTERVAL '03:00:00.5'),"
        "(INTERVAL '-1 month' + INTERVAL '400 days' - INTERVAL '100:00:00.000001')) v(i)",
        "SELECT 1",
    )
    expected = [(14, 2, 10800500000000), (-1, 400, -360000000001000)]
    with mere.connect(place[0]) as lake:
        rows = lake.table("t").scan().to_arrow().to_pylist()
    assert [tuple(row["i"]) for row in rows] == expected
    assert [tuple(row["s"]["a"]) for row in rows] == expected
    assert [tuple(row["l"][0]) for row in rows] == expected


HISTORY = (
    "CREATE TABLE t (i INTEGER, s VARCHAR)",
    "INSERT INTO t SELECT range, 'f' FROM range(2000)",
    "INSERT INTO t VALUES (3000, 'a'), (3001, 'b'), (3002, NULL)",
    "DELETE FROM t WHERE i IN (3, 3000)",
    "UPDATE t SET s = 'u' WHERE i IN (4, 3001)",
    "ALTER TABLE t ADD COLUMN z INTEGER DEFAULT 7",
    "INSERT INTO t VALUES (3003, 'c', 1)",
    "ALTER TABLE t RENAME COLUMN s TO r",
    "ALTER TABLE t ALTER COLUMN i TYPE BIGINT",
    "UPDATE t SET r = 'w' WHERE i = 3001",
    "ALTER TABLE t DROP COLUMN z",
    "ALTER TABLE t ADD COLUMN z DOUBLE",
    "INSERT INTO t VALUES (3004, 'd', 0.5)",
    "DELETE FROM t WHERE i = 3003",
)


@pytest.fixture
def versions(ask, place, oracle):
    """Make a history of small and large changes; return what each version holds."""
    ask(*HISTORY, "SELECT 1")
    with oracle(place[1]) as duck:
        return {
            v: known(duck.execute(f"SELECT * FROM t AT (VERSION => {v})").to_arrow_table())
            for v in range(1, len(HISTORY) + 1)
        }


ENGINES = {
    "arrow": lambda scan: scan.to_arrow(),
    "batches": lambda scan: scan.to_reader().read_all(),
    "polars": lambda scan: scan.to_polars().collect().to_arrow(),
    "duckdb": lambda scan: scan.to_duckdb().to_arrow_table(),
    "datafusion": lambda scan: scan.to_datafusion().to_arrow_table(),
    "daft": lambda scan: scan.to_daft().to_arrow(),
}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_version_is_read_by_every_engine(engine, place, versions):
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        for version, rows in versions.items():
            scan = table.scan(version=version)
            assert known(ENGINES[engine](scan)) == rows, version
            assert scan.count() == len(rows) == scan.head.rows
        some = table.scan("i >= 3001 AND i < 3004")
        assert ENGINES[engine](some).num_rows == some.count() == 2
        assert not some.found.files
        assert ENGINES[engine](table.scan("i = 3004", columns=["z"])).to_pylist() == [{"z": 0.5}]
        assert ENGINES[engine](table.scan(limit=5)).num_rows == 5


def test_sql_and_datasets_see_inlined_rows(place, versions):
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        assert lake.sql("SELECT count(*) FROM t").fetchall() == [(len(versions[14]),)]
        assert lake.sql("SELECT r FROM t WHERE i = 3001").fetchall() == [("w",)]
        found = table.scan(version=3).to_dataset()
        assert found.count_rows() == len(versions[3])
        with pytest.raises(UnsupportedError, match="deleted"):
            table.scan().to_dataset()


def test_an_overwrite_ends_inlined_rows(place, versions, ask):
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        report = table.overwrite(pa.table({"i": [1], "r": ["new"], "z": [1.5]}))
        assert report["rows_before"] == report["rows_deleted"] == len(versions[14])
        assert report["rows_after"] == 1
        assert table.scan().to_arrow().to_pylist() == [{"i": 1, "r": "new", "z": 1.5}]
        assert table.count(version=14) == len(versions[14])
    assert ask("SELECT * FROM t").to_pylist() == [{"i": 1, "r": "new", "z": 1.5}]
    assert known(ask("SELECT * FROM t AT (VERSION => 14)")) == versions[14]
    ask("INSERT INTO t VALUES (2, 'more', NULL)", "DELETE FROM t WHERE i = 1", "SELECT 1")
    with mere.connect(place[0]) as lake:
        assert lake.table("t").scan().to_arrow()["i"].to_pylist() == [2]


def test_an_overwrite_by_predicate_ends_the_inlined_rows_that_match(place, ask):
    ask("CREATE TABLE t (i BIGINT, p VARCHAR)", "INSERT INTO t VALUES (1, 'a'), (2, 'b')", "FROM t")
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        table.overwrite(pa.table({"i": [9], "p": ["a"]}), where="p = 'a'")
        assert sorted(table.scan().to_arrow()["i"].to_pylist()) == [2, 9]
    assert sorted(ask("FROM t")["i"].to_pylist()) == [2, 9]


def test_an_overwrite_of_partitions_ends_the_inlined_rows_in_them(place, ask):
    ask(
        "CREATE TABLE t (i BIGINT, d DATE)",
        "ALTER TABLE t SET PARTITIONED BY (year(d), i)",
        "INSERT INTO t VALUES (1, '2025-01-01'), (1, '2026-01-01'), (2, '2026-05-05'), (3, NULL)",
        "FROM t",
    )
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        new = lake.sql("SELECT 1::BIGINT AS i, DATE '2026-12-31' AS d").to_arrow_table()
        table.overwrite(new, partitions="dynamic")
        found = sorted(map(str, table.scan("i = 1").to_arrow()["d"].to_pylist()))
        assert found == ["2025-01-01", "2026-12-31"]
        assert table.count() == 4


def test_a_transaction_sees_inlined_rows_until_it_ends_them(place, ask):
    ask("CREATE TABLE t (i BIGINT)", "INSERT INTO t VALUES (1), (2), (3)", "FROM t")
    with mere.connect(place[0]) as lake:
        with lake.transaction() as tx:
            table = tx.table("t")
            table.append(pa.table({"i": [4]}))
            assert table.count() == 4
            table.overwrite(pa.table({"i": [5]}))
            assert table.scan().to_arrow()["i"].to_pylist() == [5]
            assert table.count() == 1
        assert lake.table("t").scan().to_arrow()["i"].to_pylist() == [5]
    assert ask("FROM t")["i"].to_pylist() == [5]


def test_duckdb_inserts_inlined_after_mere_changed_the_columns(place, ask):
    ask("CREATE TABLE t (i BIGINT)", "INSERT INTO t VALUES (1)", "FROM t")
    with mere.connect(place[0]) as lake:
        new = lake.sql("SELECT 2::BIGINT AS i, [1.5]::DOUBLE[] AS l").to_arrow_table()
        lake.table("t").append(new, merge_schema=True)
    ask("INSERT INTO t VALUES (3, [2.5])", "DELETE FROM t WHERE i = 2", "SELECT 1")
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        rows = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["i"])
        assert rows == [{"i": 1, "l": None}, {"i": 3, "l": [2.5]}]
        lake.rename_table("t", "u")
        assert lake.table("u").count() == 2
        lake.drop_table("u")
        assert lake.tables() == []
    assert ask("SELECT count(*) AS n FROM t AT (VERSION => 2)")["n"].to_pylist() == [1]


def test_two_delete_files_of_an_ended_file_both_count(place, ask):
    """DuckDB flushes to an ended file beside its other deletes, and misreads them itself."""
    ask(
        "CREATE TABLE t (i BIGINT, s VARCHAR)",
        "INSERT INTO t SELECT range, 'a' FROM range(12)",
        "SELECT 1",
        limit=0,
    )
    ask("DELETE FROM t WHERE i IN (0, 2, 4)", "SELECT 1")
    ask("UPDATE t SET s = 'w' WHERE i IN (0, 1, 2, 3)", "SELECT 1", limit=0)
    ask("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.01)", "SELECT 1")
    with mere.connect(place[0]) as lake:
        at = lake.version - 1
        before = {v: lake.table("t").scan(version=v).to_arrow() for v in range(2, at + 2)}
    ask("CALL ducklake_flush_inlined_data('lake')", "SELECT 1")
    with mere.connect(place[0]) as lake:
        for version, rows in before.items():
            for engine, read in ENGINES.items():
                scan = lake.table("t").scan(version=version)
                assert known(read(scan)) == known(rows), (version, engine)
            assert lake.table("t").count(version=version) == rows.num_rows
        (doubled,) = [f for f in lake.table("t").scan(version=at).found.files if f.more_deletes]
        assert doubled.rows == 12
