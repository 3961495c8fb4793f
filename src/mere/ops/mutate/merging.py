"""Merge a source into a table: upsert, and merge with clauses of all kinds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from mere.arrow import nulls_of
from mere.arrow.positions import Positions, pack, unpack
from mere.errors import CommitConflictError, InvalidInputError
from mere.model.branches import (
    MATCHED,
    NEW,
    UNMATCHED,
    Branch,
    only_source,
    qualified,
    without,
)
from mere.model.expr import Expr
from mere.model.files import DataFile
from mere.model.history import Head
from mere.model.predicate import bind
from mere.model.report import Report
from mere.model.schema import Schema
from mere.model.work import Clause, Insert, Result, Staged
from mere.ops import carry
from mere.ops.mutate.changing import Asked, ChangeOptions, change_rows
from mere.ops.mutate.keys import Narrowing, demanded, key_columns, meeting
from mere.ops.mutate.rows import value_of
from mere.ops.mutate.source import Stage, columns_of, count_rows
from mere.plan.chunks import Meeting, shares
from mere.plan.mutate import Mutation, assignments
from mere.ports import Session
from mere.reading.inserting import insert
from mere.where import translate


def upsert(
    session: Session,
    name: str,
    rows: Any,
    *,
    on: Sequence[str],
    update: Sequence[str] | None,
    insert: bool,
    options: ChangeOptions,
) -> Report:
    """Update rows with known keys, insert those with new ones; see `Table.upsert`."""
    head = session.catalog.head(name)
    keys = key_columns(head, on)
    schema = columns_of(session, head, rows, keys, extra=False)
    columns = _updated(head, schema, keys, update)
    branches = []
    if columns:
        sets = {column: Expr("column", ("source", column)) for column in columns}
        branches.append(Branch(side=MATCHED, kind="update", sets=sets))
    if insert:
        branches.append(Branch(side=NEW, kind="insert"))
    merging = _Merging(session, head, schema, keys, tuple(branches), "upsert")
    return merging.run(rows, options)


def merge(
    session: Session,
    name: str,
    rows: Any,
    *,
    on: Sequence[str],
    branches: Sequence[Branch],
    options: ChangeOptions,
) -> Report:
    """Merge a source by clauses; see `Table.merge`."""
    if not branches:
        msg = "a merge without a clause does nothing"
        raise InvalidInputError(msg, hint="add when_matched_update(), for example")
    head = session.catalog.head(name)
    keys = key_columns(head, on)
    schema = columns_of(session, head, rows, keys, extra=True)
    lost = [column for column in nulls_of(rows) if column not in schema]
    read = tuple(_without(branch, lost) for branch in branches)
    merging = _Merging(session, head, schema, keys, read, "merge")
    return merging.run(rows, options)


def _without(branch: Branch, lost: Sequence[str]) -> Branch:
    """Read columns of nothing but NULL, which are not staged since they have no type, as NULL."""
    if not lost or branch.side == UNMATCHED:
        return branch

    def read(expr: Expr) -> Expr:
        seen = only_source(expr, "an insert") if branch.side == NEW else qualified(expr)
        return without(seen, lost)

    return replace(
        branch,
        when=None if branch.when is None else read(translate(branch.when)),
        sets=branch.sets and {name: read(value_of(value)) for name, value in branch.sets.items()},
    )


def _updated(
    head: Head, schema: Schema, keys: Sequence[str], update: Sequence[str] | None
) -> tuple[str, ...]:
    if update is None:
        return tuple(name for name in schema.names if name not in keys)
    names = (update,) if isinstance(update, str) else tuple(update)
    found = tuple(head.schema.field(name).name for name in names)
    missing = [name for name in found if name not in schema]
    if missing:
        msg = f"update names {', '.join(map(repr, missing))}, which the source does not have"
        raise InvalidInputError(msg, hint=f"it has: {', '.join(schema.names)}")
    return found


@dataclass(frozen=True, slots=True)
class _Merging:
    """One merge: what is staged, and what becomes of whom."""

    session: Session
    head: Head
    schema: Schema
    keys: tuple[str, ...]
    branches: tuple[Branch, ...]
    operation: str

    def run(self, rows: Any, options: ChangeOptions) -> Report:
        """Stage the source, then change the table until nobody comes between."""
        self._check()
        stage = Stage(self.session, self.head, self.schema, self.keys)
        try:
            staged = stage.take(rows)
            asked = Asked(
                operation=self.operation,
                bind=partial(self._bind, staged),
                narrow=self._narrow(staged),
                new_rows=self._new_rows(staged),
                told=partial(self._told, staged),
            )
            return change_rows(self.session, self.head, asked, options)
        finally:
            stage.clear()

    def _check(self) -> None:
        """Bind everything once, so that what cannot be is refused before anything is read."""
        nothing = Staged(schema=self.schema, on=self.keys)
        self._clauses(nothing, self.head)
        for branch in self.branches:
            if branch.side == NEW:
                _insert_of(branch, nothing, self.head)

    def _bind(self, staged: Staged, now: Head) -> Mutation:
        if now.schema != self.head.schema:
            before = {field.id: field for field in self.head.schema}
            if any(
                before.get(field.id) != field for field in now.schema if field.name in staged.schema
            ):
                msg = f"others changed columns of {now.full_name} while rows were merged"
                raise CommitConflictError(msg, hint="nothing changed; call again")
        clauses = self._clauses(staged, now)
        everywhere = any(not clause.matched for clause in clauses)
        where = None if everywhere else bind(demanded(self.session, now, staged), now.schema)
        meeting = Meeting.of(now, staged) if staged.chunks else None
        return Mutation(clauses=clauses, where=where, staged=staged, meeting=meeting)

    def _clauses(self, staged: Staged, now: Head) -> tuple[Clause, ...]:
        combined = Schema(fields=(*now.schema.fields, *staged.fields))
        found = []
        for branch in self.branches:
            if branch.side == NEW:
                continue
            seen = combined if branch.side == MATCHED else now.schema
            when = None if branch.when is None else bind(qualified(translate(branch.when)), seen)
            values = self._values(branch)
            sets = {column: qualified(value_of(value)) for column, value in values.items()}
            found.append(
                Clause(
                    kind=branch.kind,
                    matched=branch.side == MATCHED,
                    when=when,
                    sets=assignments(sets, now.schema, seen) if sets else (),
                )
            )
        return tuple(found)

    def _values(self, branch: Branch) -> Mapping[str, Any]:
        if branch.kind != "update" or branch.sets is not None:
            return branch.sets or {}
        both = (field.name for field in self.head.schema if field.name in self.schema)
        return {n: Expr("column", ("source", n)) for n in both if n not in self.keys}

    def _narrow(
        self, staged: Staged
    ) -> Callable[[Head, Sequence[DataFile]], Sequence[DataFile]] | None:
        if any(branch.side == UNMATCHED for branch in self.branches):
            return None
        if staged.chunks:
            return partial(meeting, staged)
        return Narrowing.of(self.session, self.head, staged).keep

    def _told(self, staged: Staged) -> str:
        rows = count_rows(staged, self.session)
        if not staged.chunks:
            return f"{rows} source rows in memory, broadcast to each task"
        return (
            f"{rows} source rows shuffled by their keys into {len(staged.chunks)} chunks of files"
        )

    def _new_rows(self, staged: Staged) -> Callable[[Head, bytes, str | None], Result] | None:
        branches = [branch for branch in self.branches if branch.side == NEW]
        if not branches:
            return None

        def write(now: Head, matched: bytes, intent: str | None) -> Result:
            clauses = tuple(_insert_of(branch, staged, now) for branch in branches)
            task = Insert(staged=staged, schema=now.schema, clauses=clauses)
            if intent is not None:
                task = replace(task, write=carry.write_task(now, now.schema, intent=intent))
            return _inserted(self.session, task, unpack(matched), now.layout.target_file_bytes)

        return write


def _insert_of(branch: Branch, staged: Staged, now: Head) -> Clause:
    """Say which new rows are inserted, and their columns: all that both sides have, or some."""
    seen = Schema(fields=staged.fields)
    when = None
    if branch.when is not None:
        when = bind(only_source(translate(branch.when), "an insert"), seen)
    if branch.sets is None:
        both = (field.name for field in now.schema if field.name in staged.schema)
        values = {name: Expr("column", (f"source.{name}",)) for name in both}
    else:
        values = {
            column: only_source(value_of(value), "an insert")
            for column, value in branch.sets.items()
        }
    sets = assignments(values, now.schema, seen)
    return Clause(kind="insert", matched=False, when=when, sets=sets)


def _inserted(session: Session, task: Insert, matched: Positions, target_bytes: int) -> Result:
    """Write the rows without a match: few from here, those of many chunks where tasks are done."""
    do = partial(insert, store=session.store, write=session.kernel.write)
    staged = task.staged
    if not staged.chunks:
        return do(replace(task, matched=pack(matched)))
    tasks = []
    for number, share in enumerate(shares(staged, target_bytes)):
        start, end = staged.starts[share[0]], staged.starts[share[-1] + 1]
        own = pack(matched[(matched >= start) & (matched < end)])
        tasks.append(replace(task, staged=staged.only(share), matched=own, number=number))
    results = sorted(session.runner.run(do, tasks), key=lambda result: result.number)
    return Result(
        files=carry.files_of(tuple(results)),
        rows_in=sum(result.rows_in for result in results),
        rows_out=sum(result.rows_out for result in results),
        encoded_bytes=sum(result.encoded_bytes for result in results),
    )
