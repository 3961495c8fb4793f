"""Say which types hold every value of which others: the one table behind widening."""

import re

_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_INTEGER_DIGITS = {
    "int8": 3,
    "int16": 5,
    "int32": 10,
    "int64": 19,
    "uint8": 3,
    "uint16": 5,
    "uint32": 10,
    "uint64": 20,
}
_WIDER: dict[str, frozenset[str]] = {
    "int8": frozenset({"int16", "int32", "int64", "int128", "float32", "float64"}),
    "int16": frozenset({"int32", "int64", "int128", "float32", "float64"}),
    "int32": frozenset({"int64", "int128", "float64"}),
    "int64": frozenset({"int128"}),
    "uint8": frozenset(
        {"uint16", "uint32", "uint64", "uint128", "int16", "int32", "int64", "int128"}
        | {"float32", "float64"}
    ),
    "uint16": frozenset(
        {"uint32", "uint64", "uint128", "int32", "int64", "int128", "float32", "float64"}
    ),
    "uint32": frozenset({"uint64", "uint128", "int64", "int128", "float64"}),
    "uint64": frozenset({"uint128", "int128"}),
    "float32": frozenset({"float64"}),
    "timestamp_s": frozenset({"timestamp_ms", "timestamp", "timestamp_ns"}),
    "timestamp_ms": frozenset({"timestamp", "timestamp_ns"}),
    "timestamp": frozenset({"timestamp_ns"}),
    "date": frozenset({"timestamp"}),
    "json": frozenset({"varchar"}),
}

_MOST_DIGITS = 38
_NARROW_FIRST = (
    *("uint16", "uint32", "uint64", "int16", "int32", "int64", "float32", "float64"),
    *("timestamp_ms", "timestamp", "timestamp_ns", "varchar"),
)
"""Types that may be chosen for two others: not those of 128 bits, which DuckDB keeps as doubles."""

_CARRIED_AS: dict[str, frozenset[str]] = {
    "json": frozenset({"varchar"}),
    "uuid": frozenset({"varchar", "blob"}),
    "int128": frozenset({"decimal(38,0)"}),
    "uint128": frozenset({"decimal(38,0)"}),
    "timetz": frozenset({"time"}),
    "timestamp": frozenset({"timestamp_ns"}),
}


def decimal_parts(kind: str) -> tuple[int, int] | None:
    """Return (precision, scale) of a decimal type's name, or None for any other type."""
    match = _DECIMAL.fullmatch(kind)
    return (int(match[1]), int(match[2])) if match else None


def widens(narrow: str, wide: str) -> bool:
    """Tell whether every value of leaf type `narrow` is kept exactly by leaf type `wide`."""
    target = decimal_parts(wide)
    source = decimal_parts(narrow)
    if target is None:
        return wide in _WIDER.get(narrow, ())
    whole = target[0] - target[1]
    if source is not None:
        return source != target and whole >= source[0] - source[1] and target[1] >= source[1]
    return narrow in _INTEGER_DIGITS and whole >= _INTEGER_DIGITS[narrow]


def common(one: str, other: str) -> str | None:
    """Return the narrowest leaf type that keeps every value of both; None when there is none."""
    if one == other or widens(other, one):
        return one
    if widens(one, other):
        return other
    digits = (decimal_parts(one) or _as_digits(one), decimal_parts(other) or _as_digits(other))
    if digits[0] and digits[1] and not _INTEGER_DIGITS.keys() >= {one, other}:
        scale = max(digits[0][1], digits[1][1])
        precision = max(d[0] - d[1] for d in digits if d) + scale
        return f"decimal({precision},{scale})" if precision <= _MOST_DIGITS else None
    both = _WIDER.get(one, frozenset()) & _WIDER.get(other, frozenset())
    return next((kind for kind in _NARROW_FIRST if kind in both), None)


def _as_digits(kind: str) -> tuple[int, int] | None:
    return (_INTEGER_DIGITS[kind], 0) if kind in _INTEGER_DIGITS else None


def keeps_bounds(old: str, new: str) -> bool:
    """Tell whether bounds that were spelled in type `old` are right when they are read as `new`.

    Text has another order than what it spells, and single precision is spelled too shortly for
    double precision.
    """
    return old == new or (old != "float32" and widens(old, new))


def carries(incoming: str, wanted: str) -> bool:
    """Tell whether `incoming` is how libraries that lack the type `wanted` hand its values over.

    Not every value of `incoming` is one of `wanted`: each is checked when it is written.
    """
    return incoming in _CARRIED_AS.get(wanted, ())
