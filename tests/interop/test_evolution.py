"""Tables change under mere and under DuckDB, by turns: both read every version alike."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

import mere


@dataclass(frozen=True, slots=True)
class Both:
    """One lake, seen by mere and by DuckDB."""

    lake: mere.Lake
    attach: Callable[..., Any]

    def ask(self, *queries: str, **options: object) -> list[tuple[Any, ...]]:
        """Ask a DuckDB that attaches the lake for these queries; return the last answer."""
        connection = self.attach(**options)
        rows: list[tuple[Any, ...]] = []
        try:
            for query in queries:
                rows = connection.execute(query).fetchall()
        finally:
            connection.close()
        return rows

    def agree(self, name: str = "t") -> None:
        """Compare every version of a table, and what mere's readers say of the newest."""
        table = self.lake.table(name)
        versions = table.history()["version"].to_pylist()
        for version, theirs in zip(versions, self.read(name, versions), strict=True):
            scan = table.scan(version=version)
            assert scan.to_duckdb().order("ALL").fetchall() == theirs.rows, version
            rows = scan.to_arrow()
            assert rows.num_rows == len(theirs.rows)
            assert _rows(rows) == _rows(pa.table(scan.to_polars().collect().to_arrow()))
            assert _rows(rows) == _rows(theirs.arrow)

    def read(self, name: str, versions: list[int]) -> list["Theirs"]:
        """Read versions of a table by one DuckDB, which lets go of the catalog afterwards."""
        connection = self.attach()
        try:
            queries = [f"FROM {name} AT (VERSION => {version})" for version in versions]
            return [
                Theirs(
                    rows=connection.execute(f"{query} ORDER BY ALL").fetchall(),
                    arrow=connection.execute(query).to_arrow_table(),
                )
                for query in queries
            ]
        finally:
            connection.close()


@dataclass(frozen=True, slots=True)
class Theirs:
    """What DuckDB says of one version."""

    rows: list[tuple[Any, ...]]
    arrow: pa.Table


def _rows(table: pa.Table) -> list[str]:
    return sorted(str([_bare(value) for value in row.values()]) for row in table.to_pylist())


def _bare(value: object) -> object:
    """Say a UUID as text and a moment in UTC: readers hand out bytes, or a zone of their own."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    if isinstance(value, bytes) and len(value) == len(UUID(int=0).bytes):
        return str(UUID(bytes=value))
    return str(value) if isinstance(value, UUID) else value


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


def test_duckdb_reads_and_continues_what_mere_evolved(both):
    point = pa.struct([("x", pa.int32()), ("y", pa.string())])
    columns = pa.schema(
        [("id", pa.int32()), ("s", pa.string()), ("p", point), ("l", pa.list_(point))]
    )
    table = both.lake.create_table("t", columns)
    one = {"id": 1, "s": "a", "p": {"x": 1, "y": "b"}, "l": [{"x": 2, "y": "c"}]}
    table.append(pa.Table.from_pylist([one, {"id": 2}], schema=columns))
    table.evolve().add_column("n", "int64", default=42).rename_column("s", "text").commit()
    table.append([{"id": 3, "text": "d"}])
    table.evolve().widen("id", "int64").drop_column("text").add_column("text", "varchar").commit()
    table.evolve().add_column("p.z", "int16", default=7).rename_column("p.x", "ex").commit()
    table.evolve().add_column("l.element.z", "date").drop_column("l.element.y").commit()
    table.evolve().widen("p.ex", "int64").set_default("n", 43).move_column("n").commit()
    both.agree()
    both.ask("INSERT INTO t(id, text) VALUES (4, 'e')", data_inlining_row_limit=0)
    both.ask("INSERT INTO t(id, text) VALUES (5, 'f')", data_inlining_row_limit=0)
    both.agree()
    assert table.scan("id > 3", columns=["id", "n", "text"]).to_arrow().to_pylist() == [
        {"id": 4, "n": 43, "text": "e"},
        {"id": 5, "n": 43, "text": "f"},
    ]
    table.evolve().add_column("after", "varchar", default="it's", after="id").commit()
    both.ask("INSERT INTO t(id) VALUES (6)", data_inlining_row_limit=0)
    both.agree()
    assert both.ask("SELECT id, after, n FROM t WHERE id = 6") == [(6, "it's", 43)]


def test_defaults_of_every_type_read_alike(both):
    defaults = {
        "boolean": True,
        "int8": -5,
        "uint64": 2**64 - 1,
        "float32": 1.5,
        "float64": 1e20,
        "decimal(5,2)": Decimal("1.50"),
        "decimal(38,4)": "12345678901234567890.1234",
        "date": date(2024, 2, 29),
        "time": "01:02:03.5",
        "timestamp": datetime(2024, 1, 2, 3, 4, 5, 600000),  # noqa: DTZ001  a column without a zone
        "timestamptz": datetime(2024, 1, 2, tzinfo=UTC),
        "timestamp_s": "2024-01-02 03:04:05",
        "timestamp_ms": "2024-01-02 03:04:05.006",
        "timestamp_ns": "2024-01-02 03:04:05.000000006",
        "varchar": 'it\'s, "quoted" ünïcode',
        "blob": b"\xaa\x00'a",
        "uuid": UUID(int=5),
    }
    table = both.lake.create_table("t", {"id": "int64"})
    table.append([{"id": 1}])
    change = table.evolve()
    for n, (kind, value) in enumerate(defaults.items()):
        change = change.add_column(f"c{n}", kind, default=value)
    change.commit()
    table.append([{"id": 2}])
    both.ask("INSERT INTO t(id) VALUES (3)", data_inlining_row_limit=0)
    both.agree()
    rows = both.ask("SELECT * EXCLUDE id FROM t")
    assert len(rows) == 3
    assert len(set(rows)) == 1
    assert None not in rows[0]


def test_mere_reads_and_continues_what_duckdb_evolved(both):
    inserted = "INSERT INTO t(id) SELECT * FROM range(10)"
    both.ask(
        "CREATE TABLE t(id INTEGER, s STRUCT(x INTEGER), l STRUCT(x INTEGER)[])",
        inserted,
        "ALTER TABLE t ADD COLUMN n DECIMAL(5,2) DEFAULT 1.5",
        "ALTER TABLE t ALTER id TYPE BIGINT",
        inserted,
        "ALTER TABLE t ADD COLUMN s.z INTEGER",
        "ALTER TABLE t ADD COLUMN l.element.z INTEGER",
        "ALTER TABLE t ADD COLUMN moment TIMESTAMP DEFAULT '2024-01-01'",
        "ALTER TABLE t SET SORTED BY (id DESC)",
        "ALTER TABLE t RENAME COLUMN id TO key",
        inserted.replace("(id)", "(key)"),
        "COMMENT ON TABLE t IS 'about t'",
        "COMMENT ON COLUMN t.key IS 'the key'",
        data_inlining_row_limit=0,
    )
    both.agree()
    table = both.lake.table("t")
    assert (table.comment, table.column_comments) == ("about t", {"key": "the key"})
    table.append([{"key": 100, "s": {"x": 1}, "l": [{"x": 1}]}])
    table.evolve().rename_column("key", "id").drop_default("n").comment(None).commit()
    table.append([{"id": 101}])
    both.agree()
    assert both.ask("SELECT comment FROM duckdb_tables() WHERE table_name = 't'") == [(None,)]
    assert both.ask("SELECT n FROM t WHERE id >= 100 ORDER BY id") == [(Decimal("1.50"),), (None,)]


def test_partitions_and_orders_change_without_a_rewrite(both):
    table = both.lake.create_table("t", {"id": "int64", "day": "date"}, sort_by="id")
    rows = [{"id": n, "day": date(2026, 1, 1 + n % 2)} for n in range(4)]
    table.append(rows)
    table.evolve().partition_by(["day", "bucket(4, id)"]).sort_by("id DESC").commit()
    table.append(rows)
    table.evolve().rename_column("day", "date").rename_column("id", "nr").commit()
    table.append([{"nr": row["id"], "date": row["day"]} for row in rows])
    both.ask("INSERT INTO t SELECT nr, date FROM t", data_inlining_row_limit=0)
    both.agree()
    assert table.count("date = '2026-01-01'") == 12
    with both.lake.transaction() as tx:
        tx.table("t").evolve().partition_by("month(date)").commit()
        tx.table("t").append([{"nr": 9, "date": date(2026, 5, 1)}])
    both.agree()
    assert table.files()["partition"].to_pylist()[-1] == [("month", "5")]
    table.evolve().partition_by([]).sort_by([]).commit()
    both.ask("INSERT INTO t VALUES (10, '2026-01-01')", data_inlining_row_limit=0)
    both.agree()


def test_comments_and_rules_reach_duckdb(both):
    table = both.lake.create_table("t", {"id": "int64", "p": "float64"})
    table.append([{"id": 1, "p": 1.0}])
    table.evolve().comment("trades").comment("its price", column="p").set_not_null("id").commit()
    told = "SELECT column_name, comment, is_nullable FROM duckdb_columns() WHERE table_name = 't'"
    assert both.ask(told) == [("id", None, False), ("p", "its price", True)]
    assert both.ask("SELECT comment FROM duckdb_tables() WHERE table_name = 't'") == [("trades",)]
    with pytest.raises(Exception, match="NOT NULL"):
        both.ask("INSERT INTO t VALUES (NULL, 1)")
    table.evolve().comment(None, column="p").drop_not_null("id").commit()
    both.ask("INSERT INTO t VALUES (NULL, 1)", data_inlining_row_limit=0)
    assert both.ask(told) == [("id", None, True), ("p", None, True)]
    both.agree()


def test_options_of_a_schema_hold_for_both(both):
    both.lake.create_schema("s")
    table = both.lake.create_table("s.t", {"id": "int64"})
    both.lake.set_option("parquet_version", 2, schema="s")
    both.lake.set_option("target_file_size", "10MB", schema="s")
    both.ask("CALL lake.set_option('parquet_compression', 'snappy', schema => 's')")
    table.set_option("target_file_size", "5MiB")
    assert both.lake.options(schema="s") == {
        "parquet_version": "V2",
        "target_file_size": "10000000",
        "parquet_compression": "snappy",
    }
    told = both.ask("SELECT option_name, value, scope FROM lake.options() WHERE scope <> 'GLOBAL'")
    assert ("target_file_size", "5242880", "TABLE") in told
    assert ("parquet_version", "V2", "SCHEMA") in told
    assert table.options["target_file_size"] == "5242880"
    assert table.append([{"id": 1}])["compression_codec"] == "snappy"
    both.agree("s.t")
