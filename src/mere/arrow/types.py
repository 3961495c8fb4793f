"""Translate column types between the table's own names and Arrow."""

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.types as kinds

from mere.errors import UnsupportedError
from mere.model.promotion import decimal_parts
from mere.model.schema import Field, Schema

FIELD_ID = b"PARQUET:field_id"
MOST_DIGITS = 38
VARIANT = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
_LEAVES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint8": pa.uint8(),
    "uint16": pa.uint16(),
    "uint32": pa.uint32(),
    "uint64": pa.uint64(),
    "int128": pa.decimal128(MOST_DIGITS, 0),
    "uint128": pa.decimal128(MOST_DIGITS, 0),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timetz": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", tz="UTC"),
    "timestamp_s": pa.timestamp("s"),
    "timestamp_ms": pa.timestamp("ms"),
    "timestamp_ns": pa.timestamp("ns"),
    "interval": pa.month_day_nano_interval(),
    "varchar": pa.string(),
    "blob": pa.binary(),
    "json": pa.json_(pa.string()),
    "uuid": pa.uuid(),
    "variant": VARIANT,
}
_NAMES: dict[pa.DataType, str] = {
    arrow: name
    for name, arrow in _LEAVES.items()
    if name not in {"int128", "uint128", "timetz", "timestamptz", "variant"}
}
_TIMES = {"s": "timestamp_s", "ms": "timestamp_ms", "us": "timestamp", "ns": "timestamp_ns"}
_EXTENSIONS = {"arrow.uuid": "uuid", "arrow.json": "json", "arrow.bool8": "boolean"}
_FAMILIES: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
    (kinds.is_null, "null"),
    (kinds.is_large_string, "varchar"),
    (kinds.is_string_view, "varchar"),
    (kinds.is_large_binary, "blob"),
    (kinds.is_binary_view, "blob"),
    (kinds.is_fixed_size_binary, "blob"),
    (kinds.is_float16, "float32"),
    (kinds.is_date, "date"),
    (kinds.is_time, "time"),
    (kinds.is_interval, "interval"),
    (kinds.is_duration, "interval"),
)


def to_arrow(schema: Schema, *, ids: bool = True) -> pa.Schema:
    """Return the Arrow schema of a table's rows, as readers hand them out.

    With `ids`, every field carries its id the way Parquet files do, nested fields too.

    Raises:
        UnsupportedError: If a column has a type that Arrow cannot carry, named.
    """
    return pa.schema([arrow_field(field, ids=ids) for field in schema.fields])


def arrow_field(field: Field, *, ids: bool = True) -> pa.Field:
    """Return one column as an Arrow field."""
    parts = [arrow_field(child, ids=ids) for child in field.children]
    kind = _nested(field, parts) if parts else arrow_type(field)
    metadata = _metadata(field) if ids else None
    return pa.field(field.name, kind, nullable=field.nullable, metadata=metadata)


def arrow_type(field: Field) -> pa.DataType:
    """Return the Arrow type of a column, without field ids.

    Raises:
        UnsupportedError: If Arrow cannot carry it.
    """
    if field.children:
        return arrow_field(field, ids=False).type
    digits = decimal_parts(field.type)
    if digits is not None:
        return pa.decimal128(*digits)
    if field.type not in _LEAVES:
        msg = f"column {field.name!r} has the type {field.type!r}, which Arrow cannot carry"
        raise UnsupportedError(msg, hint="leave the column out, or read it with DuckDB")
    return _LEAVES[field.type]


def _nested(field: Field, parts: list[pa.Field]) -> pa.DataType:
    if field.type == "struct":
        return pa.struct(parts)
    if field.type == "list":
        return pa.list_(parts[0])
    return pa.map_(parts[0].with_nullable(nullable=False), parts[1])


def file_schema(schema: Schema) -> pa.Schema:
    """Return the Arrow schema that a table's files are written with.

    Every column is optional in the file, so that all files of a table can be joined, whatever
    was NOT NULL when they were written; times in seconds lie in files as microseconds.
    """
    return pa.schema([_file_field(field) for field in schema.fields])


def _file_field(field: Field) -> pa.Field:
    if field.type == "variant":
        msg = f"column {field.name!r} is a variant, which cannot be written yet"
        raise UnsupportedError(msg, hint="write rows with variants by DuckDB")
    parts = [_file_field(child) for child in field.children]
    if parts:
        kind = _nested(field, parts)
    else:
        kind = pa.timestamp("us") if field.type == "timestamp_s" else arrow_type(field)
    return pa.field(field.name, kind, metadata=_metadata(field))


def _metadata(field: Field) -> dict[bytes, bytes] | None:
    return {FIELD_ID: str(field.id).encode()} if field.id else None


def from_arrow(schema: pa.Schema, *, ids: bool = False, untyped: str | None = "varchar") -> Schema:
    """Return the columns of an Arrow schema.

    How values are laid out in memory is dropped: large, view, dictionary and run-end encoded
    types become plain ones. A column of nothing but NULL becomes `untyped`; with None it is left
    out, since it fits any type. With `ids`, field ids are taken from the metadata.

    Raises:
        UnsupportedError: Naming the column, if no type of the table can hold it.
        InvalidInputError: If two columns differ in nothing but case.
    """
    fields = (_from_field(field, field.name, ids=ids, untyped=untyped) for field in schema)
    return Schema(fields=tuple(field for field in fields if field is not None))


def _from_field(field: pa.Field, path: str, *, ids: bool, untyped: str | None) -> Field | None:
    kind = plain(field.type)
    parts = tuple(_parts(kind))
    children = tuple(
        _from_field(part, f"{path}.{part.name}", ids=ids, untyped=untyped) for part in parts
    )
    known = tuple(child for child in children if child is not None)
    if parts and (not known or (len(known) < len(parts) and not kinds.is_struct(kind))):
        return None
    name = _nested_name(kind) if parts else type_name(kind, path)
    if name == "null":
        if untyped is None:
            return None
        name = untyped
    number = (field.metadata or {}).get(FIELD_ID, b"0") if ids else b"0"
    return Field(
        name=field.name, type=name, id=int(number), nullable=field.nullable, children=known
    )


def plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values, without dictionary or run-end encoding."""
    while True:
        if kinds.is_dictionary(kind) or kinds.is_run_end_encoded(kind):
            kind = kind.value_type
        elif isinstance(kind, pa.BaseExtensionType) and kind.extension_name not in _EXTENSIONS:
            kind = kind.storage_type
        else:
            return kind


def is_text(kind: pa.DataType) -> bool:
    """Tell whether values are texts, whatever their layout."""
    kind = plain(kind)
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind))


def is_list(kind: pa.DataType) -> bool:
    """Tell whether values are lists, whatever their layout."""
    return bool(
        kinds.is_list(kind)
        or kinds.is_large_list(kind)
        or kinds.is_fixed_size_list(kind)
        or kinds.is_list_view(kind)
        or kinds.is_large_list_view(kind)
    )


def _parts(kind: pa.DataType) -> Iterator[pa.Field]:
    if kinds.is_struct(kind):
        yield from (kind.field(i) for i in range(kind.num_fields))
    elif kinds.is_map(kind):
        yield kind.key_field.with_name("key")
        yield kind.item_field.with_name("value")
    elif is_list(kind):
        yield kind.value_field.with_name("element")


def _nested_name(kind: pa.DataType) -> str:
    if kinds.is_struct(kind):
        return "struct"
    return "map" if kinds.is_map(kind) else "list"


def type_name(kind: pa.DataType, column: str) -> str:
    """Return the table's name of a leaf type, `"null"` for one that holds nothing but NULL."""
    if kind in _NAMES:
        return _NAMES[kind]
    if isinstance(kind, pa.BaseExtensionType):
        return _EXTENSIONS[kind.extension_name]
    if kinds.is_timestamp(kind):
        return "timestamptz" if kind.tz is not None else _TIMES[kind.unit]
    if kinds.is_decimal(kind):
        return _decimal_name(kind, column)
    for belongs, name in _FAMILIES:
        if belongs(kind):
            return name
    msg = f"column {column!r} has the Arrow type {kind}, which no table can hold"
    raise UnsupportedError(msg, hint="cast the column to another type first")


def _decimal_name(kind: pa.DataType, column: str) -> str:
    scale = max(kind.scale, 0)
    digits = max(kind.precision + scale - kind.scale, scale)
    if digits > MOST_DIGITS:
        msg = f"column {column!r} has the Arrow type {kind}, tables hold up to 38 digits"
        raise UnsupportedError(msg, hint="cast the column to decimal128(38, …) first")
    return f"decimal({digits},{scale})"
