"""Hand out rows as a Daft DataFrame that is fed as it runs."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import daft
from daft.io import DataSource, DataSourceTask
from daft.recordbatch import RecordBatch
from daft.schema import Schema as DaftSchema

from mere.arrow import to_arrow
from mere.arrow.bare import bare, bare_schema
from mere.ports import Reading
from mere.readers import streams
from mere.readers.chunks import chunks


def read(reading: Reading) -> daft.DataFrame:
    """Return a DataFrame whose rows are read when and as far as Daft asks.

    Several files are read side by side, only the columns that are needed. The rows are pinned:
    collected twice, they are the same.
    """
    frame = _Rows(replace(reading, limit=None)).read()
    return frame if reading.limit is None else frame.limit(reading.limit)


def _schema(reading: Reading) -> DaftSchema:
    return DaftSchema.from_pyarrow_schema(bare_schema(to_arrow(reading.schema, ids=False)))


class _Rows(DataSource):  # the way in that Daft offers
    """Answer what Daft asks of a source, out of the rows that `mere` reads."""

    def __init__(self, reading: Reading) -> None:
        """Keep what to read; nothing is opened."""
        self._reading = reading

    @property
    def name(self) -> str:
        """Name the source in plans."""
        return "mere"

    @property
    def schema(self) -> DaftSchema:
        """Return the columns as Daft sees them."""
        return _schema(self._reading)

    async def get_tasks(self, pushdowns: Any) -> AsyncIterator["_Part"]:
        """Return the parts that are read side by side."""
        reading = self._reading
        if pushdowns.columns:
            reading = replace(reading, schema=reading.schema.select(tuple(pushdowns.columns)))
        if pushdowns.filters is None and pushdowns.limit is not None:
            reading = replace(reading, limit=pushdowns.limit)
        for part in chunks(reading):
            yield _Part(part)


@dataclass(frozen=True)
class _Part(DataSourceTask):
    """Some of the files."""

    reading: Reading

    @property
    def schema(self) -> DaftSchema:
        """Return the columns that come out."""
        return _schema(self.reading)

    async def read(self) -> AsyncIterator[RecordBatch]:
        """Read the rows."""
        schema = bare_schema(to_arrow(self.reading.schema, ids=False))
        for table in streams.tables(self.reading):
            batches = bare(table).combine_chunks().to_batches()
            yield RecordBatch.from_arrow_record_batches(batches, schema)
