"""Read files piece by piece: the rows that a snapshot sees, where they lie, and their ids."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mere import stopping
from mere.arrow.inlined import unpack
from mere.errors import CorruptionError
from mere.model.files import DataFile, InlinedRows
from mere.model.layout import Layout
from mere.model.schema import ROW_ID, SINCE_ID, SNAPSHOT_ID, Field, Schema
from mere.model.work import Input
from mere.ports import Store
from mere.reading.conform import conform
from mere.reading.constant import constant
from mere.reading.footers import check_rows, fetched, naming
from mere.reading.forms import Forms, Part, Source, special
from mere.reading.living import gone
from mere.reading.visible import needs_snapshot

Numbers = NDArray[np.int64]
_BATCH_ROWS = 1 << 16
_ROW_ID = Field(name="_ducklake_internal_row_id", type="int64", id=ROW_ID)
_SNAPSHOT = Field(name="_ducklake_internal_snapshot_id", type="int64", id=SNAPSHOT_ID)
_SINCE = Field(name="_mere_since", type="int64", id=SINCE_ID)


class Piece(Protocol):
    """Rows that lie together: some columns at hand, the others on demand."""

    @property
    def rows(self) -> pa.Table:
        """The columns that conditions look at."""
        ...

    @property
    def places(self) -> Numbers:
        """What names each row where it lies: its position in the file, or its id."""
        ...

    def full(self, kept: Numbers, schema: Schema) -> Iterator[tuple[Numbers, pa.Table, Numbers]]:
        """Yield parts of the rows numbered `kept`: their numbers, their columns, their ids."""
        ...


class Rows(NamedTuple):
    """Living rows: their columns, their positions, and where asked for their ids and origins.

    The origin is the snapshot that a row came with; of rows that no snapshot has seen yet, 0.
    """

    table: pa.Table
    places: Numbers
    row_ids: Numbers
    origins: Numbers


class OpenFile:
    """One open file of which rows are read, and which of them are gone."""

    def __init__(
        self,
        store: Store,
        given: Input,
        snapshot: int,
        *,
        layout: Layout | None = None,
        forms: Forms | None = None,
    ) -> None:
        """Open a file and its deletes.

        Columns of which the `layout` tells the value are not read. `forms` are for files that are
        opened one after the other.

        Raises:
            CorruptionError: If one of them is missing or damaged.
        """
        file = self.file = given.file
        self.layout = layout
        self.forms = Forms() if forms is None else forms
        self._sources: tuple[Schema, tuple[Source, ...]] | None = None
        with naming(file.path):
            self.parquet = fetched(store, file)
            self.described: tuple[Part, ...] = self.forms.of(self.parquet)
        check_rows(file, self.parquet)
        self.snapshot = snapshot if needs_snapshot(file, snapshot) else None
        every = range(self.parquet.metadata.num_row_groups)
        self.groups = tuple(every) if given.groups is None else given.groups
        counts = [self.parquet.metadata.row_group(i).num_rows for i in every]
        self.starts = list(accumulate(counts, initial=0))
        positions = gone(store, file, snapshot)
        self.gone = None if positions is None else np.sort(positions.to_numpy())

    @property
    def first_id(self) -> int | None:
        """The id of the first row, where the ids of all others follow from it."""
        return None if special(self.described, ROW_ID) else self.file.row_id_start

    def pieces(self, columns: Schema) -> Iterator["FilePiece"]:
        """Yield the row groups that matter, with the columns asked for."""
        for ordinal in self.groups:
            read = list(self.batches(ordinal, columns))
            if len(read) == 1:
                yield FilePiece(self, ordinal, read[0].table, read[0].places)
            elif read:
                table = pa.concat_tables([rows.table for rows in read])
                places = np.concatenate([rows.places for rows in read])
                yield FilePiece(self, ordinal, table, places)

    def batches(
        self, ordinal: int, columns: Schema, *, ids: bool = False, origins: bool = False
    ) -> Iterator[Rows]:
        """Yield the living rows of a row group."""
        found = self.sources(columns)
        hidden = self._hidden(ids=ids, origins=origins)
        paths = [path for source in (*found, *hidden) for path in source.paths()]
        start = self.starts[ordinal]
        for batch in self._read(ordinal, list(dict.fromkeys(paths))):
            positions = np.arange(start, start + batch.num_rows, dtype=np.int64)
            start += batch.num_rows
            alive = self._alive(batch, positions, hidden)
            table = batch if alive is None else batch.filter(pa.array(alive))
            positions = positions if alive is None else positions[alive]
            if len(positions):
                row_ids = self._row_ids(table, positions, hidden) if ids else positions
                since = self._origins(table, hidden) if origins else positions
                kept = _bare(len(positions))
                if len(columns):
                    kept = conform(table, found, columns, self.forms.target(columns))
                yield Rows(kept, positions, row_ids, since)

    def sources(self, columns: Schema) -> tuple[Source, ...]:
        """Say where the values of columns come from."""
        if self._sources is None or self._sources[0] is not columns:
            found = self.forms.sources(self.file, self.described, columns)
            known = found if self.layout is None else constant(self.file, self.layout, found)
            self._sources = (columns, known)
        return self._sources[1]

    def _hidden(self, *, ids: bool, origins: bool) -> tuple[Source, ...]:
        """Return the internal columns that are needed."""
        wanted = [_ROW_ID] if ids else []
        wanted += [_SINCE] if origins else []
        merged = origins and self.file.last is not None
        wanted += [_SNAPSHOT] if merged or self.snapshot is not None else []
        found = [(field, special(self.described, field.id)) for field in wanted]
        if self.snapshot is not None and found[-1][1] is None:
            msg = f"{self.file.path} spans several snapshots, but does not say which row came when"
            raise CorruptionError(msg)
        return tuple(Source(field=field, part=part) for field, part in found if part is not None)

    def _read(self, ordinal: int, paths: list[str]) -> Iterator[pa.Table]:
        if not paths:
            yield _bare(self.parquet.metadata.row_group(ordinal).num_rows)
            return
        with naming(self.file.path):
            batches = self.parquet.iter_batches(
                _BATCH_ROWS, row_groups=[ordinal], columns=paths, use_threads=False
            )
        while True:
            stopping.check()
            with naming(self.file.path):
                batch = next(batches, None)
            if batch is None:
                return
            yield pa.Table.from_batches([batch])

    def _alive(
        self, table: pa.Table, positions: Numbers, hidden: tuple[Source, ...]
    ) -> NDArray[np.bool_] | None:
        alive = None if self.gone is None else _without(positions, self.gone)
        if self.snapshot is not None:
            came = _numbers(table, hidden, SNAPSHOT_ID)
            old = np.ones(len(positions), dtype=bool) if came is None else came <= self.snapshot
            alive = old if alive is None else alive & old
        return alive

    def _origins(self, table: pa.Table, hidden: tuple[Source, ...]) -> Numbers:
        """Return the snapshot that each row came with; 0 in a file that waits for its commit."""
        came = np.full(table.num_rows, max(self.file.since, 0) if self.file.id >= 0 else 0)
        for number in (SNAPSHOT_ID, SINCE_ID):
            own = _numbers(table, hidden, number, came)
            came = came if own is None else own
        return came

    def _row_ids(self, table: pa.Table, positions: Numbers, hidden: tuple[Source, ...]) -> Numbers:
        start = self.file.row_id_start
        own = _numbers(table, hidden, ROW_ID, None if start is None else positions + start)
        if own is not None:
            return own
        if start is None:
            msg = f"{self.file.path} does not say which rows it holds: nobody gave them ids"
            raise CorruptionError(msg)
        return positions + start


def _bare(rows: int) -> pa.Table:
    return pa.table({"": pa.nulls(rows)})


def _without(positions: Numbers, gone: Numbers) -> NDArray[np.bool_]:
    """Tell which of some positions that follow each other stay; those that are gone are sorted."""
    first, last = np.searchsorted(gone, (positions[0], positions[-1] + 1))
    alive = np.ones(len(positions), dtype=bool)
    alive[gone[first:last] - positions[0]] = False
    return alive


def _numbers(
    table: pa.Table, hidden: tuple[Source, ...], number: int, otherwise: Numbers | None = None
) -> Numbers | None:
    """Return an internal column, where it is NULL what holds otherwise; None when there is none."""
    if not any(source.field.id == number for source in hidden):
        return None
    mark = str(number).encode()
    place = next(
        i for i, f in enumerate(table.schema) if (f.metadata or {}).get(b"PARQUET:field_id") == mark
    )
    column = table.column(place).cast(pa.int64()).combine_chunks()
    values: Numbers = column.fill_null(0).to_numpy(zero_copy_only=False)
    if not column.null_count:
        return values
    known = column.is_valid().to_numpy(zero_copy_only=False)
    return np.where(known, values, 0 if otherwise is None else otherwise)


@dataclass(frozen=True)
class FilePiece:
    """The living rows of one row group."""

    opened: OpenFile
    ordinal: int
    rows: pa.Table
    places: Numbers

    @property
    def file(self) -> DataFile:
        """The file that they lie in."""
        return self.opened.file

    def full(self, kept: Numbers, schema: Schema) -> Iterator[tuple[Numbers, pa.Table, Numbers]]:
        """Yield parts of the rows numbered `kept`: their numbers, their columns, their ids."""
        first, names = self.opened.first_id, list(schema.names)
        if first is not None and set(names).issubset(self.rows.column_names):
            table = self.rows.select(names).take(pa.array(kept)) if names else _bare(len(kept))
            yield kept, table, self.places[kept] + first
            return
        start = 0
        for rows in self.opened.batches(self.ordinal, schema, ids=True):
            end = start + len(rows.places)
            here = kept[(kept >= start) & (kept < end)]
            if len(here):
                inside = here - start
                yield here, rows.table.take(pa.array(inside)), rows.row_ids[inside]
            start = end


@dataclass(frozen=True)
class InlinedPiece:
    """Rows that lie in the catalog itself; their ids name them."""

    inlined: InlinedRows
    schema: Schema

    @cached_property
    def _table(self) -> pa.Table:
        return unpack(self.inlined, self.schema)

    @property
    def rows(self) -> pa.Table:
        """All columns: they are here anyway."""
        return self._table.select(list(range(3, self._table.num_columns)))

    @property
    def places(self) -> Numbers:
        """The ids of the rows."""
        ids: Numbers = self._table.column(0).to_numpy()
        return ids

    def full(self, kept: Numbers, schema: Schema) -> Iterator[tuple[Numbers, pa.Table, Numbers]]:
        """Yield the rows numbered `kept`: their numbers, their columns, their ids."""
        if len(kept):
            taken = self.rows.take(pa.array(kept))
            yield kept, taken.select(list(schema.names)), self.places[kept]
