"""Say what a file's partition values tell of its columns.

| transform | tells |
|---|---|
| identity | that every row holds this very value |
| year, month, day, hour | the part; with all larger parts beside it, the stretch of time |
| bucket | which values cannot occur |
| any, NULL | that every row holds NULL |

Other writers take the calendar parts of a `timestamptz` in a time zone of their own, so these
bound the instant only loosely, and say nothing of its parts in UTC.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from mere.model.files import Bounds, Value
from mere.model.layout import CALENDAR, Layout
from mere.model.literals import place
from mere.model.schema import Schema
from mere.model.values import compare, is_nan, to_ns
from mere.plan.spans import Facts, column_keys

_SPANS = {"day": timedelta(days=1), "hour": timedelta(hours=1)}
_ZONES = timedelta(days=1)
_MONTHS = 12


def partition_facts(layout: Layout, schema: Schema, values: tuple[Value | None, ...]) -> Facts:
    """Say what the partition values of a file, written under that layout, tell of its columns."""
    keys = column_keys(schema)
    kinds = {leaf.id: leaf.type for _, leaf in schema.leaves()}
    bounds: dict[str, Bounds] = {}
    parts: dict[tuple[str, str], int] = {}
    buckets: dict[str, tuple[int, int]] = {}
    for key, value in zip(layout.keys, values, strict=False):
        name = keys.get(key.column)
        if name is None:
            continue
        known = bounds.get(name, Bounds())
        if value is None:
            bounds[name] = tightest(known, Bounds(values=0))
        elif key.transform == "identity":
            bounds[name] = tightest(known, _only(value))
        else:
            bounds[name] = tightest(known, Bounds(nulls=0))
            if key.transform == "bucket" and key.buckets:
                buckets[name] = (key.buckets, int(value))
            else:
                parts[key.transform, name] = int(value)
    for name, stretch in _stretches(keys, kinds, parts):
        bounds[name] = tightest(bounds.get(name, Bounds()), stretch)
    trusted = {at: n for at, n in parts.items() if not _zoned(at[1], keys, kinds)}
    return Facts(bounds=bounds, parts=trusted, buckets=buckets)


def _zoned(name: str, keys: Mapping[int, str], kinds: Mapping[int, str]) -> bool:
    return any(key == name and kinds[id_] == "timestamptz" for id_, key in keys.items())


def _only(value: Value) -> Bounds:
    if is_nan(value):
        return Bounds(nulls=0, nan=True)
    return Bounds(minimum=value, maximum=value, nulls=0, nan=False)


def _stretches(
    keys: Mapping[int, str], kinds: Mapping[int, str], parts: Mapping[tuple[str, str], int]
) -> Iterator[tuple[str, Bounds]]:
    """Iterate over the columns whose calendar parts, from the year down, bound the time."""
    for id_, name in keys.items():
        given: dict[str, int] = {}
        for unit in CALENDAR:
            if (unit, name) not in parts:
                break
            given[unit] = parts[unit, name]
        stretch = _stretch(given, kinds[id_]) if given else None
        if stretch is not None:
            yield name, stretch


def _stretch(given: Mapping[str, int], kind: str) -> Bounds | None:
    year, month = given["year"], given.get("month", 1)
    try:
        start = datetime(year, month, given.get("day", 1), given.get("hour", 0))  # noqa: DTZ001  UTC
        end = _after(start, len(given))
        if kind == "timestamptz":
            start, end = start - _ZONES, end + _ZONES
    except (ValueError, OverflowError):
        return None
    first = place(kind, to_ns(start), value_kind="timestamp_ns")
    last = place(kind, to_ns(end) - 1, value_kind="timestamp_ns")
    low = first.floor if first.exact else None
    return Bounds(minimum=low, maximum=last.floor, exact=False)


def _after(start: datetime, parts: int) -> datetime:
    """Return the first moment after the year, month, day or hour that begins there."""
    unit = CALENDAR[parts - 1]
    if unit in _SPANS:
        return start + _SPANS[unit]
    year, month = start.year, start.month
    if unit == "year" or month == _MONTHS:
        return start.replace(year=year + 1, month=1)
    return start.replace(month=month + 1)


def tightest(one: Bounds, other: Bounds) -> Bounds:
    """Return what two sources together say of the same values."""
    return Bounds(
        minimum=_pick(one.minimum, other.minimum, 1),
        maximum=_pick(one.maximum, other.maximum, -1),
        nulls=one.nulls if one.nulls is not None else other.nulls,
        values=one.values if one.values is not None else other.values,
        nan=one.nan if one.nan is not None else other.nan,
        bytes=one.bytes if one.bytes is not None else other.bytes,
        exact=one.exact and other.exact,
    )


def _pick(one: Value | None, other: Value | None, sign: int) -> Value | None:
    """Return the greater of two values (or with -1 the lesser), or the one that there is."""
    if one is None or other is None or type(one) is not type(other):
        return other if one is None else one
    return one if compare(one, other) == sign else other


def joined(facts: Facts, bounds: Mapping[str, Bounds]) -> Facts:
    """Add what a file's own bounds say."""
    both = dict(facts.bounds)
    for name, known in bounds.items():
        both[name] = tightest(known, both[name]) if name in both else known
    return replace(facts, bounds=both)
