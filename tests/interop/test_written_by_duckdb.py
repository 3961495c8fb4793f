"""What DuckDB writes, mere reads: every type, at every snapshot, row for row, in every engine."""

import pytest

import mere

TYPES = {
    "b": ("BOOLEAN", "true", "false"),
    "i8": ("TINYINT", "-128", "127"),
    "i16": ("SMALLINT", "-32768", "32767"),
    "i32": ("INTEGER", "-2147483648", "2147483647"),
    "i64": ("BIGINT", "-9223372036854775808", "9223372036854775807"),
    "u8": ("UTINYINT", "0", "255"),
    "u16": ("USMALLINT", "0", "65535"),
    "u32": ("UINTEGER", "0", "4294967295"),
    "u64": ("UBIGINT", "0", "18446744073709551615"),
    "f32": ("FLOAT", "'-inf'", "1.5"),
    "f64": ("DOUBLE", "'nan'", "-0.0"),
    "dec4": ("DECIMAL(4,1)", "-999.9", "999.9"),
    "dec18": ("DECIMAL(18,3)", "-1.001", "123456789012345.678"),
    "dec38": ("DECIMAL(38,10)", "-0.0000000001", "1234567890123456789012345678.0000000001"),
    "d": ("DATE", "'0001-01-01'", "'9999-12-31'"),
    "t": ("TIME", "'00:00:00'", "'23:59:59.999999'"),
    "ts": ("TIMESTAMP", "'1677-09-22 00:00:00'", "'2262-04-11 01:02:03.000001'"),
    "tss": ("TIMESTAMP_S", "'1969-12-31 23:59:59'", "'2026-01-01 00:00:00'"),
    "tsm": ("TIMESTAMP_MS", "'1969-12-31 23:59:59.999'", "'2026-01-01 00:00:00.001'"),
    "tsn": ("TIMESTAMP_NS", "'1969-12-31 23:59:59.999999999'", "'2026-01-01 00:00:00'"),
    "tz": ("TIMESTAMPTZ", "'1969-12-31 23:59:59+00'", "'2026-03-29 02:30:00+02'"),
    "s": ("VARCHAR", "'it''s \"ü\" \U0001f9ca'", "''"),
    "bl": ("BLOB", "'\\x00\\xFF'::BLOB", "''::BLOB"),
    "u": (
        "UUID",
        "'00000000-0000-0000-0000-000000000000'",
        "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
    ),
    "j": ("JSON", "'{\"a\": [1, null]}'", "'3'"),
    "l": ("INTEGER[]", "[1, NULL, 3]", "[]"),
    "ll": ("VARCHAR[][]", "[['a', NULL], NULL, []]", "[[]]"),
    "st": ("STRUCT(a INTEGER, b VARCHAR)", "{'a': 1, 'b': 'x'}", "{'a': NULL, 'b': NULL}"),
    "m": ("MAP(VARCHAR, INTEGER)", "MAP {'k': 1, 'l': NULL}", "MAP {}"),
    "ls": (
        "STRUCT(x INTEGER, y STRUCT(z DATE[]))[]",
        "[{'x': 1, 'y': {'z': ['2026-01-01'::DATE, NULL]}}, NULL]",
        "[]",
    ),
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
def make(place, oracle, tmp_path):
    """Hand out a function that runs statements in a lake of DuckDB's, without inlining."""

    def run(*statements, inline=0):
        options = {"data_path": f"{tmp_path}/files/", "data_inlining_row_limit": inline}
        with oracle(place[1], **options) as duck:
            for statement in statements:
                duck.execute(statement)
            newest = duck.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')")
            return newest.fetchone()[0]

    return run


def theirs(oracle, place, query):
    with oracle(place[1]) as duck:
        return sorted(map(_spell, duck.execute(query).to_arrow_table().to_pylist()))


def _spell(row):
    return repr({name: _plain(value) for name, value in row.items()})


def _plain(value):
    return repr(value) if isinstance(value, float) else str(value)


@pytest.mark.parametrize("name", TYPES)
def test_every_type_is_read_as_duckdb_reads_it(name, tmp_path, oracle):
    kind, low, high = TYPES[name]
    place = (str(tmp_path / "x.db"), f"sqlite:{tmp_path / 'x.db'}")
    options = {"data_path": f"{tmp_path}/files/", "data_inlining_row_limit": 0}
    with oracle(place[1], **options) as duck:
        duck.execute(f"CREATE TABLE t (n INTEGER, v {kind})")
        duck.execute(f"INSERT INTO t VALUES (1, {low}), (2, {high}), (3, NULL)")
    expected = theirs(oracle, place, "SELECT * FROM t")
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        assert sorted(map(_spell, table.scan().to_arrow().to_pylist())) == expected
        assert table.count("v IS NULL") == 1
        assert table.count() == 3
        for n in (1, 2):
            rows = table.scan(mere.col("n") == n).to_polars().collect()
            assert rows.height == 1


def test_every_snapshot_is_read(make, place, oracle):
    newest = make(
        "CREATE TABLE t (id INTEGER, p VARCHAR)",
        "INSERT INTO t SELECT range, 'p' || range % 3 FROM range(100)",
        "CREATE SCHEMA s",
        "CREATE TABLE s.u AS SELECT 1 AS x",
        "INSERT INTO t SELECT range, NULL FROM range(100, 150)",
        "ALTER TABLE t SET PARTITIONED BY (p, bucket(4, id))",
        "INSERT INTO t SELECT range, 'q' FROM range(150, 160)",
        "DROP TABLE s.u",
        "CREATE TABLE empty (a DATE)",
    )
    with mere.connect(place[0]) as lake:
        assert lake.version == newest
        assert lake.tables() == ["main.empty", "main.t"]
        assert lake.table("empty").scan().to_arrow().num_rows == 0
        counts = [lake.table("t").count(version=v) for v in range(1, newest + 1)]
        table = lake.table("t")
        assert table.count("p = 'p1'") == 33
        assert table.count("p = 'q' AND id = 155") == 1
        assert table.scan("p = 'q' AND id = 155").files().num_rows == 1
        got = sorted(map(_spell, table.scan().to_arrow().to_pylist()))
    assert counts == [0, 100, 100, 100, 150, 150, 160, 160, 160]
    assert got == theirs(oracle, place, "SELECT * FROM t")


def test_mere_writes_on_top_of_a_lake_of_duckdb(make, place, oracle):
    make(
        "CREATE TABLE t (id INTEGER NOT NULL, day DATE, v DOUBLE DEFAULT 1.5)",
        "ALTER TABLE t SET PARTITIONED BY (year(day))",
        "INSERT INTO t VALUES (1, '2025-05-05', 2.0)",
    )
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        table.append(lake.sql("SELECT 2::INT AS id, DATE '2026-01-01' AS day"))
        assert table.partitions().num_rows == 2
        with pytest.raises(mere.SchemaMismatchError, match="id"):
            table.append(lake.sql("SELECT DATE '2026-01-01' AS day"))
        ours = sorted(map(_spell, table.scan().to_arrow().to_pylist()))
    assert ours == theirs(oracle, place, "SELECT * FROM t")
    with oracle(place[1]) as duck:
        assert duck.execute("SELECT id, v FROM t ORDER BY id").fetchall() == [(1, 2.0), (2, 1.5)]


def test_names_of_any_kind_are_read(make, place):
    make(
        'CREATE TABLE "a.b" ("x""y" INTEGER, "c.d" VARCHAR, "ü" DATE)',
        "INSERT INTO \"a.b\" VALUES (1, 'z', '2026-01-01')",
        'CREATE SCHEMA "s-1"',
        'CREATE TABLE "s-1"."Ünï ""q""" AS SELECT 42 AS "SELECT"',
    )
    with mere.connect(place[0]) as lake:
        names = lake.tables()
        assert len(names) == 2
        rows = [lake.table(name).scan().to_arrow().to_pylist() for name in names]
        assert [next(iter(row[0].values())) for row in rows] == [1, 42]
        assert lake.table('"a.b"').count(mere.col('x"y') == 1) == 1


def test_deleted_rows_stay_away(make, place):
    make(
        "CREATE TABLE t AS SELECT range AS id FROM range(1000)",
        "DELETE FROM t WHERE id % 7 = 0",
        "DELETE FROM t WHERE id % 5 = 0",
    )
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        assert table.count() == len([i for i in range(1000) if i % 7 and i % 5])
        scan = table.scan("id < 50")
        expected = [i for i in range(50) if i % 7 and i % 5]
        assert sorted(scan.to_arrow()["id"].to_pylist()) == expected
        assert sorted(scan.to_polars().collect()["id"].to_list()) == expected
        assert sorted(row[0] for row in scan.to_duckdb().fetchall()) == expected
        assert table.count(version=table.version - 1) == len([i for i in range(1000) if i % 7])
