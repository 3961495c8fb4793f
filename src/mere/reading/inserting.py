"""Take staged rows by themselves: find keys that come twice, insert rows that have no match.

How conditions and values are computed is the same for every kernel; how rows are written is not.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mere.arrow import conformer, file_schema
from mere.arrow.positions import unpack
from mere.model.schema import Schema
from mere.model.work import Clause, Insert, Result, Staged
from mere.ports import Store
from mere.reading.source import Source
from mere.reading.values import computed, truths

BETWEEN = "\x1e"
"""Stands between the keys that a problem names."""
_SHOWN = 5


def vetted(staged: Staged, *, store: Store) -> Result:
    """Count the rows, in and out, without those whose key came before; some are the problem."""
    rows, repeated = 0, 0
    shown: list[str] = []
    for _, chunk in Source(staged, store).chunks():
        again = chunk.keys.repeated
        rows += chunk.rows.num_rows
        repeated += len(again)
        found = chunk.rows.select(list(staged.on)).take(pa.array(again[:_SHOWN]))
        shown += [_spelled(found, row) for row in range(found.num_rows)]
    problem = BETWEEN.join(shown[:_SHOWN]) if shown else None
    return Result(rows_in=rows, rows_out=rows - repeated, problem=problem)


def _spelled(table: pa.Table, row: int) -> str:
    return ", ".join(f"{name}={table.column(name)[row]}" for name in table.column_names)


def insert(task: Insert, *, store: Store, write: Callable[..., Result]) -> Result:
    """Write the rows without a match by `write`, or only count them."""
    batches = _batches(task, store)
    if task.write is None:
        return Result(rows_in=sum(batch.num_rows for batch in batches), number=task.number)
    first = next(batches, None)
    if first is None:
        return Result(number=task.number)
    columns = file_schema(task.schema)
    reader = pa.RecordBatchReader.from_batches(columns, _chained(first, batches))
    return replace(write(reader, task=task.write, store=store), number=task.number)


def _batches(task: Insert, store: Store) -> Iterator[pa.RecordBatch]:
    known = unpack(task.matched)
    schema = Schema(fields=task.staged.fields)
    for start, chunk in Source(task.staged, store).chunks():
        rows = chunk.rows
        fresh = np.ones(rows.num_rows, dtype=bool)
        here = known[(known >= start) & (known < start + rows.num_rows)]
        fresh[here - start] = False
        table = rows.filter(pa.array(fresh)).rename_columns(list(schema.names))
        for clause in task.clauses:
            chosen = table
            if clause.when is not None:
                truth = truths(clause.when, table, schema)
                chosen, table = table.filter(truth), table.filter(pc.invert(truth))
            else:
                table = table.slice(0, 0)
            yield from _made(task.schema, clause, chosen)


def _made(schema: Schema, clause: Clause, table: pa.Table) -> Iterator[pa.RecordBatch]:
    if not table.num_rows:
        return
    columns = [computed(expr, table, schema.field(name)) for name, expr in clause.sets]
    made = pa.table(columns, names=[name for name, _ in clause.sets])
    fitted = conformer(made.schema, schema)
    yield from (fitted(batch) for batch in made.combine_chunks().to_batches())


def _chained(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest
