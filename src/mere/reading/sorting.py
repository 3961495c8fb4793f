"""Sort more rows than memory holds: sorted runs lie in a temporary folder until they are merged."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mere.arrow.leaves import decoded

_BATCH_ROWS = 1 << 15
_FAN_IN = 64
"""How many runs are merged at a time."""
_SHARE = 4
"""Rows that wait are copied twice: what is held, in order, and on its way out."""


def sorted_batches(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    keys: Sequence[str],
    *,
    memory_bytes: int,
) -> Iterator[pa.RecordBatch]:
    """Yield all rows in the order of the key columns, NULLs last; equal ones keep their order."""
    most = max(memory_bytes // _SHARE, 1)
    with TemporaryDirectory(prefix="mere-sort-") as folder:
        spill = _Spill(Path(folder), schema, keys, most)
        held: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            held.append(batch)
            size += batch.nbytes
            if size >= most:
                spill.add(_ordered(held, schema, keys))
                held, size = [], 0
        if not spill.levels:
            yield from _ordered(held, schema, keys)
            return
        if held:
            spill.add(_ordered(held, schema, keys))
        del held
        yield from spill.merged()


def _ordered(
    held: list[pa.RecordBatch], schema: pa.Schema, keys: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    if not held:
        return
    table = pa.Table.from_batches(held, schema=schema).combine_chunks()
    held.clear()
    order = order_of(table, keys)
    for start in range(0, table.num_rows, _BATCH_ROWS):
        yield from table.take(order.slice(start, _BATCH_ROWS)).to_batches()


def order_of(table: pa.Table, keys: Sequence[str]) -> pa.Array:
    """Return the numbers of the rows in the order of the key columns, NULLs last."""
    columns = {f"k{n}": plain(table.column(key)) for n, key in enumerate(keys)}
    directions = [(name, "ascending") for name in columns]
    return pc.sort_indices(pa.table(columns), sort_keys=directions)  # NULLs come last


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as what can be compared: the plain values of an extension type."""
    if isinstance(column.type, pa.BaseExtensionType):
        kind = column.type.storage_type
        return pa.chunked_array([decoded(chunk) for chunk in column.chunks], kind)
    return column


class _Spill:
    """Sorted runs in a folder; as soon as there are many of a level, they become one of the next.

    So a few rows of each can be at hand when they are merged, however many rows there are.
    """

    def __init__(self, folder: Path, schema: pa.Schema, keys: Sequence[str], most: int) -> None:
        self.levels: list[list[Path]] = []
        self._folder = folder
        self._schema = schema
        self._keys = keys
        self._most = most
        self._count = 0

    def add(self, rows: Iterator[pa.RecordBatch], level: int = 0) -> None:
        """Add a run, which comes after all that there are of its level."""
        if level == len(self.levels):
            self.levels.append([])
        here = self.levels[level]
        here.append(self._written(rows))
        if len(here) == _FAN_IN:
            runs, self.levels[level] = here, []
            self.add(self._merged(runs), level + 1)
            for path in runs:
                path.unlink()

    def merged(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows in order."""
        return self._merged([path for level in reversed(self.levels) for path in level])

    def _merged(self, paths: Sequence[Path]) -> Iterator[pa.RecordBatch]:
        return _merged([_Run(path) for path in paths], self._keys, self._most)

    def _written(self, rows: Iterator[pa.RecordBatch]) -> Path:
        """Write a run in pieces of which one of each run fits into memory."""
        path = self._folder / f"{self._count}.arrow"
        self._count += 1
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with (
            pa.OSFile(str(path), "wb") as sink,
            pa.ipc.new_stream(sink, self._schema, options=options) as out,
        ):
            for batch in rows:
                step = max(self._most // _FAN_IN * batch.num_rows // max(batch.nbytes, 1), 1)
                for start in range(0, batch.num_rows, step):
                    out.write_batch(batch.slice(start, step))
        return path


class _Run:
    """A sorted run, of which some rows are at hand."""

    def __init__(self, path: Path) -> None:
        self._reader = pa.ipc.open_stream(pa.OSFile(str(path)))
        self.rows: pa.Table = self._reader.schema.empty_table()
        self.more = True

    def fill(self, most: int) -> None:
        """Have some rows at hand, unless there are none left."""
        got: list[pa.RecordBatch] = []
        while self.more and sum(batch.nbytes for batch in got) < most:
            try:
                got.append(self._reader.read_next_batch())
            except StopIteration:
                self.more = False
        self.rows = pa.Table.from_batches(got, schema=self._reader.schema)


def _merged(runs: list[_Run], keys: Sequence[str], most: int) -> Iterator[pa.RecordBatch]:
    """Merge runs: rows are ready when no run can have smaller ones that are not at hand."""
    share = max(most // len(runs), 1)
    while True:
        for run in runs:
            if run.more and not run.rows.num_rows:
                run.fill(share)
        runs = [run for run in runs if run.rows.num_rows]
        if not runs:
            return
        whole = pa.concat_tables([run.rows for run in runs]).combine_chunks()
        order = order_of(whole, keys)
        ends = np.cumsum([run.rows.num_rows for run in runs])
        ready = _ready(order.to_numpy(), ends, [run.more for run in runs])
        for start in range(0, ready, _BATCH_ROWS):
            count = min(_BATCH_ROWS, ready - start)
            yield from whole.take(order.slice(start, count)).to_batches()
        taken = np.sort(order.slice(0, ready).to_numpy())
        counts = np.diff(np.searchsorted(taken, ends), prepend=0)
        for run, count in zip(runs, counts.tolist(), strict=True):
            run.rows = run.rows.slice(count)


def _ready(order: NDArray[np.uint64], ends: NDArray[np.int64], more: Sequence[bool]) -> int:
    """Return how many of the ordered rows come before the last one at hand of every run."""
    lasts = [end - 1 for end, rest in zip(ends.tolist(), more, strict=True) if rest]
    if not lasts:
        return len(order)
    return int(np.flatnonzero(np.isin(order, lasts))[0]) + 1
