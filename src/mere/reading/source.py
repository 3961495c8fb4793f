"""Have the rows of a source at hand: their keys to look up, their columns to take from."""

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import TypeAlias

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
Known: TypeAlias = tuple[str, pa.Scalar]
"""A key column of which all rows that are looked up have one value, and that value."""
_NONE = -1
_BEYOND = 1 << 62


class Chunk:
    """Staged rows that are in memory together; their keys are learned when these are asked for."""

    def __init__(self, rows: pa.Table, on: tuple[str, ...]) -> None:
        """Learn nothing yet."""
        self.rows = rows
        self._on = on
        self._parted: dict[str, Parted] = {}
        self._within: dict[Known, Keys] = {}

    @cached_property
    def keys(self) -> Keys:
        """The keys of all rows."""
        return Keys.of([self.rows.column(name) for name in self._on])

    def known(self, known: Known | None) -> Keys:
        """Return the keys of all rows, or of those with a known value, without that column."""
        if known is None:
            return self.keys
        found = self._within.get(known)
        if found is None:
            name, value = known
            if name not in self._parted:
                self._parted[name] = Parted.of(self.rows.column(name))
            rows = self._parted[name].rows(value)
            rest = self.rows.select([n for n in self._on if n != name]).take(pa.array(rows))
            found = self._within[known] = Keys.of(rest.columns).at(rows)
        return found


class Parted:
    """The numbers of rows, put together by their value in one column."""

    def __init__(self, values: dict[pa.Scalar, int], order: Numbers, ends: Numbers) -> None:
        """Know for each value where its rows begin in the order, and where they end."""
        self._values = values
        self._order = order
        self._ends = ends

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> "Parted":
        """Sort rows by their value; those without one are left out."""
        coded = column.combine_chunks().dictionary_encode()
        codes = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
        ends = np.cumsum(np.bincount(codes, minlength=len(coded.dictionary) + 1))
        values = {value: place for place, value in enumerate(coded.dictionary)}
        return cls(values, np.argsort(codes, kind="stable"), ends)

    def rows(self, value: pa.Scalar) -> Numbers:
        """Return the rows that have a value, in order."""
        place = self._values.get(value)
        if place is None:
            return self._order[:0]
        return self._order[self._ends[place - 1] if place else 0 : self._ends[place]]


class Source:
    """Staged rows, of which one chunk is in memory at a time."""

    def __init__(self, staged: Staged, store: Store) -> None:
        """Read nothing yet."""
        self.staged = staged
        self.store = store
        kinds = to_arrow(staged.schema, ids=False)
        self.on = [(name, kinds.field(name).type) for name in staged.on]
        self._held: tuple[int, Chunk] | None = None

    def match(
        self,
        keys: Sequence[Sequence[pa.ChunkedArray]],
        known: Known | None,
        *,
        chunks: Collection[int] | None = None,
    ) -> Sequence[Numbers]:
        """Return for each row of each piece the number of the staged row with its key, -1 for none.

        A piece is given column by column, without the one that is `known`. Pieces are put together,
        unless there are so few keys that looking for these in each is quicker. Only some `chunks`
        are looked into; None: all.
        """
        rows = [len(columns[0]) for columns in keys]
        if not self.staged.chunks:
            found = self._chunk(0).known(known)
            if len(found.first) * len(keys) <= sum(rows):
                return [found.match(columns) for columns in keys]
        columns = [
            pa.chunked_array([c for one in same for c in one.chunks], same[0].type)
            for same in zip(*keys, strict=True)
        ]
        every = np.full(sum(rows), _NONE, dtype=np.int64)
        for number in self._numbers:
            if chunks is not None and number not in chunks:
                continue
            here = self._chunk(number).known(known).match(columns)
            hit = here >= 0
            every[hit] = here[hit] + self._start(number)
        return np.split(every, np.cumsum(rows)[:-1])

    def beside(self, table: pa.Table, match: Numbers) -> pa.Table:
        """Put the columns of the numbered staged rows beside a table, NULL beside -1."""
        parts: list[pa.Table] = []
        order: list[Numbers] = []
        for number in self._numbers:
            start, end = self._start(number), self._start(number + 1)
            here = np.flatnonzero((match >= start) & (match < end))
            if len(here):
                parts.append(self._chunk(number).rows.take(pa.array(match[here] - start)))
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

    def chunks(self) -> Iterator[tuple[int, Chunk]]:
        """Yield the chunks, each with the number of its first row."""
        for number in self._numbers:
            yield self._start(number), self._chunk(number)

    @property
    def _numbers(self) -> Sequence[int]:
        """The chunks that there are; what is in memory is one."""
        chunks = self.staged.chunks
        return [n for n, chunk in enumerate(chunks) if chunk] if chunks else [0]

    def _start(self, number: int) -> int:
        """Return the number of the first row of a chunk; in memory no row is behind the first."""
        if self.staged.chunks:
            return self.staged.starts[number]
        return 0 if number == 0 else _BEYOND

    def _chunk(self, number: int) -> Chunk:
        if not self.staged.chunks:
            return in_memory(self.staged)
        if self._held is None or self._held[0] != number:
            self._held = None
            tables = [self._file(file) for file in self.staged.chunks[number]]
            self._held = (number, Chunk(pa.concat_tables(tables), self.staged.on))
        return self._held[1]

    def _file(self, file: DataFile) -> pa.Table:
        with naming(file.path):
            parquet = opened(self.store.open(file.path))
            found = sources(file, parts(parquet), self.staged.schema)
            table = parquet.read(columns=[path for source in found for path in source.paths()])
        return conform(table, found, self.staged.schema)


@lru_cache(maxsize=1)
def in_memory(staged: Staged) -> Chunk:
    """Return the rows that came along in memory; tasks of one change share what they learned."""
    if not staged.data:
        return Chunk(to_arrow(staged.schema, ids=False).empty_table(), staged.on)
    with pa.ipc.open_stream(pa.py_buffer(staged.data)) as reader:
        return Chunk(reader.read_all(), staged.on)
