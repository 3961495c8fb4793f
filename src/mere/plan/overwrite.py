"""Say what new files replace: all files, or those of their partitions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mere.errors import CommitConflictError, InvalidInputError, UnsupportedError
from mere.model.files import DataFile, Deletion, FileSet, Value
from mere.model.history import Head
from mere.model.predicate import Expr
from mere.model.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """The files that go, and the ids of the rows that lie in none and go.

    Of files that stay, rows go by `deletions`; what is left of others comes back in `copies`.
    `schema` is that of the copies, `plan` says how it was decided.
    """

    files: tuple[DataFile, ...] = ()
    row_ids: tuple[int, ...] = ()
    deletions: tuple[Deletion, ...] = ()
    copies: tuple[DataFile, ...] = ()
    schema: Schema | None = None
    plan: str | None = None

    @property
    def rows(self) -> int:
        """Count the rows that go."""
        ended = sum(file.rows - file.deleted for file in self.files)
        stays = sum(file.rows for file in self.copies)
        return ended - stays + len(self.row_ids) + sum(gone.rows for gone in self.deletions)

    @property
    def bytes(self) -> int:
        """Sum up their sizes."""
        return sum(file.bytes for file in self.files)


def check_partitions(head: Head, partitions: str | None, *, where: Expr | None) -> None:
    """Refuse a way of replacing that the table or the call does not have.

    Raises:
        InvalidInputError: If `partitions` is neither None nor `"dynamic"`, comes beside `where`,
            or the table has no partitions.
    """
    if partitions is None:
        return
    if partitions != "dynamic" or where is not None:
        msg = f"partitions takes 'dynamic', and not beside where; got {partitions!r}"
        raise InvalidInputError(msg)
    if not head.layout.keys:
        msg = f"{head.full_name} has no partitions to replace"
        raise InvalidInputError(msg, hint="leave partitions out to replace the whole table")


def plan_overwrite(
    head: Head,
    found: FileSet,
    *,
    adds: Sequence[DataFile],
    partitions: str | None = None,
    inlined: Mapping[tuple[Value | None, ...], Sequence[int]] | None = None,
) -> Replaced:
    """Choose among the files `found`, and the rows without one, those that new files replace.

    `inlined` tells the partitions of the rows without a file, where these decide.

    Raises:
        UnsupportedError: If files lie under other partitions than the table has now.
    """
    if partitions == "dynamic":
        return _of_partitions(head, found, adds, inlined or {})
    row_ids = found.inlined.row_ids if found.inlined else ()
    return Replaced(files=found.files, row_ids=row_ids)


def _of_partitions(
    head: Head,
    found: FileSet,
    adds: Sequence[DataFile],
    inlined: Mapping[tuple[Value | None, ...], Sequence[int]],
) -> Replaced:
    if any(file.partition_id != head.layout.id for file in adds):
        msg = f"others changed the partitions of {head.full_name} while rows were written"
        raise CommitConflictError(msg, hint="nothing changed; write the rows again")
    older = [file for file in found.files if file.partition_id != head.layout.id]
    if older:
        msg = (
            f"{len(older)} file(s) of {head.full_name}, such as {older[0].path!r}, were written "
            "under other partitions, so it cannot be told which of their rows to replace"
        )
        raise UnsupportedError(msg, hint="overwrite with where=, or the whole table")
    touched = {file.partition for file in adds}
    return Replaced(
        files=tuple(file for file in found.files if file.partition in touched),
        row_ids=tuple(n for key in touched if key in inlined for n in inlined[key]),
    )
