"""Do a sift: find the rows of which another one has the same key, whole columns at a time.

A row that is no match for another one among some rows is none among all of them. So what is
left of each part is all that the next step has to look at, and no step holds more than a part.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mere.arrow import file_schema, to_arrow
from mere.arrow.partitions import transform_column
from mere.arrow.positions import pack
from mere.model.files import DataFile, Deletion
from mere.model.layout import PartitionKey
from mere.model.schema import Field, Schema
from mere.model.work import Result, Sift
from mere.ports import Store
from mere.reading.conform import conform
from mere.reading.footers import naming, opened
from mere.reading.forms import parts, sources
from mere.reading.pieces import InlinedPiece, OpenFile
from mere.reading.ranks import codes, ranks

Numbers = NDArray[np.int64]
PART_BYTES = 64 << 20
"""Up to so many bytes of keys are looked at together, unless all of them fit."""
NO_FILE = -(1 << 62)
"""Stands for the file of rows that lie in the catalog itself."""
UNHASHED = frozenset({"boolean", "json", "interval", "timetz"})
_BUCKET, _FILE, _PLACE, _ROW_ID = "bucket", "file", "place", "row_id"


def sifted_schema(task: Sift) -> Schema:
    """Return the columns of what a sift leaves: keys, order, and where each row lies."""
    names = (*task.on, *_ordering(task))
    columns = [task.schema.field(name) for name in names]
    hidden = (_BUCKET, _FILE, _PLACE, _ROW_ID)
    plain = [(f"c{n}", column.type) for n, column in enumerate(columns)]
    every = (*((name, "int64") for name in hidden), *plain)
    return Schema(fields=tuple(Field(name=n, type=t, id=i) for i, (n, t) in enumerate(every, 1)))


def bucket_key() -> PartitionKey:
    """Return the key by which what a sift leaves is split."""
    return PartitionKey(column=1)


def sift(task: Sift, store: Store, write: Callable[..., Result]) -> Result:
    """Say which rows go, and write those that are left where the task says, by `write`."""
    job = _Job(task, store)
    if task.write is None:
        for _ in job.left():
            pass
        return job.result(())
    reader = pa.RecordBatchReader.from_batches(file_schema(task.write.schema), job.left())
    return job.result(write(reader, task=task.write, store=store).files)


def _ordering(task: Sift) -> tuple[str, ...]:
    by_id = {field.id: field.name for field in task.schema}
    return tuple(by_id[key.column] for key in task.order)


class _Job:
    """One sift from its first row to its last."""

    def __init__(self, task: Sift, store: Store) -> None:
        self.task = task
        self.store = store
        self.schema = sifted_schema(task)
        self.columns = [f"c{n}" for n in range(len(task.on) + len(task.order))]
        self.fields = [task.schema.field(name) for name in (*task.on, *_ordering(task))]
        distinct = dict.fromkeys(field.name for field in self.fields)
        self.looked_at = Schema(fields=tuple(task.schema.field(name) for name in distinct))
        self.rows_in = 0
        self.gone: dict[int, list[Numbers]] = {}

    def left(self) -> Iterator[pa.RecordBatch]:
        """Look at all rows, and yield those that are left of each part."""
        held: list[pa.Table] = []
        size = 0
        for table in self._tables():
            self.rows_in += table.num_rows
            held.append(table)
            size += table.nbytes
            if self.task.write is not None and size >= PART_BYTES:
                yield from self._kept(held)
                held, size = [], 0
        if held:
            yield from self._kept(held)

    def _kept(self, held: Sequence[pa.Table]) -> Iterator[pa.RecordBatch]:
        table = pa.concat_tables(held)
        going = self._going(table)
        files = table.column(_FILE).to_numpy()[going]
        places = table.column(_PLACE).to_numpy()[going]
        for number in np.unique(files).tolist():
            self.gone.setdefault(number, []).append(places[files == number])
        if self.task.write is None:
            return
        stays = np.ones(table.num_rows, dtype=bool)
        stays[going] = False
        rest = table.filter(pa.array(stays)).combine_chunks()
        for batch in rest.to_batches():
            arrays = [self._buckets(batch), *batch.columns]
            stored = file_schema(self.schema)
            made = pa.Table.from_arrays(arrays, names=list(self.schema.names))
            yield from made.cast(stored).to_batches()

    def _going(self, table: pa.Table) -> Numbers:
        """Return the numbers of the rows that go: all of a key but one."""
        keys = len(self.task.on)
        code = codes([table.column(name) for name in self.columns[:keys]], table.num_rows)
        several = np.flatnonzero(np.bincount(code)[code] > 1)
        if not len(several):
            return several
        some = table.select(self.columns[keys:]).take(pa.array(several))
        order = [
            ranks(some.column(place), descending=key.descending, nulls_first=key.nulls_first)
            for place, key in enumerate(self.task.order)
        ]
        row_ids = table.column(_ROW_ID).to_numpy()[several]
        code = code[several]
        places = np.lexsort((row_ids, *reversed(order), code))
        turns = np.flatnonzero(np.diff(code[places])) + 1
        stays = np.append(turns - 1, len(places) - 1) if self.task.last else np.append(0, turns)
        return several[np.delete(places, stays)]

    def _buckets(self, batch: pa.RecordBatch) -> pa.Array:
        """Return a number for each row, below the count of buckets, by the hash of its key."""
        found = np.zeros(batch.num_rows, dtype=np.int64)
        for name, field in zip(self.columns, self.fields[: len(self.task.on)], strict=False):
            if field.type in UNHASHED:
                continue
            column = batch.column(name)
            stored = column.cast(file_schema(Schema(fields=(field,))).field(0).type)
            by = PartitionKey(column=field.id, transform="bucket", buckets=(1 << 31) - 1)
            hashed = transform_column(by, field, stored).fill_null(0)
            found = found * 31 + hashed.to_numpy(zero_copy_only=False).astype(np.int64)
        return pa.array((found & ((1 << 62) - 1)) % self.task.buckets)

    def _tables(self) -> Iterator[pa.Table]:
        for given in self.task.inputs:
            yield from self._of_file(OpenFile(self.store, given, self.task.snapshot))
        if self.task.inlined is not None:
            piece = InlinedPiece(self.task.inlined, self.task.schema)
            yield self._named(piece.rows, NO_FILE, piece.places, piece.places)
        for file in self.task.sifted:
            with naming(file.path):
                parquet = opened(self.store.open(file.path))
                table, described = parquet.read(), parts(parquet)
            known = sources(file, described, self.schema)
            yield conform(table, known, self.schema).drop_columns([_BUCKET])

    def _of_file(self, file: OpenFile) -> Iterator[pa.Table]:
        for ordinal in file.groups:
            for rows in file.batches(ordinal, self.looked_at, ids=True):
                yield self._named(rows.table, file.file.id, rows.places, rows.row_ids)

    def _named(self, table: pa.Table, file: int, places: Numbers, row_ids: Numbers) -> pa.Table:
        hidden = [pa.repeat(pa.scalar(file, pa.int64()), len(places)), places, row_ids]
        kinds = to_arrow(self.schema, ids=False)
        own = [
            table.column(field.name).cast(kinds.field(name).type)
            for name, field in zip(self.columns, self.fields, strict=True)
        ]
        arrays = [*hidden, *own]
        return pa.table(arrays, names=[_FILE, _PLACE, _ROW_ID, *self.columns])

    def result(self, files: tuple[DataFile, ...]) -> Result:
        """Say what was found."""
        found = {number: np.concatenate(parts) for number, parts in self.gone.items()}
        row_ids = found.pop(NO_FILE, np.empty(0, np.int64))
        return Result(
            files=files,
            rows_in=self.rows_in,
            rows_out=self.rows_in - sum(map(len, found.values())) - len(row_ids),
            deletions=tuple(
                Deletion(file_id=number, rows=len(places), positions=pack(places))
                for number, places in found.items()
            ),
            row_ids=tuple(row_ids.tolist()),
            number=self.task.number,
        )
