"""Find the row groups of an open file that can hold a matching row, by its footer alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as kinds

from mere.arrow.footer import reader_of
from mere.arrow.types import type_name
from mere.errors import CorruptionError, UnsupportedError
from mere.model.files import Bounds, Kept
from mere.model.predicate import Expr, nodes
from mere.model.values import FLOATS, INTEGERS, TEXTS
from mere.plan.prune import Match, match
from mere.plan.spans import column_key
from mere.reading.conform import typed
from mere.reading.forms import Source

_MICROSECONDS = (pa.time64("us"), pa.timestamp("us", tz="UTC"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leaf:
    """One column that the predicate names, and its place in the footer; None: it has none."""

    key: str
    source: Source
    at: int | None


def surviving(
    footer: pq.FileMetaData, found: Sequence[Source], where: Expr | None, kept: Kept | None
) -> tuple[int, ...]:
    """Return the ordinals of the row groups that can hold a matching row.

    `kept` is what the catalog knows of it, which the footer may go beyond.

    Raises:
        CorruptionError: If the catalog lists another number of row groups.
    """
    if where is None:
        return tuple(range(footer.num_row_groups))
    every: Sequence[int] = range(footer.num_row_groups)
    if kept is not None:
        if kept.total != footer.num_row_groups:
            msg = f"{footer.num_row_groups} row groups are there, the catalog lists {kept.total}"
            raise CorruptionError(msg, hint="`mere doctor` compares the catalog with the files")
        every = [group.ordinal for group in kept.groups]
    named = list(_leaves(footer.schema, found, where))
    keys = [leaf.key for leaf in named]
    leaves = [leaf for leaf in named if keys.count(leaf.key) == 1]
    return tuple(i for i in every if _can_match(where, leaves, footer.row_group(i)))


def _can_match(where: Expr, leaves: Sequence[_Leaf], group: Any) -> bool:
    known = {leaf.key: _bounds(leaf, group) for leaf in leaves}
    bounds: Mapping[str, Bounds] = {k: b for k, b in known.items() if b is not None}
    return match(where, bounds=bounds) is not Match.NONE


def _leaves(schema: Any, found: Sequence[Source], where: Expr) -> Iterator[_Leaf]:
    places = {schema.column(i).path: i for i in range(len(schema))}
    for path in {node.args for node in nodes(where) if node.op == "column"}:
        source = _follow(path, found)
        if source is not None and not source.children:
            leaves = () if source.part is None else source.part.leaves
            at = places.get(leaves[0]) if len(leaves) == 1 else None
            yield _Leaf(key=column_key(path), source=source, at=at)


def _follow(path: Sequence[str], found: Sequence[Source]) -> Source | None:
    source = next((s for s in found if s.field.name == path[0]), None)
    for name in path[1:]:
        # A part that the file does not hold is filled where its parent is not NULL: not known.
        if source is None or source.field.type != "struct" or source.part is None:
            return None
        source = next((s for s in source.children if s.field.name == name), None)
    return source if source is None or source.part is not None or len(path) == 1 else None


def _bounds(leaf: _Leaf, group: Any) -> Bounds | None:
    if leaf.source.part is None:
        return _absent(leaf.source, group.num_rows)
    stats = None if leaf.at is None else group.column(leaf.at).statistics
    if stats is None:
        return None
    nulls = stats.null_count if stats.has_null_count else None
    read = _reader(leaf.source) if stats.has_min_max else None
    low, high = (None, None) if read is None else (read(stats.min_raw), read(stats.max_raw))
    return Bounds(minimum=low, maximum=high, nulls=nulls, values=stats.num_values, exact=False)


def _absent(source: Source, rows: int) -> Bounds | None:
    field = source.field
    if field.initial_default is None:
        return Bounds(nulls=rows, values=0)
    if field.type in FLOATS:
        return None
    value = typed(field, field.initial_default)
    return Bounds(minimum=value, maximum=value, nulls=0, values=rows)


def _reader(source: Source) -> Any:
    """Return what reads the statistics as the file stores them; None where they say nothing."""
    part = source.part
    if part is None:
        return None
    timed = kinds.is_time(part.type) or (kinds.is_timestamp(part.type) and part.type.tz is not None)
    if timed and part.type not in _MICROSECONDS:
        return None
    try:
        kind = type_name(part.type, source.field.name)
    except UnsupportedError:
        return None
    wanted = source.field.type
    reordered = (kind in TEXTS) != (wanted in TEXTS) or (kind in INTEGERS and wanted in FLOATS)
    # Writers disagree on whether NaN takes part in the extremes of floats.
    return None if kind in FLOATS or reordered else reader_of(kind)
