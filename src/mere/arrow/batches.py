"""Bring the batches of a stream to a size that is worth working on."""

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

from mere.arrow.casting import conformer
from mere.model.schema import Schema

_POOL_ROWS = 1 << 18
_POOL_BYTES = 32 << 20


def pooled(batches: Iterable[pa.RecordBatch], target: Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows with the columns of a table, in batches that are neither small nor large.

    Raises:
        SchemaMismatchError: Naming a column whose values do not fit.
    """
    fitted: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None
    columns: pa.Schema | None = None
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in _sliced(batches):
        if fitted is None or not batch.schema.equals(columns):  # a stream may change its mind
            columns, fitted = batch.schema, conformer(batch.schema, target)
        held.append(fitted(batch))
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _POOL_ROWS or size >= _POOL_BYTES:
            yield _joined(held)
            held, rows, size = [], 0, 0
    if held:
        yield _joined(held)


def _sliced(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if batch.num_rows == 0:
            continue
        per_row = max(batch.nbytes // batch.num_rows, 1)
        step = max(min(_POOL_ROWS, _POOL_BYTES // per_row), 1)
        for start in range(0, batch.num_rows, step):
            yield batch.slice(start, step)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
