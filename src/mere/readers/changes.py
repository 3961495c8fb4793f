"""Hand out how rows changed as Arrow: each row version when it came, and when it went."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mere.arrow import to_arrow
from mere.arrow.inlined import HIDDEN, unpack
from mere.model.feed import Feed
from mere.model.schema import Schema
from mere.plan.changes import FileChanges, plan_changes
from mere.ports import Reading
from mere.readers.streams import wanted
from mere.readers.traced import open_traced
from mere.readers.updates import Updates
from mere.reading import rows
from mere.reading.versions import Versions

COLUMNS = (("snapshot_id", pa.int64()), ("rowid", pa.int64()), ("change_type", pa.string()))
_BATCH_ROWS = 1 << 17
_NEVER = np.iinfo(np.int64).max


def schema(columns: Schema) -> pa.Schema:
    """Return the columns that come out: when, which row, how, and the table's own."""
    own = to_arrow(columns, ids=False)
    return pa.schema([*(pa.field(name, kind) for name, kind in COLUMNS), *own])


def reader(reading: Reading, feed: Feed) -> pa.RecordBatchReader:
    """Stream the changes, file by file; nothing is opened before the first batch is taken."""
    out = schema(reading.schema)
    return pa.RecordBatchReader.from_batches(out, _batches(reading, feed, out))


def read(reading: Reading, feed: Feed) -> pa.Table:
    """Read the changes into one table, in the order in which they happened."""
    table = reader(reading, feed).read_all()
    keys = [table.column(place) for place in range(len(COLUMNS))]
    # An old version before the new one: preimage comes after postimage in the alphabet.
    order = pa.table([*keys[:2], pc.starts_with(keys[2], "update_post")], names=["s", "r", "c"])
    sorting = [("s", "ascending"), ("r", "ascending"), ("c", "ascending")]
    return table.take(pc.sort_indices(order, sort_keys=sorting))


def _batches(reading: Reading, feed: Feed, out: pa.Schema) -> Iterator[pa.RecordBatch]:
    work = _Work(reading=reading, feed=feed, columns=wanted(reading), out=out)
    for table in work.tables():
        yield from table.to_batches(max_chunksize=_BATCH_ROWS)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What is read, and what comes out."""

    reading: Reading
    feed: Feed
    columns: Schema
    out: pa.Schema

    def tables(self) -> Iterator[pa.Table]:
        planned = plan_changes(self.feed)
        inlined = self._inlined()
        updates = Updates.of(self.reading, self.feed, planned, inlined)
        for file in planned:
            yield from self._file(file, updates)
        if inlined is not None:
            table = unpack(self.feed.inlined, self.reading.table)
            own = table.select(list(range(len(HIDDEN), table.num_columns)))
            named = self.reading.table.names
            kept = own.select([named.index(name) for name in self.columns.names])
            yield from self._changes(inlined, kept, updates)

    def _inlined(self) -> Versions | None:
        if self.feed.inlined is None:
            return None
        table = unpack(self.feed.inlined, self.reading.table)
        ids, began, ended = (table.column(place) for place in range(len(HIDDEN)))
        return Versions(
            row_ids=ids.to_numpy(),
            began=began.to_numpy(),
            ended=pc.fill_null(ended, int(_NEVER)).to_numpy(),
            origins=began.to_numpy(),
            copied=np.zeros(table.num_rows, dtype=bool),
        )

    def _file(self, file: FileChanges, updates: Updates) -> Iterator[pa.Table]:
        traced = open_traced(self.reading, self.feed, file, self.columns)
        for table, versions in traced.batches():
            yield from self._changes(versions, table, updates)

    def _changes(self, versions: Versions, table: pa.Table, updates: Updates) -> Iterator[pa.Table]:
        """Yield the rows that went, then those that came, of some row versions."""
        went, came = (
            np.where(updates.copied(snapshots, versions.row_ids), _NEVER, snapshots)
            for snapshots in (versions.ended, versions.began)
        )
        ends = ((went, "delete", "update_preimage"),)
        begins = ((came, "insert", "update_postimage"),)
        for snapshots, plain, updated in (*ends, *begins):
            found = (snapshots >= self.feed.since) & (snapshots <= self.feed.until)
            if found.any():
                yield self._made(
                    table.filter(pa.array(found)),
                    snapshots[found],
                    versions.row_ids[found],
                    (plain, updated),
                    updates,
                )

    def _made(
        self,
        table: pa.Table,
        snapshots: NDArray[np.int64],
        row_ids: NDArray[np.int64],
        words: Sequence[str],
        updates: Updates,
    ) -> pa.Table:
        both = pa.array(updates.among(snapshots, row_ids))
        said = pc.if_else(both, pa.scalar(words[1]), pa.scalar(words[0]))
        told = [pa.array(snapshots), pa.array(row_ids), said]
        where = self.reading.where
        if where is not None:
            place = pa.field("", pa.int64())
            numbered = table.append_column(place, pa.array(np.arange(table.num_rows)))
            table = rows.matching(numbered, where, self.columns)
            kept = table.column(table.num_columns - 1)
            told = [column.take(kept) for column in told]
        own = [table.column(self.columns.names.index(n)) for n in self.reading.schema.names]
        return pa.Table.from_arrays([*told, *own], schema=self.out)
