"""Carry out a plan by which rows move between files, as one commit that no version notices."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter

from mere.errors import CommitConflictError, InvalidInputError, MereError
from mere.model.history import Change, Committed, Edit, Head, Move, Moved
from mere.model.report import Report
from mere.model.work import Plan, Result, Rewrite
from mere.ops import carry
from mere.ops.stepping import rewritten, steps_for
from mere.ports import ReplanNeeded, Session

MEMORY_BYTES = 512 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveOptions:
    """Whether anything is done at all, in how much memory, and what the commit says of itself."""

    dry_run: bool = False
    memory_mb: int | None = None
    message: str | None = None
    author: str | None = None

    def share(self, session: Session) -> int:
        """Return the bytes that each task may hold.

        Raises:
            InvalidInputError: If there are none.
        """
        if self.memory_mb is None:
            return MEMORY_BYTES // max(session.runner.together, 1)
        if self.memory_mb < 1:
            msg = f"memory_mb must be 1 or more, got {self.memory_mb!r}"
            raise InvalidInputError(msg)
        return (self.memory_mb << 20) // max(session.runner.together, 1)


def require_alone(session: Session) -> None:
    """Refuse to move rows in a transaction, or on a lake that was opened for reading.

    Raises:
        InvalidInputError: If it is one.
    """
    carry.require_writable(session)
    require_settled(session)


def require_settled(session: Session) -> None:
    """Refuse to look at what rows may move inside a transaction.

    Raises:
        InvalidInputError: If it is one.
    """
    if session.staged:
        msg = "rows cannot be moved between files inside a transaction"
        raise InvalidInputError(msg, hint="call it on the lake itself: it is a commit of its own")


def move_rows(session: Session, head: Head, plan: Plan, options: MoveOptions) -> Report:
    """Do the tasks of a plan and commit what came of them; a dry run only says what is planned.

    Raises:
        TaskError: If a task did not write every row; nothing changed.
        CommitConflictError: If the table was dropped meanwhile.
    """
    started = perf_counter()
    plan = with_steps(session, plan)
    if options.dry_run:
        return replace(plan.report, seconds=perf_counter() - started)
    if not plan.tasks:
        return _nothing_done(head, plan)
    with carry.announced(session, head) as intent:
        results = _carried_out(session, plan.tasks, intent)
        moved = [moved_by(plan, task, result) for task, result in results]
        try:
            outcome = carry.commit(session, _Changes(session, head, moved, options, plan, intent))
        except CommitConflictError:  # the only error after which nothing can have been committed
            discard(session, [result for _, result in results])
            raise
    left = set(outcome.committed.left)
    discard(session, [result for n, (_, result) in enumerate(results) if n in left])
    made = [both for n, both in enumerate(results) if n not in left]
    told = report_of(head, plan.report, made, outcome.committed)
    return replace(told, seconds=perf_counter() - started, retries=outcome.retries)


def _carried_out(
    session: Session, tasks: Sequence[Rewrite], intent: str
) -> list[tuple[Rewrite, Result]]:
    """Do the tasks of a plan that is made but once.

    Raises:
        CommitConflictError: If others took files away before they were read.
    """
    try:
        with carry.reading(session):
            return carried(session, tasks, intent)
    except ReplanNeeded as error:
        msg = "others replaced files while they were read"
        raise CommitConflictError(msg, hint="nothing changed; call again") from error


def carried(
    session: Session, tasks: Sequence[Rewrite], intent: str
) -> list[tuple[Rewrite, Result]]:
    """Do the tasks; return them with their results, in the order in which they were planned."""
    named = [replace(task, write=replace(task.write, intent=intent)) for task in tasks]
    return list(zip(named, rewritten(session, named), strict=True))


def with_steps(session: Session, plan: Plan) -> Plan:
    """Have the report of a plan say which way is taken, where it is not one task for each group."""
    told = "; ".join(steps.told for steps in steps_for(session, plan.tasks))
    return replace(plan, report=replace(plan.report, plan=told or None))


def moved_by(plan: Plan, task: Rewrite, result: Result) -> Moved:
    """Return which files a task takes the place of, and by which."""
    return Moved(
        removes=tuple(trace.seen for trace in task.inputs),
        adds=result.files,
        schema=plan.schemas[task.number],
        mark=plan.mark,
    )


@dataclass(slots=True)
class _Changes:
    """What to commit, on whatever head it will be."""

    session: Session
    head: Head
    moved: Sequence[Moved]
    options: MoveOptions
    plan: Plan
    intent: str
    tried: bool = False

    def __call__(self) -> Change:
        """Return the change on the newest head: what files it takes is looked at under the lock."""
        if self.tried:
            self.head = newest(self.session, self.head)
        self.tried = True
        edits = (Move(table_id=self.head.table_id, moves=tuple(self.moved)),)
        operation = self.plan.report.operation
        return change_of(self.head, edits, operation, self.options, self.intent)


def change_of(
    head: Head, edits: tuple[Edit, ...], operation: str, options: MoveOptions, intent: str
) -> Change:
    """Return the change that makes edits which add, change and delete no row."""
    told = {
        "table": head.table_id,
        "operation": operation,
        **dict.fromkeys(("rows_inserted", "rows_updated", "rows_deleted"), 0),
    }
    return Change(
        base=head.snapshot,
        edits=edits,
        message=options.message,
        author=options.author,
        extra=json.dumps({"mere": told}),
        intents=(intent,),
    )


def newest(session: Session, head: Head) -> Head:
    """Return the table as it is now, while it still is the same table.

    Raises:
        CommitConflictError: If it was dropped and made again.
    """
    now = session.catalog.head(head.full_name)
    if now.table_id != head.table_id:
        msg = f"{head.full_name} was dropped and made again while its rows were moved"
        raise CommitConflictError(msg, hint="nothing changed; call again")
    return now


def discard(session: Session, results: Sequence[Result]) -> None:
    """Delete files that were not committed; one that stays is swept later."""
    files = [file for result in results for file in result.files]
    paths = [file.path for file in files]
    paths += [file.deletes.path for file in files if file.deletes]
    if paths:
        with suppress(MereError, OSError):
            session.store.delete(paths)


def _nothing_done(head: Head, plan: Plan) -> Report:
    return replace(plan.report, dry_run=False, version=head.snapshot, planned_groups=None)


def report_of(
    head: Head,
    planned: Report,
    made: Sequence[tuple[Rewrite, Result]],
    committed: Committed,
) -> Report:
    """Sum up what was done; a task whose files others had touched was not."""
    before = [trace.file for task, _ in made for trace in task.inputs]
    after = [file for _, result in made for file in result.files]
    size = sum(file.bytes for file in before)
    codecs = sorted({result.codec for _, result in made if result.codec})
    return replace(
        planned,
        version=committed.snapshot,
        dry_run=False,
        after_file_count=head.file_count - len(before) + len(after),
        after_total_bytes=head.bytes - size + sum(file.bytes for file in after),
        compacted_file_count=len(before),
        rewritten_bytes=size,
        encoded_bytes=sum(result.encoded_bytes for _, result in made),
        compression_codec=", ".join(codecs) or None,
        files_added=len(after),
        files_removed=len(before),
        files_read=len(before),
        planned_groups=None,
        files=tuple(after),
        gone=tuple(file.path for file in before),
    )
