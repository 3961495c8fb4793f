"""Read what a Parquet footer tells about a file: rows, row groups and typed bounds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from decimal import Context, Decimal
from hashlib import blake2b
from typing import Any
from uuid import UUID

import pyarrow.parquet as pq

from mere.model.files import Bounds, DataFile, RowGroup, Value
from mere.model.promotion import decimal_parts
from mere.model.schema import ROW_ID, Field, Schema
from mere.model.values import EPOCH, FLOATS

_EXACT = Context(prec=76)
_DAY_ZERO = EPOCH.date()
UNORDERED = frozenset({"int128", "uint128", "timetz", "interval", "variant", "geometry"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Floats:
    """What a writer saw in one float column of one row group, and a footer cannot tell.

    The rest is only known where the footer keeps no statistics.
    """

    nan: bool | None
    minimum: float | None = None
    maximum: float | None = None
    nulls: int | None = None
    values: int | None = None


def data_file(
    metadata: pq.FileMetaData,
    *,
    schema: Schema,
    path: str,
    size: int,
    footer_bytes: int | None = None,
    partition_id: int | None = None,
    partition: tuple[Value | None, ...] = (),
    floats: Sequence[Mapping[int, Floats]] = (),
    without_nan: frozenset[int] = frozenset(),
    digest: str | None = None,
    places: Mapping[int, int] | None = None,
) -> DataFile:
    """Describe a file that was written with the columns of `schema`, from its footer.

    `floats` holds, per row group, what was seen in float columns, keyed by the leaf's field id;
    `without_nan` the float leaves that are known to hold none. For others it is not known, and
    then their bounds are not either: writers disagree on whether NaN takes part in them.
    `places` tell which column of the file a leaf is, by its id; of others nothing is told then.
    Without, all leaves lie in the file in their order.
    """
    leaves = [field for _, field in schema.leaves()]
    if places is None:
        found = list(zip(leaves, range(metadata.num_columns), strict=True))
    else:
        found = [(leaf, places[leaf.id]) for leaf in leaves if leaf.id in places]
    groups = tuple(
        _row_group(metadata.row_group(i), i, found, floats[i] if floats else {}, without_nan)
        for i in range(metadata.num_row_groups)
    )
    return DataFile(
        path=path,
        bytes=size,
        rows=metadata.num_rows,
        footer_bytes=footer_bytes,
        partition_id=partition_id,
        partition=partition,
        bounds={leaf.id: _joined([g.bounds[leaf.id] for g in groups]) for leaf, _ in found},
        row_groups=groups,
        digest=digest,
        has_row_ids=any(leaf.id == ROW_ID for leaf in leaves),
    )


def digest_of(footer: bytes) -> str:
    """Return the digest by which the bytes of a footer are told again.

    A footer names the places and sizes of all pages, so a file whose footer and length are the
    same is the same file, but for damage inside pages, which these find by their checksums.
    """
    return blake2b(footer, digest_size=16).hexdigest()


def _row_group(
    group: Any,
    ordinal: int,
    leaves: Sequence[tuple[Field, int]],
    floats: Mapping[int, Floats],
    without_nan: frozenset[int],
) -> RowGroup:
    columns = [group.column(i) for i in range(group.num_columns)]
    return RowGroup(
        ordinal=ordinal,
        rows=group.num_rows,
        bytes=sum(column.total_compressed_size for column in columns),
        raw_bytes=group.total_byte_size,
        bounds={
            leaf.id: _bounds(columns[at], leaf, floats.get(leaf.id) or _told(leaf, without_nan))
            for leaf, at in leaves
        },
    )


def _told(leaf: Field, without_nan: frozenset[int]) -> Floats | None:
    return Floats(nan=False) if leaf.id in without_nan else None


def _bounds(column: Any, leaf: Field, seen: Floats | None) -> Bounds:
    stats = column.statistics
    size = column.total_compressed_size
    if stats is None:
        known = seen or Floats(nan=None)
        return Bounds(
            minimum=known.minimum,
            maximum=known.maximum,
            nulls=known.nulls,
            values=known.values,
            nan=known.nan,
            bytes=size,
        )
    low, high = _extremes(stats, leaf, seen)
    return Bounds(
        minimum=low,
        maximum=high,
        nulls=stats.null_count if stats.has_null_count else None,
        values=stats.num_values if stats.has_null_count else None,
        nan=seen.nan if seen else None,
        bytes=size,
    )


def _extremes(stats: Any, leaf: Field, seen: Floats | None) -> tuple[Value | None, Value | None]:
    """Read the bounds of a row group; those of floats only when NaN cannot be among them."""
    if leaf.type in FLOATS and (seen is None or seen.nan is not False):
        return (seen.minimum, seen.maximum) if seen else (None, None)
    if not stats.has_min_max or leaf.type in UNORDERED:
        return None, None
    read = reader_of(leaf.type)
    return read(stats.min_raw), read(stats.max_raw)


def _joined(parts: Sequence[Bounds]) -> Bounds:
    """Join the bounds of row groups; what one group does not know, the file does not know."""
    known = [p for p in parts if p.values != 0]
    lows: list[Any] = [p.minimum for p in known]
    highs: list[Any] = [p.maximum for p in known]
    return Bounds(
        minimum=None if None in lows else min(lows, default=None),
        maximum=None if None in highs else max(highs, default=None),
        nulls=_total([p.nulls for p in parts]),
        values=_total([p.values for p in parts]),
        nan=_any([p.nan for p in parts]),
        bytes=_total([p.bytes for p in parts]),
        exact=all(p.exact for p in parts),
    )


def _total(parts: Sequence[int | None]) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _any(parts: Sequence[bool | None]) -> bool | None:
    if any(parts):
        return True
    return None if None in parts else (False if parts else None)


def reader_of(kind: str) -> Callable[[Any], Value | None]:
    """Return what turns the raw statistic of a leaf type into its Python value."""
    digits = decimal_parts(kind)
    if digits is not None:
        return lambda raw: _decimal(raw, digits[1])
    return _READ.get(kind, _same)


def _same(raw: Any) -> Value:
    return raw


def _decimal(raw: Any, scale: int) -> Decimal:
    unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else int(raw)
    return Decimal(unscaled).scaleb(-scale, context=_EXACT)


def _text(raw: Any) -> str | None:
    try:
        return raw.decode() if isinstance(raw, bytes) else str(raw)
    except UnicodeDecodeError:
        return None


def _unsigned(bits: int) -> Callable[[int], int]:
    return lambda raw: raw & ((1 << bits) - 1)


def _date(raw: int) -> date | None:
    try:
        return _DAY_ZERO + timedelta(days=raw)
    except OverflowError:
        return None


def _moment(micros: int, *, aware: bool = False) -> Value | None:
    """Return a timestamp, None for one that Python cannot hold."""
    try:
        found = EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None
    return found.replace(tzinfo=UTC) if aware else found


def _clock(micros: int) -> Value | None:
    found = EPOCH + timedelta(microseconds=micros)
    return found.time() if found.date() == _DAY_ZERO else None


def _float(raw: float) -> float:
    """Return zero without a sign: statistics give it one that the values may not have."""
    return raw + 0.0


_READ: dict[str, Callable[[Any], Value | None]] = {
    "float32": _float,
    "float64": _float,
    **{f"uint{bits}": _unsigned(bits) for bits in (8, 16, 32, 64)},
    "varchar": _text,
    "json": _text,
    "uuid": lambda raw: UUID(bytes=raw),
    "date": _date,
    "time": _clock,
    "timestamp": _moment,
    "timestamp_s": _moment,
    "timestamp_ms": lambda raw: _moment(raw * 1000),
    "timestamptz": lambda raw: _moment(raw, aware=True),
}
