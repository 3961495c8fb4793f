"""Spell columns, names and values in DuckDB's SQL."""

from mere.errors import UnsupportedError
from mere.model.schema import Field, Schema

_TYPES = {
    "boolean": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "int128": "HUGEINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "uint128": "UHUGEINT",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "date": "DATE",
    "time": "TIME",
    "timetz": "TIME WITH TIME ZONE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "timestamp_s": "TIMESTAMP_S",
    "timestamp_ms": "TIMESTAMP_MS",
    "timestamp_ns": "TIMESTAMP_NS",
    "interval": "INTERVAL",
    "varchar": "VARCHAR",
    "blob": "BLOB",
    "json": "JSON",
    "uuid": "UUID",
    "variant": "VARIANT",
}


def type_of(field: Field) -> str:
    """Spell the type of a column, parts included.

    Raises:
        UnsupportedError: If DuckDB has no such type without an extension.
    """
    if field.type == "struct":
        parts = ", ".join(f"{name(child.name)} {type_of(child)}" for child in field.children)
        return f"STRUCT({parts})"
    if field.type == "list":
        return f"{type_of(field.children[0])}[]"
    if field.type == "map":
        return f"MAP({', '.join(type_of(child) for child in field.children)})"
    if field.type.startswith("decimal("):
        return field.type.upper()
    if field.type not in _TYPES:
        msg = f"column {field.name!r} has the type {field.type!r}, which DuckDB cannot read here"
        raise UnsupportedError(msg, hint="leave the column out")
    return _TYPES[field.type]


def name(text: str) -> str:
    """Quote a name."""
    return '"' + text.replace('"', '""') + '"'


def text(value: str) -> str:
    """Quote a text."""
    return "'" + value.replace("'", "''") + "'"


def file(path: str) -> str:
    """Quote a path so that DuckDB finds that file and no other: no character is a pattern."""
    return text("".join(f"[{c}]" if c in "*?[" else c for c in path))


def by_id(fields: dict[int, Field]) -> str:
    """Spell which field ids to read, as what, and what older files hold in their place."""
    return _schema({str(number): field for number, field in fields.items()})


def by_name(fields: dict[str, Field]) -> str:
    """Spell which columns of files to read, as what, and what they hold in their place."""
    return _schema({text(called): field for called, field in fields.items()})


def _schema(fields: dict[str, Field]) -> str:
    entries = ", ".join(
        f"{key}: {{'name': {text(f.name)}, 'type': {text(type_of(f))}, 'default_value': "
        f"{'NULL' if f.initial_default is None else text(f.initial_default)}}}"
        for key, f in fields.items()
    )
    return f"MAP {{{entries}}}"


def constant(field: Field) -> str:
    """Spell what files read that do not hold the column."""
    value = "NULL" if field.initial_default is None else text(field.initial_default)
    return f"{value}::{type_of(field)}"


def names(schema: Schema) -> str:
    """Spell the columns of a SELECT."""
    return ", ".join(name(field.name) for field in schema)


def typed(schema: Schema) -> str:
    """Spell the columns of a SELECT over Arrow data, as DuckDB's own types."""
    return ", ".join(f"{name(f.name)}::{type_of(f)} AS {name(f.name)}" for f in schema)
