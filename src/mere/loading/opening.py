"""Open one file, whatever its format, as batches with columns of its own."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as js
import pyarrow.parquet as pq
from pyarrow import csv

from mere.arrow import arrow_type
from mere.errors import InvalidInputError, MereError, StorageError
from mere.model.loading import Form, Source
from mere.model.schema import Field, Schema
from mere.ports import Store

_CSV_BLOCK = 4 << 20
_JSON_BLOCK = 16 << 20
_SAMPLE = 8 << 20
_TIMES = {"date", "time", "timetz"}
_AS_TEXT = {"csv": {"uuid", "json", "timestamptz"}, "json": {"uuid", "json", *_TIMES}}
_ZONED = r":\d\d(\.\d+)?\s*(Z|z|[+-]\d\d(:?\d\d)?)$"


@contextmanager
def named(source: Source) -> Iterator[None]:
    """Let every error name the file.

    Raises:
        InvalidInputError: If it cannot be read as what it should be.
    """
    try:
        yield
    except MereError as error:
        msg = f"{source.path}: {error.message}"
        raise type(error)(msg, hint=error.hint) from error
    except (pa.ArrowException, OSError, UnicodeError) as error:
        reason = str(error).partition("\n")[0]
        msg = f"cannot read {source.path!r} as {source.format}: {reason}"
        raise InvalidInputError(msg) from error


def shown(source: Source, store: Store, form: Form) -> pa.Schema:
    """Return the columns of a file; those of CSV and JSON are guessed from its first megabytes."""
    with named(source), _opened(source, store) as file:
        if source.format == "parquet":
            return _parquet(file).schema_arrow
        if not source.bytes:
            return pa.schema([])
        if source.format == "csv":
            return _csv(file, source, form).schema
        sample = file.read(_SAMPLE)
        whole = sample if len(sample) < _SAMPLE else sample[: sample.rfind(b"\n") + 1]
        if not whole.strip():
            return pa.schema([])
        return _json(BytesIO(whole)).schema


def batches(source: Source, store: Store, form: Form, target: Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file; values of CSV and JSON are read as the table's types.

    Raises:
        InvalidInputError: If it cannot be read, or changed meanwhile; the message names it.
    """
    with named(source):
        if source.bytes:
            with _opened(source, store) as file:
                yield from _READERS[source.format](file, source, form, target)
        elif source.format == "parquet":
            msg = "cannot be read as parquet: it is empty"
            raise InvalidInputError(msg)
        _require_unchanged(source, store)


@contextmanager
def _opened(source: Source, store: Store) -> Iterator[Any]:
    if source.packed and source.format == "parquet":
        msg = f"a Parquet file cannot be read inside {source.packed}"
        raise InvalidInputError(msg)
    with store.open(source.path) as file:
        yield pa.CompressedInputStream(file, source.packed) if source.packed else file


def _require_unchanged(source: Source, store: Store) -> None:
    if "://" in source.path:
        same = store.size(source.path) == source.bytes
    else:
        try:
            about = os.stat(source.path)  # noqa: PTH116  a text, as it was found
        except OSError as error:
            msg = f"it went away while it was read: {error.strerror}"
            raise StorageError(msg) from error
        same = (about.st_size, str(about.st_mtime_ns)) == (source.bytes, source.mark)
    if not same:
        msg = "it changed while it was read"
        raise InvalidInputError(msg, hint="load it again when nobody writes it any more")


# --- Parquet --------------------------------------------------------------------------------------


def _parquet(file: Any) -> pq.ParquetFile:
    return pq.ParquetFile(file, pre_buffer=True, coerce_int96_timestamp_unit="us")


def _parquet_rows(
    file: Any, source: Source, form: Form, target: Schema
) -> Iterator[pa.RecordBatch]:
    del source, form, target
    yield from _parquet(file).iter_batches()


# --- CSV ------------------------------------------------------------------------------------------


def _csv(
    file: Any,
    source: Source,
    form: Form,
    kinds: Mapping[str, pa.DataType] | None = None,
    names: tuple[str, ...] = (),
) -> csv.CSVStreamingReader:
    tab = source.path.lower().removesuffix(f".{source.packed}").partition(".tsv")[1]
    read = csv.ReadOptions(
        block_size=_CSV_BLOCK,
        encoding=form.encoding,
        skip_rows=form.skip_rows,
        column_names=list(names) or None,
        autogenerate_column_names=not form.header and not names,
    )
    parse = csv.ParseOptions(
        delimiter=form.delimiter or ("\t" if tab else ","),
        quote_char=form.quote or False,
        escape_char=form.escape or False,
        newlines_in_values=form.newlines,
    )
    convert = csv.ConvertOptions(
        column_types=dict(kinds or {}),
        null_values=list(form.null),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        decimal_point=form.decimal_point,
    )
    return csv.open_csv(file, read_options=read, parse_options=parse, convert_options=convert)


def _csv_rows(file: Any, source: Source, form: Form, target: Schema) -> Iterator[pa.RecordBatch]:
    names = () if form.header else _without_header(source, target)
    kinds = {name: _kind("csv", field) for name, field in _fields(target, names)}
    if form.header:
        head = file.read(_CSV_BLOCK)
        found = _csv(BytesIO(head), source, form).schema.names if head.strip() else []
        kinds = {name: _kind("csv", field) for name, field in _fields(target, tuple(found))}
        file = _again(head, file)
    zoned = [name for name, field in _fields(target, tuple(kinds)) if field.type == "timestamptz"]
    for batch in _csv(file, source, form, kinds, names):
        yield _with_zones(batch, zoned)


def _fields(target: Schema, names: tuple[str, ...]) -> Iterator[tuple[str, Field]]:
    for name in names:
        field = target.find(name)
        if field is not None:
            yield name, field


def _without_header(source: Source, target: Schema) -> tuple[str, ...]:
    """Name columns as the table does, in its order, without those that the folders name."""
    folders = {name.casefold() for name, _ in source.folders}
    return tuple(name for name in target.names if name.casefold() not in folders)


def _with_zones(batch: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
    """Read moments; those that name no zone are in UTC."""
    for name in names:
        texts = batch.column(name)
        plain = pc.invert(pc.match_substring_regex(texts, _ZONED))
        stamped = pc.binary_join_element_wise(texts, "Z", "")
        moments = pc.if_else(plain, stamped, texts).cast(pa.timestamp("us", tz="UTC"))
        batch = batch.set_column(batch.schema.get_field_index(name), name, moments)
    return batch


# --- JSON -----------------------------------------------------------------------------------------


def _json(file: Any, schema: pa.Schema | None = None) -> Any:
    read = js.ReadOptions(block_size=_JSON_BLOCK)
    extra = "infer" if schema is None else "error"
    parse = js.ParseOptions(explicit_schema=schema, unexpected_field_behavior=extra)
    if schema is None:
        return js.read_json(file, read_options=read, parse_options=parse)
    return js.open_json(file, read_options=read, parse_options=parse)


def _json_rows(file: Any, source: Source, form: Form, target: Schema) -> Iterator[pa.RecordBatch]:
    del form
    head = file.read(_CSV_BLOCK)
    if not head.strip():
        return
    if head.lstrip().startswith(b"["):
        msg = "it holds one JSON array; what is read is one object per line"
        raise InvalidInputError(msg, hint="jq -c '.[]' turns an array into lines")
    fields = [pa.field(field.name, _kind("json", field)) for field in target]
    folders = {name.casefold(): value for name, value in source.folders}
    for batch in _json(_again(head, file), pa.schema(fields)):
        yield _filled(_timed(batch, target), target, folders)


def _timed(batch: pa.RecordBatch, target: Schema) -> pa.RecordBatch:
    """Read days and times of day, which Arrow's reader of JSON leaves as text."""
    for place, field in enumerate(target):
        if field.type in _TIMES:
            values = batch.column(place).cast(arrow_type(field))
            batch = batch.set_column(place, field.name, values)
    return batch


def _filled(
    batch: pa.RecordBatch, target: Schema, folders: Mapping[str, str | None]
) -> pa.RecordBatch:
    """Drop columns of which no row says anything, when the folders do or a default is there."""
    silent = [
        field.name
        for field in target
        if field.name.casefold() in folders or field.default is not None
    ]
    gone = [name for name in silent if batch.column(name).null_count == batch.num_rows]
    return batch.drop_columns(gone) if gone else batch


def _kind(format: str, field: Field) -> pa.DataType:  # noqa: A002  what users call it
    """Return what values of a column are read as, before they are fitted."""
    if field.type in _AS_TEXT[format] or (format == "csv" and field.children):
        return pa.string()
    return arrow_type(field)


class _Again:
    """A stream whose beginning was read already."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head = BytesIO(head)
        self._rest = rest
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        found = self._head.read(size)
        return found or bytes(self._rest.read(None if size < 0 else size))

    def close(self) -> None:
        self.closed = True


def _again(head: bytes, rest: Any) -> Any:
    return pa.PythonFile(_Again(head, rest), mode="r")


_READERS = {"parquet": _parquet_rows, "csv": _csv_rows, "json": _json_rows}
