"""Have the rows of a source at hand: their keys to look up, their columns to take from."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mere.arrow import to_arrow
from mere.model.files import DataFile
from mere.model.work import Staged
from mere.ports import Store
from mere.reading.conform import conform
from mere.reading.footers import naming, opened
from mere.reading.forms import parts, sources
from mere.reading.keys import Keys

Numbers = NDArray[np.int64]
_NONE = -1


class Source:
    """Staged rows, of which one chunk is in memory at a time."""

    def __init__(self, staged: Staged, store: Store) -> None:
        """Read nothing yet."""
        self.staged = staged
        self.store = store
        kinds = to_arrow(staged.schema, ids=False)
        self.on = [(name, kinds.field(name).type) for name in staged.on]
        self._held: tuple[int, pa.Table, Keys] | None = None
        counts = [sum(file.rows for file in chunk) for chunk in staged.chunks]
        self._starts = np.cumsum([0, *counts]).tolist()

    def match(self, keys: Sequence[pa.ChunkedArray]) -> Numbers:
        """Return for each key the number of the staged row that has it, -1 for none."""
        found = np.full(len(keys[0]), _NONE, dtype=np.int64)
        for number in range(self._count):
            _, _, known = self._chunk(number)
            here = known.match(keys)
            hit = here >= 0
            found[hit] = here[hit] + self._starts[number]
        return found

    def beside(self, table: pa.Table, match: Numbers) -> pa.Table:
        """Put the columns of the numbered staged rows beside a table, NULL beside -1."""
        parts: list[pa.Table] = []
        order: list[Numbers] = []
        for number in range(self._count):
            start = self._starts[number]
            _, rows, _ = self._chunk(number)
            here = np.flatnonzero((match >= start) & (match < start + rows.num_rows))
            if len(here):
                parts.append(rows.take(pa.array(match[here] - start)))
                order.append(here)
        none = np.flatnonzero(match < 0)
        nothing = to_arrow(self.staged.schema, ids=False)
        if len(none) or not parts:
            empty = [pa.nulls(len(none), field.type) for field in nothing]
            parts.append(pa.Table.from_arrays(empty, schema=nothing))
            order.append(none)
        taken = pa.concat_tables(parts).take(pa.array(np.argsort(np.concatenate(order))))
        named = [f"source.{name}" for name in self.staged.schema.names]
        return pa.table([*table.columns, *taken.columns], names=[*table.column_names, *named])

    def tables(self) -> Iterator[tuple[int, pa.Table, Keys]]:
        """Yield the chunks: the number of the first row, the rows, their keys."""
        for number in range(self._count):
            _, rows, keys = self._chunk(number)
            yield self._starts[number], rows, keys

    @property
    def _count(self) -> int:
        return len(self.staged.chunks) or 1

    def _chunk(self, number: int) -> tuple[int, pa.Table, Keys]:
        if self._held is None or self._held[0] != number:
            self._held = None
            rows = self._read(number)
            keys = Keys.of([rows.column(name) for name, _ in self.on])
            self._held = (number, rows, keys)
        return self._held

    def _read(self, number: int) -> pa.Table:
        target = to_arrow(self.staged.schema, ids=False)
        if not self.staged.chunks:
            if not self.staged.data:
                return target.empty_table()
            with pa.ipc.open_stream(pa.py_buffer(self.staged.data)) as reader:
                return reader.read_all()
        tables = [self._file(file) for file in self.staged.chunks[number]]
        return pa.concat_tables(tables)

    def _file(self, file: DataFile) -> pa.Table:
        with naming(file.path):
            parquet = opened(self.store.open(file.path))
            table, described = parquet.read(), parts(parquet)
        return conform(table, sources(file, described, self.staged.schema), self.staged.schema)
