"""A lake where DuckDB itself took in files that others wrote, and what all readers say of it."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import mere

Ask: TypeAlias = Callable[..., pa.Table]
FOLDERS = ("p=7", "p=__HIVE_DEFAULT_PARTITION__", "p=a%20b", "p=NULL", "p=x+y")
MADE = (
    "CREATE TABLE t(id BIGINT, tags BIGINT[], s STRUCT(x BIGINT, y VARCHAR),"
    " m MAP(VARCHAR, INTEGER), deep STRUCT(q BIGINT)[], p VARCHAR, extra INTEGER DEFAULT 42)"
)
STEPS: Mapping[str, tuple[str, ...]] = {
    "as adopted": (),
    "renamed and added": (
        "ALTER TABLE t ADD COLUMN z INTEGER DEFAULT 9",
        "ALTER TABLE t RENAME COLUMN p TO pp",
        "ALTER TABLE t RENAME COLUMN id TO ident",
        "ALTER TABLE t DROP COLUMN extra",
        "ALTER TABLE t ADD COLUMN id INTEGER",
    ),
    "nested": ("ALTER TABLE t ADD COLUMN s.z INTEGER", "ALTER TABLE t RENAME COLUMN s.x TO xx"),
    "rows deleted": ("DELETE FROM t WHERE id IN (2, 101)",),
}
ENGINES: Mapping[str, Callable[[Any], pa.Table]] = {
    "arrow": lambda scan: scan.to_arrow(),
    "batches": lambda scan: pa.Table.from_batches(scan.to_batches()),
    "pandas": lambda scan: pa.Table.from_pandas(
        scan.to_pandas(types_mapper=pd.ArrowDtype), preserve_index=False
    ),
    "polars": lambda scan: scan.to_polars().collect().to_arrow(),
    "duckdb": lambda scan: scan.to_duckdb().to_arrow_table(),
    "datafusion": lambda scan: scan.to_datafusion().to_arrow_table(),
    "daft": lambda scan: scan.to_daft().to_arrow(),
}


def foreign_files(folder: Path) -> Iterator[Path]:
    """Write files as others do: no field ids, narrower types, other capitals, values in folders."""
    wide = pa.table(
        {
            "ID": pa.array([1, 2, 3], pa.int32()),
            "tags": pa.array([[1], [2, 3], None], pa.list_(pa.int32())),
            "s": pa.array([{"x": 1, "y": "a"}, None, {"x": 2, "y": "b"}]),
            "m": pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int32())),
            "deep": pa.array([[{"q": 1}], None, []], pa.list_(pa.struct([("q", pa.int64())]))),
        }
    )
    for part in FOLDERS:
        yield written(wide, folder / part / "f.parquet")
    few = {"id": pa.array([10], pa.int64()), "tags": pa.array([None], pa.list_(pa.int64()))}
    yield written(pa.table(few), folder / "p=9" / "g.parquet")


def written(table: pa.Table, path: Path, **options: Any) -> Path:
    """Write a table as a file, with the folders that lead to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, **options)
    return path


def rows(table: pa.Table) -> list[str]:
    """Return rows for comparison: maps as pairs, in any order of rows."""
    return sorted(repr({name: plain(value) for name, value in row.items()}) for row in _all(table))


def _all(table: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def plain(value: Any) -> Any:
    """Return a value as every engine would hand it out."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value


def lake_of_duckdb(
    folder: Path, oracle: Callable[..., Any]
) -> tuple[mere.Lake, Callable[..., Any]]:
    """Make a lake of one table with rows of its own and files that DuckDB was given."""
    lake = mere.connect(folder / "lake.db", data_path=folder / "data")

    def ask(*queries: str) -> pa.Table:
        connection = oracle(f"sqlite:{folder / 'lake.db'}")
        try:
            for query in queries:
                answer = connection.sql(query)
            return answer.to_arrow_table() if answer is not None else pa.table({})
        finally:
            connection.close()

    more = "hive_partitioning => true, allow_missing => true"
    ask(
        MADE,
        "INSERT INTO t(id, p) SELECT 100 + range, 'own' FROM range(20)",
        *(
            f"CALL ducklake_add_data_files('lake', 't', '{path}', {more})"
            for path in foreign_files(folder / "elsewhere")
        ),
    )
    return lake, ask
