"""Collect the changes of a table's definition, and commit them at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mere import ops, plan, registry
from mere.errors import InvalidInputError
from mere.scan import scan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mere.model.expr import Expr
    from mere.model.history import Head
    from mere.model.report import Report
    from mere.model.schema import Field
    from mere.plan.definition import Definition, Step
    from mere.ports import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Evolution:
    """Changes of one table that wait for `commit`: every call returns a new one.

    Columns are named as the steps before have left them; a part of a nested column by a dotted
    path: `point.x`, `points.element.x`. No file is rewritten, and older versions stay as they are.

    Example:
        >>> table.evolve().rename_column("a", "b").add_column("c", "int64", default=0).commit()
    """

    session: Session
    table: str
    steps: tuple[Step, ...] = ()

    def _then(self, step: Callable[..., Definition], **given: Any) -> Evolution:
        return replace(self, steps=(*self.steps, partial(step, **given)))

    def add_column(
        self,
        name: str,
        kind: Any,
        *,
        default: Any = None,
        nullable: bool = True,
        after: str | None = None,
    ) -> Evolution:
        """Add a column, or a field of a struct; rows that exist read the default, or NULL.

        Args:
            name: The new name, or a path such as `point.z`.
            kind: A type of the format (`"int64"`, `"decimal(10,2)"`) or a pyarrow type.
            default: What existing rows read, and rows get that come without the column.
            nullable: Whether NULL is allowed; without it, existing rows need a default.
            after: The column to put it behind; None puts it last.
        """
        column = replace(_column(kind), nullable=nullable)
        return self._then(
            plan.definition.add_column, path=name, column=column, default=default, after=after
        )

    def rename_column(self, name: str, to: str) -> Evolution:
        """Give a column another name; its values stay."""
        return self._then(plan.definition.rename_column, path=name, name=to)

    def drop_column(self, name: str) -> Evolution:
        """Take a column away; one that is added later under its name is a new one."""
        return self._then(plan.definition.drop_column, path=name)

    def move_column(self, name: str, *, after: str | None = None) -> Evolution:
        """Put a column behind another one; None puts it first."""
        return self._then(plan.definition.move_column, path=name, after=after)

    def widen(self, name: str, kind: Any) -> Evolution:
        """Give a column a wider type, one that keeps every value."""
        return self._then(plan.definition.widen, path=name, kind=_column(kind).type)

    def set_default(self, name: str, value: Any) -> Evolution:
        """Set what rows get that come without the column; existing rows stay as they are."""
        if value is None:
            msg = f"the default of {name!r} cannot be set to None"
            raise InvalidInputError(msg, hint=f"drop_default({name!r}) takes it away")
        return self._then(plan.definition.set_default, path=name, value=value)

    def drop_default(self, name: str) -> Evolution:
        """Take a column's default away: rows that come without it get NULL."""
        return self._then(plan.definition.set_default, path=name, value=None)

    def set_not_null(self, name: str) -> Evolution:
        """Refuse NULL from now on; `commit` refuses when a row holds it."""
        return self._then(plan.definition.set_nullable, path=name, nullable=False)

    def drop_not_null(self, name: str) -> Evolution:
        """Allow NULL again."""
        return self._then(plan.definition.set_nullable, path=name, nullable=True)

    def comment(self, text: str | None, *, column: str | None = None) -> Evolution:
        """Say what the table, or a column, is about; None takes it back."""
        return self._then(plan.definition.comment, path=column, text=text)

    def partition_by(self, keys: str | Sequence[str]) -> Evolution:
        """Partition files to come by columns or transforms; existing files stay as they lie."""
        given = (keys,) if isinstance(keys, str) else tuple(keys)
        return self._then(plan.definition.partition_by, keys=given)

    def sort_by(self, order: str | Sequence[str]) -> Evolution:
        """Order the rows of files to come: `"ts"`, `"price DESC"`."""
        given = (order,) if isinstance(order, str) else tuple(order)
        return self._then(plan.definition.sort_by, order=given)

    def add_check(self, name: str, condition: str) -> Evolution:
        """Hold every row to a condition in SQL; NULL satisfies it. Only mere enforces it."""
        return self._then(plan.definition.add_check, check=ops.evolve.check(name, condition))

    def drop_check(self, name: str) -> Evolution:
        """Drop a check."""
        return self._then(plan.definition.drop_check, name=name)

    def commit(self, message: str | None = None) -> Report:
        """Take all steps in one commit, or none; without a change no version is made.

        Raises:
            InvalidInputError: If a step cannot be taken, or rows break what they ask for.
            CommitConflictError: If others changed the definition meanwhile; nothing changed.
        """

        def count(head: Head, where: Expr) -> int:
            return scan(self.session, head, where=where).count()

        return ops.evolve.evolve(self.session, self.table, self.steps, message=message, count=count)


def _column(kind: Any) -> Field:
    """Read a type in any form that a schema takes."""
    return registry.schema_of({"column": kind}).fields[0]
