"""Upsert rows so that each of their keys is there once, also where it was there several times."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mere import arrow, registry
from mere.datasets.places import transaction
from mere.errors import CommitConflictError
from mere.model.report import Report
from mere.model.schema import Schema
from mere.ops.carry import MOST_PLANS
from mere.table import Table

_ROW = "_mere_row"


def held(data: Any, columns: Schema) -> Any:
    """Return rows in a form that can be read twice; a DataFrame of Spark stays where it is."""
    if hasattr(data, "sparkSession"):
        return data
    return arrow.stream(arrow.hold(registry.opened(data), lambda: columns)).read_all()


def upsert_once(
    table: Table, rows: Any, keys: Sequence[str], update: Sequence[str] | None, *, dry_run: bool
) -> Report:
    """Update rows with known keys and insert the others, in one swap.

    Of rows that share one of these keys the first stays, and the report counts the others as
    deleted.

    Raises:
        CommitConflictError: If others were first every time; nothing changed.
    """
    for _ in range(MOST_PLANS - 1):
        with suppress(CommitConflictError):
            return _upserted(table, rows, keys, update, dry_run=dry_run)
    return _upserted(table, rows, keys, update, dry_run=dry_run)


def _upserted(
    table: Table, rows: Any, keys: Sequence[str], update: Sequence[str] | None, *, dry_run: bool
) -> Report:
    total = rows.count() if hasattr(rows, "sparkSession") else rows.num_rows
    with transaction(table) as staged:
        before = staged.scan().found.files
        report = staged.upsert(rows, on=keys, update=update, dry_run=dry_run)
        more = report.rows_updated - (total - report.rows_inserted)
        if more > 0:
            report = replace(
                report,
                rows_updated=report.rows_updated - more,
                rows_deleted=more,
                rows_after=report.rows_after - more,
            )
        if dry_run:
            return report
        if more > 0:
            _keep_first(staged, _keys_of(rows, keys), keys)
        after = staged.scan().found.files
    known, left = {file.id for file in before}, {file.id for file in after}
    new = tuple(file for file in after if file.id not in known)
    gone = tuple(file.path for file in before if file.id not in left)
    return replace(
        report,
        files=new,
        files_added=len(new),
        gone=gone,
        files_removed=len(gone),
        after_file_count=len(after),
        after_total_bytes=sum(file.bytes for file in after),
    )


def _keys_of(rows: Any, keys: Sequence[str]) -> pa.Table:
    if hasattr(rows, "sparkSession"):
        return rows.select(*keys).toArrow()
    return rows.select(list(keys))


def _keep_first(table: Table, keys: pa.Table, on: Sequence[str]) -> None:
    """Leave one row of each of these keys: all go, and the first of each comes again."""
    meant = pa.concat_tables(
        [_matching(pa.Table.from_batches([b]), keys, on) for b in table.scan().to_batches()]
    )
    numbered = meant.select(list(on)).append_column(_ROW, pa.array(range(meant.num_rows)))
    counted = numbered.group_by(list(on)).aggregate([(_ROW, "min"), (_ROW, "count")])
    doubled = counted.filter(pc.greater(counted[f"{_ROW}_count"], 1))
    table.merge(doubled.select(list(on)), list(on)).when_matched_delete().run()
    table.append(meant.take(doubled[f"{_ROW}_min"].combine_chunks().sort()))


def _matching(rows: pa.Table, keys: pa.Table, on: Sequence[str]) -> pa.Table:
    """Return the rows that have one of these keys, in their order."""
    typed = keys.cast(rows.select(list(on)).schema)
    numbered = rows.select(list(on)).append_column(_ROW, pa.array(range(rows.num_rows)))
    found = numbered.join(typed, list(on), join_type="left semi").column(_ROW)
    return rows.take(found.combine_chunks().sort())
