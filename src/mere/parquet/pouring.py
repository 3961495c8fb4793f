"""Write rows that come as they shall lie in a file: full row groups, one after the other."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from mere.arrow import file_schema
from mere.errors import MereError
from mere.model.work import Result, Write
from mere.parquet.encoding import codec, leaves
from mere.parquet.lanes import Gate, InPlace, Lane
from mere.parquet.outlet import Outlet, Place
from mere.ports import Store

_SHARE = 4
"""Rows that are gathered, that wait, and that are encoded: each takes its share of memory."""


def pour(
    rows: pa.RecordBatchReader, *, task: Write, store: Store, memory: int, threads: int
) -> Result:
    """Write a stream of rows, in their order, while the next ones are read; on an error none stay.

    Columns have the types of files already, but for texts that come as dictionaries.
    """
    codec(task.layout)
    rows = _held(rows, task)
    place = Place(
        task=task, store=store, columns=leaves(task.stored), arrow=_stored(task, rows.schema)
    )
    outlet = Outlet(place)
    with InPlace() if threads == 1 else ThreadPoolExecutor(1) as workers:
        gate = Gate(memory // _SHARE)
        lane = Lane(workers, gate)
        try:
            for table, size in _groups(rows, place, memory // _SHARE):
                lane.put(partial(outlet.write, table), size)
            lane.put(outlet.close)
            lane.wait()
            gate.check()
        except BaseException:
            gate.leave(0, InterruptedError("the write was given up"))
            lane.wait()
            outlet.abort()
            with suppress(MereError, OSError):
                store.delete([file.path for file in outlet.files])
            raise
    count = sum(file.rows for file in outlet.files)
    size = sum(file.bytes for file in outlet.files)
    return Result(files=tuple(outlet.files), rows_in=count, rows_out=count, encoded_bytes=size)


def _held(rows: pa.RecordBatchReader, task: Write) -> pa.RecordBatchReader:
    """Leave out columns that the folders of the files tell."""
    if not task.layout.told:
        return rows
    names = task.stored.names
    schema = pa.schema([rows.schema.field(name) for name in names])
    return pa.RecordBatchReader.from_batches(schema, (batch.select(names) for batch in rows))


def _stored(task: Write, came: pa.Schema) -> pa.Schema:
    """Return the columns of the file: with their ids, and the types that rows come with."""
    pairs = zip(file_schema(task.stored), came, strict=True)
    return pa.schema([stored.with_type(field.type) for stored, field in pairs])


def _groups(rows: pa.RecordBatchReader, place: Place, most: int) -> Iterator[tuple[pa.Table, int]]:
    """Yield the rows of one row group after the other, each of a size, in bounded memory."""
    layout = place.task.layout
    held: list[pa.RecordBatch] = []
    count = size = 0
    for batch in rows:
        left = batch
        while left.num_rows:
            per_row = max((size + left.nbytes) // (count + left.num_rows), 1)
            full = min(layout.row_group_rows, max(layout.row_group_bytes // per_row, 1))
            full = min(full, max(most // per_row, 1))
            part = left.slice(0, max(full - count, 0))
            left = left.slice(part.num_rows)
            if part.num_rows:
                held.append(part)
                count, size = count + part.num_rows, size + part.nbytes
            if count >= full:
                yield _together(held, place.arrow), size
                held, count, size = [], 0, 0
    if held:
        yield _together(held, place.arrow), size


def _together(held: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """Return one table, in which each column has one dictionary, of the values that occur."""
    table = pa.Table.from_batches(held).unify_dictionaries()
    return pa.Table.from_arrays([*map(_pruned, table.columns)], schema=schema)


def _pruned(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Leave out values of a dictionary that no row has.

    Beside a NULL, pyarrow takes a dictionary of which one value does not occur for a whole one,
    and its least and greatest value for bounds.
    """
    if not (pa.types.is_dictionary(column.type) and column.null_count):
        return column
    numbers = pa.chunked_array([chunk.indices for chunk in column.chunks])
    occurring = len(pc.unique(numbers)) - 1
    if occurring == len(column.chunk(0).dictionary):
        return column
    return column.cast(column.type.value_type).dictionary_encode()
