"""Hand out rows as Arrow: batches, a reader, or one table."""

from collections.abc import Iterator

import pyarrow as pa

from mere.arrow import to_arrow
from mere.ports import Reading
from mere.readers import streams

BATCH_ROWS = 1 << 17


def batches(reading: Reading) -> Iterator[pa.RecordBatch]:
    """Stream the rows as record batches, in file order, in bounded memory."""
    for table in streams.tables(reading):
        yield from table.to_batches(max_chunksize=BATCH_ROWS)


def reader(reading: Reading) -> pa.RecordBatchReader:
    """Stream the rows as a RecordBatchReader; no file is opened before the first batch is taken."""
    schema = to_arrow(reading.schema, ids=False)
    return pa.RecordBatchReader.from_batches(schema, batches(reading))


def read(reading: Reading) -> pa.Table:
    """Read the rows into one table."""
    schema = to_arrow(reading.schema, ids=False)
    found = list(streams.tables(reading))
    if len(found) == 1:
        return found[0]
    return pa.concat_tables(found) if found else schema.empty_table()
