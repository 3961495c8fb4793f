"""The verbs that change rows: methods of `Table`, which has them from here."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from mere import ops, registry
from mere.merging import Merge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mere.model.report import Report
    from mere.model.schema import Schema
    from mere.ports import Session


class Named(Protocol):
    """What a table is made of."""

    name: str
    _session: Session


def _columns(table: Named) -> Schema:
    return table._session.catalog.head(table.name).schema  # noqa: SLF001  these are its methods


def delete(
    self: Named,
    where: Any,
    *,
    dry_run: bool = False,
    message: str | None = None,
    token: str | None = None,
) -> Report:
    """Delete the rows that match, in one commit; the report counts them.

    A row for which the condition is NULL stays. Files of which every row goes are ended
    without being opened; of the others only positions are written. A row that others insert or
    change meanwhile is looked at again before the commit.

    Args:
        where: Which rows, as `scan` takes it; `"true"` for all.
        dry_run: Only count.
        message: What the history says of it.
        token: A name for this commit, to make a repeated call safe.

    Raises:
        UnknownColumnError: If a column does not exist; no file was opened.

    Example:
        >>> trades.delete("price IS NULL", dry_run=True).rows_deleted
        3
    """
    options = ops.mutate.ChangeOptions(dry_run=dry_run, message=message, token=token)
    return ops.mutate.delete(self._session, self.name, where, options)


def update(
    self: Named,
    set: Mapping[str, Any],  # noqa: A002  the word that SQL has for it
    where: Any = None,
    *,
    dry_run: bool = False,
    message: str | None = None,
    token: str | None = None,
) -> Report:
    """Set columns of the rows that match, in one commit; the report counts them.

    A text is an SQL expression over the row as it was before: `{"a": "b", "b": "a"}` swaps
    two columns. `mere.lit("ask")` is the text itself; other Python values stand for
    themselves, None for NULL. A row whose partition column changes moves.

    Args:
        set: New values by column.
        where: Which rows, as `scan` takes it; None for all.
        dry_run: Only count.
        message: What the history says of it.
        token: A name for this commit, to make a repeated call safe.

    Raises:
        UnknownColumnError: If a column does not exist; no file was opened.
        InvalidInputError: If a value can never be one of its column.
        SchemaMismatchError: If a row would break the column's type, NOT NULL or a check.

    Example:
        >>> trades.update({"spread": "best_ask - best_bid"}, where="spread IS NULL")
    """
    options = ops.mutate.ChangeOptions(dry_run=dry_run, message=message, token=token)
    return ops.mutate.update(self._session, self.name, set, where, options)


def upsert(
    self: Named,
    data: Any,
    *,
    on: str | Sequence[str],
    update: Sequence[str] | None = None,
    insert: bool = True,
    dry_run: bool = False,
    message: str | None = None,
    token: str | None = None,
) -> Report:
    """Update the rows whose keys the table has, insert the others, in one commit.

    Columns that `data` lacks keep their values in rows that are there, and get their default
    or NULL in new ones; NULL can be written over a value. A key that is NULL matches nothing,
    so its row is always new; NaN matches NaN. A row whose partition column changes moves. Only
    files that can hold one of the keys are opened.

    Args:
        data: The rows, as `append` takes them; read once.
        on: The key: one or more columns that both sides have.
        update: The columns to update; None for all in `data` but the key, `[]` for none.
        insert: Whether rows with new keys are inserted.
        dry_run: Only count.
        message: What the history says of it.
        token: A name for this commit, to make a repeated call safe.

    Raises:
        DuplicateKeyError: If `data` holds a key more than once; nothing was written.
        SchemaMismatchError: If columns do not fit, or a row breaks NOT NULL or a check.

    Example:
        >>> trades.upsert(corrections, on=("product_id", "trade_id"))
    """
    options = ops.mutate.ChangeOptions(dry_run=dry_run, message=message, token=token)
    session, rows = registry.taken(self._session, data, partial(_columns, self))
    return ops.mutate.upsert(
        session, self.name, rows, on=on, update=update, insert=insert, options=options
    )


def merge(self: Named, data: Any, on: str | Sequence[str]) -> Merge:
    """Begin a merge of `data` by clauses; `run()` does it.

    Example:
        >>> table.merge(data, on="id").when_matched_update().when_not_matched_insert().run()
    """
    session, rows = registry.taken(self._session, data, partial(_columns, self))
    return Merge(session=session, table=self.name, source=rows, on=on)


def deduplicate(
    self: Named,
    on: str | Sequence[str],
    *,
    order_by: str | Sequence[str] | None = None,
    keep: str = "first",
    dry_run: bool = False,
    message: str | None = None,
    token: str | None = None,
) -> Report:
    """Keep one row of each key and delete the others, in one commit; the report counts them.

    Unlike in `upsert`, and as in SQL's DISTINCT, NULL equals NULL here; NaN equals NaN, and -0.0
    equals 0.0. Rows with equal `order_by` are taken in the order in which they came into the
    table, so that the outcome is always the same. A table without duplicates stays as it is.

    Keys are compared in parts of bounded memory, whatever the size of the table: where files
    cannot share a key, by their partitions or bounds, they are not looked at together.

    Args:
        on: The key: one or more columns.
        order_by: What decides which row stays, as `create_table` takes `sort_by`: `"ts DESC"`.
            Unless `NULLS FIRST` or `NULLS LAST` is said, a NULL never wins over a value. None
            for the order in which rows came into the table.
        keep: `"first"` or `"last"` of that order.
        dry_run: Only count.
        message: What the history says of it.
        token: A name for this commit, to make a repeated call safe.

    Raises:
        UnknownColumnError: If a column does not exist; no file was opened.
        UnsupportedError: If a column is nested.

    Example:
        >>> trades.deduplicate(["product_id", "trade_id"], order_by="received", keep="last")
    """
    options = ops.mutate.ChangeOptions(dry_run=dry_run, message=message, token=token)
    return ops.mutate.deduplicate(
        self._session, self.name, on, order_by=order_by, keep=keep, options=options
    )
