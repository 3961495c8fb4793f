"""Write the rows by which a table becomes what it was at an older version.

A file that comes back is listed once more, by a row of its own that begins now: what lies between
stays as it was. Columns, layouts and comments take over the rows that they had then, ids included.
"""

from collections.abc import Iterable, Mapping, Sequence

from mere.catalogs import adding, inlined, inlined_rows, remarks, totals
from mere.catalogs.dialect import Row
from mere.catalogs.draft import Draft
from mere.catalogs.evolving import current
from mere.catalogs.files import chunks
from mere.catalogs.folders import Folders
from mere.catalogs.heads import read_schema
from mere.model.history import Evolve, Head, Restore, Returned
from mere.model.schema import Schema
from mere.plan.conflict import Kind, kinds_on, parse
from mere.ports import ReplanNeeded

_COPIED = (
    ("file_stats_rows", "ducklake_file_column_stats"),
    ("file_variant_rows", "ducklake_file_variant_stats"),
    ("file_partition_rows", "ducklake_file_partition_value"),
)


def restore(draft: Draft, edit: Restore) -> None:
    """End what came since, list again what went since, and define the table as it was.

    Raises:
        ReplanNeeded: If a file that is to go has gone already.
    """
    now, at = current(draft, edit.table_id), edit.head.snapshot
    if edit.removes:
        adding.end(draft, now.table_id, edit.removes)
    draft.files.update(edit.stays)
    draft.restored.update(number for _, number in edit.stays)
    _define(draft, now, edit.head)
    if edit.returns:
        _list_again(draft, now, edit.returns)
    came, went = inlined_rows.restore(draft.link, now.table_id, at, draft.snapshot)
    if came:
        totals.count_again(draft, now.table_id, came)
        draft.say("inlined_insert", str(now.table_id))
    if went:
        draft.say("inlined_delete", str(now.table_id))
    if edit.returns or came:
        _distrust_totals(draft, now.table_id, at)


def _list_again(draft: Draft, now: Head, returns: Sequence[Returned]) -> None:
    """Give each file that comes back a row that begins now, and what is known of the file."""
    link, table = draft.link, now.table_id
    numbers = {back.file.id: draft.file_id() for back in returns}
    draft.files.update(numbers)
    draft.restored.update(numbers.values())
    copies = {back.file.id: back.path for back in returns}
    old = _rows(draft, "data_file_rows", numbers)
    if len(old) < len(returns):  # the version expired meanwhile
        raise ReplanNeeded
    rows = [_data_row(draft, now, row, numbers[row[0]], copies[row[0]]) for row in old]
    link.insert("ducklake_data_file", rows)
    for query, target in _COPIED:
        known = _rows(draft, query, numbers)
        link.insert(target, [(numbers[row[0]], *row[1:]) for row in known])
    _delete_again(draft, now, returns, numbers)
    _share(draft, [row for row in old if copies[row[0]] is None], numbers)
    records = sum(back.file.rows for back in returns)
    totals.count_again(draft, table, records, sum(back.file.bytes for back in returns))
    draft.say("inserted_into_table", str(table))


def _rows(draft: Draft, query: str, ids: Iterable[int]) -> list[Row]:
    return [row for part in chunks(list(ids)) for row in draft.link.rows(query, ids=part)]


def _data_row(draft: Draft, now: Head, row: Row, number: int, copy: str | None) -> Row:
    """Return a file's row as one that begins now, with all rows of the file from now on."""
    path, relative = (row[5], bool(row[6])) if copy is None else adding.place(draft, now, copy)
    return (number, row[1], draft.snapshot, None, row[4], path, relative, *row[7:15], None)


def _delete_again(
    draft: Draft, now: Head, returns: Iterable[Returned], numbers: Mapping[int, int]
) -> None:
    rows: list[Row] = []
    for back in returns:
        if back.deletes is None:
            continue
        deletes, at = back.deletes, draft.snapshot
        path, relative = adding.place(draft, now, deletes.path)
        rows.append(
            (
                *(draft.file_id(), now.table_id, at, None, numbers[back.file.id], path, relative),
                *("parquet", deletes.rows, deletes.bytes, deletes.footer_bytes, None, at),
            )
        )
    if rows:
        draft.link.insert("ducklake_delete_file", rows)
        draft.say("deleted_from_table", str(now.table_id))


def _share(draft: Draft, old: Iterable[Row], numbers: Mapping[int, int]) -> None:
    """Note which rows list one file, so that it stays as long as any of them does."""
    folders = Folders.read(draft.link, draft.data_path)
    pairs = [(folders.place(r[1], r[5], relative=bool(r[6]))[0], r[0]) for r in old]
    ids = [number for _, number in pairs]
    known = {row[0] for part in chunks(ids) for row in draft.link.rows("shared", ids=part)}
    older = [(path, number) for path, number in pairs if number not in known]
    newer = [(path, numbers[number]) for path, number in pairs]
    draft.link.insert("mere_shared", older + newer)


def _define(draft: Draft, now: Head, then: Head) -> None:
    """Give the table the columns, layout, comments and checks of an older version."""
    link, table, at = draft.link, now.table_id, then.snapshot
    columns_change = _columns(draft, now, read_schema(link, table, at), at)
    partitions = _version(draft, "partition", table, at)
    order = _version(draft, "sort", table, at)
    comments = dict.fromkeys(remarks.comments_of(link, table, draft.snapshot))
    comments |= remarks.comments_of(link, table, at)
    said = remarks.evolve(
        draft,
        table,
        Evolve(
            table_id=table,
            schema=now.schema,
            layout=now.layout,
            comments=tuple(comments.items()),
            checks=remarks.checks_of(link, table, at),
        ),
    )
    if columns_change or partitions:
        draft.define(table)
    if columns_change or partitions or order or said:
        draft.say("altered_table", str(table))
        draft.define()
    if columns_change:
        inlined.follow(draft, table, read_schema(link, table, draft.snapshot))


def _columns(draft: Draft, now: Head, schema: Schema, at: int) -> bool:
    """Take over the columns of an older version, with their ids."""
    link, table = draft.link, now.table_id
    then = {row[0]: row for row in link.rows("column_rows", table=table, at=at)}
    held = {row[0]: row for row in link.rows("column_rows", table=table, at=draft.snapshot)}
    same = {id_ for id_ in then if id_ in held and then[id_][4:] == held[id_][4:]}
    ended, begun = sorted(set(held) - same), sorted(set(then) - same)
    if not (ended or begun):
        return False
    link.run("end_some_columns", table=table, ids=ended, at=draft.snapshot)
    dropped = sorted(set(held) - set(then))
    link.run("end_some_column_tags", table=table, ids=dropped, at=draft.snapshot)
    taken = ((id_, then[id_]) for id_ in begun)
    rows = [(n, draft.snapshot, None, *r[3:9], bool(r[9]), *r[10:]) for n, r in taken]
    link.insert("ducklake_column", rows)
    kinds = {field.id: field.type for _, field in now.schema.leaves()}
    retyped = [f.id for _, f in schema.leaves() if kinds.get(f.id) != f.type]
    link.run("forget_column_stats", table=table, ids=[*dropped, *retyped])
    draft.file_id()  # clients that are attached keep totals until files seem to have come
    return True


def _version(draft: Draft, kind: str, table: int, at: int) -> bool:
    """Let the partitions, or the order, of an older version hold again."""
    link = draft.link
    then = [row[0] for row in link.rows(f"{kind}_at", table=table, at=at)]
    held = [row[0] for row in link.rows(f"{kind}_at", table=table, at=draft.snapshot)]
    if then == held:
        return False
    link.run(f"end_{kind}", table=table, at=draft.snapshot)
    link.insert(f"ducklake_{kind}_info", [(id_, table, draft.snapshot, None) for id_ in then])
    if kind == "partition":
        draft.partitions[table] = then[0] if then else None
    return True


def _distrust_totals(draft: Draft, table: int, at: int) -> None:
    """Drop totals that may know only of rows that came after the version."""
    texts = draft.link.rows("changes_since", base=at)
    kinds = kinds_on((deed for _, text in texts for deed in parse(text)), table)
    if len(texts) < draft.snapshot - 1 - at or Kind.REWRITE in kinds:
        known = [row[0] for row in draft.link.rows("table_column_stats", table=table)]
        draft.link.run("forget_column_stats", table=table, ids=known)
