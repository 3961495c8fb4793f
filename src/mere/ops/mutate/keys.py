"""Leave out files that cannot hold a staged key: by the keys' own values, without any hint."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mere.errors import InvalidInputError, UnsupportedError
from mere.model.expr import Expr
from mere.model.files import Bounds, DataFile
from mere.model.history import Head
from mere.model.predicate import conjunction, lit
from mere.model.schema import Field
from mere.model.values import FLOATS
from mere.model.work import Staged
from mere.ops.mutate.source import extremes
from mere.plan.chunks import TELLING, Meeting
from mere.ports import Session
from mere.reading.source import Source

_FEW_VALUES = 500
_FEW_OF_FILES = 16
"""Where partitions do not tell, each file is asked for each value: arrays do that quicker."""
_NEVER = lit(value=False)


def key_columns(head: Head, on: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of the key columns as the table spells them.

    Raises:
        InvalidInputError: If there is none, or one comes twice.
        UnsupportedError: If a key column is nested.
    """
    names = (on,) if isinstance(on, str) else tuple(on)
    fields = [head.schema.field(name) for name in names]
    if not fields or len({field.name for field in fields}) != len(fields):
        msg = f"rows are matched by one or more different columns, got on={on!r}"
        raise InvalidInputError(msg)
    for field in fields:
        if field.children:
            msg = f"rows are not matched by {field.name!r}, which is {field.spell()}"
            raise UnsupportedError(msg, hint="match by columns that are not nested")
    return tuple(field.name for field in fields)


def demanded(session: Session, head: Head, staged: Staged) -> Expr:
    """Return a condition that every row with a staged key fulfils, for files to be pruned by."""
    if staged.chunks:
        return conjunction(_from_files(head, staged))
    source = Source(staged, session.store)
    parts: list[Expr] = []
    for _, chunk in source.chunks():
        table = chunk.rows
        if not len(chunk.keys.first):
            return _NEVER
        parts += [p for name in staged.on if (p := _from_rows(head, table, name)) is not None]
    return conjunction(parts)


def _from_rows(head: Head, table: pa.Table, name: str) -> Expr | None:
    field = head.schema.field(name)
    column = table.column(name)
    if _has_nan(column):
        return None
    with suppress(ValueError, OverflowError, pa.ArrowException):
        distinct = column.unique().drop_null()
        partitioned = any(key.column == field.id for key in head.layout.keys)
        if len(distinct) <= (_FEW_VALUES if partitioned else _FEW_OF_FILES):
            return _column(field).is_in([_literal(value, field) for value in distinct])
        found = extremes(table, name)
        if found is not None:
            return _column(field).between(*(_literal(value, field) for value in found))
    return None


def _from_files(head: Head, staged: Staged) -> list[Expr]:
    """Take the bounds of staged files, where all of them have some."""
    files = [file for chunk in staged.chunks for file in chunk]
    parts: list[Expr] = []
    for name in staged.on:
        field = head.schema.field(name)
        found = [file.bounds.get(field.id) for file in files]
        known = [b for b in found if b is not None and b.minimum is not None and not b.nan]
        if len(known) < len(files) or not known or field.type in FLOATS:
            continue
        lows: list[Any] = [b.minimum for b in known]
        highs: list[Any] = [b.maximum for b in known]
        low, high = min(lows), max(highs)
        parts.append(_column(field).between(_typed(low, field), _typed(high, field)))
    return parts


def _column(field: Field) -> Expr:
    return Expr("column", (field.name,))


def _literal(value: pa.Scalar, field: Field) -> Expr:
    if field.type == "timestamp_ns":
        return _typed(value.value, field)
    return _typed(value.as_py(), field)


def _typed(value: Any, field: Field) -> Expr:
    return Expr("literal", (value,), field.type)


def _has_nan(column: pa.ChunkedArray) -> bool:
    if not pa.types.is_floating(column.type):
        return False
    return bool(pc.any(pc.is_nan(column)).as_py())


def meeting(staged: Staged, head: Head, files: Sequence[DataFile]) -> list[DataFile]:
    """Return the files that can hold a key of some chunk."""
    chunks = Meeting.of(head, staged)
    return [file for file in files if chunks.chunks(file)]


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The staged keys, sorted into what each file may hold of them."""

    columns: tuple[tuple[Field, pa.Array], ...]
    by_value: tuple[int, dict[Any, pa.Table]] | None
    table: pa.Table

    @classmethod
    def of(cls, session: Session, head: Head, staged: Staged) -> "Narrowing":
        """Prepare, for a source that is in memory."""
        table = next(chunk.rows for _, chunk in Source(staged, session.store).chunks())
        fields = [head.schema.field(name) for name in staged.on]
        comparable = [f for f in fields if not _has_nan(table.column(f.name))]
        keys = table.select([field.name for field in comparable])
        columns = tuple((field, keys.column(field.name)) for field in comparable)
        return cls(columns, _by_partition(head, keys, comparable), keys)

    def keep(self, head: Head, files: Sequence[DataFile]) -> list[DataFile]:
        """Return the files that can hold a key."""
        return [file for file in files if self._may_hold(head, file)]

    def _may_hold(self, head: Head, file: DataFile) -> bool:
        rows = self.table
        if self.by_value is not None and file.partition_id == head.layout.id and file.partition:
            place, tables = self.by_value
            found = tables.get(file.partition[place])
            if found is None:
                return False
            rows = found
        mask: Any = None
        for field, _ in self.columns:
            inside = _inside(rows.column(field.name), file.bounds.get(field.id), field)
            if inside is not None:
                mask = inside if mask is None else pc.and_(mask, inside)
        return mask is None or bool(pc.any(mask).as_py())


def _by_partition(
    head: Head, keys: pa.Table, fields: Sequence[Field]
) -> tuple[int, dict[Any, pa.Table]] | None:
    """Sort the keys by the values of a partition column, where one is a key."""
    names = {field.id: field.name for field in fields if field.type in TELLING}
    for place, key in enumerate(head.layout.keys):
        if key.transform != "identity" or key.column not in names:
            continue
        coded = keys.column(names[key.column]).combine_chunks().dictionary_encode()
        values = coded.dictionary.to_pylist()
        if len(values) <= _FEW_VALUES:
            tables = (keys.filter(pc.equal(coded.indices, n)) for n in range(len(values)))
            return place, dict(zip(values, tables, strict=True))
    return None


def _inside(column: pa.ChunkedArray, bounds: Bounds | None, field: Field) -> Any:
    """Tell which values lie within a file's bounds; None where nothing is known."""
    if bounds is None or bounds.minimum is None or bounds.maximum is None:
        return None
    if isinstance(column.type, pa.BaseExtensionType) or field.type in FLOATS:
        return None
    with suppress(pa.ArrowException, OverflowError, TypeError, ValueError):
        low, high = (pa.scalar(v, column.type) for v in (bounds.minimum, bounds.maximum))
        return pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high))
    return None
