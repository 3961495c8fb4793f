"""Bring rows into the order of a rewrite, and cut them into what becomes one file each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mere.arrow import file_schema
from mere.arrow.leaves import decoded
from mere.arrow.partitions import split, transform_column
from mere.model.files import Value
from mere.model.layout import folder, key_names
from mere.model.schema import Schema
from mere.model.work import Rewrite, Write
from mere.reading.curves import Fences, bits_for, places
from mere.reading.ranges import Ranges

Texts: TypeAlias = tuple[str | None, ...]
Piece: TypeAlias = tuple[Texts, tuple[Value | None, ...], pa.RecordBatch]
"""Rows of one partition: its values as texts, its values, the rows."""
_NO_LIMIT = 1 << 62


@dataclass(frozen=True)
class Part:
    """Rows that become one file, and the partition that they belong to."""

    reader: pa.RecordBatchReader
    write: Write
    values: tuple[Value | None, ...]


class Ordering:
    """The order that a rewrite asks for: by partitions first, where rows spread over them.

    Where it only deals rows out, they are ordered by the numbers of their ranges.
    """

    def __init__(self, task: Rewrite, schema: Schema, fences: Sequence[Fences]) -> None:
        """Name the columns that rows are ordered by; they come after the rows' own."""
        self._task = task
        self._table = schema
        self._fences = fences
        self._layout = task.write.layout
        self._ranges = None if task.cuts is None else Ranges.of(task.cuts)
        self._at = {field.id: place for place, field in enumerate(schema.fields)}
        self.stored = file_schema(schema)
        nothing = pa.RecordBatch.from_arrays(
            [pa.array([], field.type) for field in self.stored], schema=self.stored
        )
        kinds = [array.type for array in self._keys(nothing)]
        names = {name.casefold() for name in schema.names}
        self.names = [_unused(f"mere_key_{n}", names) for n in range(len(kinds))]
        made = (pa.field(name, kind) for name, kind in zip(self.names, kinds, strict=True))
        self.schema = pa.schema([*self.stored, *made])

    def with_keys(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Add to rows, as they lie in files, what they are ordered by."""
        return pa.RecordBatch.from_arrays([*batch.columns, *self._keys(batch)], schema=self.schema)

    def _keys(self, batch: pa.RecordBatch) -> list[pa.Array]:
        found = self._wanted(batch)
        return found if self._ranges is None else [pa.array(self._ranges.numbers(found))]

    def _wanted(self, batch: pa.RecordBatch) -> list[pa.Array]:
        task, fields = self._task, self._table.fields
        keys = self._layout.keys if task.spread else ()
        found = [
            transform_column(key, fields[at], batch.column(at))
            for key in keys
            for at in (self._at[key.column],)
        ]
        if task.sorting is None:
            return found
        columns = [batch.column(self._at[id_]) for id_ in task.sorting.columns]
        if task.sorting.curve == "linear":
            return [*found, *map(decoded, columns)]
        pairs = zip(self._fences, columns, strict=True)
        ranks = [fences.ranks(pa.chunked_array([column])) for fences, column in pairs]
        bits = bits_for(len(columns))
        return [*found, pa.array(places(task.sorting.curve, ranks, bits))]

    def pieces(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Piece]:
        """Yield ordered rows without what was added, partition by partition."""
        for batch in batches:
            rows = batch.select(self.stored.names)
            if self._ranges is not None:
                yield from _dealt(rows, batch.column(len(self.stored)).to_numpy())
                continue
            if not self._task.spread:
                yield (), (), rows
                continue
            for texts, values, parts in split(rows, self._layout.keys, self._table):
                for part in parts:
                    yield texts, values, part

    def folder(self, texts: Texts) -> str:
        """Return where files of a partition lie, below the folder of all."""
        if self._ranges is not None or not (self._task.spread and self._layout.hive_folders):
            return ""
        return folder(key_names(self._layout, self._table), texts)


def _dealt(rows: pa.RecordBatch, numbers: NDArray[np.int64]) -> Iterator[Piece]:
    """Cut rows where the numbers change that they are ordered by."""
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    ends = np.append(starts[1:], len(numbers))
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        number = int(numbers[start])
        yield (str(number),), (number,), rows.slice(start, end - start)


class Cutter:
    """Cut ordered pieces where a partition ends, or a file is full."""

    def __init__(self, pieces: Iterable[Piece], rows_per_file: int | None = None) -> None:
        """Take nothing yet."""
        self._pieces = iter(pieces)
        self._most = rows_per_file or _NO_LIMIT
        self._left: Piece | None = None

    def parts(
        self, schema: pa.Schema, write: Write, below: Callable[[Texts], str] = lambda _: ""
    ) -> Iterator[Part]:
        """Yield the parts one after the other: each must be read before the next is asked for."""
        layout = replace(write.layout, id=None, keys=())
        self._left = next(self._pieces, None)
        while self._left is not None:
            first = self._left
            reader = pa.RecordBatchReader.from_batches(schema, self._until_full(first))
            to = replace(write, layout=layout, folder=write.folder + below(first[0]))
            yield Part(reader, to, first[1])

    def _until_full(self, first: Piece) -> Iterator[pa.RecordBatch]:
        room = self._most
        piece: Piece | None = first
        while piece is not None and piece[0] == first[0]:
            batch = piece[2]
            if batch.num_rows > room:
                self._left = (*piece[:2], batch.slice(room))
                if room:
                    yield batch.slice(0, room)
                return
            room -= batch.num_rows
            yield batch
            piece = next(self._pieces, None)
        self._left = piece


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
