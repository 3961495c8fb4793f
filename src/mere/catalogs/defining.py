"""Write the rows by which schemas and tables come, are renamed and go."""

from collections.abc import Iterable
from dataclasses import replace
from uuid import uuid4

from mere.catalogs import columns
from mere.catalogs.draft import Draft, quoted
from mere.catalogs.identity import uuid7
from mere.errors import AlreadyExistsError, CommitConflictError, InvalidInputError, NotFoundError
from mere.model.history import CreateSchema, CreateTable, DropSchema, DropTable, Head, RenameTable
from mere.model.layout import Layout
from mere.model.names import join_name, plain_folder
from mere.model.schema import Schema, number


def create_schema(draft: Draft, edit: CreateSchema) -> None:
    """Add a schema."""
    _refuse_taken(
        "schema", edit.name, [r[1] for r in draft.link.rows("namespaces", at=draft.snapshot)]
    )
    uuid = str(uuid4())
    row = (draft.catalog_id(), uuid, draft.snapshot, None, edit.name)
    draft.link.insert("ducklake_schema", [(*row, plain_folder(edit.name, uuid), True)])
    draft.say("created_schema", quoted(edit.name))
    draft.define()


def drop_schema(draft: Draft, edit: DropSchema) -> None:
    """End a schema that holds nothing any more.

    Raises:
        NotFoundError: If there is none of that name.
        InvalidInputError: If a table, view or macro is in it.
    """
    schema, _, _ = _schema(draft, edit.name)
    at = draft.snapshot
    inside = [table for name, table in draft.link.rows("tables", at=at) if name == edit.name]
    for query in ("views_in", "macros_in"):
        inside += [row[0] for row in draft.link.rows(query, schema=schema, at=at)]
    if inside:
        msg = f"schema {edit.name!r} is not empty; it holds {', '.join(sorted(inside)[:10])}"
        raise InvalidInputError(msg, hint="drop them first")
    draft.link.run("end_schema", schema=schema, at=at)
    draft.say("dropped_schema", str(schema))
    draft.define()


def _schema(draft: Draft, name: str) -> tuple[int, str, bool]:
    rows = draft.link.rows("schema_named", schema=name, at=draft.snapshot)
    if not rows:
        known = sorted(row[1] for row in draft.link.rows("namespaces", at=draft.snapshot))
        msg = f"no schema {name!r}; there is: {', '.join(known)}"
        raise NotFoundError(msg, hint="make it first")
    schema, path, relative = rows[0]
    return schema, path or "", bool(relative)


def create_table(draft: Draft, edit: CreateTable, *, holds_files: bool) -> None:
    """Add a table with its columns and layout.

    Its folder is the one that the head names when files lie there already.

    Raises:
        AlreadyExistsError: If the name is taken.
    """
    head = edit.head
    _make_room(draft, head.namespace, head.name, replace_table=edit.replace)
    schema_id, schema_path, relative = _schema(draft, head.namespace)
    table, uuid = draft.catalog_id(), head.uuid or uuid7()
    folder, below = _folder(draft, head, schema_path if relative else None, holds_files=holds_files)
    folder = folder or plain_folder(head.name, uuid)
    row = (table, uuid, draft.snapshot, None, schema_id, head.name, folder, below)
    draft.link.insert("ducklake_table", [row])
    draft.tables[head.table_id] = table
    schema = number(head.schema)
    draft.link.insert("ducklake_column", columns.created(table, schema, draft.snapshot))
    set_partition(draft, table, head.layout)
    set_order(draft, table, head.layout, schema)
    options = ((key, value, "table", table) for key, value in head.layout.options)
    draft.link.insert("ducklake_metadata", list(options))
    draft.say("created_table", quoted(head.namespace, head.name))
    draft.define(table)


def _refuse_taken(kind: str, name: str, known: Iterable[str], *, inside: str = "") -> None:
    """Refuse a name that SQL could not tell from one that exists."""
    other = next((taken for taken in known if taken.casefold() == name.casefold()), None)
    if other is not None:
        full = join_name(inside, other) if inside else repr(other)
        msg = f"{kind} {full} exists" + ("" if other == name else f", so {name!r} is taken")
        hint = None if other == name else "names are told apart without case, as SQL does"
        raise AlreadyExistsError(msg, hint=hint)


def _make_room(
    draft: Draft, namespace: str, name: str, *, replace_table: bool = False, own: str | None = None
) -> None:
    found = draft.link.rows("table_named", name=name, schema=namespace, at=draft.snapshot)
    if found and replace_table:
        drop_table(draft, DropTable(table_id=found[0][0]))
    else:
        tables = draft.link.rows("tables", at=draft.snapshot)
        known = [table for schema, table in tables if schema == namespace and table != own]
        _refuse_taken("table", name, known, inside=namespace)
    for schema, *_ in draft.link.rows("schema_named", schema=namespace, at=draft.snapshot):
        if draft.link.rows("view_named", name=name, schema=schema, at=draft.snapshot):
            msg = f"{join_name(namespace, name)} is a view"
            raise AlreadyExistsError(msg)


def _folder(
    draft: Draft, head: Head, schema_path: str | None, *, holds_files: bool
) -> tuple[str | None, bool]:
    """Return (path, is it relative to the schema's); None to choose by name."""
    if schema_path is not None and head.folder.startswith(schema_path):
        inner = head.folder[len(schema_path) :]
        if inner.strip("/"):
            return inner, True
    if not holds_files:
        return None, True
    return draft.data_path + head.folder, False


def drop_table(draft: Draft, edit: DropTable) -> None:
    """End a table with all that belongs to it; the files stay for older snapshots."""
    table, at = draft.table(edit.table_id)[0], draft.snapshot
    for statement in (
        *("end_table", "end_columns", "end_column_tags", "end_all_files", "end_all_deletes"),
        *("end_partition", "end_sort", "end_tags", "end_checks"),
    ):
        draft.link.run(statement, table=table, at=at)
    draft.say("dropped_table", str(table))
    draft.define()


def rename_table(draft: Draft, edit: RenameTable) -> None:
    """Give a table another name; its id and folder stay.

    Raises:
        AlreadyExistsError: If the name is taken.
        CommitConflictError: If others renamed it meanwhile.
    """
    row = draft.table(edit.table_id)
    table, uuid, path, relative, _, _, schema, name, namespace, begin = row
    if draft.base < begin < draft.snapshot:
        msg = f"table {join_name(namespace, name)} was renamed meanwhile"
        raise CommitConflictError(msg, hint="nothing changed; look the table up again")
    if name == edit.name:
        return
    _make_room(draft, namespace, edit.name, own=name)
    draft.link.run("end_table", table=table, at=draft.snapshot)
    new = (table, str(uuid), draft.snapshot, None, schema, edit.name, path, bool(relative))
    draft.link.insert("ducklake_table", [new])
    draft.say("created_table", quoted(namespace, edit.name))
    draft.define(table)


def set_partition(draft: Draft, table: int, layout: Layout) -> None:
    """Add the partition keys of a table."""
    draft.partitions[table] = None
    if not layout.keys:
        return
    partition = draft.catalog_id()
    draft.partitions[table] = partition
    draft.link.insert("ducklake_partition_info", [(partition, table, draft.snapshot, None)])
    rows = [
        (partition, table, index, key.column, key.spell()) for index, key in enumerate(layout.keys)
    ]
    draft.link.insert("ducklake_partition_column", rows)


def set_order(draft: Draft, table: int, layout: Layout, schema: Schema) -> None:
    """Add the sort order of a table."""
    if not layout.order:
        return
    sort = draft.catalog_id()
    names = {field.id: field.name for field in schema.fields}
    draft.link.insert("ducklake_sort_info", [(sort, table, draft.snapshot, None)])
    rows = [
        (
            *(sort, table, index, quoted(names[key.column]), "duckdb"),
            "DESC" if key.descending else "ASC",
            "NULLS_FIRST" if key.nulls_first else "NULLS_LAST",
        )
        for index, key in enumerate(layout.order)
    ]
    draft.link.insert("ducklake_sort_expression", rows)


def same_layout(one: Layout, other: Layout) -> tuple[bool, bool]:
    """Tell whether two layouts have the same partition keys, and the same order."""
    one, other = replace(one, id=None), replace(other, id=None)
    return one.keys == other.keys, one.order == other.order
