"""Read all rows of files, each with its id and the snapshots that it came and went with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from mere import stopping
from mere.errors import CorruptionError
from mere.model.feed import Trace
from mere.model.schema import ROW_ID, SINCE_ID, SNAPSHOT_ID, Schema
from mere.ports import Store
from mere.reading.coding import Coding
from mere.reading.conform import conform
from mere.reading.deleting import listed
from mere.reading.footers import check_rows, fetched, naming
from mere.reading.forms import Forms, Part, Source, special

Numbers = NDArray[np.int64]
NEVER = int(np.iinfo(np.int64).max)
_BATCH_ROWS = 1 << 16
_STRETCH_BYTES = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """Row versions: ids, and the snapshots that they came and went with.

    Their `origins` are the snapshots that they were made in: of one that was `copied`, another
    than that in which its file came.
    """

    row_ids: Numbers
    began: Numbers
    ended: Numbers
    origins: Numbers
    copied: NDArray[np.bool_]


@dataclass(frozen=True)
class Every:
    """One open file of which every row is read, gone or not."""

    trace: Trace
    store: Store
    parquet: pq.ParquetFile
    row_id: Part | None
    since: Part | None
    origin: Part | None

    @classmethod
    def of(cls, trace: Trace, store: Store, forms: Forms, coding: Coding | None = None) -> "Every":
        """Open a file, of which some texts are read as dictionaries.

        Raises:
            CorruptionError: If it is missing or damaged, or does not say which rows it holds.
        """
        file = trace.file
        with naming(file.path):
            parquet = fetched(store, file, coding.names if coding else ())
            described = forms.of(parquet)
        check_rows(file, parquet)
        row_id = special(described, ROW_ID)
        require_ids(trace, row_id)
        since = None if file.last is None else special(described, SNAPSHOT_ID)
        origin = special(described, SINCE_ID)
        return cls(trace, store, parquet, row_id, since, origin)

    @property
    def codec(self) -> str:
        """How the file is compressed, as a layout names it; empty when it holds nothing."""
        footer = self.parquet.metadata
        if not footer.num_row_groups or not footer.num_columns:
            return ""
        return str(footer.row_group(0).column(0).compression).lower()

    @cached_property
    def deleted(self) -> tuple[Numbers, Numbers]:
        """The positions ever deleted, sorted, each with the first snapshot that did so."""
        return deleted(self.store, self.trace)

    def coding(self, columns: Schema, forms: Forms) -> Coding:
        """Say which texts the file holds as dictionaries."""
        return Coding.of(self.parquet, forms.of(self.parquet), columns)

    def batches(
        self, columns: Schema, forms: Forms, coding: Coding | None = None
    ) -> Iterator[tuple[pa.Table, Versions]]:
        """Yield the columns asked for, and what is known of the same rows."""
        file = self.trace.file
        described = forms.of(self.parquet)
        found = forms.sources(file, described, columns)
        target = forms.target(columns)
        start = 0
        for table in self._tables(found):
            kept = (
                coding.conform(table, found)
                if coding is not None and coding.ids
                else conform(table, found, columns, target)
            )
            yield kept, self._versions(table, start)
            start += table.num_rows

    def sampled(self, columns: Schema, forms: Forms, *, groups: int, rows: int) -> pa.Table:
        """Return columns of some rows, spread over the file."""
        found = forms.sources(self.trace.file, forms.of(self.parquet), columns)
        target = forms.target(columns)
        count = self.parquet.metadata.num_row_groups
        chosen = sorted({n * count // groups for n in range(groups)}) if count else []
        paths = list(dict.fromkeys(path for source in found for path in source.paths()))
        tables = [target.empty_table()]
        for ordinal in chosen:
            with naming(self.trace.file.path):
                table = self.parquet.read_row_groups([ordinal], columns=paths, use_threads=False)
            step = max(table.num_rows // rows, 1)
            some = table.take(pa.array(np.arange(0, table.num_rows, step)))
            tables.append(conform(some, found, columns, target))
        return pa.concat_tables(tables)

    def _tables(self, found: Sequence[Source]) -> Iterator[pa.Table]:
        hidden = [part for part in (self.row_id, self.since, self.origin) if part]
        paths = [path for source in found for path in source.paths()]
        names = list(dict.fromkeys([*paths, *(leaf for part in hidden for leaf in part.leaves)]))
        path = self.trace.file.path
        if not names:
            yield pa.table({"": pa.nulls(self.parquet.metadata.num_rows)})
            return
        for groups in _stretches(self.parquet.metadata):
            with naming(path):
                batches = self.parquet.iter_batches(
                    _BATCH_ROWS, row_groups=groups, columns=names, use_threads=False
                )
            while True:
                stopping.check()
                with naming(path):
                    batch = next(batches, None)
                if batch is None:
                    break
                yield pa.Table.from_batches([batch])

    def _versions(self, table: pa.Table, start: int) -> Versions:
        file = self.trace.file
        positions = np.arange(start, start + table.num_rows, dtype=np.int64)
        began = np.full(len(positions), file.since, dtype=np.int64)
        if self.since is not None:
            began = filled(table, self.since, began)
        row_ids = positions + (file.row_id_start or 0)
        if self.row_id is not None:
            row_ids = filled(table, self.row_id, row_ids)
        ended = ended_by(self.deleted, positions, NEVER)
        origins, copied = origins_of(table, self.origin, began)
        return Versions(row_ids=row_ids, began=began, ended=ended, origins=origins, copied=copied)


def _stretches(footer: pq.FileMetaData) -> Iterator[list[int]]:
    """Yield the row groups of a file, together as long as they are small.

    What is read ahead of a stretch is held until its end: so of a large file, never all is.
    """
    held: list[int] = []
    size = 0
    for ordinal in range(footer.num_row_groups):
        held.append(ordinal)
        size += footer.row_group(ordinal).total_byte_size
        if size >= _STRETCH_BYTES:
            yield held
            held, size = [], 0
    if held:
        yield held


def require_ids(trace: Trace, row_id: Part | None) -> None:
    """Demand that the rows of a file have ids, by its own word or by the catalog's.

    Raises:
        CorruptionError: If nobody gave them any.
    """
    file = trace.file
    if row_id is None and file.row_id_start is None:
        msg = f"{file.path} does not say which rows it holds: neither it nor the catalog has ids"
        raise CorruptionError(msg)


def ended_by(deleted: tuple[Numbers, Numbers], positions: Numbers, until: int) -> Numbers:
    """Return when rows went: with a delete that names them, else at `until`."""
    ended = np.full(len(positions), until, dtype=np.int64)
    gone, snapshots = deleted
    if not len(gone):
        return ended
    places = np.searchsorted(gone, positions)
    inside = places < len(gone)
    hit = np.zeros(len(positions), dtype=bool)
    hit[inside] = gone[places[inside]] == positions[inside]
    ended[hit] = snapshots[places[hit]]
    return ended


def origins_of(
    table: pa.Table, origin: Part | None, began: Numbers
) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return the snapshot that each row was made in, and whether its file says another one."""
    if origin is None:
        return began.copy(), np.zeros(len(began), dtype=bool)
    said = filled(table, origin, np.full(len(began), NEVER, dtype=np.int64))
    copied = said != NEVER
    return np.where(copied, said, began), copied


def filled(table: pa.Table, part: Part, otherwise: Numbers) -> Numbers:
    """Return an internal column, where it says nothing what is true otherwise."""
    column = table.column(_place(table.schema, part)).cast(pa.int64()).combine_chunks()
    known = column.is_valid().to_numpy(zero_copy_only=False)
    return np.where(known, column.fill_null(0).to_numpy(zero_copy_only=False), otherwise)


def _place(schema: pa.Schema, part: Part) -> int:
    wanted = str(part.id).encode()
    return next(
        i for i, f in enumerate(schema) if (f.metadata or {}).get(b"PARQUET:field_id") == wanted
    )


def deleted(store: Store, trace: Trace) -> tuple[Numbers, Numbers]:
    """Return the positions ever deleted, sorted, each with the first snapshot that did so."""
    pairs = [listed(store, deletes) for deletes in trace.deletes]
    if trace.gone:
        places, went = zip(*trace.gone, strict=True)
        pairs.append((np.array(places, np.int64), np.array(went, np.int64)))
    if not pairs:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    positions, snapshots = (reduce(_joined, side) for side in zip(*pairs, strict=True))
    order = np.lexsort((snapshots, positions))
    positions, first = np.unique(positions[order], return_index=True)
    return positions, snapshots[order][first]


def _joined(one: Numbers, other: Numbers) -> Numbers:
    return np.concatenate((one, other))
