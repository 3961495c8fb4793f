"""Write the rows by which some rows of files go: one living delete file for each data file."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from mere.catalogs import inlined_places
from mere.catalogs.dialect import Row
from mere.catalogs.draft import Draft
from mere.catalogs.files import chunks, delete_file, path_of
from mere.catalogs.folders import Folders
from mere.catalogs.times import time_text
from mere.errors import CatalogError, InvalidInputError
from mere.model.files import DeleteFile, Deletion, Fold
from mere.model.history import Head
from mere.ports import ReplanNeeded


def delete_rows(draft: Draft, head: Head, deletes: Sequence[Deletion]) -> None:
    """Give each data file its new delete file; one that it had before is scheduled to go.

    A delete file that lies ready is taken as it is when its data file had none before, and the rows
    in it carry no snapshots, or when it names this one. All others are written now.

    Raises:
        ReplanNeeded: If a data file has gone, or others deleted rows of it.
    """
    deletes = [replace(d, file_id=draft.files.get(d.file_id, d.file_id)) for d in deletes]
    alive, before = _before(draft, head, deletes)
    fits = {None, draft.snapshot}
    ready = [(d, d.file) for d in deletes if d.file is not None and d.file.last in fits]
    folded = [d for d in deletes if d.file is None or d.file.last not in fits]
    files = [*ready, *zip(folded, _written(draft, head, folded, alive, before), strict=True)]
    _schedule(draft, head, [before[d.file_id] for d in deletes if d.file_id in before])
    rows = [delete_file_row(draft, head, deletion.file_id, file) for deletion, file in files]
    draft.link.insert("ducklake_delete_file", rows)
    digests = [(row[0], f.digest) for row, (_, f) in zip(rows, files, strict=True) if f.digest]
    draft.link.insert("mere_footer", digests)
    draft.say("deleted_from_table", str(head.table_id))


def _before(
    draft: Draft, head: Head, deletes: Sequence[Deletion]
) -> tuple[dict[int, Row], dict[int, Row]]:
    """Return the data files, and their delete files, if all is as the plan saw it."""
    link, place = draft.link, {"table": head.table_id, "at": draft.snapshot}
    ids = [deletion.file_id for deletion in deletes]
    if len(set(ids)) != len(ids):
        msg = "a change names the same file twice among its deletions"
        raise InvalidInputError(msg)
    alive: dict[int, Row] = {}
    before: dict[int, Row] = {}
    for part in chunks(ids):
        alive |= {row[0]: row for row in link.rows("files_by_id", ids=part, **place)}
        before |= {row[1]: row for row in link.rows("delete_files_by_id", ids=part, **place)}
    inlined = _inlined(draft, head)
    for deletion in deletes:
        number = deletion.file_id
        seen = before[number][0] if number in before else 0
        same = seen == deletion.seen and inlined.get(number, 0) == deletion.gone
        same = same or number in draft.restored  # that stands on the same snapshot as this change
        if number not in alive or not same:
            raise ReplanNeeded
        plain = deletion.file is not None and deletion.file.last is None
        if plain and (seen or alive[number][11] is not None):
            msg = f"the deletes of file {number} must name their snapshots"
            raise InvalidInputError(msg)
    return alive, before


def _inlined(draft: Draft, head: Head) -> dict[int, int]:
    """Count the deletes of each file that lie in the catalog itself."""
    where = inlined_places.places(draft.link, head.table_id)
    found: dict[int, int] = {}
    for number, _, _ in inlined_places.deletes(draft.link, where, draft.snapshot):
        found[number] = found.get(number, 0) + 1
    return found


def _written(
    draft: Draft,
    head: Head,
    deletes: Sequence[Deletion],
    alive: dict[int, Row],
    before: dict[int, Row],
) -> Sequence[DeleteFile]:
    if not deletes:
        return ()
    if draft.write_deletes is None:
        msg = "deletes that name their snapshot need somebody to write them"
        raise CatalogError(msg)
    folds = [
        Fold(
            path=_path(draft, head, alive[deletion.file_id]),
            folder=head.folder,
            positions=deletion.positions,
            snapshot=draft.snapshot,
            deletes=_read(draft, head, before.get(deletion.file_id)),
        )
        for deletion in deletes
    ]
    return draft.write_deletes(folds)


def _read(draft: Draft, head: Head, row: Row | None) -> DeleteFile | None:
    return None if row is None else delete_file(row, head.folder, draft.data_path)


def _path(draft: Draft, head: Head, row: Row) -> str:
    return path_of(row[1], head.folder, draft.data_path, relative=bool(row[2]))


def _schedule(draft: Draft, head: Head, rows: Iterable[Row]) -> None:
    """Drop the rows of delete files that others take the place of; their bytes go later."""
    rows = list(rows)
    if not rows:
        return
    for part in chunks([row[0] for row in rows]):
        draft.link.run("drop_delete_files", ids=part)
    folders = Folders.read(draft.link, draft.data_path)
    places = [folders.place(head.table_id, row[2], relative=bool(row[3])) for row in rows]
    now = time_text(datetime.now(UTC))
    draft.link.insert(
        "ducklake_files_scheduled_for_deletion",
        [(row[0], *place, now) for row, place in zip(rows, places, strict=True)],
    )


def delete_file_row(draft: Draft, head: Head, number: int, file: DeleteFile) -> Row:
    """Return the row of a new delete file of the data file with that number."""
    file = replace(file, id=draft.file_id())
    path = file.path.removeprefix(head.folder)
    relative = path != file.path
    whole = path if relative else draft.data_path + file.path
    return (
        *(file.id, head.table_id, file.since or draft.snapshot, None, number),
        *(whole, relative, "parquet", file.rows, file.bytes, file.footer_bytes, None),
        file.last,
    )
