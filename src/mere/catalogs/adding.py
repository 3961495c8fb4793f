"""Write the rows by which files come and go."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mere.catalogs import adopting, totals
from mere.catalogs.deleting import delete_rows
from mere.catalogs.dialect import Row
from mere.catalogs.draft import Draft
from mere.catalogs.evolving import current
from mere.catalogs.files import chunks, column_kinds, key_kind, partition_keys
from mere.catalogs.inlined_rows import end_rows
from mere.catalogs.recording import record
from mere.errors import InvalidInputError
from mere.model.files import Bounds, DataFile
from mere.model.history import EditFiles, Head
from mere.model.layout import PartitionKey
from mere.model.schema import Schema
from mere.model.values import FLOATS, partition_text, stat_texts
from mere.ports import ReplanNeeded

OPERATIONS = frozenset({"append", "overwrite", "mutate"})


def edit_files(draft: Draft, edit: EditFiles) -> None:
    """End the files that go and add those that come.

    Raises:
        ReplanNeeded: If a file, or an inlined row, that is to go has gone already.
    """
    if not (edit.adds or edit.removes or edit.ends or edit.deletes):
        return
    head = current(draft, edit.table_id)
    if edit.ends:
        _end_inlined(draft, head.table_id, edit.ends)
    if edit.deletes:
        delete_rows(draft, head, edit.deletes)
    if edit.removes:
        end(draft, head.table_id, tuple(draft.files.get(n, n) for n in edit.removes))
    if edit.adds:
        _add(draft, head, edit)


def end(draft: Draft, table: int, removes: tuple[int, ...]) -> None:
    """End files, with their deletes.

    Raises:
        ReplanNeeded: If one has gone already.
    """
    ended = 0
    for ids in chunks(removes):
        ended += draft.link.run("end_files", table=table, ids=ids, at=draft.snapshot)
        draft.link.run("end_deletes", table=table, ids=ids, at=draft.snapshot)
    if ended != len(set(removes)):
        raise ReplanNeeded
    draft.say("deleted_from_table", str(table))


def _end_inlined(draft: Draft, table: int, ends: tuple[int, ...]) -> None:
    if end_rows(draft.link, table, ends, draft.snapshot) != len(ends):
        raise ReplanNeeded
    draft.say("inlined_delete", str(table))


def _add(draft: Draft, head: Head, edit: EditFiles) -> None:
    table, schema = head.table_id, edit.schema or head.schema
    written = {field.id: field.type for _, field in schema.leaves()}
    fresh = not totals.had_rows(draft, table)
    files = tuple(ours(draft, head, edit.table_id, file) for file in edit.adds)
    files = adopting.adopt(draft, table, files)
    first = totals.add_rows(draft, table, files)
    new = [numbered(draft, file) for file in files]
    link = draft.link
    link.insert("ducklake_data_file", list(_file_rows(draft, head, new, first)))
    describe(draft, head, new, schema)
    totals.add_bounds(draft, table, new, schema=head.schema, written=written, fresh=fresh)
    if record(link, table, new, written):
        draft.full.append(table)
    link.insert("mere_footer", [(file.id, file.digest) for file in new if file.digest])
    draft.say("inserted_into_table", str(table))


def describe(draft: Draft, head: Head, files: Sequence[DataFile], schema: Schema) -> None:
    """Put down the bounds and partition values of files that were written with a schema."""
    alive = {field.id: field.type for _, field in head.schema.leaves()}
    stats = [
        _stats_row(head.table_id, file, field.id, field.type, alive.get(field.id, field.type))
        for file in files
        for _, field in schema.leaves()
        if field.id in file.bounds
    ]
    draft.link.insert("ducklake_file_column_stats", stats)
    _add_partition_values(draft, head, files)


def numbered(draft: Draft, file: DataFile) -> DataFile:
    """Give a file its id; it may have had another one inside its transaction."""
    number = draft.file_id()
    if file.id < 0:
        draft.files[file.id] = number
    return replace(file, id=number)


def ours(draft: Draft, head: Head, given: int, file: DataFile) -> DataFile:
    """Name the layout of a file that was written before its table had an id."""
    if (given < 0 or given in draft.partitions) and file.partition_id is None and file.partition:
        return replace(file, partition_id=draft.partitions.get(head.table_id))
    return file


def _file_rows(draft: Draft, head: Head, files: Iterable[DataFile], first: int) -> Iterable[Row]:
    for file in files:
        path, relative = place(draft, head, file.path)
        yield (
            *(file.id, head.table_id, draft.snapshot, None, None, path, relative, "parquet"),
            *(file.rows, file.bytes, file.footer_bytes, None if file.has_row_ids else first),
            *(file.partition_id, None, file.mapping_id, None),
        )
        first += 0 if file.has_row_ids else file.rows


def place(draft: Draft, head: Head, path: str) -> tuple[str, bool]:
    """Return a file's path below its table's folder, or the whole one when it lies elsewhere."""
    if path.startswith(head.folder):
        return path[len(head.folder) :], True
    elsewhere = "://" in path or path.startswith("/")
    return (path if elsewhere else draft.data_path + path), False


def _stats_row(table: int, file: DataFile, column: int, kind: str, alive: str) -> Row:
    """Spell one file's bounds of one column in the type that it was written with."""
    bounds: Bounds = file.bounds[column]
    spelled = alive if kind in FLOATS and alive in FLOATS else kind
    low, high = stat_texts(spelled, bounds)
    nan = bounds.nan if alive in FLOATS else None
    return (
        *(file.id, table, column, bounds.bytes, bounds.values, bounds.nulls),
        *(low, high, nan, None),
    )


def _add_partition_values(draft: Draft, head: Head, files: Iterable[DataFile]) -> None:
    partitioned = [file for file in files if file.partition_id is not None]
    if not partitioned:
        return
    specs = partition_keys(draft.link, head.table_id)
    every = draft.link.rows("column_types", table=head.table_id)
    kinds = column_kinds(head.schema, every)
    rows = [
        row
        for file in partitioned
        for row in _partition_rows(head.table_id, file, specs.get(file.partition_id or 0), kinds)
    ]
    draft.link.insert("ducklake_file_partition_value", rows)


def _partition_rows(
    table: int, file: DataFile, keys: tuple[PartitionKey, ...] | None, kinds: dict[int, str]
) -> Iterable[Row]:
    if keys is None or len(keys) != len(file.partition):
        msg = (
            f"{file.path!r} comes with {len(file.partition)} partition value(s) of the layout "
            f"{file.partition_id}, which has {'no keys' if keys is None else len(keys)}"
        )
        raise InvalidInputError(msg)
    for index, (key, value) in enumerate(zip(keys, file.partition, strict=True)):
        yield file.id, table, index, partition_text(key_kind(key, kinds), value)
