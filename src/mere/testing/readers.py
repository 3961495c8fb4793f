"""Ask every reader the same questions: each knows its files and the rows that must come out.

```python
@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_a_reader_answers(question, tmp_path):
    store = open_store(str(tmp_path))
    reading, expected = question.pose(store)
    table = ...  # what the reader under test returns for `reading`, as a pyarrow Table
    assert answers(table, reading.schema) == rows_of(expected)
```

The expected rows are plain Python; which of them match a predicate is decided by
`mere.model.predicate.evaluate`, row by row.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Context, Decimal
from typing import Any, TypeAlias
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq

from mere.arrow import file_schema
from mere.arrow.bare import bare_schema
from mere.model.files import DataFile, DeleteFile
from mere.model.layout import Layout
from mere.model.predicate import Expr, evaluate
from mere.model.schema import Field, Schema
from mere.ports import Reading, Store

Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[Row]
_DIGITS = Context(prec=50)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a reader is asked, once there is a store to put the files into."""

    name: str
    pose: Callable[[Store], tuple[Reading, Rows]]

    def __str__(self) -> str:
        """Name the question in test reports."""
        return self.name


def rows_of(rows: Iterable[Row]) -> list[str]:
    """Return rows in a form that compares NaN as equal and takes any order."""
    return sorted(repr({name: _plain(value) for name, value in row.items()}) for row in rows)


def answers(table: pa.Table, schema: Schema) -> list[str]:
    """Return what a reader handed out in the form of `rows_of`."""
    stored = _stored(table)
    names = list(schema.names)
    if stored.column_names != names:
        return [f"columns {stored.column_names}, expected {names}"]
    fields = {field.name: field for field in schema}
    return rows_of(
        {name: _revived(value, fields[name]) for name, value in row.items()}
        for row in stored.to_pylist()
    )


def _stored(table: pa.Table) -> pa.Table:
    # Nanoseconds have no Python type: their number stands for them, here and in what is expected.
    target = bare_schema(table.schema)
    kinds = [pa.int64() if f.type == pa.timestamp("ns") else f.type for f in target]
    return table.cast(target).cast(
        pa.schema([f.with_type(kind) for f, kind in zip(target, kinds, strict=True)])
    )


def _revived(value: Any, field: Field) -> Any:
    if value is None:
        return None
    if field.type == "struct":
        return {child.name: _revived(value[child.name], child) for child in field.children}
    if field.type == "list":
        return [_revived(v, field.children[0]) for v in value]
    if field.type == "map":
        pairs = value.items() if isinstance(value, Mapping) else map(_pair, value)
        return [(_revived(k, field.children[0]), _revived(v, field.children[1])) for k, v in pairs]
    return _spoken(value, field.type)


def _spoken(value: Any, kind: str) -> Any:
    """Return a value that engines hand out in several forms in the one that Python has for it."""
    if kind == "uuid" and isinstance(value, bytes | str):
        return UUID(bytes=value) if isinstance(value, bytes) else UUID(value)
    return value.decode() if kind == "json" and isinstance(value, bytes) else value


def _pair(entry: Any) -> tuple[Any, Any]:
    return (entry["key"], entry["value"]) if isinstance(entry, Mapping) else tuple(entry)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value
    if isinstance(value, Decimal):
        return f"{value.normalize(_DIGITS):f}"
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=UTC)
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_plain(part) for part in value)
    return value


def write_file(
    store: Store,
    path: str,
    rows: Rows,
    schema: Schema,
    *,
    ids: bool = True,
    group_rows: int | None = None,
    **described: Any,
) -> DataFile:
    """Write rows as one Parquet file, and describe it as a catalog would."""
    target = file_schema(schema)
    stored = pa.Table.from_pylist([_storable(row) for row in rows], bare_schema(target))
    table = stored.cast(target if ids else pa.schema([f.remove_metadata() for f in target]))
    with store.writer(path) as sink:
        pq.write_table(
            table,
            sink,
            store_schema=False,
            row_group_size=group_rows,
            write_page_checksum=True,
            write_statistics=[f.name for f in schema if not f.type.startswith("float")],
        )
    return DataFile(path=path, bytes=store.size(path), rows=len(rows), **described)


def write_deletes(
    store: Store, path: str, positions: Mapping[int, int], *, ids: bool = True, **described: Any
) -> DeleteFile:
    """Write a delete file of positions with the snapshots that deleted them."""
    fields = [("file_path", pa.string(), 2147483646), ("pos", pa.int64(), 2147483645)]
    columns: list[list[Any]] = [["elsewhere"] * len(positions), sorted(positions)]
    if ids:
        fields.append(("_ducklake_internal_snapshot_id", pa.int64(), 2147483539))
        columns.append([positions[p] for p in sorted(positions)])
    schema = pa.schema(
        [pa.field(n, t, metadata={b"PARQUET:field_id": str(i).encode()}) for n, t, i in fields]
    )
    with store.writer(path) as sink:
        pq.write_table(pa.table(columns, schema=schema), sink)
    return DeleteFile(path=path, bytes=store.size(path), rows=len(positions), **described)


def _storable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _storable(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_storable(part) for part in value)
    return value.bytes if isinstance(value, UUID) else value


def field(name: str, kind: str, *children: Field, **more: Any) -> Field:
    """Describe a column in one line."""
    return Field(name=name, type=kind, children=children, **more)


def reading(store: Store, table: Schema, files: Iterable[DataFile], **more: Any) -> Reading:
    """Ask for all columns and rows of some files."""
    asked: dict[str, Any] = {"table": table, "schema": table, "layout": Layout(), "store": store}
    return Reading(files=tuple(files), **(asked | more))


def matching(rows: Rows, where: Expr) -> Rows:
    """Return the rows that the reference says match."""
    return [row for row in rows if evaluate(where, row) is True]
