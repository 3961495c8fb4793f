"""Spell typed values as the catalog does, read them back, and say which is greater.

Three spellings differ in detail: statistics (`to_text`, `from_text`), partition values
(`partition_text`, `partition_value`), and the cut bounds of long texts (`stat_texts`,
`bounds_from_text`). Python has no value for a date before the year 1 or after 9999, for
`infinity`, or for the time 24:00:00: as statistics these are not known.
"""

import re
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from mere.errors import InvalidInputError
from mere.model.files import Bounds, Value
from mere.model.promotion import decimal_parts

TEXT_BYTES = 256
"""Where statistics cut texts and blobs."""

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  timestamps without zone are counted from here
MICROSECOND = timedelta(microseconds=1)
INTEGERS: dict[str, tuple[int, int]] = {
    **{f"int{n}": (-(1 << n - 1), (1 << n - 1) - 1) for n in (8, 16, 32, 64, 128)},
    **{f"uint{n}": (0, (1 << n) - 1) for n in (8, 16, 32, 64, 128)},
}
FLOATS = frozenset({"float32", "float64"})
TEXTS = frozenset({"varchar", "json"})
NAIVE = frozenset({"timestamp", "timestamp_s", "timestamp_ms"})
_PLAIN = (bool, int, float, str, bytes, Decimal, datetime, date, time, timedelta, UUID)
_INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?(Z|[+-]\d\d(?::?\d\d)?)?)?"
)
_TRUTH = {"1": True, "0": False, "true": True, "false": False}
_HIGHEST = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)


def plain(value: Any) -> Value | None:
    """Return a value as a plain Python one: unwraps numpy, pandas and Arrow scalars.

    Aware times become UTC; NaT, NA and null scalars become None.

    Raises:
        InvalidInputError: If no column can hold such a value.
    """
    if value is None or type(value).__name__ in {"NaTType", "NAType"}:
        return None
    if type(value).__name__ == "datetime64":
        return None if str(value) == "NaT" else _read_moment(str(value))
    if isinstance(value, datetime):
        return _plain_datetime(value)
    for kind in _PLAIN:
        if isinstance(value, kind):
            return value if type(value) is kind else _downcast(kind, value)
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    unwrap = getattr(value, "as_py", None) or getattr(value, "item", None)
    if unwrap is None:
        msg = f"{value!r} of type {type(value).__name__} is no value of a column"
        raise InvalidInputError(msg, hint="several values go into is_in([...])")
    return plain(unwrap())


def _read_moment(text: str) -> datetime:
    nanoseconds = parse_ns(text)
    if nanoseconds is None:
        msg = f"{text!r} is no moment to the day or finer"
        raise InvalidInputError(msg)
    return ns_datetime(nanoseconds)


def _downcast(kind: type, value: Any) -> Value:
    return kind(value) if kind in (int, float, str, bytes, Decimal) else value


def _plain_datetime(value: datetime) -> datetime:
    if value.tzinfo is not None:
        value = value.astimezone(UTC)
    return datetime(  # a subclass becomes a plain one
        *(value.year, value.month, value.day, value.hour, value.minute, value.second),
        value.microsecond,
        tzinfo=value.tzinfo and UTC,
    )


def timestamp_ns_of(value: Any) -> int | None:
    """Return the nanoseconds since 1970 of a scalar that is finer than microseconds, else None."""
    if type(value).__name__ == "datetime64":
        nanoseconds = parse_ns(str(value))
        return nanoseconds if nanoseconds is not None and nanoseconds % 1000 else None
    if isinstance(value, datetime) and getattr(value, "nanosecond", False):
        return to_ns(_plain_datetime(value)) + int(getattr(value, "nanosecond", 0))
    return None


def is_nan(value: object) -> bool:
    """Tell whether a value is NaN."""
    return isinstance(value, float) and value != value  # noqa: PLR0124  what NaN is


def to_ns(value: datetime | date) -> int:
    """Count nanoseconds since 1970; without a zone, UTC is meant."""
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)  # noqa: DTZ001  dates have no zone
    elif value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return (value - EPOCH) // MICROSECOND * 1000


def order_key(value: Value, kind: str | None = None) -> Any:
    """Return what values of one family are ordered by, as DuckDB orders them.

    NaN equals NaN and is greater than every number; -0.0 equals 0.0; texts go by code points,
    dates and timestamps by the instant, with UTC where no zone is given. `kind` is needed for
    `timestamp_ns` alone, whose values are plain ints.
    """
    if kind == "timestamp_ns" and isinstance(value, int):
        return value
    if isinstance(value, bool | int | float | Decimal):
        return (1, 0) if value != value else (0, value)  # noqa: PLR0124  what NaN is
    return to_ns(value) if isinstance(value, date) else value


_PLAINLY = frozenset({int, str})
"""Types of which the values are ordered as Python orders them; most keys have one of these."""


def compare(
    left: Value, right: Value, left_kind: str | None = None, right_kind: str | None = None
) -> int:
    """Return -1, 0 or 1 as `left` is less than, equal to or greater than `right`.

    Raises:
        InvalidInputError: If the two have no common order.
    """
    if type(left) is type(right) and type(left) in _PLAINLY:
        return int(left > right) - int(left < right)
    a, b = order_key(left, left_kind), order_key(right, right_kind)
    try:
        return int(a > b) - int(a < b)
    except TypeError as error:
        msg = f"cannot compare {left!r} with {right!r}"
        raise InvalidInputError(msg) from error


def to_float32(value: float) -> float:
    """Round to the nearest value of single precision."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def to_text(kind: str, value: Value | None) -> str | None:
    """Spell a value as the catalog's statistics do; None for what they do not hold."""
    if value is None:
        return None
    spell = _SPELL.get(kind, str)
    if kind in INTEGERS:
        return str(int(value))
    parts = decimal_parts(kind)
    return spell(value) if parts is None else f"{value or Decimal(0):.{parts[1]}f}"


def _float32_text(value: float) -> str:
    for digits in range(1, 10):
        short = float(f"{value:.{digits}g}")
        if to_float32(short) == value:
            return repr(short)
    return repr(float(value))


def _nothing(_value: Value) -> None:
    return None


def _instant_text(value: datetime | date) -> str:
    return ns_text(to_ns(value))


def ns_text(nanoseconds: int) -> str:
    """Spell nanoseconds since 1970 as a timestamp without zone, zeros cut."""
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    text = (EPOCH + timedelta(seconds=seconds)).isoformat(" ")
    return f"{text}.{fraction:09d}".rstrip("0") if fraction else text


def _time_text(value: time) -> str:
    text = value.isoformat()
    return text.rstrip("0") if value.microsecond else text


_SPELL: dict[str, Callable[[Any], str | None]] = {
    "boolean": lambda value: "1" if value else "0",
    "float32": _float32_text,
    "float64": lambda value: repr(float(value)),
    "date": lambda value: value.isoformat(),
    "time": _time_text,
    **dict.fromkeys(NAIVE, _instant_text),
    "timestamptz": lambda value: _instant_text(value) + "+00",
    "timestamp_ns": ns_text,
    "blob": lambda value: value.hex().upper(),
    **dict.fromkeys(("timetz", "interval", "variant", "geometry"), _nothing),
}


def from_text(kind: str, text: str | None) -> Value | None:
    """Read a value as the catalog's statistics spell it; None when Python has no such value."""
    if text is None:
        return None
    read = int if kind in INTEGERS else _READ.get(kind)
    if decimal_parts(kind) is not None:
        read = Decimal
    if read is None:
        return None
    try:
        return read(text)
    except (ValueError, InvalidOperation):
        return None


def _read_boolean(text: str) -> bool:
    if text.lower() not in _TRUTH:
        msg = f"{text!r} is neither true nor false"
        raise ValueError(msg)
    return _TRUTH[text.lower()]


def _read_date(text: str) -> date:
    return datetime.strptime(text, "%Y-%m-%d").date()  # noqa: DTZ007  a date has no zone


def parse_ns(text: str) -> int | None:
    """Read a date or timestamp as nanoseconds since 1970, in UTC; None for anything else."""
    match = _INSTANT.fullmatch(text.strip())
    if match is None:
        return None
    day, clock, fraction, zone = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day} {clock or '00:00'}{zone or ''}")
        return to_ns(moment) + int((fraction or "").ljust(9, "0"))
    except (ValueError, OverflowError):
        return None


def ns_datetime(nanoseconds: int) -> datetime:
    """Return the timestamp without zone, cut to microseconds."""
    return EPOCH + timedelta(microseconds=nanoseconds // 1000)


def _read_timestamp(text: str) -> datetime | None:
    nanoseconds = parse_ns(text)
    return None if nanoseconds is None else ns_datetime(nanoseconds)


def _read_timestamptz(text: str) -> datetime | None:
    moment = _read_timestamp(text)
    return moment and moment.replace(tzinfo=UTC)


_READ: dict[str, Callable[[str], Value | None]] = {
    "boolean": _read_boolean,
    "float32": lambda text: to_float32(float(text)),
    "float64": float,
    "date": _read_date,
    "time": time.fromisoformat,
    **dict.fromkeys(NAIVE, _read_timestamp),
    "timestamptz": _read_timestamptz,
    "timestamp_ns": parse_ns,
    "varchar": str,
    "json": str,
    "blob": bytes.fromhex,
    "uuid": UUID,
}


def partition_text(kind: str, value: Value | None) -> str | None:
    r"""Spell a value as a partition value: as statistics, but `true` and `\x00a`; None is NULL."""
    if value is None or isinstance(value, str):
        return value
    if kind == "boolean":
        return "true" if value else "false"
    return blob_text(value) if kind == "blob" else to_text(kind, value)


def partition_value(kind: str, text: str | None) -> Value | None:
    """Read a partition value; None is NULL.

    What Python has no value for, such as the date `infinity`, stays the text that it is.
    """
    if text is None:
        return None
    if kind == "blob":
        return read_blob(text)
    found = from_text(kind, text)
    return text if found is None else found


def blob_text(value: bytes) -> str:
    r"""Spell bytes as DuckDB prints them: visible ASCII as it is, the rest as `\xAA`."""
    return "".join(
        chr(b) if 32 <= b < 127 and b not in b"\"'\\" else f"\\x{b:02X}"  # noqa: PLR2004  ASCII
        for b in value
    )


def read_blob(text: str) -> bytes:
    r"""Read bytes as DuckDB does: `\xAA` is a byte, anything else its UTF-8."""
    parts = re.split(r"\\x([0-9A-Fa-f]{2})", text)
    pairs = zip(parts[::2], [*parts[1::2], ""], strict=True)
    return b"".join(plain_part.encode() + bytes.fromhex(code) for plain_part, code in pairs)


def after_prefix(prefix: str) -> str | None:
    """Return the least text that is greater than every text with that prefix; None without one."""
    for end in range(len(prefix), 0, -1):
        code = ord(prefix[end - 1])
        if code < _HIGHEST:
            code = _SURROGATES[1] + 1 if code + 1 == _SURROGATES[0] else code + 1
            return prefix[: end - 1] + chr(code)
    return None


def _after_bytes(prefix: bytes) -> bytes | None:
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def stat_texts(kind: str, bounds: Bounds) -> tuple[str | None, str | None]:
    """Spell minimum and maximum as statistics hold them: cut when long, and still bounds."""
    low, high = bounds.minimum, bounds.maximum
    if kind == "blob":
        if low is not None:
            low = low[:TEXT_BYTES]
        if high is not None and len(high) > TEXT_BYTES:
            high = _after_bytes(high[:TEXT_BYTES])
    elif kind in TEXTS:
        if low is not None:
            low = _cut(low)
        if high is not None and (short := _cut(high)) != high:
            high = after_prefix(short)
            # One code point more can take more bytes: cutting once more keeps it a bound.
            while high is not None and len(high.encode()) > TEXT_BYTES:
                short = short[:-1]
                high = after_prefix(short)
    return to_text(kind, low), to_text(kind, high)


def _cut(text: str) -> str:
    return text.encode()[:TEXT_BYTES].decode(errors="ignore")


def bounds_from_text(
    kind: str,
    minimum: str | None,
    maximum: str | None,
    *,
    nulls: int | None = None,
    values: int | None = None,
    nan: bool | None = None,
    bytes: int | None = None,  # noqa: A002  the field's name
) -> Bounds:
    """Return the bounds that statistics spell; a long text is a bound but may not occur.

    A maximum that may have been cut off, rounded up or not, is raised above all that it may
    stand for.
    """
    low, high = from_text(kind, minimum), from_text(kind, maximum)
    exact = not (_long(kind, minimum) or _long(kind, maximum))
    if _long(kind, maximum) and high is not None:
        high = after_prefix(high) if kind in TEXTS else _after_bytes(high)
    if is_nan(low) or is_nan(high):
        low, high, nan = (None if is_nan(low) else low), None, True
    return Bounds(
        minimum=low, maximum=high, nulls=nulls, values=values, nan=nan, bytes=bytes, exact=exact
    )


def _long(kind: str, text: str | None) -> bool:
    """Tell whether a writer may have cut this text: some cut a few bytes early, at a character."""
    if text is None:
        return False
    if kind == "blob":
        return len(text) >= 2 * TEXT_BYTES
    return kind in TEXTS and len(text.encode()) > TEXT_BYTES - 4
