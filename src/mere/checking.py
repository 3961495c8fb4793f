"""Hold rows that are about to be written to the checks of their table."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

import pyarrow as pa
import pyarrow.compute as pc

from mere.arrow.judging import judged
from mere.arrowexpr import to_pyarrow
from mere.errors import InvalidInputError, SchemaMismatchError, UnsupportedError
from mere.model.predicate import Expr, bind, columns
from mere.model.schema import Schema
from mere.model.work import Write
from mere.sqltext import parse

_SHOWN = 200


def checked(batches: Iterable[pa.RecordBatch], task: Write) -> Iterator[pa.RecordBatch]:
    """Yield batches whose rows satisfy every check; one that is NULL is satisfied, as in SQL.

    Raises:
        SchemaMismatchError: Naming the check, how many rows break it, and the first of them.
        InvalidInputError: If rows do not match the condition that all of them must match.
    """
    broken = broken_by(task.checks, task.schema)
    before = 0
    for batch in batches:
        if task.only is not None:
            _require_match(batch, before, task.only)
        for name, text, breaks in broken:
            _require(batch, before, name, text=text, breaks=breaks)
        before += batch.num_rows
        yield batch


def broken_by(
    checks: Sequence[tuple[str, str]], schema: Schema
) -> tuple[tuple[str, str, Expr], ...]:
    """Return each check with what breaks it: a row for which it is false."""
    return tuple((name, text, bind(~parse(text), schema)) for name, text in checks)


def _require(batch: pa.RecordBatch, before: int, name: str, *, text: str, breaks: Expr) -> None:
    table = pa.Table.from_batches([batch])
    wrong = _rows(table, breaks)
    if not wrong.num_rows:
        return
    named = [column for column in table.column_names if column in columns(breaks)]
    first = str(wrong.select(named).slice(0, 1).to_pylist()[0])[:_SHOWN]
    msg = (
        f"{wrong.num_rows} of the rows {before} to {before + len(batch) - 1} break the check "
        f"{name!r} ({text}); the first has {first}"
    )
    raise SchemaMismatchError(msg, hint="nothing was changed")


def _require_match(batch: pa.RecordBatch, before: int, where: Expr) -> None:
    """Refuse rows that take the place of others by a condition which they do not fulfil."""
    places = pa.array(range(batch.num_rows))
    table = pa.Table.from_batches([batch]).append_column(pa.field("", pa.int64()), places)
    found = _rows(table, where).column(table.num_columns - 1)
    wrong = batch.num_rows - len(found)
    if not wrong:
        return
    first = table.filter(pc.invert(pc.is_in(places, value_set=found.combine_chunks()))).slice(0, 1)
    named = [column for column in table.column_names if column in columns(where)]
    shown = str(first.select(named).to_pylist()[0])[:_SHOWN]
    msg = (
        f"{wrong} of the new rows {before} to {before + len(batch) - 1} do not match {where}, "
        f"which they are to replace; the first has {shown}"
    )
    raise InvalidInputError(msg, hint="nothing was changed; write only rows that match")


def _rows(table: pa.Table, where: Expr) -> pa.Table:
    with suppress(UnsupportedError, pa.ArrowInvalid):  # the latter where whole numbers overflow
        return table.filter(to_pyarrow(where))
    return table.filter(judged(table, where))
