"""Read all living rows of a table, each with its id: batch by batch, or a sample of them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mere.arrow import to_arrow
from mere.model.files import FileSet
from mere.model.history import Head
from mere.model.work import Input
from mere.ports import Store
from mere.reading.pieces import InlinedPiece, OpenFile

Numbers = NDArray[np.int64]
_BATCH_ROWS = 1 << 16
_PLACES = 64
_SAMPLED_ROWS = 1 << 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The rows that some files of a head, and the catalog itself, hold."""

    store: Store
    head: Head
    found: FileSet

    @property
    def count(self) -> int:
        """How many rows live, as the catalog says."""
        inlined = len(self.found.inlined.row_ids) if self.found.inlined else 0
        return inlined + sum(file.rows - file.deleted for file in self.found.files)

    def some(self, most: int) -> "Rows":
        """Return those of a few files, spread over all."""
        files = self.found.files
        if len(files) <= most:
            return self
        chosen = tuple(files[n * len(files) // most] for n in range(most))
        return replace(self, found=replace(self.found, files=chosen, inlined=None))

    def batches(self) -> Iterator[tuple[pa.Table, Numbers]]:
        """Yield the rows and their ids, in file order; little ones are brought together."""
        held: list[tuple[pa.Table, Numbers]] = []
        rows = 0
        for table, ids in chain(self._stored(), self._inlined()):
            if held and rows + len(ids) > _BATCH_ROWS:
                yield _joined(held)
                held, rows = [], 0
            held.append((table, ids))
            rows += len(ids)
        if held:
            yield _joined(held)

    def sampled(self) -> pa.Table:
        """Return some rows, from many places; all of them where they are few."""
        if self.count <= _SAMPLED_ROWS:
            return self._table([table for table, _ in self.batches()])
        part = self.some(_PLACES)
        groups = max(1, _PLACES // max(len(part.found.files), 1))
        most = _SAMPLED_ROWS // _PLACES
        return self._table([*part._spread(groups, most)])  # noqa: SLF001  of its own class

    def _table(self, tables: list[pa.Table]) -> pa.Table:
        return pa.concat_tables([to_arrow(self.head.schema, ids=False).empty_table(), *tables])

    def _spread(self, groups: int, most: int) -> Iterator[pa.Table]:
        for file in self._opened():
            count = len(file.groups)
            for ordinal in sorted({n * count // groups for n in range(groups)} if count else ()):
                rows = next(file.batches(ordinal, self.head.schema), None)
                if rows is not None:
                    step = max(len(rows.places) // most, 1)
                    yield rows.table.take(pa.array(np.arange(0, len(rows.places), step)))

    def _stored(self) -> Iterator[tuple[pa.Table, Numbers]]:
        for file in self._opened():
            for ordinal in file.groups:
                for rows in file.batches(ordinal, self.head.schema, ids=True):
                    yield rows.table, rows.row_ids

    def _opened(self) -> Iterator[OpenFile]:
        for file in self.found.files:
            yield OpenFile(self.store, Input(file=file), self.head.snapshot)

    def _inlined(self) -> Iterator[tuple[pa.Table, Numbers]]:
        if self.found.inlined is not None:
            piece = InlinedPiece(self.found.inlined, self.head.schema)
            yield piece.rows, piece.places


def _joined(held: list[tuple[pa.Table, Numbers]]) -> tuple[pa.Table, Numbers]:
    if len(held) == 1:
        return held[0]
    tables, ids = zip(*held, strict=True)
    return pa.concat_tables(tables).combine_chunks(), np.concatenate(ids)
