"""Hand out rows as a polars LazyFrame that reads the files itself wherever it can."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import polars as pl
import pyarrow as pa
from polars.io.plugins import register_io_source

from mere.arrow import to_arrow
from mere.arrow.bare import bare, bare_schema
from mere.errors import UnsupportedError
from mere.model.files import DataFile
from mere.model.schema import Field, Schema
from mere.ports import Reading
from mere.readers import streams
from mere.readers.polars_where import to_polars
from mere.readers.shapes import Shape, alike, shapes
from mere.reading import living, visible
from mere.reading.conform import filled
from mere.reading.forms import Source, lines_up, spelled_alike

_ROW = "_mere_row"

Names: TypeAlias = tuple[str | None, ...]
"""What each wanted column is called in a file; None: the file does not hold it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """How polars reads some files; `names` None: through Arrow.

    `types` tells files apart whose columns are called the same but stored otherwise, `fills` what
    they read where they do not hold a column.
    """

    names: Names | None
    types: tuple[str, ...] = ()
    fills: Names = ()


def read(reading: Reading) -> pl.LazyFrame:
    """Return a LazyFrame of the rows: columns and filters are pushed down into the files.

    Files that polars cannot read by itself are streamed by `mere`, only when and as far as the
    frame is collected. The rows are pinned: collected twice, they are the same.

    Raises:
        UnsupportedError: If a column has a type that polars has not.
    """
    _check(reading.schema)
    if not (reading.files or reading.inlined) or reading.limit == 0:
        return pl.LazyFrame(schema=_types(reading.schema))
    where = None if reading.where is None else to_polars(reading.where, reading.table)
    if reading.where is not None and where is None:
        return _streamed(reading)
    wanted = streams.wanted(reading)
    whole = replace(reading, schema=wanted, where=None, limit=None, certain=frozenset())
    fills = (None,) * len(wanted)
    same = {_Form(names=wanted.names, fills=fills): list(reading.files)}
    forms = same if alike(reading) else _forms(shapes(whole))
    stored = replace(whole, inlined=None)
    frames = [_frame(stored, form, files) for form, files in forms.items() if files]
    if reading.inlined is not None:
        frames.append(_streamed(replace(whole, files=())))
    frame = frames[0] if len(frames) == 1 else pl.concat(frames, how="vertical")
    if where is not None:
        frame = frame.filter(where)
    if len(wanted) != len(reading.schema):
        frame = frame.select(reading.schema.names)
    return frame if reading.limit is None else frame.head(reading.limit)


def _check(schema: Schema) -> None:
    for path, leaf in schema.leaves():
        if leaf.type in {"interval", "geometry"}:
            msg = f"column {'.'.join(path)!r} has the type {leaf.type}, which polars has not"
            raise UnsupportedError(msg, hint="leave the column out, or read it with to_duckdb()")


def _types(schema: Schema) -> pl.Schema:
    return framed(bare_schema(to_arrow(schema, ids=False)).empty_table()).schema


def framed(table: pa.Table) -> pl.DataFrame:
    """Return rows whose columns have no meaning of their own as a DataFrame."""
    frame = pl.from_arrow(table, rechunk=False)
    return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()


def _forms(looked: Iterable[tuple[DataFile, Shape]]) -> dict[_Form, list[DataFile]]:
    """Sort the files by how polars finds their columns, each kind in the order of the files."""
    found: dict[_Form, list[DataFile]] = {}
    for file, shape in looked:
        found.setdefault(_form(shape.columns), []).append(file)
    return found


def _form(columns: tuple[Source, ...]) -> _Form:
    parts = [source.part for source in columns]
    if all(part is None for part in parts):
        return _Form(names=None)
    names: list[str | None] = []
    for source in columns:
        called = source if source.part is None else _called(source, source.part.name)
        if source.part is not None and not (lines_up(called) and spelled_alike(source)):
            return _Form(names=None)
        names.append(None if source.part is None else source.part.name)
    types = tuple("" if part is None else str(part.type) for part in parts)
    fills = tuple(None if s.part is not None else s.field.initial_default for s in columns)
    return _Form(names=tuple(names), types=types, fills=fills)


def _called(source: Source, name: str) -> Source:
    """Return the column as if the table called it what the file does: renaming it is easy."""
    return replace(source, field=replace(source.field, name=name))


def _frame(reading: Reading, form: _Form, files: list[DataFile]) -> pl.LazyFrame:
    if form.names is None:
        return _streamed(replace(reading, files=tuple(files)))
    plain = [f for f in files if visible.is_whole(f, reading.snapshot)]
    frames = [_scan(reading, plain)] if plain else []
    cut = {id(f) for f in files} - {id(f) for f in plain}
    for file in (f for f in files if id(f) in cut):
        if visible.needs_snapshot(file, reading.snapshot):
            frames.append(_streamed(replace(reading, files=(file,))))
        else:
            frames.append(_without_deleted(reading, file))
    return pl.concat([_selected(reading, frame, form) for frame in frames])


def _scan(reading: Reading, files: list[DataFile], **options: Any) -> pl.LazyFrame:
    return pl.scan_parquet(
        [reading.store.resolve(file.path) for file in files],
        hive_partitioning=False,
        glob=False,
        extra_columns="ignore",
        missing_columns="insert",
        storage_options=reading.store.options("polars") or None,
        **options,
    )


def _without_deleted(reading: Reading, file: DataFile) -> pl.LazyFrame:
    gone = living.gone(reading.store, file, reading.snapshot)
    rows = _scan(reading, [file], row_index_name=_ROW)
    numbers = pl.LazyFrame({_ROW: pl.from_arrow(gone)})
    deleted = numbers.select(pl.col(_ROW).cast(pl.get_index_type()))
    return rows.join(deleted, on=_ROW, how="anti", maintain_order="left").drop(_ROW)


def _selected(reading: Reading, frame: pl.LazyFrame, form: _Form) -> pl.LazyFrame:
    stored, target = frame.collect_schema(), _types(reading.schema)
    columns = []
    found = zip(reading.schema.fields, form.names or (), form.fills, strict=True)
    for field, name, fill in found:
        kind = target[field.name]
        if name is None:
            columns.append(_default(replace(field, initial_default=fill), kind))
        else:
            column = pl.col(name) if stored[name] == kind else pl.col(name).cast(kind)
            columns.append(column if name == field.name else column.alias(field.name))
    return frame.select(columns)


def _default(field: Field, kind: Any) -> pl.Expr:
    if field.initial_default is None:
        return pl.lit(None, dtype=kind).alias(field.name)
    value = filled(field, bare_schema(to_arrow(Schema(fields=(field,)), ids=False)).types[0], 1)
    # A literal of Python would lose nanoseconds.
    return pl.lit(pl.Series(pl.from_arrow(value))).first().cast(kind).alias(field.name)


def _streamed(reading: Reading) -> pl.LazyFrame:
    """Return a frame whose rows `mere` reads, only the columns that are needed."""
    return register_io_source(
        partial(_batches, reading), schema=dict(_types(reading.schema)), is_pure=True
    )


def _batches(
    reading: Reading,
    columns: list[str] | None,
    predicate: pl.Expr | None,
    rows: int | None,
    _batch_rows: int | None,
) -> Iterator[pl.DataFrame]:
    if columns:  # none at all are asked for by who only counts the rows
        reading = replace(reading, schema=reading.schema.select(tuple(columns)))
    if rows is not None:
        reading = replace(
            reading, limit=rows if reading.limit is None else min(rows, reading.limit)
        )
    for table in streams.tables(reading):
        frame = framed(bare(table))
        yield frame if predicate is None else frame.filter(predicate)
