"""Open adopted files in Spark: columns by their names in the file, or from its folders.

Spark reads the files itself. What only folders say is joined to it by the name of the file.
"""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the name that Spark's own documentation uses
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from mere.arrow import arrow_type
from mere.arrow.bare import bare_type
from mere.model.files import DataFile
from mere.model.mapping import Mapping, Named
from mere.model.schema import Field, Schema
from mere.ports import Reading
from mere.reading.conform import filled
from mere.reading.forms import folder_value
from mere.spark.files import PATH
from mere.spark.types import quoted
from mere.spark.visible import as_uri, open_undeleted

_HIVE = "__mere_folder_{}"


def open_adopted(
    spark: SparkSession,
    reading: Reading,
    files: Sequence[DataFile],
    wanted: Schema,
    types: StructType,
) -> list[DataFrame]:
    """Return a DataFrame for all files that call their columns the same.

    They have the columns `types`, which are those that `wanted` is read with.
    """
    alike: dict[Mapping, list[DataFile]] = {}
    for file in files:
        alike.setdefault(file.names or (), []).append(file)
    return [_open(spark, reading, found, wanted, types) for found in alike.values()]


def _open(
    spark: SparkSession,
    reading: Reading,
    files: Sequence[DataFile],
    wanted: Schema,
    types: StructType,
) -> DataFrame:
    known = {named.id: named for named in files[0].names or ()}
    pairs = [
        (field, known.get(field.id), about) for field, about in zip(wanted, types, strict=True)
    ]
    held = [
        StructField(named.name, _by_names(field, named, about.dataType))
        for field, named, about in pairs
        if named is not None and not named.hive
    ]
    frame = open_undeleted(spark, reading, files, StructType(held))
    hive = [(f, named, about) for f, named, about in pairs if named is not None and named.hive]
    if hive:
        folders = spark.createDataFrame(_folders(reading, files, hive))
        frame = frame.join(F.broadcast(folders), PATH)
    return frame.select(*(_column(*pair) for pair in pairs))


def _by_names(field: Field, named: Named, kind: DataType) -> DataType:
    """Return the type to read a column with: its parts are called as the file calls them."""
    parts = {child.id: child for child in named.children}
    if isinstance(kind, StructType):
        return StructType(
            [
                StructField(parts[f.id].name, _by_names(f, parts[f.id], about.dataType))
                for f, about in zip(field.children, kind.fields, strict=True)
                if f.id in parts
            ]
        )
    if isinstance(kind, ArrayType):
        (element,) = field.children
        inner = parts.get(element.id)
        return ArrayType(_by_names(element, inner, kind.elementType) if inner else kind.elementType)
    if isinstance(kind, MapType):
        key, value = (parts.get(f.id) for f in field.children)
        keys = _by_names(field.children[0], key, kind.keyType) if key else kind.keyType
        items = _by_names(field.children[1], value, kind.valueType) if value else kind.valueType
        return MapType(keys, items)
    return kind


def _column(field: Field, named: Named | None, about: StructField) -> Column:
    """Return a column as it is read from other files: same name, same type."""
    kind = about.dataType
    if named is None:
        text = about.metadata.get("EXISTS_DEFAULT")
        column = F.lit(None) if text is None else F.expr(text)
    elif named.hive:
        column = F.col(_HIVE.format(field.id))
    else:
        column = _shaped(field, named, F.col(quoted(named.name)), kind)
    return column.cast(kind).alias(about.name)


def _shaped(field: Field, named: Named, value: Column, kind: DataType) -> Column:
    """Return a nested value with all parts that the table has, in their order."""
    parts = {child.id: child for child in named.children}
    if isinstance(kind, StructType):
        inside = [
            (
                F.lit(None)
                if f.id not in parts
                else _shaped(f, parts[f.id], value.getField(parts[f.id].name), about.dataType)
            )
            .cast(about.dataType)
            .alias(about.name)
            for f, about in zip(field.children, kind.fields, strict=True)
        ]
        return F.when(value.isNotNull(), F.struct(*inside))
    if isinstance(kind, ArrayType) and named.children:
        (element,), (inner,), below = field.children, named.children, kind.elementType
        return F.transform(value, lambda x: _shaped(element, inner, x, below).cast(below))
    if isinstance(kind, MapType) and parts:
        key, item = field.children
        keys, items = kind.keyType, kind.valueType
        made = F.transform(
            F.map_entries(value),
            lambda x: F.struct(
                _shaped(key, parts[key.id], x["key"], keys).cast(keys),
                _shaped(item, parts[item.id], x["value"], items).cast(items),
            ),
        )
        return F.map_from_entries(made)
    return value


def _folders(
    reading: Reading, files: Sequence[DataFile], hive: Sequence[tuple[Field, Named, StructField]]
) -> pa.Table:
    """Return what the folders of each file say, by the file's name in Spark."""
    columns = {PATH: pa.array([as_uri(reading.store.resolve(file.path)) for file in files])}
    for field, named, about in hive:
        kind = bare_type(arrow_type(field))
        values = [
            filled(replace(field, initial_default=folder_value(file, named)), kind, 1)
            for file in files
        ]
        told = pa.concat_arrays(values).cast(to_arrow_type(about.dataType))
        columns[_HIVE.format(field.id)] = told
    return pa.table(columns)
