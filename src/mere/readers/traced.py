"""Read the rows of one file, each with its id and the snapshots that it came and went with."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mere.model.feed import Feed
from mere.model.schema import ROW_ID, SINCE_ID, SNAPSHOT_ID, Schema
from mere.plan.changes import FileChanges
from mere.ports import Reading
from mere.readers import groups
from mere.reading.conform import conform
from mere.reading.footers import check_rows, naming, opened
from mere.reading.forms import Part, Source, parts, sources, special
from mere.reading.versions import (
    NEVER,
    Numbers,
    Versions,
    deleted,
    ended_by,
    filled,
    origins_of,
    require_ids,
)

_BATCH_ROWS = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """One open file, and when its rows came and went."""

    changes: FileChanges
    quiet: frozenset[int]
    parquet: pq.ParquetFile
    columns: Schema
    found: tuple[Source, ...]
    row_id: Part | None
    since: Part | None
    origin: Part | None
    groups: tuple[int, ...]
    deleted: tuple[Numbers, Numbers]
    before: tuple[Numbers, Numbers] | None
    after: tuple[Numbers, Numbers] | None

    @property
    def in_one(self) -> bool:
        """Tell whether all rows came in one snapshot, each with an id by its place."""
        hidden = (self.row_id, self.since, self.origin)
        plain = all(part is None for part in hidden) and self.before is None
        return plain and not (self.deleted[1] <= self.changes.trace.file.since).any()

    def batches(self) -> Iterator[tuple[pa.Table, Versions]]:
        """Yield the columns asked for, and what is known of the same rows."""
        starts = np.cumsum([0, *(g.num_rows for g in self._every())])
        hidden = [p for p in (self.row_id, self.since, self.origin) if p is not None]
        leaves = [leaf for part in hidden for leaf in part.leaves]
        paths = [path for source in self.found for path in source.paths()]
        names = list(dict.fromkeys([*paths, *leaves]))
        for ordinal in self.groups:
            start = int(starts[ordinal])
            for table in self._group(ordinal, names):
                yield conform(table, self.found, self.columns), self._versions(table, start)
                start += table.num_rows

    def _every(self) -> Iterator[pq.RowGroupMetaData]:
        footer = self.parquet.metadata
        return (footer.row_group(i) for i in range(footer.num_row_groups))

    def _group(self, ordinal: int, names: list[str]) -> Iterator[pa.Table]:
        path = self.changes.trace.file.path
        if not names:
            yield pa.table({"": pa.nulls(self.parquet.metadata.row_group(ordinal).num_rows)})
            return
        with naming(path):
            batches = self.parquet.iter_batches(_BATCH_ROWS, row_groups=[ordinal], columns=names)
        while True:
            with naming(path):
                batch = next(batches, None)
            if batch is None:
                return
            yield pa.Table.from_batches([batch])

    def _versions(self, table: pa.Table, start: int) -> Versions:
        file = self.changes.trace.file
        positions = np.arange(start, start + table.num_rows, dtype=np.int64)
        began = np.full(len(positions), file.since, dtype=np.int64)
        if self.since is not None:
            began = filled(table, self.since, began)
        origins, copied = origins_of(table, self.origin, began)
        until = self.changes.until
        ended = ended_by(self.deleted, positions, NEVER if until is None else until)
        seen = ended > began  # what a restore hides came and went at no time
        ended = np.where(seen, self._unless_it_stays(positions, ended), NEVER)
        began = np.where(seen, self._unless_it_was(positions, began), NEVER)
        began[np.isin(began, list(self.quiet))] = NEVER
        row_ids = positions + (file.row_id_start or 0)
        if self.row_id is not None:
            row_ids = filled(table, self.row_id, row_ids)
        return Versions(row_ids=row_ids, began=began, ended=ended, origins=origins, copied=copied)

    def _unless_it_stays(self, positions: Numbers, ended: Numbers) -> Numbers:
        """Leave out ends of rows that the next listing of the same file shows."""
        if self.after is None:
            return ended
        stays = ~np.isin(positions, _by(self.after, self.changes.until))
        return np.where(stays & (ended == self.changes.until), NEVER, ended)

    def _unless_it_was(self, positions: Numbers, began: Numbers) -> Numbers:
        """Leave out beginnings of rows that the listing of the same file before showed."""
        if self.before is None:
            return began
        since = self.changes.trace.file.since
        return np.where(np.isin(positions, _by(self.before, since - 1)), began, NEVER)


def _by(deleted: tuple[Numbers, Numbers], snapshot: int | None) -> Numbers:
    """Return the positions that were deleted by a snapshot."""
    positions, snapshots = deleted
    return positions if snapshot is None else positions[snapshots <= snapshot]


def open_traced(reading: Reading, feed: Feed, changes: FileChanges, columns: Schema) -> Traced:
    """Open a file and read which of its rows were deleted when.

    Raises:
        CorruptionError: If a file is missing or damaged, or does not say which rows it holds.
    """
    file = changes.trace.file
    with naming(file.path):
        parquet = opened(reading.store.open(file.path), pre_buffer=True)
        described = parts(parquet)
    check_rows(file, parquet)
    found = sources(file, described, columns)
    row_id = special(described, ROW_ID)
    since = None if file.last is None else special(described, SNAPSHOT_ID)
    require_ids(changes.trace, row_id)
    return Traced(
        changes=changes,
        quiet=feed.quiet,
        parquet=parquet,
        columns=columns,
        found=found,
        row_id=row_id,
        since=since,
        origin=special(described, SINCE_ID),
        groups=groups.surviving(parquet.metadata, found, reading.where, None),
        deleted=deleted(reading.store, changes.trace),
        before=None if changes.before is None else deleted(reading.store, changes.before),
        after=None if changes.after is None else deleted(reading.store, changes.after),
    )
