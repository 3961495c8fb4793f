"""Merge a source into a table: upsert, and merge with clauses of all kinds."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mere.arrow import conformer, file_schema, nulls_of
from mere.arrow.positions import unpack
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
from mere.model.work import Clause, Result, Staged
from mere.ops import carry
from mere.ops.mutate.changing import Asked, ChangeOptions, change_rows
from mere.ops.mutate.keys import Narrowing, demanded, key_columns
from mere.ops.mutate.rows import value_of
from mere.ops.mutate.source import Stage, columns_of, count_rows
from mere.plan.mutate import Mutation, assignments
from mere.ports import Session
from mere.reading.source import Source
from mere.reading.values import computed, truths
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
                _Insert.of(branch, nothing, self.head)

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
        return Mutation(clauses=clauses, where=where, staged=staged)

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
        narrowing = Narrowing.of(self.session, self.head, staged)
        return None if narrowing is None else narrowing.keep

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
            inserts = [_Insert.of(branch, staged, now) for branch in branches]
            rows = _NewRows(self.session, now, staged, tuple(inserts), matched)
            return rows.write(intent)

        return write


@dataclass(frozen=True, slots=True)
class _Insert:
    """Which new rows are inserted, and their columns; None: all that both sides have."""

    when: Expr | None
    sets: tuple[tuple[str, Expr], ...]

    @classmethod
    def of(cls, branch: Branch, staged: Staged, now: Head) -> "_Insert":
        """Tie a branch to the columns of the source."""
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
        return cls(when, assignments(values, now.schema, seen))


@dataclass(frozen=True, slots=True)
class _NewRows:
    """The staged rows that have no match, on their way into the table."""

    session: Session
    now: Head
    staged: Staged
    inserts: tuple[_Insert, ...]
    matched: bytes

    def write(self, intent: str | None) -> Result:
        """Write them as files of the table, or only count them."""
        now = self.now
        if intent is None:
            return Result(rows_in=sum(batch.num_rows for batch in self._batches()))
        batches = self._batches()
        first = next(batches, None)
        if first is None:
            return Result()
        reader = pa.RecordBatchReader.from_batches(
            file_schema(now.schema), _chained(first, batches)
        )
        task = carry.write_task(now, now.schema, intent=intent)
        return self.session.kernel.write(reader, task=task, store=self.session.store)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        known = unpack(self.matched)
        schema = Schema(fields=self.staged.fields)
        for start, chunk in Source(self.staged, self.session.store).chunks():
            rows = chunk.rows
            fresh = np.ones(rows.num_rows, dtype=bool)
            here = known[(known >= start) & (known < start + rows.num_rows)]
            fresh[here - start] = False
            table = rows.filter(pa.array(fresh)).rename_columns(list(schema.names))
            for insert in self.inserts:
                chosen = table
                if insert.when is not None:
                    truth = truths(insert.when, table, schema)
                    chosen, table = table.filter(truth), table.filter(pc.invert(truth))
                else:
                    table = table.slice(0, 0)
                yield from self._made(insert, chosen)

    def _made(self, insert: _Insert, table: pa.Table) -> Iterator[pa.RecordBatch]:
        if not table.num_rows:
            return
        schema = self.now.schema
        columns = [computed(expr, table, schema.field(name)) for name, expr in insert.sets]
        made = pa.table(columns, names=[name for name, _ in insert.sets])
        fitted = conformer(made.schema, schema)
        yield from (fitted(batch) for batch in made.combine_chunks().to_batches())


def _chained(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest
