"""Build a merge clause by clause, for `Table.merge`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mere import ops
from mere.model.branches import MATCHED, NEW, UNMATCHED, Branch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mere.model.report import Report
    from mere.ports import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """A merge that waits for `run`: every call returns a new one.

    For each row the first clause of its kind whose condition holds decides; a row for which none
    holds stays as it is. Conditions and values are SQL text or expressions in which `source.x` is
    the source's column and `target.x`, or just `x`, the table's; in an insert, `x` is the source's.
    All of them see the row as it was.

    Example:
        >>> (
        ...     table.merge(changes, on="id")
        ...     .when_matched_delete(when="source.gone")
        ...     .when_matched_update(set={"n": "target.n + source.n"})
        ...     .when_not_matched_insert(when="NOT gone")
        ...     .run()
        ... )
    """

    session: Session
    table: str
    source: Any
    on: Sequence[str]
    branches: tuple[Branch, ...] = ()

    def _then(self, branch: Branch) -> Merge:
        return replace(self, branches=(*self.branches, branch))

    def when_matched_update(
        self,
        set: Mapping[str, Any] | None = None,  # noqa: A002  the word that SQL has for it
        *,
        when: Any = None,
    ) -> Merge:
        """Update rows that match; `set` None takes all columns of the source but the keys."""
        return self._then(Branch(side=MATCHED, kind="update", when=when, sets=set))

    def when_matched_delete(self, *, when: Any = None) -> Merge:
        """Delete rows that match."""
        return self._then(Branch(side=MATCHED, kind="delete", when=when))

    def when_not_matched_insert(
        self, values: Mapping[str, Any] | None = None, *, when: Any = None
    ) -> Merge:
        """Insert rows that only the source has; a column without a value gets its default."""
        return self._then(Branch(side=NEW, kind="insert", when=when, sets=values))

    def when_not_matched_by_source_update(
        self,
        set: Mapping[str, Any],  # noqa: A002  the word that SQL has for it
        *,
        when: Any = None,
    ) -> Merge:
        """Update rows that only the table has."""
        return self._then(Branch(side=UNMATCHED, kind="update", when=when, sets=set))

    def when_not_matched_by_source_delete(self, *, when: Any = None) -> Merge:
        """Delete rows that only the table has."""
        return self._then(Branch(side=UNMATCHED, kind="delete", when=when))

    def run(
        self, *, dry_run: bool = False, message: str | None = None, token: str | None = None
    ) -> Report:
        """Do all of it in one commit; the report counts rows inserted, updated and deleted.

        Raises:
            DuplicateKeyError: If the source holds a key more than once; nothing was written.
            SchemaMismatchError: If a row would break the table's types, NOT NULL or checks.
        """
        options = ops.mutate.ChangeOptions(dry_run=dry_run, message=message, token=token)
        return ops.mutate.merge(
            self.session,
            self.table,
            self.source,
            on=self.on,
            branches=self.branches,
            options=options,
        )
