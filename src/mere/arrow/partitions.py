"""Split batches of rows by the partition that each row belongs to."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mere.arrow.leaves import decoded
from mere.arrow.murmur import hash_bytes, hash_longs
from mere.errors import InvalidInputError
from mere.model.files import Value
from mere.model.layout import CALENDAR, PartitionKey
from mere.model.promotion import decimal_parts
from mere.model.schema import Field, Schema
from mere.model.transforms import hashed_as, transformed_kind
from mere.model.values import partition_text

Codes = NDArray[np.int64]

_POSITIVE = np.uint32(0x7FFFFFFF)
_PER_SECOND = 1_000_000
_RADIX = 1 << 16
_RUNS_PER_GROUP = 2


def transform_column(key: PartitionKey, column: Field, array: pa.Array) -> pa.Array:
    """Return the partition value of each row: calendar parts and bucket numbers are integers.

    The array holds the column as it lies in files.
    """
    if key.transform == "identity":
        return decoded(array)
    if key.transform in CALENDAR:
        return _calendar(key.transform, array)
    if key.transform == "bucket" and key.buckets:
        return _buckets(decoded(array), column.type, key.buckets)
    msg = f"unknown partition transform {key.spell()!r} on column {column.name!r}"
    raise InvalidInputError(msg, hint="known: identity, year, month, day, hour, bucket(N)")


def _calendar(transform: str, array: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp(array.type.unit))
    parts = {"year": pc.year, "month": pc.month, "day": pc.day, "hour": pc.hour}
    return parts[transform](array)


def _buckets(array: pa.Array, kind: str, buckets: int) -> pa.Array:
    hashes = _hashes(array, kind)
    numbers = (hashes & _POSITIVE).astype(np.int64) % buckets
    return pa.array(numbers, mask=array.is_null().to_numpy(zero_copy_only=False))


def _hashes(array: pa.Array, kind: str) -> NDArray[np.uint32]:
    """Hash a column the way the format's own writers do, type by type."""
    rule = hashed_as(kind)
    if rule == "bytes":
        return hash_bytes(array)
    if rule == "float64":
        floats = _numbers(array.cast(pa.float64())) + 0.0
        return hash_longs(np.where(np.isnan(floats), np.nan, floats).view(np.int64))
    if rule == "text":
        return hash_bytes(_spelled(array, kind))
    if decimal_parts(kind) is not None:
        return hash_longs(_unscaled(array))
    longs = _numbers(_as_long(array))
    return hash_longs(longs // _PER_SECOND if kind == "timestamp_s" else longs)


def _spelled(array: pa.Array, kind: str) -> pa.Array:
    if kind != "uuid":
        return array.cast(pa.string())
    spelled = [None if value is None else str(UUID(bytes=value)) for value in array.to_pylist()]
    return pa.array(spelled, pa.string())


def _as_long(array: pa.Array) -> pa.Array:
    """Return whole numbers: days of a date, ticks of a time or timestamp."""
    if pa.types.is_date(array.type):
        return array.cast(pa.int32()).cast(pa.int64())
    return array.cast(pa.int64())


def _numbers(array: pa.Array) -> Any:
    return array.fill_null(0).to_numpy(zero_copy_only=False)


def _unscaled(array: pa.Array) -> NDArray[np.int64]:
    """Return the digits of decimals as integers: the low half of their sixteen bytes."""
    array = pa.concat_arrays([array.fill_null(0).cast(pa.decimal128(38, array.type.scale))])
    halves = np.frombuffer(array.buffers()[1], dtype="<i8", count=2 * len(array))
    return halves[::2].copy()


Group = tuple[tuple[str | None, ...], tuple[Value | None, ...], list[pa.RecordBatch]]


def split(batch: pa.RecordBatch, keys: Sequence[PartitionKey], schema: Schema) -> Iterator[Group]:
    """Yield (texts, values, rows) of each partition in the batch, its rows in their order.

    The rows are slices of a batch that all of them share.
    """
    places = {field.id: i for i, field in enumerate(schema.fields)}
    codes = np.zeros(batch.num_rows, dtype=np.int64)
    columns: list[tuple[Field, PartitionKey, pa.Array, Codes]] = []
    for key in keys:
        at = places[key.column]
        field = schema.fields[at]
        values, own = _coded(transform_column(key, field, batch.column(at)))
        columns.append((field, key, values, own))
        codes = _compact(codes * (len(values) + 1) + own)
    for first, pieces in _pieces(batch, codes):
        values_of = [_value(field, key, v, own[first]) for field, key, v, own in columns]
        kinds = [transformed_kind(key, field.type) for field, key, _, _ in columns]
        texts = tuple(map(partition_text, kinds, values_of))
        yield texts, tuple(values_of), pieces


def _coded(array: pa.Array) -> tuple[pa.Array, Codes]:
    """Return the different values, and for each row which of them it has; the last is NULL."""
    coded = array.dictionary_encode()
    values = coded.dictionary
    return values, coded.indices.fill_null(len(values)).to_numpy().astype(np.int64)


def _compact(codes: Codes) -> Codes:
    """Number the codes anew when they grow large, so that many keys cannot overflow."""
    if len(codes) and codes.max() >= _RADIX:
        return np.unique(codes, return_inverse=True)[1].astype(np.int64).reshape(-1)
    return codes


def _value(field: Field, key: PartitionKey, values: pa.Array, code: np.int64) -> Value | None:
    if code == len(values):
        return None
    scalar = values[int(code)]
    if key.transform != "identity":
        return int(scalar.as_py())
    if field.type == "timestamp_ns":
        return scalar.value
    value = scalar.as_py()
    if field.type == "uuid":
        return UUID(bytes=value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    return value


def _pieces(batch: pa.RecordBatch, codes: Codes) -> Iterator[tuple[int, list[pa.RecordBatch]]]:
    """Yield (index of a first row, rows) per code, in the order in which codes first appear.

    Rows that lie together already are cut out; mixed ones are gathered.
    """
    if not len(codes):
        return
    counts = np.bincount(codes)
    turns = codes[1:] != codes[:-1]
    if np.count_nonzero(turns) < np.count_nonzero(counts) * _RUNS_PER_GROUP:
        yield from _cut(batch, codes, np.concatenate(([0], np.flatnonzero(turns) + 1)))
        return
    small = codes.astype(np.uint16) if len(counts) <= _RADIX else codes
    order = np.argsort(small, kind="stable")
    gathered = batch.take(pa.array(order.astype(np.uint32)))
    sizes = counts[counts > 0]
    starts = np.cumsum(sizes) - sizes
    for group in np.argsort(order[starts]):
        start, size = int(starts[group]), int(sizes[group])
        yield int(order[start]), [gathered.slice(start, size)]


def _cut(
    batch: pa.RecordBatch, codes: Codes, starts: Codes
) -> Iterator[tuple[int, list[pa.RecordBatch]]]:
    runs: dict[int, list[tuple[int, int]]] = {}
    ends = [*starts[1:].tolist(), len(codes)]
    for start, end in zip(starts.tolist(), ends, strict=True):
        runs.setdefault(int(codes[start]), []).append((start, end))
    for found in runs.values():
        yield found[0][0], [batch.slice(start, end - start) for start, end in found]
