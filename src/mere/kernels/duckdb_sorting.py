"""Have DuckDB sort rows: what memory does not hold goes to its temporary folder."""

from collections.abc import Iterable, Iterator, Sequence
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
import pyarrow as pa

_SORTED_ROWS = 1 << 15
_LEAST_MIB = 64


def connect(scratch: str, memory_bytes: int, threads: int | None) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB of its own, which spills to a folder and loads nothing."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{max(memory_bytes >> 20, _LEAST_MIB)}MiB",
        "temp_directory": scratch,
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    if threads is not None:
        config["threads"] = threads
    con = duckdb.connect(":memory:", config=config)
    con.execute("SET TimeZone = 'UTC'")
    return con


def sorted_batches(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    keys: Sequence[str],
    *,
    memory_bytes: int,
    threads: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield all rows in the order of the key columns, NULLs last; equal ones keep their order."""
    place = unused("mere_row", {name.casefold() for name in schema.names})
    columns = pa.schema([*schema, pa.field(place, pa.int64())])
    numbered = pa.RecordBatchReader.from_batches(columns, _placed(batches, columns))
    order = ", ".join([*(f"{quoted(key)} NULLS LAST" for key in keys), quoted(place)])
    with (
        TemporaryDirectory(prefix="mere-") as scratch,
        connect(scratch, memory_bytes, threads) as con,
    ):
        con.execute("SET arrow_lossless_conversion = true")  # what comes back is what went in
        con.register("rows", numbered)
        names = ", ".join(map(quoted, schema.names))
        answer = con.execute(f"SELECT {names} FROM rows ORDER BY {order}")  # noqa: S608  quoted
        for batch in answer.to_arrow_reader(_SORTED_ROWS):
            yield from pa.Table.from_batches([batch]).cast(schema).to_batches()


def _placed(batches: Iterable[pa.RecordBatch], columns: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Number the rows, so that equal ones can keep their order."""
    start = 0
    for batch in batches:
        end = start + batch.num_rows
        numbers = pa.array(np.arange(start, end, dtype=np.int64))
        yield pa.RecordBatch.from_arrays([*batch.columns, numbers], schema=columns)
        start = end


def unused(name: str, taken: set[str]) -> str:
    """Return a name like this one that no column has."""
    while name in taken:
        name += "_"
    return name


def quoted(name: str) -> str:
    """Spell a name in SQL."""
    return '"' + name.replace('"', '""') + '"'
