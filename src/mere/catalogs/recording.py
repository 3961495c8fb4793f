"""Record row groups: of new files in their commit, of other writers' files when they were read.

`record` is the one place where they are put down, a row per file. When enough rows of a table
lie there, they are folded into segments: prepared outside of any lock, then put in their place.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mere.catalogs import archive
from mere.catalogs.dialect import Link, Row
from mere.catalogs.files import partition_keys
from mere.catalogs.groups import pack, unpack
from mere.catalogs.heads import read_schema
from mere.catalogs.refining import known_files
from mere.catalogs.segments import FILES, encode, pieces
from mere.model.files import DataFile
from mere.model.history import Head

Kinds: TypeAlias = Mapping[int, str]


def record(link: Link, table: int, files: Iterable[DataFile], kinds: Kinds) -> bool:
    """Put down the row groups of files of a table; tell whether there are enough to fold.

    `kinds` are the types that the leaf columns were written with.
    """
    rows = [(file.id, table, pack(file.row_groups, kinds)) for file in files if file.row_groups]
    link.insert("mere_row_group", rows)
    return bool(rows) and int(link.rows("row_groups_count", table=table)[0][0]) >= FILES


def learn(link: Link, head: Head, files: Sequence[DataFile]) -> bool:
    """Put down the row groups of listed files that have none; tell as `record` does."""
    ids = [file.id for file in files]
    listed = {
        row[0]: row[3]
        for row in link.rows("files_by_id", table=head.table_id, at=head.snapshot, ids=ids)
    }
    known = known_files(link, head.table_id, ids)
    kinds = {field.id: field.type for _, field in head.schema.leaves()}
    new = [f for f in files if f.id not in known and listed.get(f.id) == f.rows]
    return record(link, head.table_id, new, kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """What is ready: files whose rows go for the rows of a segment, and what is archived."""

    segments: tuple[tuple[tuple[int, ...], tuple[Row, ...]], ...] = ()
    ranges: tuple[archive.Range, ...] = ()


def fold(link: Link, table: int, *, files: int = FILES) -> Folded:
    """Prepare segments, of so many files each, of what lies unfolded; nothing is changed.

    What came since then goes into the archive, too, whoever wrote it.
    """
    newest = link.rows("newest")[0][0]
    kinds = {field.id: field.type for _, field in read_schema(link, table, newest).leaves()}
    recent = (
        (file, unpack(bytes(data), kinds)) for file, data in link.rows("row_groups_of", table=table)
    )
    segments = []
    for piece in pieces(recent, files):
        ids = tuple(file for file, _ in piece)
        place = (ids[0], ids[-1], len(ids))
        rows = tuple(
            (table, column, *place, kind, data) for column, kind, data in encode(piece, kinds)
        )
        segments.append((ids, rows))
    keys = max(map(len, partition_keys(link, table).values()), default=0)
    found = archive.prepare(link, table, kinds, keys, files)
    return Folded(segments=tuple(segments), ranges=() if found is None else (found,))


def put(link: Link, folded: Folded) -> None:
    """Put what is ready in its place; what somebody folded or dropped meanwhile stays so."""
    for ids, rows in folded.segments:
        there = link.rows("row_groups_known", table=rows[0][0], ids=ids)
        if len(there) == len(ids):
            link.run("drop_row_groups", ids=ids)
            link.insert("mere_segment", rows)
    archive.put(link, folded.ranges)
