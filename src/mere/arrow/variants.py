"""Put variants together that a writer took apart: what Arrow hands out is metadata and value.

A writer may shred a variant: store parts of it in typed columns of their own. Files shred
differently, so that readers could not join them; here every value is encoded again, as the
format for variants says, with the names that its metadata has.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from mere.arrow.types import VARIANT
from mere.errors import CorruptionError, UnsupportedError

_NULL = b"\x00"
_SHORT = 64
_OBJECT, _ARRAY = 2, 3
_LARGE = 256
_DAY_ZERO = date(1970, 1, 1).toordinal()


def joined(array: pa.Array) -> pa.Array:
    """Return variants as metadata and value, whatever was shredded of them.

    A variant that is NULL itself is a missing one, as DuckDB sees it.

    Raises:
        CorruptionError: If a value is not what the format says.
        UnsupportedError: If a part was shredded into a type that is not known here.
    """
    names = {array.type.field(i).name for i in range(array.type.num_fields)}
    if not {"metadata", "value"} <= names and "typed_value" not in names:
        msg = f"a variant lies in the file as {array.type}"
        raise CorruptionError(msg)
    metadata = array.field("metadata")
    if "typed_value" not in names:
        values = array.field("value").cast(pa.binary())
    else:
        values = pa.array(_values(array, metadata), pa.binary())
    mask = pc.or_(array.is_null(), pc.fill_null(pc.equal(values, _NULL), fill_value=False))
    parts = [metadata.cast(pa.binary()), values]
    return pa.StructArray.from_arrays(parts, fields=list(VARIANT), mask=mask)


def _values(array: pa.Array, metadata: pa.Array) -> list[bytes | None]:
    typed = array.type.field("typed_value").type
    encode = _encoder(typed)
    known: dict[bytes, Mapping[str, int]] = {}
    found: list[bytes | None] = []
    columns = (metadata, array.field("value"), array.field("typed_value"))
    for names, value, part in zip(*(column.to_pylist() for column in columns), strict=True):
        if names is None:
            found.append(None)
            continue
        ids = known.get(names)
        if ids is None:
            ids = known[names] = _names(names)
        found.append(encode({"value": value, "typed_value": part}, ids) or _NULL)
    return found


Encode = Callable[[Mapping[str, Any] | None, Mapping[str, int]], bytes | None]


def _encoder(kind: pa.DataType) -> Encode:
    """Return what encodes a shredded part: None where the part is missing."""
    if kinds.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return _of_object({field.name: _part(field.type) for field in fields})
    if kinds.is_list(kind) or kinds.is_large_list(kind):
        return _of_array(_part(kind.value_type))
    primitive = _primitive(kind)

    def encode(group: Mapping[str, Any] | None, _ids: Mapping[str, int]) -> bytes | None:
        if group is None or group.get("typed_value") is None:
            return None if group is None else group.get("value")
        return primitive(group["typed_value"])

    return encode


def _part(kind: pa.DataType) -> Encode:
    """Return what encodes a group of a value and a typed one."""
    at = kind.get_field_index("typed_value") if kinds.is_struct(kind) else -1
    if at < 0:
        return lambda group, _ids: None if group is None else group.get("value")
    return _encoder(kind.field(at).type)


def _of_object(parts: Mapping[str, Encode]) -> Encode:
    def encode(group: Mapping[str, Any] | None, ids: Mapping[str, int]) -> bytes | None:
        if group is None or group.get("typed_value") is None:
            return None if group is None else group.get("value")
        rest = group.get("value")
        found = {} if rest is None else _fields(rest, ids)
        for name, part in parts.items():
            value = part(group["typed_value"][name], ids)
            if value is not None:
                found[name] = value
        return _object(found, ids)

    return encode


def _of_array(part: Encode) -> Encode:
    def encode(group: Mapping[str, Any] | None, ids: Mapping[str, int]) -> bytes | None:
        if group is None or group.get("typed_value") is None:
            return None if group is None else group.get("value")
        items = [part(item, ids) or _NULL for item in group["typed_value"]]
        large = len(items) >= _LARGE
        size = _width(sum(map(len, items)))
        header = _ARRAY | (size - 1) << 2 | large << 4
        return bytes([header]) + _laid_out(len(items), b"", items, size, large=large)

    return encode


def _object(fields: Mapping[str, bytes], ids: Mapping[str, int]) -> bytes:
    """Encode an object: the ids of its fields by the order of their names, then the values."""
    missing = [name for name in fields if name not in ids]
    if missing:
        msg = f"a variant has the field {missing[0]!r}, which its metadata does not name"
        raise CorruptionError(msg)
    names = sorted(fields, key=str.encode)
    numbers = [ids[name] for name in names]
    wide, size = _width(max(numbers, default=0)), _width(sum(map(len, fields.values())))
    large = len(names) >= _LARGE
    header = _OBJECT | (size - 1) << 2 | (wide - 1) << 4 | large << 6
    written = b"".join(number.to_bytes(wide, "little") for number in numbers)
    values = [fields[name] for name in names]
    return bytes([header]) + _laid_out(len(names), written, values, size, large=large)


def _laid_out(count: int, ids: bytes, values: Sequence[bytes], size: int, *, large: bool) -> bytes:
    offset, offsets = 0, [0]
    for value in values:
        offset += len(value)
        offsets.append(offset)
    places = b"".join(place.to_bytes(size, "little") for place in offsets)
    return count.to_bytes(4 if large else 1, "little") + ids + places + b"".join(values)


def _width(largest: int) -> int:
    return max(1, (largest.bit_length() + 7) // 8)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads whole numbers out of encoded bytes."""

    data: bytes

    def numbers(self, at: int, count: int, size: int) -> list[int]:
        end = at + count * size
        if end > len(self.data):
            msg = "a variant is cut off"
            raise CorruptionError(msg)
        cut = self.data[at:end]
        return [int.from_bytes(cut[i : i + size], "little") for i in range(0, len(cut), size)]


def _names(metadata: bytes) -> dict[str, int]:
    """Return the names that a metadata holds, with their numbers."""
    size = (metadata[0] >> 6) + 1
    reader = _Reader(metadata)
    count = reader.numbers(1, 1, size)[0]
    offsets = reader.numbers(1 + size, count + 1, size)
    start = 1 + size * (count + 2)
    cuts = pairwise(offsets)
    return {metadata[start + a : start + b].decode(): i for i, (a, b) in enumerate(cuts)}


def _fields(value: bytes, ids: Mapping[str, int]) -> dict[str, bytes]:
    """Take an encoded object apart."""
    header = value[0]
    if header & 3 != _OBJECT:
        msg = "a variant that is partly shredded is no object"
        raise CorruptionError(msg)
    size, wide, large = (header >> 2 & 3) + 1, (header >> 4 & 3) + 1, header >> 6 & 1
    reader = _Reader(value)
    first = 5 if large else 2
    count = reader.numbers(1, 1, first - 1)[0]
    numbers = reader.numbers(first, count, wide)
    offsets = reader.numbers(first + count * wide, count + 1, size)
    start = first + count * wide + (count + 1) * size
    names = {number: name for name, number in ids.items()}
    ends = dict(pairwise(sorted(offsets)))
    return {
        names[number]: value[start + at : start + ends[at]]
        for number, at in zip(numbers, offsets, strict=False)
    }


def _tagged(tag: int, layout: str, number: Callable[[Any], Any] = lambda v: v) -> Any:
    return lambda value: bytes([tag << 2]) + struct.pack(f"<{layout}", number(value))


def _long(tag: int, encode: Callable[[Any], bytes]) -> Any:
    def encoded(value: Any) -> bytes:
        data = encode(value)
        return bytes([tag << 2]) + len(data).to_bytes(4, "little") + data

    return encoded


def _text(value: str) -> bytes:
    data = value.encode()
    if len(data) < _SHORT:
        return bytes([len(data) << 2 | 1]) + data
    return bytes([16 << 2]) + len(data).to_bytes(4, "little") + data


def _micros(value: datetime) -> int:
    value = value.replace(tzinfo=UTC) if value.tzinfo is None else value
    since = value - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _clock(value: time) -> int:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 1_000_000 + value.microsecond


def _decimal(kind: pa.DataType) -> Callable[[Decimal], bytes]:
    tag, size = next(
        (tag, size)
        for tag, size, most in ((8, 4, 9), (9, 8, 18), (10, 16, 38))
        if kind.precision <= most
    )

    def encode(value: Decimal) -> bytes:
        unscaled = int(value.scaleb(kind.scale))
        return bytes([tag << 2, kind.scale]) + unscaled.to_bytes(size, "little", signed=True)

    return encode


_PRIMITIVES: Mapping[pa.DataType, Callable[[Any], bytes]] = {
    pa.bool_(): lambda value: bytes([(1 if value else 2) << 2]),
    pa.int8(): _tagged(3, "b"),
    pa.int16(): _tagged(4, "h"),
    pa.int32(): _tagged(5, "i"),
    pa.int64(): _tagged(6, "q"),
    pa.float64(): _tagged(7, "d"),
    pa.date32(): _tagged(11, "i", lambda value: value.toordinal() - _DAY_ZERO),
    pa.timestamp("us", "UTC"): _tagged(12, "q", _micros),
    pa.timestamp("us"): _tagged(13, "q", _micros),
    pa.float32(): _tagged(14, "f"),
    pa.binary(): _long(15, bytes),
    pa.string(): _text,
    pa.time64("us"): _tagged(17, "q", _clock),
    pa.uuid(): lambda value: bytes([20 << 2]) + value.bytes,
}


def _primitive(kind: pa.DataType) -> Callable[[Any], bytes]:
    if kinds.is_decimal(kind):
        return _decimal(kind)
    if kind not in _PRIMITIVES:
        msg = f"a variant was shredded into {kind}, which this version cannot put together"
        raise UnsupportedError(msg, hint="leave the column out, or read it with to_duckdb()")
    return _PRIMITIVES[kind]
