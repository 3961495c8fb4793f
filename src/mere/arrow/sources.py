"""Take rows from whatever holds them, as one Arrow stream in bounded memory."""

import datetime as dt
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any
from uuid import UUID

import pyarrow as pa

from mere.arrow.spelling import parse_column
from mere.arrow.types import from_arrow, plain
from mere.arrow.values import named_values, table_of
from mere.errors import InvalidInputError
from mere.model.schema import Field, Schema

_ROWS_AT_ONCE = 1 << 17
_REREADABLE = frozenset({"pyarrow", "polars", "pandas", "duckdb", "datafusion", "daft"})
_ACCEPTED = (
    "data is anything with the Arrow C stream (pyarrow, polars, pandas, DuckDB, DataFusion, Daft, "
    "arro3), a pyarrow Dataset or Scanner, a polars LazyFrame, an iterator of record batches, "
    "a list of dicts, a dict of columns, or a path or glob of Parquet files"
)
_DESCRIBED = (
    'columns are described as {"id": "int64", "ts": "timestamp"}, by a pyarrow or polars schema, '
    "a Spark StructType, or data to take them from"
)
_OF_PYTHON: Mapping[type, str] = {
    bool: "boolean",
    int: "int64",
    float: "float64",
    str: "varchar",
    bytes: "blob",
    dt.date: "date",
    dt.datetime: "timestamp",
    dt.time: "time",
    UUID: "uuid",
}


@dataclass(frozen=True, slots=True)
class _Source:
    """How to see the columns of some rows, and how to read them once."""

    schema: Callable[[], pa.Schema]
    reader: Callable[[], pa.RecordBatchReader]


def stream(data: Any) -> pa.RecordBatchReader:
    """Return the rows of `data` as one stream of batches; nothing is read ahead of need.

    Raises:
        InvalidInputError: If `data` is nothing that rows can be taken from.
        NoFilesError: If a path or glob names no file.
    """
    return _source(hold(data)).reader()


def schema_of(data: Any) -> pa.Schema:
    """Return the Arrow schema of `data` without consuming a row.

    A bare iterator can only be read once: give it to `hold` first.

    Raises:
        InvalidInputError: If `data` is nothing that rows can be taken from, or a bare iterator.
        NoFilesError: If a path or glob names no file.
    """
    if _is_iterator(data):
        msg = "an iterator of record batches shows its columns only when it is read"
        raise InvalidInputError(msg, hint="pass it through mere.arrow.hold first")
    return _source(data).schema()


def names_of(data: Any) -> list[str]:
    """Return the names of all columns of `data`, also of those that hold nothing but NULL.

    Raises:
        InvalidInputError: If `data` is nothing that rows can be taken from, or a bare iterator.
        NoFilesError: If a path or glob names no file.
    """
    return list(data.columns if _library(data) == "pyspark" else schema_of(data).names)


def nulls_of(data: Any) -> list[str]:
    """Return the names of the columns of `data` whose type leaves room for nothing but NULL.

    Raises:
        InvalidInputError: If `data` is nothing that rows can be taken from, or a bare iterator.
        NoFilesError: If a path or glob names no file.
    """
    if _library(data) == "pyspark":
        return [field.name for field in data.schema if field.dataType.typeName() == "void"]
    return [field.name for field in schema_of(data) if pa.types.is_null(plain(field.type))]


def hold(data: Any, wanted: Callable[[], Schema] | None = None) -> Any:
    """Return `data` in a form whose columns can be seen before its rows are read.

    What can be read only once (an iterator, a foreign stream) becomes a reader; Python values
    become a table, with numbers as wide as the `wanted` columns; everything else is returned as
    it is.
    """
    columns = named_values(data)
    if columns is not None:
        return table_of(columns, None if wanted is None else wanted())
    if _is_iterator(data):
        return _from_iterator(data)
    if hasattr(data, "__arrow_c_stream__") and _library(data) not in {*_REREADABLE, "pyspark"}:
        return _from_stream(data)
    return data


def schema_from(thing: Any) -> Schema:
    """Return the columns that `thing` describes, for a new table.

    It is a Schema, an Arrow or polars schema, names with spelled types
    (`{"id": "int64", "tags": "list<varchar>"}`), or data to take the columns from.

    Raises:
        InvalidInputError: If it is none of these, or a type cannot be read.
        UnsupportedError: If no table can hold a column's type.
    """
    if isinstance(thing, Schema):
        return thing
    if _is_iterator(thing):
        msg = "an iterator shows its columns only when it is read"
        raise InvalidInputError(msg, hint="give the schema of its first batch: batch.schema")
    columns = _described(thing)
    if columns is None:
        columns = from_arrow(_source(thing, what="columns", accepted=_DESCRIBED).schema())
    if not columns.fields:
        msg = f"a table needs columns, and the {type(thing).__name__} shows none"
        raise InvalidInputError(msg, hint='write {"id": "int64", "ts": "timestamp"}')
    return columns


def _described(thing: Any) -> Schema | None:
    """Return the columns of a description, None when `thing` is data."""
    if isinstance(thing, pa.Schema):
        return from_arrow(thing)
    pairs = _pairs(thing)
    if not pairs:
        return None
    odd = next((name for name, _ in pairs if not isinstance(name, str) or not name), None)
    if odd is not None:
        msg = f"a column needs a text as its name, got {odd!r}"
        raise InvalidInputError(msg)
    fields = [_column(name, kind) for name, kind in pairs]
    if not any(fields):
        return None
    return Schema(fields=tuple(_required(f, *p) for f, p in zip(fields, pairs, strict=True)))


def _pairs(thing: Any) -> list[tuple[Any, Any]]:
    """Return (name, type) of every column that a dict or a list of pairs describes."""
    if isinstance(thing, Mapping):
        return list(thing.items())
    if isinstance(thing, list) and all(isinstance(p, tuple) and len(p) == 2 for p in thing):  # noqa: PLR2004  a pair
        return thing
    return []


def _column(name: str, kind: Any) -> Field | None:
    """Return the column that a type describes, None when `kind` is no type."""
    if isinstance(kind, str):
        return parse_column(name, kind)
    if isinstance(kind, type) and kind in _OF_PYTHON:
        return Field(name=name, type=_OF_PYTHON[kind])
    arrow = kind if isinstance(kind, pa.DataType) else _of_polars(kind)
    return None if arrow is None else from_arrow(pa.schema([(name, arrow)])).fields[0]


def _of_polars(kind: Any) -> pa.DataType | None:
    """Return a polars type as Arrow's; the library is there when one of its types is."""
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(kind, polars.DataType | polars.datatypes.DataTypeClass):
        return None
    return _from_stream(polars.Schema({"x": kind}).to_frame()).schema.field(0).type


def _required(field: Field | None, name: str, kind: Any) -> Field:
    if field is None:
        msg = f"column {name!r}: {kind!r} is no type"
        raise InvalidInputError(msg, hint=_DESCRIBED)
    return field


def _source(data: Any, *, what: str = "rows", accepted: str = _ACCEPTED) -> _Source:
    for recognise in (_of_arrow, _of_frames, _of_python, _of_streams):
        found = recognise(data)
        if found is not None:
            return found
    msg = f"cannot take {what} from {type(data).__name__}"
    raise InvalidInputError(msg, hint=accepted)


def _library(data: object) -> str:
    return type(data).__module__.partition(".")[0].lstrip("_")


def _is_iterator(data: Any) -> bool:
    return isinstance(data, Iterator) and not hasattr(data, "__arrow_c_stream__")


def _of_arrow(data: Any) -> _Source | None:
    if isinstance(data, pa.RecordBatchReader):
        return _Source(lambda: data.schema, lambda: data)
    if isinstance(data, pa.Table):
        return _Source(lambda: data.schema, lambda: data.to_reader(_ROWS_AT_ONCE))
    if isinstance(data, pa.RecordBatch):
        return _of_arrow(pa.Table.from_batches([data]))
    return _of_dataset(data) if _library(data) == "pyarrow" else None


def _of_dataset(data: Any) -> _Source | None:
    """Recognise a Dataset or a Scanner by its methods: their module is slow to import."""
    if hasattr(data, "scanner"):
        return _Source(lambda: data.schema, lambda: data.scanner().to_reader())
    if hasattr(data, "projected_schema"):
        return _Source(lambda: data.projected_schema, data.to_reader)
    return None


def _of_frames(data: Any) -> _Source | None:
    """Recognise frames by the library of their type, so that none needs to be imported."""
    library, kind = _library(data), type(data).__name__
    if library == "polars" and kind == "LazyFrame":
        return _Source(lambda: _lazy_schema(data), lambda: _lazy_reader(data))
    if library == "polars" and kind == "DataFrame":
        _refuse_objects(data.schema)
        return _of_streams(data)
    if library == "pandas" and kind == "DataFrame":
        return _Source(lambda: _pandas_schema(data), lambda: _pandas_reader(data))
    if library == "duckdb" and hasattr(data, "limit"):
        return _Source(lambda: _from_stream(data.limit(0)).schema, lambda: _from_stream(data))
    return None


def _lazy_schema(frame: Any) -> pa.Schema:
    columns = frame.collect_schema()
    _refuse_objects(columns)
    return _from_stream(columns.to_frame()).schema


def _refuse_objects(columns: Mapping[str, Any]) -> None:
    """Refuse Python objects in a polars frame: it hands out where they lie in memory."""
    for name, kind in columns.items():
        if str(kind) in {"Object", "Int128", "UInt128"}:
            msg = f"column {name!r} has the polars type {kind}, which Arrow cannot carry"
            raise InvalidInputError(msg, hint="cast the column first")


def _lazy_reader(frame: Any) -> pa.RecordBatchReader:
    """Run a lazy frame in polars' streaming engine, batch by batch, when rows are asked for."""
    frames = frame.collect_batches(chunk_size=_ROWS_AT_ONCE, lazy=True, engine="streaming")
    batches = (batch for part in frames for batch in _from_stream(part))
    return pa.RecordBatchReader.from_batches(_lazy_schema(frame), batches)


def _pandas_schema(frame: Any) -> pa.Schema:
    """Return the columns of a pandas frame; the index is one of them when it has a name."""
    names = [*frame.columns, *(name for name in frame.index.names if name is not None)]
    odd = [name for name in names if not isinstance(name, str)]
    if odd or len(set(names)) < len(names):
        msg = f"a table's columns need names of their own, the pandas frame has: {names!r}"
        raise InvalidInputError(msg, hint="rename the columns to different texts")
    try:
        found = pa.Schema.from_pandas(frame, preserve_index=_keeps_index(frame))
    except (pa.ArrowException, TypeError, OverflowError) as error:
        mixed = next((name for name in frame.columns if not _has_type(frame[name])), None)
        msg = f"the values of column {mixed!r} have no common type: {error}"
        raise InvalidInputError(msg, hint="convert the column first: .astype(...)") from error
    return found.remove_metadata()


def _has_type(column: Any) -> bool:
    try:
        pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, OverflowError):
        return False
    return True


def _pandas_reader(frame: Any) -> pa.RecordBatchReader:
    columns = _pandas_schema(frame)
    keep = _keeps_index(frame)
    batches = (
        pa.RecordBatch.from_pandas(
            frame.iloc[start : start + _ROWS_AT_ONCE], schema=columns, preserve_index=keep
        ).replace_schema_metadata(None)
        for start in range(0, len(frame), _ROWS_AT_ONCE)
    )
    return pa.RecordBatchReader.from_batches(columns, batches)


def _keeps_index(frame: Any) -> bool:
    return all(name is not None for name in frame.index.names)


def _of_python(data: Any) -> _Source | None:
    """Recognise rows and columns that are plain Python values, and lists of pieces."""
    columns = named_values(data)
    if columns is not None:
        return _of_arrow(table_of(columns))
    if isinstance(data, list | tuple) and all(_is_piece(part) for part in data):
        return _of_arrow(_from_iterator(iter(data)))
    return None


def _is_piece(part: Any) -> bool:
    return hasattr(part, "__arrow_c_array__") or hasattr(part, "__arrow_c_stream__")


def _of_streams(data: Any) -> _Source | None:
    if hasattr(data, "__arrow_c_stream__"):
        return _Source(lambda: _stream_schema(data), lambda: _from_stream(data))
    if hasattr(data, "__arrow_c_array__"):
        return _of_arrow(_from_array(data))
    return None


def _from_array(data: Any) -> pa.RecordBatch:
    try:
        return pa.record_batch(data)
    except (pa.ArrowException, TypeError) as error:
        msg = f"the Arrow array of {type(data).__name__} has no columns: {error}"
        raise InvalidInputError(msg, hint=_ACCEPTED) from error


def _stream_schema(data: Any) -> pa.Schema:
    if hasattr(data, "__arrow_c_schema__"):
        return pa.schema(data)
    return _from_stream(data).schema


def _from_stream(data: Any) -> pa.RecordBatchReader:
    try:
        return pa.RecordBatchReader.from_stream(data)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
        msg = f"the Arrow stream of {type(data).__name__} has no columns: {error}"
        raise InvalidInputError(msg, hint=_ACCEPTED) from error


def _from_iterator(batches: Iterator[Any]) -> pa.RecordBatchReader:
    """Make a reader of an iterator; its first batch tells the columns."""
    pieces = _pieces(batches)
    first = next(pieces, None)
    if first is None:
        return pa.RecordBatchReader.from_batches(pa.schema([]), iter(()))
    return pa.RecordBatchReader.from_batches(first.schema, chain((first,), pieces))


def _pieces(batches: Iterable[Any]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if isinstance(batch, pa.RecordBatch):
            yield batch
        elif hasattr(batch, "__arrow_c_array__"):
            yield pa.record_batch(batch)
        elif hasattr(batch, "__arrow_c_stream__"):
            table = pa.table(batch)
            yield from table.to_batches(_ROWS_AT_ONCE) or (_empty(table.schema),)
        else:
            msg = f"an iterator must yield Arrow record batches, got {type(batch).__name__}"
            raise InvalidInputError(msg, hint=_ACCEPTED)


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=schema)
