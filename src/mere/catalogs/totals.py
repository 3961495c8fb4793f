"""Keep a table's totals exact: other clients answer max(), IS NULL and the like from them.

A column's row says what is true of every row ever added. When that is not known any more, the
row goes: a client then looks into the files, and never makes the row again by itself.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mere.catalogs.dialect import Row
from mere.catalogs.draft import Draft
from mere.model.files import Bounds, DataFile, Value
from mere.model.schema import Schema
from mere.model.values import FLOATS, TEXTS, compare, from_text, is_nan, stat_texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """What is true of one column over all rows ever added; empty at first."""

    null: bool = False
    nan: bool = False
    low: Value | None = None
    high: Value | None = None
    extra: str | None = None


def add_rows(draft: Draft, table: int, files: Sequence[DataFile]) -> int:
    """Count new files into the table's totals; return the id of their first row."""
    rows, size = sum(f.rows for f in files), sum(f.bytes for f in files)
    fresh = sum(f.rows for f in files if not f.has_row_ids)
    found = draft.link.rows("table_stats", table=table)
    if not found:
        draft.link.insert("ducklake_table_stats", [(table, rows, fresh, size)])
        return 0
    records, first, known = (value or 0 for value in found[0])
    draft.link.run(
        "set_table_stats",
        table=table,
        records=records + rows,
        next_row=first + fresh,
        bytes=known + size,
    )
    return int(first)


def count_again(draft: Draft, table: int, rows: int, size: int = 0) -> None:
    """Count rows that come back, which have their ids already."""
    records, following, known = (n or 0 for n in draft.link.rows("table_stats", table=table)[0])
    draft.link.run(
        "set_table_stats",
        table=table,
        records=records + rows,
        next_row=following,
        bytes=known + size,
    )


def had_rows(draft: Draft, table: int) -> bool:
    """Tell whether the table ever held a row, inlined ones included."""
    found = draft.link.rows("table_stats", table=table)
    return bool(found and found[0][0])


def add_bounds(
    draft: Draft,
    table: int,
    files: Iterable[DataFile],
    *,
    schema: Schema,
    written: Mapping[int, str],
    fresh: bool,
) -> None:
    """Merge the bounds of new files into the totals of each column.

    `schema` is the table's newest, `written` the leaf types that the files were written with,
    `fresh` says that the table held no row before.
    """
    filled = [file for file in files if file.rows]
    if not filled:
        return
    kinds = {field.id: field.type for _, field in schema.leaves()}
    absent = {f.id for f in schema.fields if not f.children and f.initial_default is None}
    known = {row[0]: row for row in draft.link.rows("table_column_stats", table=table)}
    rows: list[Row] = []
    gone: list[int] = []
    for column, kind in kinds.items():
        before = known.get(column)
        total = Total() if fresh else _read(kind, before)
        for file in filled:
            bounds = file.bounds.get(column)
            if column not in written and column in absent:
                bounds = Bounds(nulls=file.rows, values=0, nan=False)
            total = None if total is None else _merged(total, bounds, kind, written.get(column))
        spelled = None if total is None else _spelled(table, column, kind, total)
        if before is not None and (spelled is None or spelled[2:] != _same(before)):
            gone.append(column)
        if spelled is not None and (before is None or column in gone):
            rows.append(spelled)
    if gone:
        draft.link.run("forget_column_stats", table=table, ids=gone)
    draft.link.insert("ducklake_table_column_stats", rows)


def _same(row: Row) -> Row:
    _, null, nan, low, high, extra = row
    return (bool(null), None if nan is None else bool(nan), low, high, extra)


def _read(kind: str, row: Row | None) -> Total | None:
    """Read a column's totals; None when there are none, or they cannot be understood."""
    if row is None or row[1] is None or row[5] is not None:
        return None
    _, null, nan, low, high, _ = row
    if kind in FLOATS and nan is None:
        return None
    ends = [from_text(kind, low), from_text(kind, high)]
    misread = any(
        text is not None and _odd(end) for text, end in zip((low, high), ends, strict=True)
    )
    if misread or (low is None) != (high is None):
        return None
    return Total(null=bool(null), nan=bool(nan), low=ends[0], high=ends[1])


def _odd(end: Value | None) -> bool:
    return end is None or is_nan(end)


def _merged(total: Total, bounds: Bounds | None, kind: str, written: str | None) -> Total | None:
    """Add one file's bounds; None when they do not say enough."""
    if bounds is None or bounds.nulls is None or bounds.values is None:
        return None
    nan = bool(bounds.nan)
    if kind in FLOATS and bounds.nan is None and bounds.values:
        return None
    low, high = bounds.minimum, bounds.maximum
    if bounds.values and (low is None or high is None):
        return None
    cut = kind in TEXTS or kind == "blob"
    if bounds.values and not (bounds.exact or cut):
        return None
    if low is not None and written is not None and written != kind:
        low, high = (from_text(kind, text) for text in stat_texts(written, bounds))
        if low is None or high is None:
            return None
    return Total(
        null=total.null or bounds.nulls > 0,
        nan=total.nan or nan,
        low=_pick(total.low, low, kind, -1),
        high=_pick(total.high, high, kind, 1),
    )


def _pick(one: Value | None, other: Value | None, kind: str, sign: int) -> Value | None:
    if one is None or other is None:
        return other if one is None else one
    return other if compare(other, one, kind, kind) == sign else one


def _spelled(table: int, column: int, kind: str, total: Total) -> Row | None:
    bounds = Bounds(minimum=total.low, maximum=total.high)
    low, high = stat_texts(kind, bounds)
    if (total.low is not None and low is None) or (total.high is not None and high is None):
        return None
    nan = total.nan if kind in FLOATS else None
    return (table, column, total.null, nan, low, high, total.extra)
