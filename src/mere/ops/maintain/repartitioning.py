"""Bring the rows of a table into other partitions, as one commit."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from mere.errors import CommitConflictError, InvalidInputError
from mere.model.history import Change, Edit, Evolve, Head, Move
from mere.model.layout import Layout
from mere.model.report import Report
from mere.model.work import Plan, Result, Rewrite
from mere.ops import carry
from mere.ops.maintain.moving import (
    MoveOptions,
    carried,
    change_of,
    discard,
    moved_by,
    newest,
    report_of,
    require_alone,
    with_steps,
)
from mere.plan.repartition import Estimate, plan_repartition, refuse_many, wanted_layout
from mere.plan.rewrite import require_files
from mere.ports import Session
from mere.reading.estimating import estimated
from mere.where import as_expr

_NO_ROWS = Estimate(seen=0, once=0, twice=0, rows=0, whole=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioning:
    """By what rows shall be partitioned, in files of what size, and which files.

    `into` is the new table that they go to; None: they stay in theirs.
    """

    by: tuple[str, ...]
    target_mb: float = 128
    where: Any = None
    into: str | None = None

    def check(self) -> None:
        """Refuse what cannot be meant, whatever the table is.

        Raises:
            InvalidInputError: If the size is not positive.
        """
        if not self.target_mb > 0:
            msg = f"target_mb must be greater than 0, got {self.target_mb!r}"
            raise InvalidInputError(msg)


def repartition(
    session: Session, name: str, *, wanted: Partitioning, options: MoveOptions
) -> Report:
    """Give a table other partitions, its rows included; see `Table.repartition`.

    Raises:
        UnknownColumnError: If a column does not exist; nothing was read.
        InvalidInputError: If a key or a size cannot be meant, or there would be far too many
            partitions; nothing was written.
        NoFilesError: If no file matches.
    """
    wanted.check()
    memory_bytes = options.share(session)
    require_alone(session)
    started = perf_counter()
    work = _Work(session, session.catalog.head(name), wanted, options, memory_bytes)
    work.plan_again()
    if options.dry_run:
        return replace(work.planned, seconds=perf_counter() - started)
    with carry.announced(session, work.head) as intent:
        work.intent = intent
        try:
            outcome = carry.commit(session, work.change)
        except CommitConflictError:  # the only error after which nothing can have been committed
            discard(session, [result for _, result in work.done])
            raise
    told = report_of(work.head, work.planned, work.done, outcome.committed)
    told = replace(told, partitions=work.estimate.partitions)
    return replace(told, seconds=perf_counter() - started, retries=outcome.retries)


@dataclass(slots=True)
class _Work:
    """One repartitioning from its first look to its last."""

    session: Session
    head: Head
    wanted: Partitioning
    options: MoveOptions
    memory_bytes: int
    intent: str = ""
    plan: Plan | None = None
    fresh: bool = False
    layout: Layout = field(default_factory=Layout)
    estimate: Estimate = _NO_ROWS
    done: list[tuple[Rewrite, Result]] = field(default_factory=list)

    @property
    def planned(self) -> Report:
        """What is to be expected."""
        if self.plan is None:
            return Report(operation="repartition", table=self.head.full_name)
        partitions = self.estimate.partitions
        report = self.plan.report
        more = max(partitions - report.files_added, 0) if self.plan.tasks else 0
        return replace(
            report,
            partitions=partitions,
            files_added=report.files_added + more,
            after_file_count=report.after_file_count + more,
        )

    def plan_again(self) -> None:
        """Say what is to be done on the head that is known."""
        catalog, head = self.session.catalog, self.head
        self.layout = wanted_layout(head, self.wanted.by)
        found = catalog.files(head, as_expr(self.wanted.where, head.schema)).files
        require_files(found, head, self.wanted.where)
        plan = plan_repartition(
            head,
            catalog.lineage(head, found),
            self.layout,
            target_mb=self.wanted.target_mb,
            memory_bytes=self.memory_bytes,
        )
        self.plan = with_steps(self.session, plan)
        self.fresh = True
        traces = [trace for task in self.plan.tasks for trace in task.inputs]
        if traces and self.layout.keys:
            store = self.session.store
            self.estimate = estimated(store, traces, head.schema, self.layout.keys)
            refuse_many(head, self.layout, self.estimate)

    def change(self) -> Change:
        """Do what is to be done, and say what to commit; again when others were first."""
        if not self.fresh:
            self.head = newest(self.session, self.head)
            self.plan_again()
        plan, self.fresh = self.plan, False
        self._do(plan.tasks if plan else ())
        edits: tuple[Edit, ...] = ()
        if self.layout != self.head.layout:
            evolve = Evolve(
                table_id=self.head.table_id, schema=self.head.schema, layout=self.layout
            )
            edits = (evolve,)
        if plan is not None and self.done:
            moved = tuple(moved_by(plan, task, result) for task, result in self.done)
            edits += (Move(table_id=self.head.table_id, moves=moved, whole=True),)
        return change_of(self.head, edits, "repartition", self.options, self.intent)

    def _do(self, tasks: Sequence[Rewrite]) -> None:
        """Do the tasks, but for those that were done before on the same files."""
        before = {_seen(task): result for task, result in self.done}
        kept = {task.number: before.pop(_seen(task)) for task in tasks if _seen(task) in before}
        discard(self.session, list(before.values()))
        rest = [task for task in tasks if task.number not in kept]
        new = {task.number: result for task, result in carried(self.session, rest, self.intent)}
        made = {**kept, **new}
        self.done = [(task, made[task.number]) for task in tasks]


def _seen(task: Rewrite) -> tuple[tuple[int, int, int], ...]:
    return tuple(trace.seen for trace in task.inputs)
