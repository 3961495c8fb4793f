"""Bring the schema that rows were written with together with the table's newest one."""

from collections.abc import Sequence
from dataclasses import replace

from mere.errors import CommitConflictError, UnsupportedError
from mere.model.history import Head
from mere.model.layout import PartitionKey
from mere.model.promotion import widens
from mere.model.schema import Field, Schema
from mere.model.transforms import same_partitions


def evolved(now: Head, written: Schema, *, new_from: int) -> Schema:
    """Return the schema that `now` must have to take files of the `written` schema.

    It equals `now.schema` when nothing has to change. Columns are the same when their ids are:
    a rename by others is kept, a column that others added stays. Ids from `new_from` on were
    free when the rows were written; others may have taken them since.

    Raises:
        CommitConflictError: If others dropped, or gave to another column, what was written, or
            do without NULL where the rows may hold it.
    """
    merging = _Merging(now, written, new_from)
    return Schema(fields=merging.parts(now.schema.fields, written.fields))


class _Merging:
    """One merge of two schemas that have grown out of the same one."""

    def __init__(self, now: Head, written: Schema, new_from: int) -> None:
        self._now = now
        self._new_from = new_from
        places = {field.id: _place(field, parent) for field, parent in now.schema.walk()}
        for field, parent in written.walk():
            there = places.get(field.id)
            taken = field.id >= new_from and there not in (None, _place(field, parent))
            if taken or (there is None and field.id < now.next_column_id):
                raise self._conflict(field)

    def parts(self, theirs: tuple[Field, ...], ours: tuple[Field, ...]) -> tuple[Field, ...]:
        """Merge columns, or the parts of a struct, by id; what is new of ours comes last."""
        known = {field.id: field for field in ours}
        merged = [self._both(field, known.pop(field.id, None)) for field in theirs]
        names = {field.name.casefold() for field in theirs}
        for field in known.values():
            if field.name.casefold() in names:
                raise self._conflict(field)
        return (*merged, *known.values())

    def _both(self, theirs: Field, ours: Field | None) -> Field:
        if ours is None:
            if not theirs.nullable and theirs.initial_default is None:
                raise self._conflict(theirs)
            return theirs
        if ours.nullable and not theirs.nullable:
            raise self._conflict(ours)
        if not (ours.children or theirs.children):
            return replace(theirs, type=self._type(theirs, ours))
        if ours.type != theirs.type:
            raise self._conflict(ours)
        if theirs.type == "struct":
            return replace(theirs, children=self.parts(theirs.children, ours.children))
        pairs = zip(theirs.children, ours.children, strict=True)
        return replace(theirs, children=tuple(self._both(one, other) for one, other in pairs))

    def _type(self, theirs: Field, ours: Field) -> str:
        if ours.type == theirs.type or widens(ours.type, theirs.type):
            return theirs.type
        promoted = ours.type == "varchar" and ours.id < self._new_from
        if widens(theirs.type, ours.type) or promoted:
            return ours.type
        raise self._conflict(ours)

    def _conflict(self, field: Field) -> CommitConflictError:
        msg = (
            f"column {field.name!r} ({field.spell()}) of {self._now.full_name} was changed by "
            f"others while rows were written; the table now has: {self._now.schema.spell()}"
        )
        return CommitConflictError(msg, hint="nothing changed; write the rows again")


def _place(field: Field, parent: Field | None) -> tuple[str, int | None]:
    return field.name.casefold(), None if parent is None else parent.id


def require_same_partitions(keys: Sequence[PartitionKey], old: Schema, new: Schema) -> None:
    """Refuse a change of a column's type after which its values belong into other partitions.

    Raises:
        UnsupportedError: Naming the column and the partition key.
    """
    after = {field.id: field for _, field in new.leaves()}
    for _, field in old.leaves():
        now = after.get(field.id, field)
        for key in keys:
            kept = same_partitions(key.transform, field.type, now.type)
            if key.column == field.id and not kept:
                msg = (
                    f"column {field.name!r} cannot change from {field.type} to {now.type}: files "
                    f"are partitioned by {key.spell()} of it, where these values lie elsewhere"
                )
                raise UnsupportedError(msg, hint="cast the rows, or write them to a new table")
