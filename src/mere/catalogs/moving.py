"""Write the rows by which rows move between files: no version shows others than before.

The files that they leave are listed by no version any more, nor are their deletes; their bytes are
scheduled to go. What came and went when is told by the new files.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from mere.catalogs import adding, adopting, inlined_places
from mere.catalogs.deleting import delete_file_row
from mere.catalogs.dialect import Link, Row
from mere.catalogs.draft import Draft
from mere.catalogs.evolving import current
from mere.catalogs.files import Reading, chunks
from mere.catalogs.folders import Folders
from mere.catalogs.heads import read_schema
from mere.catalogs.history import keep_counts
from mere.catalogs.recording import record
from mere.catalogs.times import time_text
from mere.model.feed import Lineage
from mere.model.files import DataFile
from mere.model.history import Change, Head, Move, Moved
from mere.model.schema import Schema
from mere.plan.pack import alike
from mere.ports import ReplanNeeded

_DROPPED = ("files", "file_bounds", "file_variants", "file_partitions", "row_groups", "marks")


def lineage(reading: Reading, files: Sequence[DataFile]) -> Lineage:
    """Return what must be known of living files to write their rows anew, unnoticed."""
    link, head = reading.link, reading.head
    oldest = link.rows("snapshot_range")[0][0]
    ids = [file.id for file in files]
    shared = {row[0] for part in chunks(ids) for row in _own(reading, "listed_twice", part)}
    traces = reading.traced([file for file in files if file.id not in shared])
    steps = sorted(row[0] for row in link.rows("definition_steps", table=head.table_id))
    known: dict[int, Schema] = {}
    schemas: list[Schema] = []
    for trace in traces:
        place = bisect_right(steps, max(trace.file.since, oldest))
        at = steps[max(place - 1, 0)]
        if at not in known:
            known[at] = read_schema(link, head.table_id, at)
        schemas.append(known[at])
    marks = {row[0]: row[1] for part in chunks(ids) for row in _own(reading, "marks", part)}
    return Lineage(oldest=oldest, traces=traces, schemas=tuple(schemas), marks=marks)


def _own(reading: Reading, query: str, ids: Sequence[int]) -> list[Row]:
    """Ask a table of our own, which a lake may not have yet."""
    table = {"listed_twice": "mere_shared", "marks": "mere_moved"}[query]
    return reading.link.rows(query, ids=ids) if table in reading.own else []


def move(draft: Draft, edit: Move) -> None:
    """List the files that rows moved to instead of those that they left.

    A move is left out when others ended one of its files, or deleted rows of it.

    Raises:
        ReplanNeeded: If one would be left out, and all or none are wanted.
    """
    head = current(draft, edit.table_id)
    standing = _standing(draft, head.table_id, edit.moves)
    made: list[Moved] = []
    for number, moved in enumerate(edit.moves):
        if all(standing.get(seen[0]) == seen for seen in moved.removes):
            made.append(moved)
        else:
            draft.left.append(draft.moves + number)
    if edit.whole and len(made) < len(edit.moves):
        raise ReplanNeeded
    draft.moves += len(edit.moves)
    if made:
        _keep_counts(draft, head.table_id, made)
        _forget(draft, head.table_id, [seen[0] for moved in made for seen in moved.removes])
        _list(draft, head, made)
        draft.say("merge_adjacent", str(head.table_id))
        draft.say("inline_flush", str(head.table_id))


def left_of(link: Link, change: Change) -> tuple[int, ...]:
    """Return the moves of a committed change that were not made: their files are listed yet."""
    every = [moved for edit in change.edits if isinstance(edit, Move) for moved in edit.moves]
    ids = [seen[0] for moved in every for seen in moved.removes]
    there = {row[0] for part in chunks(ids) for row in link.rows("any_listed", ids=part)}
    return tuple(n for n, moved in enumerate(every) if {s[0] for s in moved.removes} & there)


def _standing(draft: Draft, table: int, moves: Iterable[Moved]) -> dict[int, tuple[int, int, int]]:
    """Return what tells the living files apart from what they were, by id."""
    link, at = draft.link, draft.snapshot
    ids = [seen[0] for moved in moves for seen in moved.removes]
    found: dict[int, tuple[int, int, int]] = {}
    for part in chunks(ids):
        rows = link.rows("files_by_id", table=table, at=at, ids=part)
        found |= {row[0]: (row[0], 0, 0) for row in rows}
        for row in link.rows("delete_files_by_id", table=table, at=at, ids=part):
            found[row[1]] = (row[1], row[0], 0)
    gone: dict[int, int] = {}
    for file, _, _ in inlined_places.deletes(link, inlined_places.places(link, table), at):
        gone[file] = gone.get(file, 0) + 1
    return {id_: (*seen[:2], gone.get(id_, 0)) for id_, seen in found.items()}


def _keep_counts(draft: Draft, table: int, moves: Sequence[Moved]) -> None:
    """Keep what is told of the snapshots at which files, and their deletes, came that go now."""
    link = draft.link
    came = {file.since for moved in moves for file in moved.adds}
    ids = [seen[0] for moved in moves for seen in moved.removes]
    for part in chunks(ids):
        came |= {row[2] for row in link.rows("data_file_rows", ids=part)}
        place = {"table": table, "ids": part, "at": draft.snapshot}
        came |= {row[8] for row in link.rows("delete_files_of", **place)}
    added = sum(len(moved.adds) for moved in moves)
    keep_counts(link, table, draft.snapshot, came, (added, len(ids)))


def _forget(draft: Draft, table: int, ids: Sequence[int]) -> None:
    """Drop all that is known of files, and schedule them and their deletes to go."""
    link = draft.link
    folders = Folders.read(link, draft.data_path)
    left: list[tuple[int, tuple[str, bool], int | None]] = []
    for part in chunks(ids):
        rows = [(r[0], r[5], r[6], r[14]) for r in link.rows("data_file_rows", ids=part)]
        deletes = [(r[0], r[2], r[3], None) for r in link.rows("deletes_of", ids=part)]
        left += [(n, folders.place(table, p, relative=bool(r)), m) for n, p, r, m in rows + deletes]
        for name in _DROPPED:
            link.run(f"drop_{name}", ids=part)
        for more in chunks([row[0] for row in deletes]):
            link.run("drop_delete_files", ids=more)
            link.run("drop_footers", ids=more)
        link.run("drop_footers", ids=part)
        inlined_places.forget_deletes(link, table, part)
    stays = adopting.leave(link, folders.root, ((*place, mapping) for _, place, mapping in left))
    adopting.move(draft, table, stays)
    now = time_text(datetime.now(UTC))
    link.insert(
        "ducklake_files_scheduled_for_deletion",
        [(number, *place, now) for number, place, _ in left if place[0] not in stays],
    )


def _list(draft: Draft, head: Head, moves: Sequence[Moved]) -> None:
    """List new files as if they had been there since the first of their rows."""
    link, table = draft.link, head.table_id
    for schema, found in alike(moves, lambda moved: moved.schema).items():
        marked = [
            (adding.numbered(draft, adding.ours(draft, head, table, file)), moved.mark)
            for moved in found
            for file in moved.adds
        ]
        files = [file for file, _ in marked]
        adding.describe(draft, head, files, schema)
        link.insert("ducklake_data_file", [_file_row(draft, head, file) for file in files])
        deletes = [
            (delete_file_row(draft, head, file.id, file.deletes), file.deletes)
            for file in files
            if file.deletes is not None
        ]
        link.insert("ducklake_delete_file", [row for row, _ in deletes])
        digests = [(row[0], gone.digest) for row, gone in deletes if gone.digest]
        digests += [(file.id, file.digest) for file in files if file.digest]
        link.insert("mere_footer", digests)
        link.insert("mere_moved", [(file.id, mark) for file, mark in marked if mark])
        kinds = {field.id: field.type for _, field in schema.leaves()}
        if record(link, table, files, kinds):
            draft.full.append(table)


def _file_row(draft: Draft, head: Head, file: DataFile) -> Row:
    path, relative = adding.place(draft, head, file.path)
    return (
        *(file.id, head.table_id, file.since, None, None, path, relative, "parquet"),
        *(file.rows, file.bytes, file.footer_bytes, None, file.partition_id, None, None),
        file.last,
    )
