"""Fold the row groups of about a thousand files into compressed arrays, one value per column.

A segment has one value that says which row groups there are, and one for the bounds of each leaf
column: so a plan decodes the columns that its predicate names, and no others. The values are
Arrow streams, compressed with lz4.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from mere.arrow import arrow_type
from mere.catalogs.arrays import Columnar, Domain, domain
from mere.catalogs.groups import UNKNOWN, Groups
from mere.errors import CorruptionError, UnsupportedError
from mere.model.files import Bounds, Value
from mere.model.promotion import keeps_bounds
from mere.model.schema import Field
from mere.model.values import FLOATS, TEXTS, from_text, to_text

FILES = 1024
"""How many files a segment takes."""
MOST_GROUPS = 1 << 16
"""How many row groups: files with very many make smaller segments."""
FRAME = 0
"""In place of a column's id: the value that says which row groups there are."""
NO_KIND = ""
Filed: TypeAlias = tuple[int, Groups]
_OPTIONS = ipc.IpcWriteOptions(compression="lz4")
_STORED: dict[str, pa.DataType] = {
    "json": pa.string(),
    "uuid": pa.binary(16),
    "timestamp_s": pa.timestamp("us"),
    "timestamp_ms": pa.timestamp("us"),
    "timestamp_ns": pa.int64(),
}
_DOMAINS: dict[Domain, pa.DataType] = {
    "whole": pa.int64(),
    "float": pa.float64(),
    "text": pa.string(),
}


def pieces(found: Iterable[Filed], files: int = FILES) -> Iterator[list[Filed]]:
    """Cut files, with their row groups, into what makes full segments; the rest is left out."""
    piece: list[Filed] = []
    groups = 0
    for filed in found:
        piece.append(filed)
        groups += len(filed[1])
        if len(piece) == files or groups >= MOST_GROUPS:
            yield piece
            piece, groups = [], 0


def encode(piece: Sequence[Filed], kinds: Mapping[int, str]) -> Iterator[tuple[int, str, bytes]]:
    """Yield the values of a segment: the column's id (or `FRAME`), its type, and the arrays."""
    groups = [group for _, found in piece for group in found]
    yield (
        FRAME,
        NO_KIND,
        written(
            {
                "file": pa.array([file for file, found in piece for _ in found], pa.int64()),
                "ordinal": pa.array([g.ordinal for g in groups], pa.int32()),
                "rows": pa.array([g.rows for g in groups], pa.int64()),
                "bytes": pa.array([g.bytes for g in groups], pa.int64()),
                "raw_bytes": pa.array([g.raw_bytes for g in groups], pa.int64()),
            }
        ),
    )
    present = {column for group in groups for column in group.bounds}
    for column in sorted(present & kinds.keys()):
        known = [group.bounds.get(column, UNKNOWN) for group in groups]
        yield column, kinds[column], written(_columns(kinds[column], known))


def _columns(kind: str, known: Sequence[Bounds]) -> dict[str, pa.Array]:
    return {
        "low": _ends(kind, [b.minimum for b in known]),
        "high": _ends(kind, [b.maximum for b in known]),
        "nulls": pa.array([b.nulls for b in known], pa.int64()),
        "values": pa.array([b.values for b in known], pa.int64()),
        "nan": pa.array([b.nan for b in known], pa.bool_()),
        "bytes": pa.array([b.bytes for b in known], pa.int64()),
        "exact": pa.array([b.exact for b in known], pa.bool_()),
    }


def _ends(kind: str, values: Sequence[Value | None]) -> pa.Array:
    stored = _type(kind)
    if kind == "uuid":
        values = [None if value is None else value.bytes for value in values]
    if stored is None:
        return pa.nulls(len(values))
    try:
        return pa.array(values, stored)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.nulls(len(values), stored)  # a value beyond its type: nothing is known


def _type(kind: str) -> pa.DataType | None:
    """Return the Arrow type that the bounds of a type are kept in; None: it has none."""
    if domain(kind) is None and kind not in _STORED:
        return None
    try:
        return _STORED.get(kind) or arrow_type(Field(name="bounds", type=kind))
    except UnsupportedError:
        return None


def written(arrays: Mapping[str, pa.Array]) -> bytes:
    """Return the value that holds some arrays side by side."""
    batch = pa.record_batch(list(arrays.values()), names=list(arrays))
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, batch.schema, options=_OPTIONS) as stream:
        stream.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def decoded(data: bytes) -> pa.RecordBatch:
    """Return the arrays of one value.

    Raises:
        CorruptionError: If it was not made here.
    """
    try:
        return ipc.open_stream(pa.py_buffer(data)).read_next_batch()
    except (pa.ArrowInvalid, OSError, StopIteration) as error:
        msg = "the catalog holds row groups that cannot be read"
        raise CorruptionError(msg, hint="delete the rows of mere_segment") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """The bounds of one column in some row groups, as arrays; `kind` is the type it has now."""

    kind: str
    stored: str
    arrays: pa.RecordBatch

    @property
    def known(self) -> bool:
        """Tell whether the ends mean the same in the type that the column has now."""
        return keeps_bounds(self.stored, self.kind)

    def take(self, places: pa.Array) -> "Column":
        """Return the bounds of some of the row groups."""
        return Column(kind=self.kind, stored=self.stored, arrays=self.arrays.take(places))

    def columnar(self) -> Columnar | None:
        """Return the bounds as they are compared all at once; None where only one by one."""
        kept = domain(self.kind)
        plain = kept != "text" or self.kind in TEXTS
        if kept is None or not plain or self.stored != self.kind:
            return None
        arrays = {name: self.arrays.column(name) for name in self.arrays.schema.names}
        low, high = (_compared(self.kind, kept, arrays[end]) for end in ("low", "high"))
        if kept == "text":  # what was cut is left to the exact judge
            nothing = pa.scalar(None, pa.string())
            low, high = (pc.if_else(arrays["exact"], end, nothing) for end in (low, high))
        return Columnar(
            kind=self.kind,
            ids=arrays["nulls"],
            low=low,
            high=high,
            nan=arrays["nan"] if self.kind in FLOATS else None,
            nulls=arrays["nulls"],
            values=arrays["values"],
        )

    def bounds(self) -> list[Bounds]:
        """Return the bounds one by one, typed."""
        found = {name: self.arrays.column(name).to_pylist() for name in self.arrays.schema.names}
        if not self.known:
            found["low"] = found["high"] = [None] * self.arrays.num_rows
        rows = zip(*(found[name] for name in _BOUNDS), strict=True)
        return [
            Bounds(
                minimum=self._value(low),
                maximum=self._value(high),
                nulls=nulls,
                values=values,
                nan=nan,
                bytes=size,
                exact=exact,
            )
            for low, high, nulls, values, nan, size, exact in rows
        ]

    def _value(self, plain: Any) -> Value | None:
        if plain is None:
            return None
        value = UUID(bytes=plain) if self.stored == "uuid" else plain
        if self.stored == self.kind:
            return value
        text = to_text(self.stored, value)
        return None if text is None else from_text(self.kind, text)


_BOUNDS = ("low", "high", "nulls", "values", "nan", "bytes", "exact")


def _compared(kind: str, kept: Domain, values: pa.Array) -> pa.Array:
    return (values.cast(pa.int32()) if kind == "date" else values).cast(_DOMAINS[kept])
