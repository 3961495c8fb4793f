"""Show what an open transaction makes of a table: its files without rows, its new columns."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from mere.arrow.positions import joined, unpack
from mere.model.files import DataFile, Deletion
from mere.model.history import Edit, EditFiles, Evolve, Head, RenameTable, Restore


class PendingDeletes:
    """One deletion for each file, grown by each verb that takes rows out of it."""

    def __init__(self) -> None:
        """Begin with none."""
        self._of: dict[int, dict[int, Deletion]] = {}

    def add(self, table: int, deletions: Iterable[Deletion]) -> None:
        """Take rows out of files of a table; what the first verb saw there is what counts."""
        known = self._of.setdefault(table, {})
        for new in deletions:
            old = known.get(new.file_id)
            grown = new
            if old is not None:
                positions = joined(old.positions, new.positions)
                grown = replace(old, rows=old.rows + new.rows, positions=positions)
            known[new.file_id] = grown

    def drop(self, table: int, files: Collection[int]) -> None:
        """Forget about files that end as a whole."""
        for number in files:
            self._of.get(table, {}).pop(number, None)

    def shown(self, table: int, files: Iterable[DataFile]) -> tuple[DataFile, ...]:
        """Return the files with the rows gone that this transaction deletes."""
        known = self._of.get(table, {})
        return tuple(_without(file, known.get(file.id)) for file in files)

    def edits(self) -> tuple[EditFiles, ...]:
        """Return what is to be committed."""
        return tuple(
            EditFiles(table_id=table, operation="mutate", deletes=tuple(known.values()))
            for table, known in self._of.items()
            if known
        )


def final(edit: Edit, adds: Mapping[int, Iterable[DataFile]]) -> Edit:
    """Leave out files that came and went inside the transaction: all but `adds`, by table."""
    if not isinstance(edit, EditFiles):
        return edit
    alive = {file.id for file in adds.get(edit.table_id, ())}
    return replace(
        edit,
        adds=tuple(replace(f, since=0) for f in edit.adds if f.id in alive),
        deletes=(),
        removes=tuple(file_id for file_id in edit.removes if file_id >= 0),
    )


def _without(file: DataFile, deletion: Deletion | None) -> DataFile:
    if deletion is None:
        return file
    positions = tuple(unpack(deletion.positions).tolist())
    return replace(file, gone=(*file.gone, *positions))


def redefined(now: Head, edit: RenameTable | Evolve | Restore) -> Head:
    """Return a table as an edit of its definition leaves it."""
    match edit:
        case RenameTable(name=name):
            return replace(now, name=name)
        case Evolve(schema=schema, layout=layout, checks=checks):
            following = 1 + max(field.id for field, _ in schema.walk())
            return replace(
                now,
                schema=schema,
                layout=layout,
                checks=now.checks if checks is None else checks,
                next_column_id=max(now.next_column_id, following),
                stable=False,
            )
        case Restore(head=then):
            return replace(
                then,
                namespace=now.namespace,
                name=now.name,
                next_column_id=now.next_column_id,
                stable=False,
            )
