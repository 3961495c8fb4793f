"""Compute the partition value of one column value.

Calendar parts are plain numbers (a month is 1 to 12 of any year), and those of a `timestamptz`
are taken in UTC. A bucket is the 32-bit Murmur3 hash of the value's bytes, without its sign,
modulo the number of buckets; which bytes those are, `hashed_as` says for each type.
"""

import struct
from datetime import date, time
from decimal import Context, Decimal

from mere.errors import InvalidInputError
from mere.model.files import Value
from mere.model.functions import moment, part
from mere.model.layout import CALENDAR, PartitionKey
from mere.model.literals import TICKS
from mere.model.promotion import decimal_parts
from mere.model.values import FLOATS, TEXTS, to_ns, to_text

_MASK = 0xFFFFFFFF
_WIDE = Context(prec=100)
_SHORT_DECIMAL = 18
_WHOLE = frozenset({"boolean", "int8", "int16", "int32", "int64"})


def transformed_kind(key: PartitionKey, kind: str) -> str:
    """Return the type of the partition values of a column of that type."""
    return kind if key.transform == "identity" else "int64"


def transform(key: PartitionKey, kind: str, value: Value | None) -> Value | None:
    """Return the partition value of a column value; that of NULL is NULL."""
    if value is None or key.transform == "identity":
        return value
    if key.transform in CALENDAR:
        return part(key.transform, moment(value, kind))
    if key.transform == "bucket" and key.buckets:
        return bucket(kind, value, key.buckets)
    msg = f"unknown partition transform {key.spell()!r}"
    raise InvalidInputError(msg, hint="known: identity, year, month, day, hour, bucket(N)")


def bucket(kind: str, value: Value, buckets: int) -> int:
    """Return the number of the bucket that a value belongs to."""
    return (murmur3(hashed_bytes(kind, value)) & 0x7FFFFFFF) % buckets


def hashed_as(kind: str) -> str:
    """Say what of a value is hashed.

    `int64`: the number, or the units since 1970 or midnight in the type's own resolution, or the
    unscaled decimal, as 8 bytes, lowest first. `float64`: the same of a double, with 0.0 for
    -0.0. `bytes`: a text's UTF-8 or a blob as it is. `text`: the spelling of the value.
    """
    decimal = decimal_parts(kind)
    if kind in _WHOLE or kind in TICKS or kind == "time":
        return "int64"
    if decimal is not None:
        return "int64" if decimal[0] <= _SHORT_DECIMAL else "text"
    if kind in FLOATS:
        return "float64"
    return "bytes" if kind in TEXTS or kind == "blob" else "text"


def same_partitions(transform_: str, old: str, new: str) -> bool:
    """Tell whether values keep their partition value when their column changes its type."""
    if transform_ == "identity" or old == new:
        return True
    if transform_ in CALENDAR:
        return old in TICKS and new in TICKS
    return _hashed(old) == _hashed(new)


def _hashed(kind: str) -> tuple[str, object]:
    """Return the rule of a type's hash and the unit of what is hashed: equal ones hash alike."""
    rule, decimal = hashed_as(kind), decimal_parts(kind)
    if decimal is not None:
        return rule, decimal[1]
    unit = "spelled" if kind == "uuid" else "time" if kind == "time" else 0
    return rule, f"1/{TICKS[kind]}" if kind in TICKS else unit


def hashed_bytes(kind: str, value: Value) -> bytes:
    """Return the bytes of a value that its bucket is computed from."""
    rule = hashed_as(kind)
    if rule == "int64":
        return struct.pack("<q", _units(kind, value))
    if rule == "float64":
        return struct.pack("<d", value + 0.0)
    if rule == "bytes":
        return value if isinstance(value, bytes) else str(value).encode()
    return (to_text(kind, value) or "").encode()


def _units(kind: str, value: Value) -> int:
    if isinstance(value, Decimal):
        scale = (decimal_parts(kind) or (0, 0))[1]
        return int(value.scaleb(scale, _WIDE))
    if isinstance(value, time):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return seconds * 1_000_000 + value.microsecond
    return to_ns(value) // TICKS[kind] if isinstance(value, date) else int(value)


def murmur3(data: bytes) -> int:
    """Hash bytes with Murmur3 (x86, 32 bits, seed 0)."""
    whole = len(data) // 4
    state = 0
    for (word,) in struct.iter_unpack("<I", data[: whole * 4]):
        state = (_rotate(state ^ _mixed(word), 13) * 5 + 0xE6546B64) & _MASK
    rest = int.from_bytes(data[whole * 4 :], "little")
    state ^= _mixed(rest) ^ len(data)
    state = ((state ^ state >> 16) * 0x85EBCA6B) & _MASK
    state = ((state ^ state >> 13) * 0xC2B2AE35) & _MASK
    return state ^ state >> 16


def _mixed(word: int) -> int:
    return (_rotate((word * 0xCC9E2D51) & _MASK, 15) * 0x1B873593) & _MASK


def _rotate(word: int, by: int) -> int:
    return ((word << by) | (word >> (32 - by))) & _MASK
