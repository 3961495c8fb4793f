"""Make a lake of very many files and row groups: rows of a catalog, and no data behind them.

`python -m benchmarks.synthetic URL [FILES]` makes one and measures planning in it.
"""

import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import mere
from benchmarks.questions import PRIME, QUESTIONS, STEP, predicate
from mere.catalogs import postgres, sqlite
from mere.catalogs.archive import EVERYTHING, bounds_item, partition_item
from mere.catalogs.dialect import Dialect, definitions
from mere.catalogs.segments import FILES, FRAME, NO_KIND, written
from mere.catalogs.sql import SqlCatalog
from mere.model.history import Change, CreateTable, Head
from mere.model.layout import Layout, PartitionKey
from mere.model.predicate import Expr
from mere.model.schema import Field, Schema, number
from mere.scan import Scan

COLUMNS = 10
ROWS = 100_000
GROUPS = 10
_PER_SNAPSHOT = 1_000


def build(url: str, *, files: int = 1_000_000, partitions: int = 0) -> str:
    """Make a lake with a table `t` of so many files, each of ten row groups; return its URL.

    Column `c1` grows with the files, as a time does; `c2` is scattered over them; the other
    eight repeat. With `partitions`, the files carry that many values of the key `c10`. All row
    groups lie in segments, and all bounds in the archive, as they do in a table of that age.
    """
    catalog = _opened(url)
    fields = tuple(Field(name=f"c{n}", type="int64") for n in range(1, COLUMNS + 1))
    keys = (PartitionKey(column=COLUMNS),) if partitions else ()
    head = Head(
        snapshot=0,
        schema_version=0,
        table_id=-1,
        uuid="",
        namespace="main",
        name="t",
        folder="main/t/",
        schema=number(Schema(fields=fields)),
        layout=Layout(keys=keys),
    )
    table = catalog.commit(Change(base=0, edits=(CreateTable(head=head),))).table_ids[0][1]
    partition = catalog.head("t").layout.id
    catalog.close()
    with _filling(url) as place:
        for statement in _rows(table, files, partition, partitions, place.numbers):
            place.run(statement)
        for first in range(0, files, FILES):
            end = min(first + FILES, files)
            place.insert("mere_segment", list(_segment(table, first, end, partitions)))
            place.insert("mere_archive", list(_archive(table, first, end, partitions)))
    return url


def _opened(url: str) -> SqlCatalog:
    if url.startswith("postgresql:"):
        return postgres.open_catalog(url, data_path="/nowhere/files")
    return sqlite.open_catalog(url)


class _Sqlite:
    """A catalog that is being filled."""

    numbers = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {} - 1)"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.run = connection.execute
        self._many = connection.executemany

    def insert(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add rows."""
        self._many(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)


class _Postgres:
    """A catalog that is being filled."""

    numbers = "WITH n(i) AS (SELECT generate_series(0::bigint, {} - 1))"

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def run(self, statement: str) -> None:
        """Run a statement."""
        self._connection.execute(statement)

    def insert(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add rows."""
        marks = ", ".join(["%s"] * len(rows[0]))
        with self._connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


@contextmanager
def _filling(url: str) -> Iterator[_Sqlite | _Postgres]:
    """Open a catalog to fill it: without its indexes, which is quicker, and not durably."""
    if url.startswith("postgresql:"):
        import psycopg  # noqa: PLC0415  only who measures it has it

        with psycopg.connect(url, autocommit=True) as connection:
            dialect = postgres.PostgresDialect(url, schema="public", read_only=False, wait_s=60)
            named = "SELECT indexname FROM pg_indexes WHERE indexname LIKE 'mere@_%' ESCAPE '@'"
            names = [row[0] for row in connection.execute(named) if not row[0].endswith("_pkey")]
            with _without(names, connection.execute, dialect):
                yield _Postgres(connection)
            connection.execute("VACUUM ANALYZE")
        return
    with closing(sqlite3.connect(url, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -400000")
        named = "SELECT name FROM sqlite_schema WHERE type = 'index' AND name LIKE 'mere_%'"
        names = [row[0] for row in connection.execute(named)]
        dialect = sqlite.SqliteDialect(Path(url), read_only=False, wait_s=60)
        with _without(names, connection.execute, dialect):
            connection.execute("BEGIN")
            yield _Sqlite(connection)
            connection.execute("COMMIT")


@contextmanager
def _without(names: Sequence[str], run: Callable[[str], Any], dialect: Dialect) -> Iterator[None]:
    for name in names:
        run(f"DROP INDEX {name}")
    yield
    for statement in definitions(f"indexes.{dialect.name}.sql", dialect.types):
        run(statement)


def _rows(
    table: int, files: int, partition: int | None, partitions: int, counting: str
) -> Iterator[str]:
    numbers = counting.format(files)
    last = 1 + -(-files // _PER_SNAPSHOT)
    spec = "NULL" if partition is None else partition
    yield (
        f"{numbers} INSERT INTO ducklake_data_file SELECT i, {table}, 2 + i / {_PER_SNAPSHOT},"
        f" NULL, NULL, 'day=' || (i / 1000) || '/mere-' || ({10**15} + i) || '.parquet', TRUE,"
        f" 'parquet', {ROWS}, 12345678, 4321, i * {ROWS}, {spec}, NULL, NULL, NULL FROM n"
    )
    scattered = f"((i * {STEP}) % {PRIME}) * 1000"
    low = f"CASE j WHEN 1 THEN i * 1000 WHEN 2 THEN {scattered} ELSE (i % 100) * 1000 END"
    if partitions:
        low = f"CASE WHEN j = {COLUMNS} THEN i % {partitions} ELSE {low} END"
    width = f"CASE WHEN j = {COLUMNS} AND {partitions} > 0 THEN 0 ELSE 999 END"
    columns = f"k(j) AS (VALUES {', '.join(f'({n})' for n in range(1, COLUMNS + 1))})"
    yield (
        f"{numbers}, {columns} INSERT INTO ducklake_file_column_stats"
        f" SELECT i, {table}, j, 100000, {ROWS}, 0, CAST({low} AS TEXT),"
        f" CAST({low} + {width} AS TEXT), NULL, NULL FROM n, k"
    )
    if partitions:
        yield (
            f"{numbers} INSERT INTO ducklake_file_partition_value"
            f" SELECT i, {table}, 0, CAST(i % {partitions} AS TEXT) FROM n"
        )
    snapshots = counting.format(last - 1)
    yield (
        f"{snapshots} INSERT INTO ducklake_snapshot SELECT 2 + i, '2026-01-01 00:00:00+00', 1,"
        f" (SELECT next_catalog_id FROM ducklake_snapshot WHERE snapshot_id = 1), {files} FROM n"
    )
    yield (
        f"{snapshots} INSERT INTO ducklake_snapshot_changes"
        f" SELECT 2 + i, 'inserted_into_table:{table}', NULL, NULL, NULL FROM n"
    )
    yield f"INSERT INTO ducklake_table_stats VALUES ({table}, {files * ROWS}, {files * ROWS}, 0)"


def _segment(
    table: int, first: int, end: int, partitions: int
) -> Iterator[tuple[int | str | bytes, ...]]:
    """Yield the rows of the segment of some files, as folding them makes them."""
    place = (first, end - 1, end - first)
    file = np.repeat(np.arange(first, end, dtype=np.int64), GROUPS)
    ordinal = np.tile(np.arange(GROUPS, dtype=np.int64), end - first)
    same = partial(np.full, len(file), dtype=np.int64)
    rows = ROWS // GROUPS
    frame = {
        "file": file,
        "ordinal": ordinal.astype(np.int32),
        "rows": same(rows),
        "bytes": same(1_234_567),
        "raw_bytes": same(2_345_678),
    }
    yield (table, FRAME, *place, NO_KIND, _value(frame))
    lows = {1: file * 1000, 2: (file * STEP) % PRIME * 1000}
    for column in range(1, COLUMNS + 1):
        low = lows.get(column, file % 100 * 1000) + ordinal * 100
        width = 99
        if column == COLUMNS and partitions:
            low, width = file % partitions, 0
        arrays = {
            "low": low,
            "high": low + width,
            "nulls": same(0),
            "values": same(rows),
            "nan": pa.nulls(len(file), pa.bool_()),
            "bytes": same(123_456),
            "exact": np.full(len(file), fill_value=True),
        }
        yield (table, column, *place, "int64", _value(arrays))


def _archive(
    table: int, first: int, end: int, partitions: int
) -> Iterator[tuple[int | str | bytes, ...]]:
    """Yield the rows of the archive for some files, as it is made beside segments."""
    file = np.arange(first, end, dtype=np.int64)
    place = (table, first, end)
    yield (*place, EVERYTHING, EVERYTHING, b"")
    lows = {1: file * 1000, 2: (file * STEP) % PRIME * 1000}
    for column in range(1, COLUMNS + 1):
        split = column == COLUMNS and partitions
        low = file % partitions if split else lows.get(column, file % 100 * 1000)
        counts = {"nulls": np.zeros_like(file), "values": np.full_like(file, ROWS)}
        found = {"file": file, "low": low, "high": low if split else low + 999}
        yield (*place, bounds_item(column), "int64", _value({**counts, **found}))
    if partitions:
        texts = pa.array(file % partitions).cast(pa.string())
        yield (*place, partition_item(0), "varchar", _value({"file": file, "texts": texts}))


def _value(arrays: dict[str, Any]) -> bytes:
    return written({name: pa.array(values) for name, values in arrays.items()})


def plan(url: str, where: Expr) -> Scan:
    """Open the lake and plan, as a fresh process does."""
    return mere.connect(url).table("t").scan(where)


def _timed(do: Callable[[], Any]) -> tuple[str, Any]:
    clock, busy = time.perf_counter(), time.process_time()
    found = do()
    took, busy = time.perf_counter() - clock, time.process_time() - busy
    return f"{took * 1000:8.1f} ms, {busy * 1000:8.1f} ms busy", found


def main() -> None:
    """Make a lake and print how long planning takes, cold and warm."""
    url, files = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    if url.startswith("postgresql:") or not Path(url).exists():
        print(f"built     {_timed(lambda: build(url, files=files, partitions=1000))[0]}")
    for question in QUESTIONS:
        print(f"{question} cold   {_timed(lambda: plan(url, predicate(question, files, 0)))[0]}")  # noqa: B023  called at once
        table = mere.connect(url).table("t")
        for turn in range(6):
            where = predicate(question, files, turn)
            took, scan = _timed(lambda: table.scan(where))  # noqa: B023  called at once
            found = scan.found
            groups = sum(len(kept.groups) for kept in found.kept.values())
            print(f"{question} {took}, {len(found.files)} files, {groups} row groups of theirs")


if __name__ == "__main__":
    main()
