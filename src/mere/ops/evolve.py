"""Change what a table is: columns, layout, comments and checks, without touching a file."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TypeAlias

from mere.errors import InvalidInputError
from mere.model.history import Change, Evolve, Head
from mere.model.predicate import Expr, col, columns
from mere.model.report import Report
from mere.ops import carry
from mere.plan.definition import Check, Definition, Step
from mere.ports import Session
from mere.where import as_expr, translate

Count: TypeAlias = Callable[[Head, Expr], int]
"""How many rows of a head match."""


def check(name: str, text: str) -> Check:
    """Read a check as SQL text."""
    return Check(name=name, text=text, columns=columns(translate(text)))


def evolve(
    session: Session, name: str, steps: Sequence[Step], *, message: str | None, count: Count
) -> Report:
    """Take all steps in one commit; see `mere.evolution.Evolution.commit`."""
    started = perf_counter()
    carry.require_writable(session)
    heads: list[Head] = []

    def plan() -> Change:
        head = session.catalog.head(name)
        heads.append(head)
        wanted = start(head)
        for step in steps:
            wanted = step(wanted)
        tightens = _require_fitting_rows(head, wanted, count)
        return _change(head, wanted, message=message, tightens=tightens)

    outcome = carry.commit(session, plan)
    committed, head = outcome.committed, heads[-1]
    return Report(
        operation="evolve",
        table=head.full_name,
        version=None if committed.staged else committed.snapshot,
        before_file_count=head.file_count,
        after_file_count=head.file_count,
        before_total_bytes=head.bytes,
        after_total_bytes=head.bytes,
        rows_before=head.rows,
        rows_after=head.rows,
        retries=outcome.retries,
        seconds=perf_counter() - started,
    )


def start(head: Head) -> Definition:
    """Return what a table is before the first step."""
    return Definition(
        table=head.full_name,
        schema=head.schema,
        layout=head.layout,
        next_id=head.next_column_id,
        checks=tuple(check(name, text) for name, text in head.checks),
    )


def _change(head: Head, wanted: Definition, *, message: str | None, tightens: bool) -> Change:
    checks = tuple((check.name, check.text) for check in wanted.checks)
    edit = Evolve(
        table_id=head.table_id,
        schema=wanted.schema,
        layout=wanted.layout,
        comments=wanted.comments,
        checks=None if checks == head.checks else checks,
        tightens=tightens,
    )
    same = edit.checks is None and not edit.comments
    if same and (edit.schema, edit.layout) == (head.schema, head.layout):
        return Change(base=head.snapshot, edits=())
    return Change(base=head.snapshot, edits=(edit,), message=message)


def _require_fitting_rows(head: Head, wanted: Definition, count: Count) -> bool:
    """Refuse what rows of the table would break; return whether any rule was asked for."""
    after = replace(head, schema=wanted.schema, layout=wanted.layout, stable=False)
    names = {field.id: field.name for field in wanted.schema.fields}
    old = {field.id for field in head.schema.fields}
    for column in wanted.required:
        given = wanted.schema.field(names[column]).initial_default is not None
        nulls = head.rows if column not in old else -1
        if nulls < 0 or given:
            nulls = 0 if column not in old else _count(after, col(names[column]).is_null(), count)
        if nulls:
            msg = f"column {names[column]!r} cannot be NOT NULL: {nulls} of {head.rows} rows hold "
            raise InvalidInputError(msg + "NULL", hint="update or delete them first")
    for rule in wanted.checks:
        if rule.name not in wanted.fresh:
            continue
        broken = _count(after, ~translate(rule.text), count)
        if broken:
            msg = f"the check {rule.name!r} ({rule.text}) is broken by {broken} of {head.rows} rows"
            raise InvalidInputError(msg, hint="update or delete them first")
    return bool(wanted.required or wanted.fresh)


def _count(head: Head, where: Expr, count: Count) -> int:
    expr = as_expr(where, head.schema)
    return count(head, expr) if head.rows and expr is not None else 0
