"""Tell where a table's inlined rows and deletes lie, and how many there are.

A table has one inlined table for each definition that small changes came under, and at most one
of inlined deletes, which names positions in files.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from mere.catalogs.dialect import Link
from mere.model.files import DataFile
from mere.model.history import Head

ALIVE = "begin_snapshot <= {0} AND (end_snapshot IS NULL OR end_snapshot > {0})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The tables of a catalog that hold a table's inlined rows, and its inlined deletes."""

    rows: tuple[str, ...] = ()
    deletes: str | None = None


def places(link: Link, table: int) -> Places:
    """Tell where inlined rows and deletes of a table lie."""
    found = link.rows("inlined_places", table=table, name=f"ducklake_inlined_delete_{table}")
    return Places(
        rows=tuple(name for name, holds_rows in found if holds_rows),
        deletes=next((name for name, holds_rows in found if not holds_rows), None),
    )


def counted(link: Link, head: Head) -> Head:
    """Return the head with its count of rows corrected by what lies in the catalog."""
    where = places(link, head.table_id)
    at = head.snapshot
    alive_now = ALIVE.format(at)
    parts = [f"SELECT count(*) AS n FROM {name} WHERE {alive_now}" for name in where.rows]  # noqa: S608  names come from the catalog, numbers are ints
    if where.deletes is not None:
        parts.append(
            f"SELECT -count(*) AS n FROM {where.deletes} d JOIN ducklake_data_file f"  # noqa: S608  as above
            f" ON f.data_file_id = d.file_id WHERE d.begin_snapshot <= {at}"
            f" AND f.begin_snapshot <= {at} AND (f.end_snapshot IS NULL OR f.end_snapshot > {at})"
        )
    if not parts:
        return head
    more = link.ask(f"SELECT sum(n) FROM ({' UNION ALL '.join(parts)}) AS found")[0][0]  # noqa: S608  as above
    return replace(head, rows=head.rows + int(more or 0))


def without_gone(link: Link, where: Places, at: int, files: Iterable[DataFile]) -> list[DataFile]:
    """Return the files, each with the positions that are gone by inlined deletes."""
    gone: dict[int, list[int]] = {}
    for file, position, _ in deletes(link, where, at):
        gone.setdefault(file, []).append(position)
    return [replace(f, gone=tuple(gone[f.id])) if f.id in gone else f for f in files]


def deletes(link: Link, where: Places, at: int) -> list[tuple[int, int, int]]:
    """Return (file, position, snapshot) of each inlined delete up to a snapshot."""
    if where.deletes is None:
        return []
    sql = (
        f"SELECT file_id, row_id, begin_snapshot FROM {where.deletes}"  # noqa: S608  a name of the catalog
        f" WHERE begin_snapshot <= {at} ORDER BY file_id, row_id, begin_snapshot"
    )
    return [(file, position, snapshot) for file, position, snapshot in link.ask(sql)]


def forget_deletes(link: Link, table: int, files: Iterable[int]) -> None:
    """Drop the inlined deletes of files, whoever wrote them down elsewhere."""
    name = places(link, table).deletes
    numbers = ", ".join(map(str, files))
    if name is not None and numbers:
        link.ask(f"DELETE FROM {name} WHERE file_id IN ({numbers})")  # noqa: S608  as above
