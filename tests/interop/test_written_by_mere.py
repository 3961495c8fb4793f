"""What mere writes, DuckDB reads: the same rows, types and pruning, at every version."""

import re
from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pytest

import mere

MOMENT = datetime(2026, 3, 29, 1, 59, 59, 999999)  # noqa: DTZ001  a column without a zone
EVERYTHING = pa.table(
    {
        "boolean": pa.array([True, False, None]),
        **{
            f"int{bits}": pa.array([2 ** (bits - 1) - 1, -(2 ** (bits - 1)), None], f"int{bits}")
            for bits in (8, 16, 32, 64)
        },
        **{
            f"uint{bits}": pa.array([2**bits - 1, 0, None], f"uint{bits}")
            for bits in (8, 16, 32, 64)
        },
        "float32": pa.array([1.5, float("-inf"), None], "float32"),
        "float64": pa.array([float("nan"), -0.0, None], "float64"),
        "decimal9": pa.array([Decimal("1234567.89"), Decimal("-0.01"), None], pa.decimal128(9, 2)),
        "decimal38": pa.array([Decimal(10**37), Decimal(-1), None], pa.decimal128(38, 0)),
        "date": pa.array([date(9999, 12, 31), date(1, 1, 1), None]),
        "time": pa.array([time(23, 59, 59, 999999), time(0), None], pa.time64("us")),
        "timestamp": pa.array([MOMENT, datetime(1969, 12, 31), None], pa.timestamp("us")),  # noqa: DTZ001
        "timestamptz": pa.array(
            [MOMENT.replace(tzinfo=UTC), datetime(1969, 12, 31, tzinfo=UTC), None],
            pa.timestamp("us", "UTC"),
        ),
        "timestamp_ms": pa.array(
            [MOMENT.replace(microsecond=5000), None, None], pa.timestamp("ms")
        ),
        "timestamp_ns": pa.array([1_700_000_000_123_456_789, 1, None], pa.timestamp("ns")),
        "varchar": pa.array(['it\'s "ünïcode" \U0001f9ca', "", None]),
        "blob": pa.array([b"\x00\xff", b"", None]),
        "uuid": pa.array([UUID(int=2**127 + 5).bytes, UUID(int=0).bytes, None], pa.uuid()),
        "list": pa.array([[1, None, 3], [], None], pa.list_(pa.int64())),
        "struct": pa.array(
            [{"a": 1, "b": "x"}, {"a": None, "b": None}, None],
            pa.struct([("a", pa.int32()), ("b", pa.string())]),
        ),
        "map": pa.array([[("k", 1), ("l", None)], [], None], pa.map_(pa.string(), pa.int64())),
        "deep": pa.array(
            [[{"x": [1.5], "y": {"z": [date(2026, 1, 1)]}}], [None], None],
            pa.list_(
                pa.struct(
                    [
                        ("x", pa.list_(pa.float64())),
                        ("y", pa.struct([("z", pa.list_(pa.date32()))])),
                    ]
                )
            ),
        ),
    }
)
TYPES = {
    "boolean": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "decimal9": "DECIMAL(9,2)",
    "decimal38": "DECIMAL(38,0)",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ms": "TIMESTAMP_MS",
    "timestamp_ns": "TIMESTAMP_NS",
    "varchar": "VARCHAR",
    "blob": "BLOB",
    "uuid": "UUID",
    "list": "BIGINT[]",
    "struct": "STRUCT(a INTEGER, b VARCHAR)",
    "map": "MAP(VARCHAR, BIGINT)",
    "deep": "STRUCT(x DOUBLE[], y STRUCT(z DATE[]))[]",
}


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def place(request, tmp_path):
    """Return (URL for mere, name for DuckDB) of a fresh lake on each catalog."""
    if request.param == "sqlite":
        return str(tmp_path / "x.db"), f"sqlite:{tmp_path / 'x.db'}"
    if request.param == "duckdb":
        return str(tmp_path / "x.ducklake"), str(tmp_path / "x.ducklake")
    url = request.getfixturevalue("pg_url")
    return url, f"postgres:{url}"


@pytest.fixture
def lake(place, tmp_path):
    """Open a fresh lake by mere."""
    with mere.connect(place[0], data_path=tmp_path / "files") as opened:
        yield opened


def _plain(value):
    """Spell a value so that NaN equals itself and -0.0 differs from 0.0."""
    if isinstance(value, bytes) and len(value) == 16:
        return str(UUID(bytes=value))
    return repr(value) if isinstance(value, float) else str(value)


@pytest.mark.parametrize("kernel", ["pyarrow", "duckdb"])
def test_every_type_arrives(lake, place, oracle, kernel):
    table = lake.on(kernel=kernel).create_table("everything", EVERYTHING)
    table.append(EVERYTHING)
    ours = table.scan().to_arrow().to_pylist()
    with oracle(place[1]) as duck:
        seen = {row[0]: row[1] for row in duck.execute("DESCRIBE everything").fetchall()}
        assert {n: re.sub('"', "", t) for n, t in seen.items()} == TYPES
        theirs = duck.execute("SELECT * FROM everything").to_arrow_table().to_pylist()
        for their, our in zip(theirs, ours, strict=True):
            assert {k: _plain(v) for k, v in their.items()} == {
                k: _plain(v) for k, v in our.items()
            }
        for name in TYPES:
            if name in ("list", "struct", "map", "deep"):
                continue
            assert duck.execute(f'SELECT count("{name}") FROM everything').fetchone()[0] in (1, 2)
            found = duck.execute(
                f'SELECT count(*) FROM everything WHERE "{name}" = (SELECT any_value("{name}") '
                f"FROM everything)"
            ).fetchone()
            assert found[0] >= 1, name


def test_every_version_is_the_same_for_both(lake, place, oracle):
    table = lake.create_table("t", {"id": "int64", "p": "varchar"}, partition_by=["p"])
    table.append({"id": [1, 2], "p": ["a", "b"]})
    table.append({"id": [3], "p": [None]})
    table.overwrite({"id": [4], "p": ["a"]}, partitions="dynamic")
    table.append({"id": [5], "p": ["c"], "new": [1.5]}, merge_schema=True)
    lake.rename_table("t", "u")
    versions = lake.snapshots()["version"].to_pylist()
    assert versions == list(range(7))
    expected = {
        version: lake.sql(
            f"SELECT * FROM {'u' if version == versions[-1] else 't'}", version=version
        ).to_arrow_table()
        for version in versions[1:]
    }
    lake.close()
    with oracle(place[1]) as duck:
        assert len(duck.execute("FROM ducklake_snapshots('lake')").fetchall()) == len(versions)
        for version, ours in expected.items():
            name = "u" if version == versions[-1] else "t"
            theirs = duck.execute(f"SELECT * FROM {name} AT (VERSION => {version})")
            got = theirs.to_arrow_table()
            assert got.schema.names == ours.schema.names
            assert sorted(map(str, got.to_pylist())) == sorted(map(str, ours.to_pylist()))


def test_duckdb_opens_only_files_that_can_match(lake, place, oracle):
    table = lake.create_table("t", {"id": "int64", "ts": "timestamp"}, partition_by=["day(ts)"])
    for day in range(1, 6):
        stamps = [datetime(2026, 1, day, hour) for hour in range(3)]  # noqa: DTZ001
        table.append({"id": [day * 10 + h for h in range(3)], "ts": stamps})
    with oracle(place[1]) as duck:
        query = "EXPLAIN ANALYZE SELECT * FROM t WHERE ts >= '2026-01-03' AND ts < '2026-01-04'"
        plan = duck.execute(query).fetchall()[0][1]
        assert re.search(r"Total Files Read:\s*1\b", plan), plan


def test_answers_from_statistics_are_right(lake, place, oracle):
    table = lake.create_table("t", {"x": "int64", "f": "float64", "s": "varchar"})
    table.append({"x": [5, 7], "f": [1.0, float("nan")], "s": ["b", "x" * 400]})
    table.append({"x": [-3, None], "f": [2.5, None], "s": [None, "a"]})
    with oracle(place[1]) as duck:
        row = duck.execute("SELECT min(x), max(x), count(x), count(*) FROM t").fetchone()
        assert row == (-3, 7, 3, 4)
        assert duck.execute("SELECT count(*) FROM t WHERE x IS NULL").fetchone() == (1,)
        assert duck.execute("SELECT count(*) FROM t WHERE f > 2").fetchone() == (2,)
        assert duck.execute("SELECT count(*) FROM t WHERE f = 'nan'").fetchone() == (1,)
        assert duck.execute("SELECT max(s) FROM t").fetchone() == ("x" * 400,)
    table.overwrite({"x": [1], "f": [0.5], "s": ["q"]})
    with oracle(place[1]) as duck:
        assert duck.execute("SELECT min(x), max(x), max(f), max(s) FROM t").fetchone() == (
            1,
            1,
            0.5,
            "q",
        )


def test_duckdb_writes_on_top_and_mere_reads_it(lake, place, oracle):
    table = lake.create_table("t", {"id": "int64", "p": "varchar"}, partition_by=["bucket(4, id)"])
    table.append({"id": list(range(20)), "p": ["a"] * 20})
    lake.set_option("data_inlining_row_limit", 0)
    lake.close()
    with oracle(place[1]) as duck:
        duck.execute("INSERT INTO t SELECT range + 20, 'b' FROM range(20)")
        assert duck.execute("SELECT count(*) FROM t WHERE id = 33").fetchone() == (1,)
        assert duck.execute("SELECT p FROM t WHERE id = 7").fetchone() == ("a",)
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == list(range(40))
    assert table.count("id = 33") == 1
    assert table.scan("id = 33").files().num_rows == 1
    report = table.append({"id": [100], "p": ["c"]})
    assert report.rows_after == 41
    lake.close()
    with oracle(place[1]) as duck:
        assert duck.execute("SELECT count(*), max(id) FROM t").fetchone() == (41, 100)
        last = duck.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").fetchone()
        changes = f"FROM ducklake_table_changes('lake', 'main', 't', 0, {last[0]})"
        assert len(duck.execute(changes).fetchall()) == 41


def test_odd_names_are_the_same_for_both(lake, place, oracle):
    for name in ('main."a.b"', '"say ""hi"""', "größe", "with space", "SELECT"):
        table = lake.create_table(name, {'"quoted"': "int64", "a.b": "varchar", "ü": "date"})
        table.append({'"quoted"': [1], "a.b": ["x"], "ü": [date(2026, 1, 1)]})
    with oracle(place[1]) as duck:
        for name in ("a.b", 'say "hi"', "größe", "with space", "SELECT"):
            quoted = '"' + name.replace('"', '""') + '"'
            row = duck.execute(f'SELECT """quoted""", "a.b", "ü" FROM {quoted}').fetchone()
            assert row == (1, "x", date(2026, 1, 1))


def test_odd_partition_values_are_the_same_for_both(lake, place, oracle):
    values = ["a/b", "../up", "k=v", "50%", "ünï", "", " ", "x" * 300, None, "a\\b", "'q'", "\n"]
    table = lake.create_table("t", {"p": "varchar", "n": "int64"}, partition_by=["p"])
    table.append({"p": values, "n": list(range(len(values)))})
    assert table.files().num_rows == len(values)
    for n, value in enumerate(values):
        expr = mere.col("p").is_null() if value is None else mere.col("p") == value
        assert table.scan(expr).to_arrow()["n"].to_pylist() == [n]
    with oracle(place[1]) as duck:
        for n, value in enumerate(values):
            where = "p IS NULL" if value is None else "p = $1"
            args = [] if value is None else [value]
            assert duck.execute(f"SELECT n FROM t WHERE {where}", args).fetchall() == [(n,)]


def test_several_tables_in_one_snapshot_are_one_for_duckdb(lake, place, oracle):
    with lake.transaction(message="both", author="me") as tx:
        tx.create_table("a", {"x": "int64"}).append({"x": [1]})
        tx.create_table("b", {"y": "int64"}).append({"y": [2, 3]})
    with oracle(place[1]) as duck:
        assert duck.execute("SELECT count(*) FROM a, b").fetchone() == (2,)
        last = duck.execute("FROM ducklake_snapshots('lake') ORDER BY 1 DESC LIMIT 1").fetchone()
        assert last[0] == 1
        assert "me" in last
        assert "both" in last
