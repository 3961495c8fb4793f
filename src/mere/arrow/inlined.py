"""Carry rows that lie in a catalog as bytes, since what travels knows nothing of Arrow."""

from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from mere.arrow.partitions import split
from mere.arrow.types import file_schema, to_arrow
from mere.model.files import InlinedRows, Value
from mere.model.layout import PartitionKey
from mere.model.schema import Schema

HIDDEN = ("row_id", "begin_snapshot", "end_snapshot")
"""The columns that come before the table's own; they go by their place, not by these names."""


def pack(table: pa.Table, *, exact: bool = True) -> InlinedRows | None:
    """Return rows as what travels, None when there are none; the hidden columns come first."""
    if not table.num_rows:
        return None
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data = sink.getvalue().to_pybytes()
    return InlinedRows(data=data, row_ids=tuple(table.column(0).to_pylist()), exact=exact)


def unpack(rows: InlinedRows | None, schema: Schema) -> pa.Table:
    """Return the rows with the hidden columns first, then those of the head's schema."""
    if rows is None:
        hidden = [pa.field(name, pa.int64()) for name in HIDDEN]
        return pa.schema([*hidden, *to_arrow(schema, ids=False)]).empty_table()
    return _opened(rows)


def rows_of(rows: InlinedRows, schema: Schema) -> pa.Table:
    """Return the columns of the head's schema alone."""
    table = unpack(rows, schema)
    return table.select(list(range(len(HIDDEN), table.num_columns)))


def by_partition(
    rows: InlinedRows | None, keys: Sequence[PartitionKey], schema: Schema
) -> dict[tuple[Value | None, ...], list[int]]:
    """Return the ids of the rows by the partition that each belongs to."""
    found: dict[tuple[Value | None, ...], list[int]] = {}
    if rows is None:
        return found
    stored = [field.remove_metadata() for field in file_schema(schema)]
    table = unpack(rows, schema)
    ids = pa.field("", pa.int64())
    lying = rows_of(rows, schema).cast(pa.schema(stored)).append_column(ids, table.column(0))
    for batch in lying.combine_chunks().to_batches():
        for _, values, parts in split(batch, keys, schema):
            found.setdefault(values, []).extend(n for part in parts for n in part[-1].to_pylist())
    return found


def came_after(rows: InlinedRows | None, snapshot: int) -> InlinedRows | None:
    """Keep the rows that came after a snapshot."""
    if rows is None:
        return None
    table = _opened(rows)
    return pack(table.filter(pc.greater(table.column(1), snapshot)), exact=rows.exact)


def gone_at(rows: InlinedRows | None, snapshots: range) -> frozenset[int]:
    """Return the snapshots in a range at which some of the rows went."""
    ends = [] if rows is None else _opened(rows).column(2).to_pylist()
    return frozenset(end for end in ends if end in snapshots)


def _opened(rows: InlinedRows) -> pa.Table:
    with pa.ipc.open_stream(pa.py_buffer(rows.data)) as reader:
        return reader.read_all()


def without(rows: InlinedRows | None, row_ids: Collection[int]) -> InlinedRows | None:
    """Leave out the rows with these ids."""
    if rows is None or not row_ids:
        return rows
    return _split(rows, row_ids, keep=False)


def only(rows: InlinedRows | None, row_ids: Collection[int]) -> InlinedRows | None:
    """Leave out all rows but those with these ids."""
    return None if rows is None or not row_ids else _split(rows, row_ids, keep=True)


def _split(rows: InlinedRows, row_ids: Collection[int], *, keep: bool) -> InlinedRows | None:
    table = _opened(rows)
    named = pc.is_in(table.column(0), value_set=pa.array(sorted(row_ids), pa.int64()))
    return pack(table.filter(named if keep else pc.invert(named)), exact=rows.exact)
