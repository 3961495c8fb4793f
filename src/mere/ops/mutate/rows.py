"""Delete and update the rows that match a condition."""

from collections.abc import Mapping
from typing import Any

from mere.errors import InvalidInputError
from mere.model.history import Head
from mere.model.predicate import Expr, lit
from mere.model.report import Report
from mere.model.work import Clause
from mere.ops.mutate.changing import Asked, ChangeOptions, change_rows
from mere.plan.mutate import Mutation, assignments
from mere.ports import Session
from mere.where import as_expr, translate


def delete(session: Session, name: str, where: Any, options: ChangeOptions) -> Report:
    """Delete rows; see `Table.delete`."""
    if where is None:
        msg = "delete needs a condition, got None"
        raise InvalidInputError(msg, hint='where="true" deletes all rows')
    head = session.catalog.head(name)

    def bind(now: Head) -> Mutation:
        expr = as_expr(where, now.schema)
        return Mutation(clauses=(Clause(kind="delete", when=expr),), where=expr)

    return change_rows(session, head, Asked(operation="delete", bind=bind), options)


def update(
    session: Session, name: str, sets: Mapping[str, Any], where: Any, options: ChangeOptions
) -> Report:
    """Update rows; see `Table.update`."""
    if not sets:
        msg = f"update needs columns and their new values, got {sets!r}"
        raise InvalidInputError(msg, hint='write set={"side": mere.lit("ask")}')
    head = session.catalog.head(name)
    values = {column: value_of(value) for column, value in sets.items()}

    def bind(now: Head) -> Mutation:
        expr = as_expr(where, now.schema)
        found = assignments(values, now.schema, now.schema)
        return Mutation(clauses=(Clause(kind="update", when=expr, sets=found),), where=expr)

    return change_rows(session, head, Asked(operation="update", bind=bind), options)


def value_of(value: Any) -> Expr:
    """Return what a user gives as a new value: text is an SQL expression, all else itself."""
    if isinstance(value, str | Expr) or type(value).__module__.partition(".")[0] == "polars":
        return translate(value)
    return lit(value)
