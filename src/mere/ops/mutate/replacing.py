"""Find the rows that new ones replace, head after head, and take them out where they lie."""

from typing import Any

from mere.model.files import DataFile
from mere.model.history import Head
from mere.model.schema import with_origins
from mere.model.work import Clause
from mere.ops.mutate.changing import Asked, ChangeOptions, Work
from mere.plan.mutate import Mutation
from mere.plan.overwrite import Replaced
from mere.ports import Session
from mere.where import as_expr


class Replacing:
    """The rows that match a condition; what others left alone is not looked at again."""

    def __init__(self, session: Session, head: Head, where: Any, intent: str) -> None:
        """Look at nothing yet."""
        self.where = where
        asked = Asked(operation="overwrite", bind=self._bind)
        self.work = Work(session, head, asked, ChangeOptions(), intent)

    def _bind(self, now: Head) -> Mutation:
        expr = as_expr(self.where, now.schema)
        return Mutation(clauses=(Clause(kind="delete", when=expr),), where=expr)

    def __call__(self, now: Head, adds: tuple[DataFile, ...]) -> Replaced:
        """Return what goes on a head; the new rows have been held to the condition before."""
        del adds
        work = self.work
        work.look(now)
        return Replaced(
            files=tuple(work.ended()),
            row_ids=work.row_ids,
            deletions=work.deletions,
            copies=work.adds,
            schema=with_origins(now.schema),
            plan=work.told(),
        )
