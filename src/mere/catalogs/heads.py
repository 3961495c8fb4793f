"""Read what a table is at a snapshot: its columns, layout, options and counts."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches

from mere import catalogs
from mere.catalogs.dialect import Link, Row
from mere.catalogs.times import as_time, time_text
from mere.errors import (
    CorruptionError,
    InvalidInputError,
    SnapshotNotFoundError,
    TableNotFoundError,
    UnsupportedError,
)
from mere.model.history import At, Head, Snapshot, View
from mere.model.layout import Layout, PartitionKey, SortKey
from mere.model.names import join_name, split_name
from mere.model.options import COPY_ON_WRITE
from mere.model.promotion import widens
from mere.model.schema import NESTED_TYPES, Field, Schema

_TRANSFORM = re.compile(r"(identity|year|month|day|hour)|bucket\(\s*(\d+)\s*\)")
_QUOTED = re.compile(r'"((?:[^"]|"")+)"')
_SHOWN = 20


def snapshot(link: Link, at: At) -> Snapshot:
    """Return the snapshot that is meant.

    Raises:
        SnapshotNotFoundError: If there is none; the message says what there is.
    """
    number = at.version if at.tag is None else _tagged(link, at.tag)
    if at.as_of is not None:
        wanted = as_time(at.as_of)
        found = link.rows("times", time=time_text(wanted))
        number = next((row[0] for row in found if as_time(row[1]) <= wanted), None)
    elif number is None:
        number = link.rows("newest")[0][0]
    rows = [] if number is None else link.rows("snapshot", snapshot=number)
    if not rows:
        raise _missing_snapshot(link, at)
    return as_snapshot(rows[0])


def as_snapshot(row: Row) -> Snapshot:
    """Build a snapshot from its row."""
    number, moment, schema_version, changes, author, message = row
    return Snapshot(
        id=number,
        at=as_time(moment),
        schema_version=schema_version,
        changes=changes or "",
        author=author,
        message=message,
    )


def _tagged(link: Link, name: str) -> int:
    known = {tag.name: tag.version for tag in catalogs.references.tags(link)}
    if name not in known:
        msg = f"no tag {name!r}; there is: {', '.join(known) or 'none yet'}"
        raise SnapshotNotFoundError(msg, hint="lake.tag() names a version")
    return known[name]


def _missing_snapshot(link: Link, at: At) -> SnapshotNotFoundError:
    first, last, count = link.rows("snapshot_range")[0]
    wanted = f"version {at.version}" if at.as_of is None else f"as old as {at.as_of}"
    if at.tag is not None:
        wanted = f"tagged {at.tag!r}, as another client let its version expire"
    msg = f"no snapshot {wanted}; the lake has {count}, from version {first} to {last}"
    return SnapshotNotFoundError(msg, hint="lake.snapshots() lists them with their times")


def head(link: Link, name: str, at: Snapshot, data_path: str) -> Head:
    """Return a table as of a snapshot, without its counts.

    Raises:
        TableNotFoundError: If there is none of that name; the message lists what there is.
    """
    namespace, table = split_name(name)
    rows = link.rows("table_named", name=table, schema=namespace, at=at.id)
    if not rows:
        raise _missing_table(link, name, at)
    return described(link, rows[0], at, data_path)


def earlier(link: Link, head: Head, at: Snapshot, data_path: str) -> Head:
    """Return the same table as of another snapshot, without its counts.

    Raises:
        TableNotFoundError: If it was not there then.
    """
    rows = link.rows("table_by_id", table=head.table_id, at=at.id)
    if not rows:
        msg = f"the table {head.full_name} of today was not there at version {at.id}"
        hint = "a table of that name that was dropped is another one; its versions can be read"
        raise TableNotFoundError(msg, hint=hint)
    return described(link, rows[0], at, data_path)


def described(link: Link, row: Row, at: Snapshot, data_path: str) -> Head:
    """Return a table as of a snapshot from its row, without its counts."""
    table, uuid = row[0], str(row[1])
    schema = read_schema(link, table, at.id)
    highest, ended, first, last = link.rows("column_history", table=table)[0]
    return Head(
        snapshot=at.id,
        schema_version=at.schema_version,
        table_id=table,
        uuid=uuid,
        namespace=row[8],
        name=row[7],
        folder=folder_of(row, data_path),
        schema=schema,
        layout=_layout(link, table, at.id, schema, schema_id=row[6]),
        next_column_id=1 + (highest or 0),
        stable=ended == 0 and first == last,
    )


def widest(link: Link, head: Head, since: int) -> Head:
    """Return a head whose columns have the widest type that each had since a snapshot.

    They differ from its own where a version with narrower columns was restored.
    """
    rows = link.rows("types_between", table=head.table_id, since=since, at=head.snapshot)
    wider = {field.id: field.type for _, field in head.schema.leaves()}
    for column, kind in rows:
        if column in wider and widens(wider[column], kind):
            wider[column] = kind
    return replace(head, schema=Schema(fields=_retyped(head.schema.fields, wider)))


def _retyped(fields: tuple[Field, ...], kinds: Mapping[int, str]) -> tuple[Field, ...]:
    return tuple(
        replace(f, type=kinds.get(f.id, f.type), children=_retyped(f.children, kinds))
        for f in fields
    )


def folder_of(row: Row, data_path: str) -> str:
    """Return a table's folder, relative to the lake's root where it lies below it."""
    path, relative, schema_path, schema_relative = row[2:6]
    folder = f"{schema_path or ''}{path or ''}" if relative else str(path)
    if relative and schema_relative:
        return folder
    return folder.removeprefix(data_path)


def _missing_table(link: Link, name: str, at: Snapshot) -> TableNotFoundError:
    known = sorted(join_name(*row) for row in link.rows("tables", at=at.id))
    if any(view.full_name == join_name(*split_name(name)) for view in views(link, at.id)):
        msg = f"{name!r} is a view, not a table"
        return TableNotFoundError(msg, hint="lake.sql() reads views")
    close = get_close_matches(join_name(*split_name(name)), known, n=3)
    shown = ", ".join(known[:_SHOWN]) + (", …" if len(known) > _SHOWN else "")
    msg = f"no table {name!r} at version {at.id}; there is: {shown or 'none yet'}"
    return TableNotFoundError(msg, hint=f"did you mean {', '.join(close)}?" if close else None)


def tables(link: Link, at: int) -> tuple[tuple[str, str], ...]:
    """Return the (schema, table) names that a snapshot shows, sorted."""
    return tuple(sorted((row[0], row[1]) for row in link.rows("tables", at=at)))


def namespaces(link: Link, at: int) -> tuple[str, ...]:
    """Return the schema names that a snapshot shows, sorted."""
    return tuple(sorted(row[1] for row in link.rows("namespaces", at=at)))


def views(link: Link, at: int) -> tuple[View, ...]:
    """Return the views that a snapshot shows, sorted by name."""
    found = (
        View(namespace=schema, name=name, dialect=dialect or "", sql=sql, columns=columns or "")
        for schema, name, dialect, sql, columns in link.rows("views", at=at)
    )
    return tuple(sorted(found, key=lambda view: (view.namespace, view.name)))


def read_schema(link: Link, table: int, at: int) -> Schema:
    """Return a table's columns with their ids, nested ones with their parts."""
    children: dict[int | None, list[Row]] = {}
    for row in link.rows("columns", table=table, at=at):
        children.setdefault(row[7], []).append(row)
    return Schema(fields=_fields(children, None))


def _fields(children: Mapping[int | None, list[Row]], parent: int | None) -> tuple[Field, ...]:
    return tuple(_field(row, children) for row in children.get(parent, ()))


def _field(row: Row, children: Mapping[int | None, list[Row]]) -> Field:
    number, _, name, kind, initial, default, nullable, parent, default_type = row
    given = default is not None and default != "NULL" and default_type == "literal"
    nested = kind in NESTED_TYPES
    try:
        return Field(
            id=number,
            name=name,
            type=kind,
            # DuckDB says NOT NULL of parts that it adds, though older rows hold NULL there.
            nullable=bool(nullable) or parent is not None,
            children=_fields(children, number) if nested else (),
            initial_default=initial,
            default=default if given else None,
        )
    except InvalidInputError as error:
        msg = f"column {name!r} has the type {kind!r}, which this version does not know"
        raise UnsupportedError(msg) from error


def transform(column: int, text: str) -> PartitionKey:
    """Read a partition transform as the catalog spells it.

    Raises:
        UnsupportedError: If this version does not know it.
    """
    match = _TRANSFORM.fullmatch(text.strip().lower())
    if match is None:
        msg = f"the partition transform {text!r} is not known to this version"
        raise UnsupportedError(msg)
    if match[2]:
        return PartitionKey(column=column, transform="bucket", buckets=int(match[2]))
    return PartitionKey(column=column, transform=match[1])


def _layout(link: Link, table: int, at: int, schema: Schema, *, schema_id: int) -> Layout:
    keys = link.rows("partition_keys", table=table, at=at)
    order = (_sort_key(row, schema) for row in link.rows("sort_keys", table=table, at=at))
    options = options_of(link.rows("options"), schema_id=schema_id, table=table)
    standard = Layout()
    level = options.get("parquet_compression_level")
    return Layout(
        id=keys[0][0] if keys else None,
        keys=tuple(transform(row[2], row[3]) for row in keys),
        order=tuple(key for key in order if key is not None),
        target_file_bytes=_size(options, "target_file_size", standard.target_file_bytes),
        row_group_rows=_size(options, "parquet_row_group_size", standard.row_group_rows),
        row_group_bytes=_size(options, "parquet_row_group_size_bytes", standard.row_group_bytes),
        compression=options.get("parquet_compression", standard.compression),
        compression_level=int(level) if level is not None else None,
        hive_folders=options.get("hive_file_pattern", "true") != "false",
        copy_on_write=options.get("mere_write_mode") == COPY_ON_WRITE,
        sorts_later=options.get("sort_on_insert") == "false",
        page_version=2 if options.get("parquet_version", "").upper() == "V2" else 1,
        options=tuple(sorted(options.items())),
    )


def _size(options: Mapping[str, str], key: str, otherwise: int) -> int:
    text = options.get(key)
    if text is None:
        return otherwise
    try:
        return max(int(text), 1)
    except ValueError as error:
        msg = f"the catalog's option {key!r} is {text!r}, which is no number"
        raise CorruptionError(msg) from error


def options_of(rows: Iterable[Row], *, schema_id: int, table: int) -> dict[str, str]:
    """Return the options that hold for a table: its own before its schema's before the lake's."""
    scopes: dict[tuple[str | None, int | None], int] = {
        (None, None): 0,
        ("schema", schema_id): 1,
        ("table", table): 2,
    }
    ranked = sorted(
        (scopes[scope, scope_id], key, value)
        for key, value, scope, scope_id in rows
        if (scope, scope_id) in scopes
    )
    return {key: value for _, key, value in ranked if key not in OWN_KEYS}


OWN_KEYS = frozenset({"version", "created_by", "data_path", "encrypted"})
"""What the lake says of itself among its options."""


def _sort_key(row: Row, schema: Schema) -> SortKey | None:
    """Read a sort key over a plain column; other expressions are not an order of ours."""
    expression, direction, nulls = row
    match = _QUOTED.fullmatch(expression.strip())
    field = schema.find(match[1].replace('""', '"') if match else expression.strip())
    if field is None:
        return None
    return SortKey(
        column=field.id,
        descending=(direction or "").upper() == "DESC",
        nulls_first=(nulls or "").upper() == "NULLS_FIRST",
    )
