"""The reference implementation reads the rows of our catalogs, and writes on; we read that.

Everything goes through `mere.connect`, on all three databases; DuckDB with its extension judges.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import mere
from mere.model.history import Change, Evolve
from mere.model.schema import Field, Schema


@dataclass(frozen=True, slots=True)
class Both:
    """One lake, seen by mere and by DuckDB."""

    lake: mere.Lake
    attach: Callable[..., Any]

    def ask(self, query: str, **options: object) -> list[tuple[Any, ...]]:
        """Ask a DuckDB that attaches the lake for this one query."""
        connection = self.attach(data_inlining_row_limit=0, **options)
        try:
            rows: list[tuple[Any, ...]] = connection.execute(query).fetchall()
        finally:
            connection.close()
        return rows

    def commit(self, *edits: Any) -> None:
        """Commit straight at the catalog, for edits that no verb makes yet."""
        catalog = self.lake._session.catalog  # noqa: SLF001  below the verbs
        catalog.commit(Change(base=catalog.snapshot().id, edits=edits))

    def evolve(self, name: str, *fields: Field) -> None:
        """Give a table these columns."""
        head = self.lake._session.catalog.head(name)  # noqa: SLF001  below the verbs
        schema = Schema(fields=fields)
        self.commit(Evolve(table_id=head.table_id, schema=schema, layout=head.layout))

    def fields(self, name: str) -> tuple[Field, ...]:
        """Return a table's columns."""
        return self.lake._session.catalog.head(name).schema.fields  # noqa: SLF001  the same


@pytest.fixture(params=["sqlite", "duckdb", "postgres"])
def both(request, tmp_path: Path, oracle) -> Iterator[Both]:
    name, files = request.param, str(tmp_path / "files")
    url = {
        "sqlite": f"sqlite://{tmp_path}/lake.db",
        "duckdb": f"duckdb://{tmp_path}/lake.ducklake",
    }.get(name) or request.getfixturevalue("pg_url")
    catalog = {
        "sqlite": f"sqlite:{tmp_path}/lake.db",
        "duckdb": f"{tmp_path}/lake.ducklake",
    }.get(name, f"postgres:{url}")
    with mere.connect(url, data_path=files) as lake:
        yield Both(lake, lambda **options: oracle(catalog, **options))


def numbers(first: int, end: int) -> pa.Table:
    texts = [f"text {n}" for n in range(first, end)]
    return pa.table({"n": pa.array(range(first, end), pa.int64()), "s": texts})


def test_duckdb_reads_every_version(both):
    table = both.lake.create_table("t", {"n": "int64", "s": "varchar"})
    table.append(numbers(0, 10))
    table.append(numbers(10, 20))
    table.overwrite(numbers(50, 55))
    assert both.ask("SELECT n, s FROM t ORDER BY n") == [(n, f"text {n}") for n in range(50, 55)]
    versions = [both.ask(f"SELECT count(*) FROM t AT (VERSION => {v})")[0][0] for v in (1, 2, 3, 4)]
    assert versions == [0, 10, 20, 5]
    changes = [row[2] for row in both.ask("SELECT * FROM ducklake_snapshots('lake')")]
    assert len(changes) == 5


def test_duckdb_answers_from_our_totals(both):
    kinds = {
        "i": "int32", "f": "float64", "d": "decimal(9,2)", "day": "date", "at": "timestamptz",
        "s": "varchar", "empty": "varchar", "b": "boolean",
    }  # fmt: skip
    table = both.lake.create_table("t", kinds)
    schema = pa.schema(
        [
            *(("i", pa.int32()), ("f", pa.float64()), ("d", pa.decimal128(9, 2))),
            *(("day", pa.date32()), ("at", pa.timestamp("us", "UTC")), ("s", pa.string())),
            *(("empty", pa.string()), ("b", pa.bool_())),
        ]
    )
    at = datetime(2024, 1, 2, 3, 4, 5, 600000, tzinfo=UTC)
    first = [9, 2.5, Decimal("-1.50"), date(2024, 1, 9), at, "b", "", True]
    second = [10, float("nan"), Decimal("10.25"), date(2024, 1, 10), None, "a" * 300, "", True]
    for row in (first, second):
        table.append(pa.table([[value] for value in row], schema=schema))
    highest = "max(i), min(i), max(d), min(d), max(day), min(f), max(b), max(empty)"
    assert both.ask(f"SELECT {highest} FROM t") == [
        (10, 9, Decimal("10.25"), Decimal("-1.50"), date(2024, 1, 10), 2.5, True, "")
    ]
    for where, count in {
        "i = 10": 1,
        "i < 10": 1,
        "f > 2": 2,
        "f = 'nan'": 1,
        '"at" IS NULL': 1,
        "i IS NULL": 0,
        "s = repeat('a', 300)": 1,
        "s >= 'b'": 1,
        "empty = ''": 2,
        "d > 10": 1,
        "day > '2024-01-09'": 1,
        "\"at\" = '2024-01-02 03:04:05.6+00'": 1,
    }.items():
        assert both.ask(f"SELECT count(*) FROM t WHERE {where}") == [(count,)], where


def test_duckdb_prunes_by_our_buckets_and_loses_no_row(both):
    table = both.lake.create_table(
        "t", {"n": "int64", "s": "varchar"}, partition_by=["bucket(4, s)", "n"]
    )
    table.append(numbers(0, 12))
    for n in range(12):
        assert both.ask(f"SELECT n FROM t WHERE s = 'text {n}'") == [(n,)]
    assert both.ask("SELECT count(*) FROM t WHERE n BETWEEN 3 AND 5") == [(3,)]


def test_duckdb_writes_on_and_mere_reads_it(both):
    both.lake.create_table("t", {"n": "int64", "s": "varchar"}, partition_by=["n"])
    table = both.lake.table("t")
    table.append(numbers(0, 3))
    both.ask("INSERT INTO t SELECT 7, 'seven'")
    both.ask("DELETE FROM t WHERE n = 1")  # a whole file goes
    both.ask("CREATE TABLE u AS SELECT 1 AS a")
    rows = table.scan().to_arrow().sort_by("n").to_pydict()
    assert rows == {"n": [0, 2, 7], "s": ["text 0", "text 2", "seven"]}
    assert both.lake.tables() == ["main.t", "main.u"]
    table.append(numbers(20, 21))
    both.lake.table("u").append(pa.table({"a": pa.array([2], pa.int32())}))
    assert both.ask("SELECT sum(n), max(n) FROM t") == [(29, 20)]
    assert both.ask("SELECT sum(a) FROM u") == [(3,)]
    told = [row["operation"] for row in table.history().to_pylist()]
    assert told == ["create", "append", "append", "delete", "append"]


def test_duckdb_sees_what_we_define(both):
    table = both.lake.create_table("t", {"n": "int32", "gone": "varchar"})
    table.append(pa.table({"n": pa.array([1, 2], pa.int32()), "gone": ["a", "b"]}))
    n, _ = both.fields("t")
    added = Field(name="more", type="int64", default="42", initial_default="42")
    both.evolve("t", Field(name="wide", type="int64", id=n.id), added)
    assert both.ask("SELECT wide, more FROM t ORDER BY 1") == [(1, 42), (2, 42)]
    assert both.ask("SELECT n, gone FROM t AT (VERSION => 2) ORDER BY 1") == [(1, "a"), (2, "b")]
    both.ask("INSERT INTO t VALUES (1099511627776, 7)")
    assert both.ask("SELECT max(wide), min(more), count(*) FROM t") == [(1 << 40, 7, 3)]
    both.lake.rename_table("t", "u")
    both.lake.create_schema("odd schema")
    both.lake.create_table('"odd schema"."a.b"', {"x": "int64"})
    both.lake.table('"odd schema"."a.b"').append(pa.table({"x": [5]}))
    assert both.ask("SELECT count(*) FROM u") == [(3,)]
    assert both.ask('SELECT x FROM "odd schema"."a.b"') == [(5,)]
    both.lake.drop_table("u")
    assert [row[0] for row in both.ask("SELECT table_name FROM duckdb_tables()")].count("u") == 0
    assert both.ask("SELECT count(*) FROM t AT (VERSION => 2)") == [(2,)]


def test_duckdb_can_still_insert_inline_after_we_changed_the_columns(both):
    connection = both.attach(data_inlining_row_limit=10)
    connection.execute("CREATE TABLE t (a INTEGER, b VARCHAR, l INTEGER[], d DECIMAL(9,2))")
    connection.execute("INSERT INTO t VALUES (1, 'x', [1], 1.5)")
    connection.close()
    both.evolve("t", *both.fields("t"), Field(name="c", type="timestamptz"))
    connection = both.attach(data_inlining_row_limit=10)
    connection.execute("INSERT INTO t VALUES (2, 'y', [2], 2.5, '2024-01-01 00:00:00+00')")
    rows = connection.execute("SELECT a, b, l, d, epoch(c) FROM t ORDER BY a").fetchall()
    connection.close()
    assert rows == [
        (1, "x", [1], Decimal("1.50"), None),
        (2, "y", [2], Decimal("2.50"), 1704067200.0),
    ]


def test_rows_that_lie_in_the_catalog_are_read_and_listed(both):
    def small(*queries):
        connection = both.attach(data_inlining_row_limit=10)
        for query in queries:
            connection.execute(query)
        connection.close()

    small("CREATE TABLE t AS SELECT range AS n FROM range(100)")
    table = both.lake.table("t")
    assert table.count() == 100
    small("INSERT INTO t VALUES (1000)")
    assert table.scan().files().num_rows == 1
    assert (table.count(), table.count("n = 1000"), table.scan().to_arrow().num_rows) == (
        101,
        1,
        101,
    )
    small("CALL ducklake_flush_inlined_data('lake')", "DELETE FROM t WHERE n = 3")
    assert (table.count(), table.count("n = 3"), table.scan().to_arrow().num_rows) == (100, 0, 100)


def test_options_are_shared(both):
    table = both.lake.create_table("t", {"n": "int64", "s": "varchar"})
    both.lake.set_option("target_file_size", "10MB")
    both.lake.set_option("parquet_compression", "snappy", table="t")
    both.ask("CALL lake.set_option('parquet_row_group_size', 5000)")
    shown = both.ask("SELECT option_name, value FROM ducklake_options('lake')")
    assert {("target_file_size", "10000000"), ("parquet_compression", "snappy")} <= set(shown)
    table.append(numbers(0, 5))
    layout = both.lake._session.catalog.head("t").layout  # noqa: SLF001  below the verbs
    expected = (10_000_000, 5000, "snappy")
    assert (layout.target_file_bytes, layout.row_group_rows, layout.compression) == expected
