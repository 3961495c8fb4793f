"""Give values read from a file the names, types and parts that the table has now."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import pyarrow as pa

from mere import arrow
from mere.arrow import to_arrow
from mere.arrow.types import is_text, plain, type_name
from mere.errors import CorruptionError, UnsupportedError
from mere.model.files import Value
from mere.model.schema import Field, Schema
from mere.model.values import from_text, read_blob
from mere.reading.forms import Source

_CHUNK_ROWS = 1 << 17


def conform(
    table: pa.Table, found: Sequence[Source], schema: Schema, target: pa.Schema | None = None
) -> pa.Table:
    """Return the columns of the schema, in order, out of what was read from one file.

    `target` is the schema in Arrow's terms, for callers that have it at hand.
    """
    target = to_arrow(schema, ids=False) if target is None else target
    names = table.schema.names
    places = {name: place for place, name in enumerate(names)}
    if len(places) < len(names):
        places = {}
    kinds = target.types
    columns = [
        _column(table, source, kind, places) for source, kind in zip(found, kinds, strict=True)
    ]
    if not columns:
        return table.select([])
    return pa.Table.from_arrays(columns, schema=target)


def _column(
    table: pa.Table, source: Source, kind: pa.DataType, places: Mapping[str, int]
) -> pa.ChunkedArray | pa.Array:
    part = source.part
    if source.value is not None:
        return _repeated(source.value, kind, table.num_rows)
    if part is None:
        return filled(source.field, kind, table.num_rows)
    place = places.get(part.name)
    column = table.column(_place(table.schema, source) if place is None else place)
    plain_ = not (source.children or part.children) or is_plain(source)
    if plain_ and column.type == kind:
        return column
    return pa.chunked_array([fitted(chunk, source, kind) for chunk in column.chunks], kind)


def _place(schema: pa.Schema, source: Source) -> int:
    """Find a column that was read: its name may occur twice, its id does not."""
    part = source.part
    places = [i for i, name in enumerate(schema.names) if part is not None and name == part.name]
    if len(places) == 1 or part is None:
        return places[0]
    marked = [i for i in places if _id(schema.field(i)) == part.id]
    return (marked or places)[0]


def _id(described: pa.Field) -> int | None:
    text = (described.metadata or {}).get(b"PARQUET:field_id")
    return None if text is None else int(text)


def is_plain(source: Source) -> bool:
    """Tell whether the parts of a nested field lie in the file as the table has them."""
    if source.part is None or len(source.children) != len(source.part.children):
        return False
    pairs = zip(source.children, source.part.children, strict=True)
    return all(child.part is part and is_plain(child) for child, part in pairs)


def _repeated(value: pa.Scalar, kind: pa.DataType, rows: int) -> pa.ChunkedArray:
    """Return as many rows of one value; many share their memory."""
    some = pa.repeat(value, min(rows, _CHUNK_ROWS))
    whole, rest = divmod(rows, _CHUNK_ROWS)
    return pa.chunked_array([*[some] * whole, *([some.slice(0, rest)] if rest else [])], kind)


def filled(field: Field, kind: pa.DataType, rows: int) -> pa.Array:
    """Return what rows read that lie in files older than the column."""
    if field.initial_default is None:
        return pa.nulls(rows, kind)
    stored = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    values = pa.repeat(_stored(typed(field, field.initial_default), stored), rows)
    return values if stored is kind else kind.wrap_array(values)


def typed(field: Field, text: str) -> Value:
    """Read a default as the catalog spells it.

    Raises:
        UnsupportedError: If Python has no such value.
    """
    value = read_blob(text) if field.type == "blob" else from_text(field.type, text)
    if value is None:
        msg = f"column {field.name!r} has the default {text!r}, which is no {field.type} in Python"
        raise UnsupportedError(msg, hint="leave the column out, or read it with to_duckdb()")
    return value


def _stored(value: Value, kind: pa.DataType) -> pa.Scalar:
    return pa.scalar(value.bytes if isinstance(value, UUID) else value, kind)


def fitted(array: pa.Array, source: Source, kind: pa.DataType) -> pa.Array:
    """Return one array as the table's type, its parts matched as `source` says."""
    if source.field.type == "variant":
        return arrow.variants.joined(array)
    if array.type == kind and is_plain(source):
        return array
    if not source.children:
        return _cast(array, source, kind)
    if pa.types.is_struct(kind):
        return _struct(array, source, kind)
    if not pa.types.is_map(array.type):
        array = _as_list(array)
    if array.offset:  # offsets of a slice cannot be combined with a mask
        array = pa.concat_arrays([array, array.slice(0, 0)])
    if pa.types.is_map(kind):
        return _map(array, source, kind)
    values = fitted(array.values, source.children[0], kind.value_type)
    mask = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(array.offsets, values, type=kind, mask=mask)


def _cast(array: pa.Array, source: Source, kind: pa.DataType) -> pa.Array:
    try:
        if pa.types.is_string(kind) and not is_text(array.type):
            return arrow.leaves.texts(array, type_name(plain(array.type), source.field.name))
        return array.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        name, wanted = source.field.name, source.field.spell()
        msg = f"column {name!r} is {wanted}, the file holds {array.type}: {error}"
        raise CorruptionError(msg) from error


def _as_list(array: pa.Array) -> pa.Array:
    if pa.types.is_list(array.type):
        return array
    return array.cast(pa.list_(array.type.value_field))


def _struct(array: pa.StructArray, source: Source, kind: pa.StructType) -> pa.Array:
    rows = len(array)
    columns = []
    for child, described in zip(source.children, kind, strict=True):
        place = -1 if child.part is None else array.type.get_field_index(child.part.name)
        if place < 0:
            columns.append(filled(child.field, described.type, rows))
        else:
            columns.append(fitted(array.field(place), child, described.type))
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(columns, fields=list(kind), mask=mask)


def _map(array: pa.MapArray, source: Source, kind: pa.MapType) -> pa.Array:
    keys = fitted(array.keys, source.children[0], kind.key_type)
    items = fitted(array.items, source.children[1], kind.item_type)
    mask = array.is_null() if array.null_count else None
    return pa.MapArray.from_arrays(array.offsets, keys, items, type=kind, mask=mask)
