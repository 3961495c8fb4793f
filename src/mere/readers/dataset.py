"""Hand out rows as a pyarrow Dataset: one fragment per file, with what is known of its values."""

from collections.abc import Iterator
from functools import reduce
from operator import and_
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from mere.arrow import arrow_type, to_arrow
from mere.arrow.inlined import rows_of
from mere.arrowexpr import to_pyarrow
from mere.errors import UnsupportedError
from mere.model.files import Bounds, DataFile, Value
from mere.model.schema import Field
from mere.ports import Reading
from mere.readers import arrow, streams
from mere.readers.shapes import Shape, alike, shapes
from mere.reading import visible
from mere.reading.conform import typed
from mere.reading.forms import Source, lines_up, spelled_alike

_HINT = "to_reader(), to_arrow() and the other to_* methods read them"
_GUARANTEED = frozenset(
    {"boolean", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
    | {"date", "timestamp", "timestamptz", "varchar"}
)
"""Types whose values pyarrow orders as the catalog does; not floats: a guarantee knows no NaN."""


def read(reading: Reading) -> ds.Dataset:
    """Return a Dataset of exactly the files that can match, filtered.

    Its fragments carry what the catalog knows: the values of identity partitions and, when they
    were loaded, the bounds of every column. With a limit, the rows are read at once.

    Raises:
        UnsupportedError: If a file holds deleted rows, or columns under other names than the
            table's, since a Dataset goes by names; or if the predicate needs a column that was
            not asked for.
    """
    if reading.limit is not None:
        return ds.dataset(arrow.read(reading))
    _check(reading)
    schema = to_arrow(reading.schema, ids=False)
    style = ds.ParquetFileFormat(
        default_fragment_scan_options=ds.ParquetFragmentScanOptions(
            pre_buffer=True, page_checksum_verification=True
        )
    )
    filesystem = reading.store.filesystem()
    fragments = [
        style.make_fragment(
            _place(reading.store.resolve(file.path)),
            filesystem=filesystem,
            partition_expression=reduce(and_, known) if known else None,
            row_groups=_groups(file, reading),
        )
        for file, known in _files(reading)
    ]
    found = ds.FileSystemDataset(fragments, schema, style, filesystem=filesystem)
    if reading.inlined is not None:
        rows = rows_of(reading.inlined, reading.table).select(list(schema.names))
        found = ds.UnionDataset(schema, [found, ds.dataset(rows)])
    return found if reading.where is None else found.filter(to_pyarrow(reading.where))


def _check(reading: Reading) -> None:
    for file in reading.files:
        if not visible.is_whole(file, reading.snapshot):
            msg = f"a Dataset cannot leave out the deleted rows of {file.path}"
            raise UnsupportedError(msg, hint=_HINT)
    more = streams.wanted(reading).names[len(reading.schema) :]
    if more:
        msg = f"a Dataset must hold the columns it is filtered by; add {', '.join(more)}"
        raise UnsupportedError(msg, hint=_HINT)


def _place(resolved: str) -> str:
    """Return what a filesystem of pyarrow calls a file: its URL without the scheme."""
    return resolved.partition("://")[2] if urlsplit(resolved).scheme else resolved


def _groups(file: DataFile, reading: Reading) -> list[int] | None:
    kept = reading.kept.get(file.id)
    return None if kept is None else [group.ordinal for group in kept.groups]


def _files(reading: Reading) -> Iterator[tuple[DataFile, list[pc.Expression]]]:
    """Yield the files with what holds for all of their rows."""
    if alike(reading):
        yield from ((file, _known(file, reading)) for file in reading.files)
        return
    for file, shape in shapes(reading):
        defaults = [_default(source, shape, file) for source in shape.columns]
        yield file, _known(file, reading) + [known for known in defaults if known is not None]


def _default(source: Source, shape: Shape, file: DataFile) -> pc.Expression | None:
    """Return what a column reads that the file does not hold; NULL needs no saying."""
    field = source.field
    fits = lines_up(source) and spelled_alike(source)
    hidden = source.part is None and field.name in shape.names
    if hidden or (source.part is not None and not fits):
        msg = f"{file.path} holds column {field.name!r} otherwise than the table has it now"
        raise UnsupportedError(msg, hint=_HINT)
    if source.part is not None or field.initial_default is None:
        return None
    return pc.field(field.name) == _scalar(field, typed(field, field.initial_default))


def _known(file: DataFile, reading: Reading) -> list[pc.Expression]:
    fields = {f.id: f for f in reading.schema if f.type in _GUARANTEED}
    known = []
    if file.partition_id == reading.layout.id:
        keys = zip(reading.layout.keys, file.partition, strict=False)
        known = [
            _equals(fields[key.column], value)
            for key, value in keys
            if key.transform == "identity" and key.column in fields
        ]
    for number, bounds in file.bounds.items():
        if number in fields and bounds.minimum is not None and bounds.maximum is not None:
            known.append(_within(fields[number], bounds))
    return known


def _scalar(field: Field, value: Value) -> pa.Scalar:
    return pa.scalar(value, arrow_type(field))


def _equals(field: Field, value: Value | None) -> pc.Expression:
    column = pc.field(field.name)
    return column.is_null() if value is None else column == _scalar(field, value)


def _within(field: Field, bounds: Bounds) -> pc.Expression:
    column = pc.field(field.name)
    inside = (column >= _scalar(field, bounds.minimum)) & (column <= _scalar(field, bounds.maximum))
    return inside if bounds.nulls == 0 else inside | column.is_null()
