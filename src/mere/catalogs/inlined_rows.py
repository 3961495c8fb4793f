"""Read the rows that lie in the catalog itself.

Columns are matched by id: each inlined table has the columns of the snapshots that its rows came
with, by the names that they had then.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from mere.arrow import to_arrow
from mere.arrow.inlined import HIDDEN, pack
from mere.arrow.judging import judged
from mere.catalogs.dialect import Link
from mere.catalogs.heads import read_schema
from mere.catalogs.inlined import kind_of
from mere.catalogs.inlined_places import ALIVE, Places, places
from mere.catalogs.inlined_values import column
from mere.model.files import InlinedRows
from mere.model.history import Head
from mere.model.predicate import Expr
from mere.model.schema import Field, Schema

_BINARY = frozenset({"BYTEA", "BLOB"})


def alive(link: Link, where: Places, head: Head, predicate: Expr | None) -> InlinedRows | None:
    """Return the rows that the head sees and that match the predicate."""
    table = read(link, where, head, ALIVE.format(head.snapshot))
    if table is None:
        return None
    if predicate is None:
        return pack(table)
    own = table.select(list(range(len(HIDDEN), table.num_columns)))
    try:
        return pack(table.filter(judged(own, predicate)))
    except (ValueError, OverflowError):  # a value that Python has none for: who reads, decides
        return pack(table, exact=False)


def read(link: Link, where: Places, head: Head, condition: str) -> pa.Table | None:
    """Return the inlined rows that meet a condition on their snapshots, None without any."""
    found = (_read(link, name, head, condition) for name in where.rows)
    tables = [table for table in found if table is not None]
    return pa.concat_tables(tables) if tables else None


def _read(link: Link, name: str, head: Head, condition: str) -> pa.Table | None:
    """Return the rows of one inlined table in the columns of the head."""
    then = _then(link, name, head, condition)
    if then is None:
        return None
    spelled = ", ".join([*HIDDEN, *(_spelled(link, field) for field in then.values())])
    sql = f"SELECT {spelled} FROM {name} WHERE {condition} ORDER BY row_id, begin_snapshot"  # noqa: S608  names are quoted, numbers are ints
    rows = link.ask(sql)
    values: Sequence[Sequence[object]] = list(zip(*rows, strict=True))
    hidden = [pa.array(part, pa.int64()) for part in values[: len(HIDDEN)]]
    by_id = dict(zip(then, values[len(HIDDEN) :], strict=True))
    nothing: Sequence[object] = (None,) * len(rows)
    made = partial(column, literal=bool(link.inlined))
    columns = [
        made(field, then.get(field.id), by_id.get(field.id, nothing)) for field in head.schema
    ]
    names = [pa.field(n, pa.int64()) for n in HIDDEN]
    schema = pa.schema([*names, *to_arrow(head.schema, ids=False)])
    return pa.Table.from_arrays([*hidden, *columns], schema=schema)


def _then(link: Link, name: str, head: Head, condition: str) -> Mapping[int, Field] | None:
    """Return the columns of an inlined table that the head still has, as they were then, by id."""
    sql = f"SELECT min(begin_snapshot), max(begin_snapshot) FROM {name} WHERE {condition}"  # noqa: S608  as above
    first, last = link.ask(sql)[0]
    if last is None:
        return None
    here = {row[0] for row in link.rows("columns_of", name=name)} - set(HIDDEN)
    made = _made(link, head.table_id, name)
    schema = _told_apart(link, head, here, (*made, last, first, last - 1))
    wanted = {field.id for field in head.schema}
    return {f.id: f for f in schema if f.name in here and f.id in wanted}


def _made(link: Link, table: int, name: str) -> tuple[int, ...]:
    """Return the snapshot of the definition that an inlined table was made for, if it is known."""
    version = name.rpartition("_")[2]
    rows = (
        link.rows("definition_at", table=table, version=int(version)) if version.isdigit() else []
    )
    return tuple(row[0] for row in rows if row[0] is not None)


def _told_apart(link: Link, head: Head, here: set[str], snapshots: Sequence[int]) -> Schema:
    """Return the definition whose columns have exactly the names found, else the likeliest."""
    if head.stable:
        return head.schema
    found = [read_schema(link, head.table_id, at) for at in dict.fromkeys(snapshots)]
    return next((schema for schema in found if set(schema.names) == here), found[0])


def _spelled(link: Link, field: Field) -> str:
    """Spell a column so that it comes as text, or as the bytes that it is kept as."""
    name = '"' + field.name.replace('"', '""') + '"'
    if kind_of(field, link.inlined) in _BINARY:
        return name
    if field.children and not link.inlined:  # JSON would come without the quotes of its list
        name = f"CAST({name} AS {kind_of(_textual(field), link.inlined)})"
    return f"CAST({name} AS VARCHAR)"


def _textual(field: Field) -> Field:
    kind = "varchar" if field.type == "json" else field.type
    return replace(field, type=kind, children=tuple(map(_textual, field.children)))


def restore(link: Link, table: int, then: int, now: int) -> tuple[int, int]:
    """Let the inlined rows of an older snapshot live again, and end those that came since.

    Rows that are alive just as they were then stay. Return how many came and how many went.
    """
    came = went = 0
    for name in places(link, table).rows:
        own = [row[0] for row in link.rows("columns_of", name=name) if row[0] not in HIDDEN]
        columns = ", ".join('"' + column.replace('"', '""') + '"' for column in own)
        old = f"begin_snapshot <= {then} AND end_snapshot > {then}"
        new = f"begin_snapshot > {then} AND end_snapshot IS NULL"
        alike = f"row_id IN (SELECT row_id FROM (SELECT row_id, {columns} FROM {name} WHERE {old}"  # noqa: S608  names are quoted, numbers are ints
        alike += f" INTERSECT SELECT row_id, {columns} FROM {name} WHERE {new}) AS alike)"  # noqa: S608  as above
        same = [str(row[0]) for row in link.ask(f"SELECT row_id FROM {name} WHERE {alike}")]  # noqa: S608  as above
        kept = f" AND row_id NOT IN ({', '.join(same)})" if same else ""
        came += link.ask(f"SELECT count(*) FROM {name} WHERE {old}{kept}")[0][0]  # noqa: S608  as above
        went += link.ask(f"SELECT count(*) FROM {name} WHERE {new}{kept}")[0][0]  # noqa: S608  as above
        link.ask(f"UPDATE {name} SET end_snapshot = {now} WHERE {new}{kept}")  # noqa: S608  as above
        link.ask(
            f"INSERT INTO {name} (row_id, begin_snapshot, end_snapshot, {columns})"  # noqa: S608  as above
            f" SELECT row_id, {now}, NULL, {columns} FROM {name} WHERE {old}{kept}"
            f" AND begin_snapshot < {now}"
        )
    return came, went


def end_rows(link: Link, table: int, row_ids: Sequence[int], at: int) -> int:
    """End inlined rows at a snapshot; return how many there were."""
    if not row_ids:
        return 0
    ids = ", ".join(str(int(row_id)) for row_id in row_ids)
    condition = f"end_snapshot IS NULL AND row_id IN ({ids})"
    ended = 0
    for name in places(link, table).rows:
        ended += link.ask(f"SELECT count(*) FROM {name} WHERE {condition}")[0][0]  # noqa: S608  as above
        link.ask(f"UPDATE {name} SET end_snapshot = {at} WHERE {condition}")  # noqa: S608  as above
    return ended
