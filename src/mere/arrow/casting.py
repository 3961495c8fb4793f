"""Fit incoming batches to a table's columns, losing nothing on the way."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from mere.arrow.leaves import converter, decoded
from mere.arrow.types import file_schema, from_arrow, is_list, plain
from mere.errors import SchemaMismatchError, UnsupportedError
from mere.model.schema import Field, Schema
from mere.model.values import from_text, read_blob

Convert: TypeAlias = Callable[[Any], Any]


def conform(batch: pa.RecordBatch, target: Schema) -> pa.RecordBatch:
    """Return the batch with the columns of a table, in its order and types.

    Columns are matched by name, then without case. A missing one is filled with its default or
    NULL; every value is checked to survive the change of type.

    Raises:
        SchemaMismatchError: Naming the column and what does not fit.
    """
    return conformer(batch.schema, target)(batch)


def conformer(source: pa.Schema, target: Schema) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """Prepare `conform` for many batches with the same columns.

    Raises:
        SchemaMismatchError: Naming every column that no value of could fit.
    """
    columns = file_schema(target)
    places = _places(source, target)
    problems = [*_unknown(source, target, places)]
    steps: list[_Step] = []
    for field, physical, at in zip(target.fields, columns, places, strict=True):
        try:
            incoming = None if at is None else source.field(at).type
            steps.append(_Step(at, field, physical.type, _convert(incoming, field, physical.type)))
        except (SchemaMismatchError, UnsupportedError) as error:
            problems.append(error.message)
    if problems:
        msg = "the data does not fit the table:\n  " + "\n  ".join(problems)
        raise SchemaMismatchError(msg, hint=f"the table has: {target.spell()}")
    ignored = [i for i in range(len(source)) if i not in places]

    def apply(batch: pa.RecordBatch) -> pa.RecordBatch:
        for i in ignored:
            _only_nulls(batch, i, target)
        return pa.RecordBatch.from_arrays([step.run(batch) for step in steps], schema=columns)

    return apply


@dataclass(frozen=True, slots=True)
class _Step:
    """How one column of the table is made from a batch."""

    at: int | None
    field: Field
    kind: pa.DataType
    convert: Convert

    def run(self, batch: pa.RecordBatch) -> pa.Array:
        if self.at is None:
            made = _default(self.field, self.kind, batch.num_rows)
        else:
            try:
                made = self.convert(batch.column(self.at))
            except pa.ArrowException as error:
                came = batch.schema.field(self.at).type
                msg = f"column {self.field.name!r}: a value of type {came} does not fit "
                msg += f"{self.field.spell()}: {error}"
                raise SchemaMismatchError(msg, hint="nothing was changed") from error
        _require_values(made, self.field, self.field.name)
        return made


def _places(source: pa.Schema, target: Schema) -> list[int | None]:
    """Find each column of the table in the data: as written first, else without case."""
    exact = {name: i for i, name in reversed(list(enumerate(source.names)))}
    wanted = set(target.names)
    folded = {
        name.casefold(): i
        for i, name in reversed(list(enumerate(source.names)))
        if name not in wanted
    }
    return [exact.get(name, folded.get(name.casefold())) for name in target.names]


def _unknown(source: pa.Schema, target: Schema, places: list[int | None]) -> Iterator[str]:
    for i, field in enumerate(source):
        if i in places:
            continue
        known = from_arrow(pa.schema([field]), untyped=None)
        if known.fields and field.name in target:
            yield f"{field.name}: comes more than once"
        elif known.fields:
            yield f"{field.name}: not in the table, got {known.fields[0].spell()}"


def _only_nulls(batch: pa.RecordBatch, at: int, target: Schema) -> None:
    column = batch.column(at)
    if column.null_count < len(column):
        name = batch.schema.field(at).name
        msg = f"column {name!r} is not in the table, and not all of it is NULL"
        raise SchemaMismatchError(msg, hint=f"the table has: {target.spell()}")


def _require_values(array: pa.Array, field: Field, path: str) -> None:
    if not field.nullable and array.null_count:
        msg = f"column {path!r} is NOT NULL, and {array.null_count} of {len(array)} rows have NULL"
        raise SchemaMismatchError(msg)


def _default(field: Field, kind: pa.DataType, rows: int) -> pa.Array:
    if field.default is None or field.children:
        return pa.nulls(rows, kind)
    value: Any = (
        read_blob(field.default) if field.type == "blob" else from_text(field.type, field.default)
    )
    if value is None:
        msg = f"column {field.name!r} has the default {field.default!r}, which Python cannot hold"
        raise UnsupportedError(msg, hint="give the column's values with the rows")
    if isinstance(kind, pa.BaseExtensionType):
        stored = value.bytes if field.type == "uuid" else value
        return kind.wrap_array(pa.repeat(pa.scalar(stored, kind.storage_type), rows))
    return pa.repeat(pa.scalar(value, kind), rows)


def _convert(incoming: pa.DataType | None, field: Field, kind: pa.DataType) -> Convert:
    """Return what turns a column of type `incoming` into the table's.

    Raises:
        SchemaMismatchError: If no value could be kept.
    """
    if incoming is None or (incoming.equals(kind) and not _must_look(field)):
        return _same
    if kinds.is_null(incoming):
        return lambda array: pa.nulls(len(array), kind)
    inner = plain(incoming)
    if not field.children:
        return converter(incoming, field, kind)
    if field.type == "struct" and kinds.is_struct(inner):
        change = _struct(inner, field, kind)
    elif field.type == "map" and kinds.is_map(inner):
        change = _map(inner, field, kind)
    elif field.type == "list" and is_list(inner):
        change = _list(inner, field, kind)
    else:
        msg = f"{field.name}: expected {field.spell()}, got {incoming}"
        raise SchemaMismatchError(msg)
    return lambda array: change(decoded(array))


def _must_look(field: Field) -> bool:
    """Tell whether values of the very same type may still not fit: deep NOT NULL, whole seconds."""
    parts = field.children[1:] if field.type == "map" else field.children
    return field.type == "timestamp_s" or any(not p.nullable or _must_look(p) for p in parts)


def _same(array: pa.Array) -> pa.Array:
    return array


def _struct(incoming: pa.StructType, field: Field, kind: pa.StructType) -> Convert:
    names = pa.schema([incoming.field(i) for i in range(incoming.num_fields)])
    target = Schema(fields=field.children)
    places = _places(names, target)
    unknown = [f"{field.name}.{problem}" for problem in _unknown(names, target, places)]
    if unknown:
        raise SchemaMismatchError("; ".join(unknown))
    parts = [
        (at, child, _convert(None if at is None else names.field(at).type, child, part.type), part)
        for at, child, part in zip(places, field.children, kind, strict=True)
    ]

    def change(array: pa.StructArray) -> pa.StructArray:
        made = []
        for at, child, convert, part in parts:
            rows = len(array)
            values = _default(child, part.type, rows) if at is None else convert(array.field(at))
            if not child.nullable:
                there = values.filter(array.is_valid())
                _require_values(there, child, f"{field.name}.{child.name}")
            made.append(values)
        return pa.StructArray.from_arrays(made, fields=list(kind), mask=array.is_null())

    return change


def _list(incoming: pa.DataType, field: Field, kind: pa.ListType) -> Convert:
    convert = _convert(incoming.value_type, field.children[0], kind.value_type)

    def change(array: Any) -> pa.ListArray:
        plain_list = _as_list(array)
        offsets, start, length = _offsets(plain_list)
        values = convert(plain_list.values.slice(start, length))
        _require_values(values, field.children[0], f"{field.name}.element")
        return pa.ListArray.from_arrays(offsets, values, type=kind, mask=plain_list.is_null())

    return change


def _map(incoming: pa.MapType, field: Field, kind: pa.MapType) -> Convert:
    keys = _convert(incoming.key_type, field.children[0], kind.key_type)
    items = _convert(incoming.item_type, field.children[1], kind.item_type)

    def change(array: pa.MapArray) -> pa.MapArray:
        offsets, start, length = _offsets(array)
        values = items(array.items.slice(start, length))
        _require_values(values, field.children[1], f"{field.name}.value")
        return pa.MapArray.from_arrays(
            offsets,
            keys(array.keys.slice(start, length)),
            values,
            type=kind,
            mask=array.is_null(),
        )

    return change


def _as_list(array: Any) -> Any:
    """Return the rows as ordinary lists; views may overlap or lie in any order."""
    if kinds.is_list(array.type):
        return array
    sizes = pc.fill_null(pc.list_value_length(array), 0).to_numpy()
    offsets = pa.array(np.concatenate(([0], np.cumsum(sizes))), pa.int32())
    return pa.ListArray.from_arrays(offsets, array.flatten(), mask=array.is_null())


def _offsets(array: Any) -> tuple[pa.Array, int, int]:
    """Return offsets that start at zero, where the values start, and how many there are."""
    offsets = array.offsets
    start = offsets[0].as_py()
    return pc.subtract(offsets, pa.scalar(start, offsets.type)), start, offsets[-1].as_py() - start
