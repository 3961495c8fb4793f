"""Keep the tables of inlined rows in step with the columns, or other clients cannot insert."""

from collections.abc import Mapping

from mere.catalogs.draft import Draft, quoted
from mere.model.promotion import decimal_parts
from mere.model.schema import Field, Schema


def follow(draft: Draft, table: int, schema: Schema) -> None:
    """Make the table of inlined rows for the new columns, when the table has one already."""
    link = draft.link
    if not link.rows("inlined_tables", table=table):
        return
    version = draft.new_schema_version
    name = f"ducklake_inlined_data_{table}_{version}"
    parts = [f"{quoted(f.name)} {kind_of(f, link.inlined)}" for f in schema.fields]
    columns = ["row_id BIGINT", "begin_snapshot BIGINT", "end_snapshot BIGINT", *parts]
    link.ask(f"CREATE TABLE {name} ({', '.join(columns)})")
    link.insert("ducklake_inlined_data_tables", [(table, name, version)])


def kind_of(field: Field, types: Mapping[str, str]) -> str:
    """Name the type of a column; a database that can, keeps every type as it is."""
    if "*" not in types:
        return _native(field)
    kind = "decimal" if decimal_parts(field.type) else field.type
    return types.get(kind, types["*"])


def _native(field: Field) -> str:
    if field.type == "list":
        return f"{_native(field.children[0])}[]"
    if field.type == "struct":
        parts = (f"{quoted(child.name)} {_native(child)}" for child in field.children)
        return f"STRUCT({', '.join(parts)})"
    if field.type == "map":
        return f"MAP({', '.join(_native(child) for child in field.children)})"
    return _NATIVE.get(field.type, field.type.upper())


_NATIVE = {
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "int128": "HUGEINT",
    "uint128": "UHUGEINT",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "timetz": "TIME WITH TIME ZONE",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
}
