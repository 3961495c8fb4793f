"""Hand out rows as a DataFusion DataFrame that is fed as it runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from datafusion import SessionContext
from datafusion.dataframe import DataFrame

from mere.arrow import to_arrow
from mere.arrow.bare import bare, bare_schema
from mere.ports import Reading
from mere.readers import arrow
from mere.readers.chunks import chunks


def read(reading: Reading, *, ctx: SessionContext | None = None) -> DataFrame:
    """Return a DataFrame in `ctx`, or in a context of its own.

    The files are read when and as far as DataFusion asks, several side by side, only the columns
    that it needs. The rows are pinned: collected twice, they are the same.
    """
    context = SessionContext() if ctx is None else ctx
    frame = context.read_table(_Rows(replace(reading, limit=None)))
    return frame if reading.limit is None else frame.limit(reading.limit)


class _Rows(ds.Dataset):  # type: ignore[misc]  # the only way of feeding DataFusion from Python
    """Answer what DataFusion asks of a Dataset, out of the rows that `mere` reads."""

    def __init__(self, reading: Reading) -> None:
        """Keep what to read; nothing is opened."""
        self._reading = reading

    @property
    def schema(self) -> pa.Schema:
        """Return the columns as DataFusion sees them."""
        return bare_schema(to_arrow(self._reading.schema, ids=False))

    def scanner(self, *_: Any, **asked: Any) -> "_Scan":
        """Return the rows as one scan."""
        return _Scan(self._reading, asked.get("columns"), asked.get("filter"))

    def get_fragments(self, *_: Any, **__: Any) -> Iterator["_Fragment"]:
        """Return the parts that are read side by side."""
        return (_Fragment(part) for part in chunks(self._reading))


@dataclass(frozen=True, slots=True)
class _Fragment:
    """Some of the files."""

    reading: Reading

    def scanner(self, *_: Any, **asked: Any) -> "_Scan":
        """Return the rows of these files as one scan."""
        return _Scan(self.reading, asked.get("columns"), asked.get("filter"))


@dataclass(frozen=True, slots=True)
class _Scan:
    """Columns and rows that one part of a query asks for."""

    reading: Reading
    columns: Sequence[str] | None
    filter: pc.Expression | None

    @property
    def projected_schema(self) -> pa.Schema:
        """Return the columns that come out."""
        whole = bare_schema(to_arrow(self.reading.schema, ids=False))
        if self.columns is None:
            return whole
        return pa.schema([whole.field(name) for name in self.columns])

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows."""
        names = list(self.reading.schema.names if self.columns is None else self.columns)
        read = replace(self.reading, schema=self.reading.schema.select(self._read(names)))
        for batch in arrow.batches(read):
            table = bare(pa.Table.from_batches([batch]))
            if self.filter is not None:
                table = table.filter(self.filter)
            yield from (found.select(names) for found in table.to_batches())

    def _read(self, names: list[str]) -> tuple[str, ...]:
        """Return the columns to read: those of the filter too, and one of them to count rows by."""
        every = self.reading.schema.names
        if self.filter is None:
            return tuple(names) or every[:1]
        said = str(self.filter)
        some = tuple(name for name in every if name in names or name in said)
        empty = bare_schema(to_arrow(self.reading.schema.select(some), ids=False)).empty_table()
        try:
            empty.filter(self.filter)
        except (pa.ArrowInvalid, pa.ArrowKeyError):  # a name that the text spells in another way
            return every
        return some
