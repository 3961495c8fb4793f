"""Know a column without reading it: all rows of a partition's file have the partition's value."""

import struct
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import pyarrow as pa

from mere.arrow import arrow_type
from mere.model.files import DataFile, Value
from mere.model.layout import Layout
from mere.model.values import partition_text
from mere.reading.forms import Source

_LAYOUTS = {
    "boolean": "<?",
    "int8": "<b",
    "int16": "<h",
    "int32": "<i",
    "int64": "<q",
    "uint8": "<B",
    "uint16": "<H",
    "uint32": "<I",
    "uint64": "<Q",
    "date": "<i",
}
"""Types of which every value has one text, and how Arrow keeps it; besides texts."""
_LONGEST_TEXT = 1000
_DAY_ZERO = date(1970, 1, 1)


def constant(file: DataFile, layout: Layout, found: Sequence[Source]) -> tuple[Source, ...]:
    """Return the sources of a file, those of its partition's values as what the file need not say.

    A column that lies in the file as another type than the table's is read, and so is one of
    which the catalog has no value.
    """
    if file.names is not None or file.partition_id is None or file.partition_id != layout.id:
        return tuple(found)
    pairs = zip(layout.keys, file.partition, strict=False)
    values = {key.column: value for key, value in pairs if key.transform == "identity"}
    return tuple(_known(source, values.get(source.field.id)) for source in found)


def _known(source: Source, value: Value | None) -> Source:
    field, part = source.field, source.part
    if value is None or part is None or part.children or part.type != arrow_type(field):
        return source
    scalar = _scalar(field.type, value, part.type)
    if scalar is None:
        return source
    text = partition_text(field.type, value)
    return Source(field=replace(field, initial_default=text), part=None, value=scalar)


def _scalar(kind: str, value: Value, stored: pa.DataType) -> pa.Scalar | None:
    """Return a value as Arrow has it, None where it is to be read; without loading pandas."""
    try:
        if kind == "varchar" and isinstance(value, str):
            data = value.encode()
            ends = struct.pack("<2i", 0, len(data))
            buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
            return _one(stored, buffers) if len(data) <= _LONGEST_TEXT else None
        if kind not in _LAYOUTS:
            return None
        plain = (value - _DAY_ZERO).days if isinstance(value, date) else value
        return _one(stored, [None, pa.py_buffer(struct.pack(_LAYOUTS[kind], plain))])
    except struct.error:  # what Python has no value for, such as the date `infinity`, is text
        return None


def _one(stored: pa.DataType, buffers: list[pa.Buffer | None]) -> pa.Scalar:
    return pa.Array.from_buffers(stored, 1, buffers)[0]
