"""Take the meaning off Arrow columns, for engines that know only how values are stored."""

import pyarrow as pa


def bare_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that the values are stored as: JSON is text, a UUID is 16 bytes."""
    if isinstance(kind, pa.BaseExtensionType):
        return bare_type(kind.storage_type)
    if pa.types.is_struct(kind):
        return pa.struct([bare_field(kind.field(i)) for i in range(kind.num_fields)])
    if pa.types.is_map(kind):
        return pa.map_(bare_field(kind.key_field), bare_field(kind.item_field))
    if pa.types.is_list(kind):
        return pa.list_(bare_field(kind.value_field))
    return kind


def bare_field(described: pa.Field) -> pa.Field:
    """Return the field with the type that its values are stored as."""
    return described.with_type(bare_type(described.type))


def bare_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns with the types that their values are stored as."""
    return pa.schema([bare_field(described) for described in schema])


def bare(table: pa.Table) -> pa.Table:
    """Return the table with its columns as they are stored; nothing is copied where nothing is."""
    target = bare_schema(table.schema)
    return table if target == table.schema else table.cast(target)
