"""Hold the totals of columns, which clients answer from, to the bounds of the living files."""

from collections.abc import Iterator
from dataclasses import dataclass

from mere.catalogs.dialect import Link, Row
from mere.model.files import Value
from mere.model.promotion import decimal_parts
from mere.model.values import FLOATS, INTEGERS, TEXT_BYTES, TEXTS, compare, from_text

_PAGE = 50_000
_PLAIN = frozenset(INTEGERS) | FLOATS | TEXTS | {"boolean", "date", "time"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Total:
    """What is said of one column."""

    kind: str
    null: bool
    nan: bool
    low: Value | None
    high: Value | None


def narrow_totals(link: Link) -> Iterator[tuple[int, int, str]]:
    """Yield (table, column, what is wrong), the first that is wrong with each column."""
    for table, column, null, nan, low, high, kind in link.rows("audited_columns"):
        known = {row[1] for row in link.rows("column_types", table=table) if row[0] == column}
        total = _Total(
            kind=kind,
            null=null is None or bool(null),
            nan=nan is None or bool(nan),
            low=_end(kind, low, known),
            high=_end(kind, high, known),
        )
        for row in _bounds(link, table, column):
            wrong = _wrong(total, row, known)
            if wrong is not None:
                yield table, column, wrong
                break


def _bounds(link: Link, table: int, column: int) -> Iterator[Row]:
    after = -1
    while True:
        rows = link.rows("audited_bounds", table=table, column=column, after=after, most=_PAGE)
        yield from rows
        if len(rows) < _PAGE:
            return
        after = rows[-1][0]


def _end(kind: str, text: str | None, known: set[str]) -> Value | None:
    """Read one end; None where it cannot be told, or need not be exact.

    Texts are cut, and single precision is spelled in two ways once it is doubled.
    """
    if text is None or len(text) >= TEXT_BYTES or (kind in FLOATS and len(known) > 1):
        return None
    timed = kind.startswith("timestamp") and len(known) == 1
    if kind not in _PLAIN and not timed and decimal_parts(kind) is None:
        return None
    return from_text(kind, text)


def _wrong(total: _Total, row: Row, known: set[str]) -> str | None:
    file, nulls, nan, low_text, high_text = row
    if nulls and not total.null:
        return f"the totals know no NULL, the file {file} has {nulls}"
    if nan and not total.nan:
        return f"the totals know no NaN, the file {file} has some"
    low, high = _end(total.kind, low_text, known), _end(total.kind, high_text, known)
    if low is not None and total.low is not None and compare(low, total.low) < 0:
        return f"the totals begin at {total.low}, the file {file} at {low}"
    if high is not None and total.high is not None and _beyond(high, total.high):
        return f"the totals end at {total.high}, the file {file} at {high}"
    return None


def _beyond(high: Value, total: Value) -> bool:
    """Tell whether a value lies beyond a maximum, of which a text may have been cut off."""
    cut = isinstance(high, str) and isinstance(total, str) and high.startswith(total)
    return not cut and compare(high, total) > 0
