"""Tell which Spark type stands for which type of a table, both ways.

What Spark shows is not always what it can read from a file: a `uuid` lies there as 16 bytes and
is shown as text. `stored` is the type to read with, `shown` the expression that makes of it what
`to_spark` promises.

Spark finds columns by field id, but pushes filters down by name: where a file calls another
column by that name, rows are lost without a word. So columns whose names have not always been
the same are read under names that no file has, and get theirs afterwards.
"""

from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import partial
from typing import TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  the name that Spark's own documentation uses
from pyspark.sql import types as T  # noqa: N812  as above

from mere.errors import UnsupportedError
from mere.model.promotion import decimal_parts
from mere.model.schema import Field, Schema
from mere.runners.spark import columns_of

_Make: TypeAlias = Callable[[Field, str], T.StructField]
NTZ = T.TimestampNTZType()
LONG_DIGITS = 18
TIME = getattr(T, "TimeType", None)  # new in Spark 4.1

# As users see them. What is missing here and not decimal or nested, Spark has no type for.
SHOWN: dict[str, T.DataType] = {
    "boolean": T.BooleanType(),
    "int8": T.ByteType(),
    "int16": T.ShortType(),
    "int32": T.IntegerType(),
    "int64": T.LongType(),
    "int128": T.DecimalType(38, 0),
    "uint8": T.ShortType(),
    "uint16": T.IntegerType(),
    "uint32": T.LongType(),
    "uint64": T.DecimalType(20, 0),
    "uint128": T.DecimalType(38, 0),
    "float32": T.FloatType(),
    "float64": T.DoubleType(),
    "date": T.DateType(),
    "timestamp": NTZ,
    "timestamp_s": NTZ,
    "timestamp_ms": NTZ,
    "timestamp_ns": NTZ,
    "timestamptz": T.TimestampType(),
    "varchar": T.StringType(),
    "json": T.StringType(),
    "uuid": T.StringType(),
    "blob": T.BinaryType(),
    "variant": T.VariantType(),
    **({} if TIME is None else {"time": TIME(6)}),
}
# As they are read from files, where that differs.
_STORED: dict[str, T.DataType] = {"uuid": T.BinaryType(), "timestamp_ns": T.LongType()}

# Constants that Spark's fast reader cannot fill in, or whose text is not what the file holds.
_NO_DEFAULT = frozenset({"blob", "uuid", "timestamp_ns", "variant"})


def to_spark(schema: Schema) -> T.StructType:
    """Return the columns as Spark shows them: wider integers for unsigned ones, text for uuid.

    Raises:
        UnsupportedError: If Spark has no type for a column; the message names it.
    """
    return _struct(schema.fields, _plain_field)


def stored(schema: Schema, *, stable: bool = True) -> T.StructType:
    """Return the columns as Spark reads them from files, each matched by its field id.

    Unless names are `stable`, every column goes by its id alone.

    Raises:
        UnsupportedError: If Spark cannot read a column; the message names it.
    """
    return _struct(schema.fields, partial(_stored_field, stable=stable))


def from_spark(struct: T.StructType) -> Schema:
    """Return the columns of a Spark DataFrame as columns of a table, without ids, all nullable.

    Raises:
        UnsupportedError: If no table can hold a column; the message names it.
    """
    return columns_of(struct)


def shown(field: Field, *, stable: bool = True) -> Column:
    """Return the column that turns what `stored` reads into what `to_spark` promises."""
    name = stored_name(field, stable=stable)
    value = decode(field, quoted(name), stable=stable)
    if not stable and field.children:
        return F.expr(value).cast(_type(field, "", _plain_field)).alias(field.name)
    return F.expr(value).alias(field.name) if value != quoted(field.name) else F.col(value)


def decode(field: Field, value: str, *, stable: bool = True) -> str:
    """Return the SQL that turns a stored value into the shown one; `value` itself if they agree."""
    if not _differs(field):
        return value
    again = partial(decode, stable=stable)
    convert = _DECODERS.get(field.type)
    if convert is not None:
        return convert(value)
    if field.type == "list":
        return f"transform({value}, x -> {again(field.children[0], 'x')})"
    if field.type == "map":
        key, item = field.children
        keys = f"transform(map_keys({value}), x -> {again(key, 'x')})"
        items = f"transform(map_values({value}), x -> {again(item, 'x')})"
        return f"map_from_arrays({keys}, {items})"
    inside = {c.name: (c, quoted(stored_name(c, stable=stable))) for c in field.children}
    parts = (f"{_text(n)}, {again(c, f'{value}.{place}')}" for n, (c, place) in inside.items())
    return f"if({value} IS NULL, NULL, named_struct({', '.join(parts)}))"


def stored_name(field: Field, *, stable: bool) -> str:
    """Return the name that a column goes by while it is read."""
    return field.name if stable else f"__mere_{field.id}"


def quoted(name: str) -> str:
    """Quote a column's name for Spark SQL."""
    return f"`{name.replace('`', '``')}`"


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _differs(field: Field) -> bool:
    return field.type in _DECODERS or any(_differs(child) for child in field.children)


def _uuid_text(value: str) -> str:
    """Spell 16 bytes with hyphens; NULL stays NULL."""
    digits = f"lower(hex({value}))"
    return rf"regexp_replace({digits}, '^(.{{8}})(.{{4}})(.{{4}})(.{{4}})', '$1-$2-$3-$4-')"


def _microseconds(value: str) -> str:
    """Cut nanoseconds since 1970 to the microsecond below, as Spark has nothing finer."""
    whole = f"{value} div 1000 - CAST({value} % 1000 < 0 AS INT)"
    return f"timestampadd(MICROSECOND, {whole}, TIMESTAMP_NTZ'1970-01-01')"


_DECODERS: dict[str, Callable[[str], str]] = {"uuid": _uuid_text, "timestamp_ns": _microseconds}


def _struct(fields: Iterable[Field], make: _Make, path: str = "") -> T.StructType:
    return T.StructType([make(field, f"{path}{field.name}") for field in fields])


def _plain_field(field: Field, path: str) -> T.StructField:
    return T.StructField(field.name, _type(field, path, _plain_field))


def _stored_field(field: Field, path: str, *, stable: bool) -> T.StructField:
    dtype = _STORED.get(field.type) or _type(field, path, partial(_stored_field, stable=stable))
    metadata: dict[str, object] = {"parquet.field.id": field.id}
    if field.initial_default is not None:
        metadata |= _default(field, path, dtype)
    return T.StructField(stored_name(field, stable=stable), dtype, metadata=metadata)


def _type(field: Field, path: str, make: _Make) -> T.DataType:
    decimal = decimal_parts(field.type)
    if decimal is not None:
        return T.DecimalType(*decimal)
    if field.type == "struct":
        return _struct(field.children, make, f"{path}.")
    parts = [make(child, f"{path}.{child.name}").dataType for child in field.children]
    if field.type == "list":
        return T.ArrayType(parts[0])
    if field.type == "map":
        return T.MapType(parts[0], parts[1])
    if field.type not in SHOWN:
        msg = f"Spark has no type for column {path!r} of type {field.type}"
        raise UnsupportedError(msg, hint="leave the column out: scan(columns=[…])")
    return SHOWN[field.type]


def _default(field: Field, path: str, dtype: T.DataType) -> dict[str, object]:
    """Say what rows of older files hold; Spark keeps such a constant in a field's metadata."""
    text = field.initial_default or ""
    if field.children or field.type in _NO_DEFAULT or _is_long(dtype, text) or "." in path:
        msg = f"Spark cannot fill in the default {text!r} of column {path!r}, a {field.type}"
        raise UnsupportedError(msg, hint="leave the column out: scan(columns=[…])")
    literal = _text(text)
    if not isinstance(dtype, T.StringType):
        literal = f"CAST({literal} AS {dtype.simpleString()})"
    return {"EXISTS_DEFAULT": literal}


def _is_long(dtype: T.DataType, text: str) -> bool:
    """Tell whether a decimal constant has more digits than Spark's fast reader can fill in."""
    if not isinstance(dtype, T.DecimalType) or dtype.precision <= LONG_DIGITS:
        return False
    return bool(abs(Decimal(text).scaleb(dtype.scale)) >= 10**LONG_DIGITS)
