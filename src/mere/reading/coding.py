"""Leave texts that repeat as they lie in files: as numbers into a dictionary, never spelled out."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.parquet as pq

from mere.arrow import to_arrow
from mere.model.schema import Schema
from mere.reading.conform import conform
from mere.reading.forms import Part, Source

_CODES = "RLE_DICTIONARY"
_KIND = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True)
class Coding:
    """Which of some columns, by their ids, come as dictionaries; and their names in a first file.

    In files that do not hold them by these names, as texts, they are made dictionaries.
    """

    columns: Schema
    ids: frozenset[int] = frozenset()
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, parquet: pq.ParquetFile, found: Sequence[Part], columns: Schema) -> "Coding":
        """Choose the text columns that a file holds as dictionaries."""
        footer = parquet.metadata
        if not footer.num_row_groups:
            return cls(columns)
        group = footer.row_group(0)
        chunks = (group.column(place) for place in range(footer.num_columns))
        coded = {chunk.path_in_schema for chunk in chunks if _CODES in chunk.encodings}
        texts = {field.id for field in columns if field.type == "varchar"}
        chosen = [
            part
            for part in found
            if part.id in texts and coded.issuperset(part.leaves) and pa.types.is_string(part.type)
        ]
        ids = frozenset(part.id for part in chosen if part.id is not None)
        return cls(columns, ids, tuple(part.name for part in chosen))

    def schema(self, columns: Schema) -> pa.Schema:
        """Return columns in Arrow's terms, those that are coded as dictionaries."""
        found = to_arrow(columns, ids=False)
        for place, field in enumerate(columns):
            if field.id in self.ids:
                found = found.set(place, found.field(place).with_type(_KIND))
        return found

    @cached_property
    def _whole(self) -> pa.Schema:
        return self.schema(self.columns)

    @cached_property
    def _rest(self) -> tuple[Schema, pa.Schema]:
        rest = Schema(fields=tuple(field for field in self.columns if field.id not in self.ids))
        return rest, to_arrow(rest, ids=False)

    def conform(self, table: pa.Table, found: Sequence[Source]) -> pa.Table:
        """Return the columns out of what was read from one file, as `conform` does."""
        coded = [_coded(table, source) for source in found if source.field.id in self.ids]
        ready = [column for column in coded if column is not None]
        if not len(ready) == len(coded) == table.schema.types.count(_KIND):
            return self._encoded(conform(_decoded(table), found, self.columns))
        rest = [source for source in found if source.field.id not in self.ids]
        others = iter(conform(table, rest, *self._rest).columns) if rest else iter(())
        texts = iter(ready)
        made = [next(texts if field.id in self.ids else others) for field in self.columns]
        return pa.Table.from_arrays(made, schema=self._whole)

    def _encoded(self, table: pa.Table) -> pa.Table:
        made = [
            column.dictionary_encode() if field.id in self.ids else column
            for column, field in zip(table.columns, self.columns, strict=True)
        ]
        return pa.Table.from_arrays(made, schema=self._whole)


def _coded(table: pa.Table, source: Source) -> pa.ChunkedArray | None:
    """Return a column that was read as a dictionary, None if it was not."""
    if source.part is None:
        return None
    places = table.schema.get_all_field_indices(source.part.name)
    if len(places) != 1 or table.schema.field(places[0]).type != _KIND:
        return None
    return table.column(places[0])


def _decoded(table: pa.Table) -> pa.Table:
    """Return the rows with all texts spelled out."""
    for place, field in enumerate(table.schema):
        if field.type == _KIND:
            texts = table.column(place).cast(pa.string())
            table = table.set_column(place, field.with_type(pa.string()), texts)
    return table
