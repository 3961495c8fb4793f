"""Write the rows by which a table gets other columns, partitions or another order."""

from dataclasses import replace

from mere.catalogs import columns, defining, inlined, remarks
from mere.catalogs.draft import Draft
from mere.catalogs.files import partition_keys
from mere.catalogs.heads import described
from mere.catalogs.times import as_time
from mere.model.history import Evolve, Head, Snapshot
from mere.model.promotion import keeps_bounds
from mere.model.schema import Schema, number
from mere.plan.evolve import require_same_partitions


def current(draft: Draft, table: int) -> Head:
    """Return a table as this commit has left it so far."""
    row = draft.table(table)
    at = Snapshot(id=draft.snapshot, at=as_time(0), schema_version=draft.schema_version)
    return described(draft.link, row, at, draft.data_path)


def evolve(draft: Draft, edit: Evolve) -> None:
    """End and add versions of columns, and layouts, by field id; nothing when nothing differs.

    Raises:
        UnsupportedError: If a new type would put rows that lie in files into other partitions.
    """
    head = current(draft, edit.table_id)
    table = head.table_id
    schema = number(edit.schema, start=head.next_column_id)
    for keys_ in partition_keys(draft.link, table).values():
        require_same_partitions(keys_, head.schema, schema)
    columns_change = _evolve_columns(draft, head, schema)
    keys, order = defining.same_layout(head.layout, edit.layout)
    order = order and not _renamed_keys(head, schema)
    said = remarks.evolve(draft, table, edit)
    if not keys:
        draft.link.run("end_partition", table=table, at=draft.snapshot)
        defining.set_partition(draft, table, edit.layout)
    if not order:
        draft.link.run("end_sort", table=table, at=draft.snapshot)
        defining.set_order(draft, table, edit.layout, schema)
    if columns_change or not keys:
        draft.define(table)
    if columns_change or said or not (keys and order):
        draft.say("altered_table", str(table))
        draft.define()
    if columns_change:
        inlined.follow(draft, table, schema)


def _renamed_keys(head: Head, schema: Schema) -> bool:
    """Tell whether a sort order must be spelled anew, since it names columns."""
    before = {field.id: field.name for field in head.schema.fields}
    after = {field.id: field.name for field in schema.fields}
    return any(before.get(key.column) != after.get(key.column) for key in head.layout.order)


def _evolve_columns(draft: Draft, head: Head, schema: Schema) -> bool:
    table, at, link = head.table_id, draft.snapshot, draft.link
    orders = {row[0]: row[1] for row in link.rows("columns", table=table, at=at)}
    change = columns.evolution(table, head.schema, orders, _settled(head, schema), at)
    if change.ended:
        link.run("end_some_columns", table=table, ids=change.ended, at=at)
    if change.dropped:
        link.run("end_some_column_tags", table=table, ids=change.dropped, at=at)
    _forget_bounds(draft, head, schema, change)
    link.insert("ducklake_column", change.begun)
    return bool(change.ended or change.begun)


def _forget_bounds(draft: Draft, head: Head, schema: Schema, change: columns.Evolution) -> None:
    """Let go of bounds that other clients would misread in a column's new type."""
    table, link = head.table_id, draft.link
    inexact = _inexact(head.schema, schema, change.retyped)
    if change.dropped or inexact:
        link.run("forget_column_stats", table=table, ids=[*change.dropped, *inexact])
        draft.file_id()  # clients that are attached keep totals until files seem to have come
    before = {field.id: field.type for _, field in head.schema.leaves()}
    after = {field.id: field.type for _, field in schema.leaves()}
    misread = [c for c in inexact if c in before and not keeps_bounds(before[c], after[c])]
    if misread:
        link.run("blur_file_bounds", table=table, ids=misread)


def _settled(head: Head, schema: Schema) -> Schema:
    """Keep what old files read for columns that exist already."""
    known = {field.id: field for field in head.schema.fields}
    return Schema(
        fields=tuple(
            replace(f, initial_default=known[f.id].initial_default) if f.id in known else f
            for f in schema.fields
        )
    )


def _inexact(old: Schema, new: Schema, retyped: tuple[int, ...]) -> list[int]:
    """Return the columns whose bounds may not be exact any more in the new type."""
    before = {field.id: field.type for _, field in old.leaves()}
    after = {field.id: field.type for _, field in new.leaves()}
    return [c for c in retyped if not ("int" in before.get(c, "") and "int" in after.get(c, ""))]
