"""Bring rows into a table: append, and overwrite of all, of partitions, or of what matches."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from time import perf_counter
from typing import Any, TypeAlias

from mere.arrow import uuid7
from mere.arrow.inlined import by_partition
from mere.errors import CommitConflictError, MereError
from mere.model.files import DataFile
from mere.model.history import (
    At,
    Change,
    Committed,
    CreateTable,
    Edit,
    Head,
    Remember,
)
from mere.model.loading import Source
from mere.model.report import Report
from mere.model.schema import Schema, fit, number
from mere.model.work import Result, Write
from mere.ops import carry
from mere.ops.mutate.replacing import Replacing
from mere.ops.swap import Swap
from mere.plan.evolve import require_same_partitions
from mere.plan.overwrite import Replaced, check_partitions, plan_overwrite
from mere.ports import Session
from mere.reading.deleting import write_folds
from mere.where import as_expr


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """How incoming columns may change the table, and what the commit says of itself."""

    merge_schema: bool = False
    promote_to_string: bool = False
    token: str | None = None
    message: str | None = None
    author: str | None = None
    sources: tuple[Source, ...] = ()
    """Files of others that the rows come from: the catalog remembers them with the commit."""


Choose: TypeAlias = Callable[[Head, tuple[DataFile, ...]], Replaced]
"""Which files of a head the new files replace."""


def append(session: Session, name: str, data: Any, *, options: WriteOptions) -> Report:
    """Add rows to a table; see `Table.append`."""
    carry.require_writable(session)
    return _write(session, session.catalog.head(name), data, options=options, replaces=None)


def overwrite(
    session: Session,
    name: str,
    data: Any,
    *,
    options: WriteOptions,
    where: Any = None,
    partitions: str | None = None,
) -> Report:
    """Replace rows of a table; see `Table.overwrite`."""
    carry.require_writable(session)
    head = session.catalog.head(name)
    check_partitions(head, partitions, where=as_expr(where, head.schema))
    replaces = Replaces(where=where, partitions=partitions)
    return _write(session, head, data, options=options, replaces=replaces)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaces:
    """What new rows replace: what matches, the partitions that come, or all (both None)."""

    where: Any = None
    partitions: str | None = None


def _choice(session: Session, begun: "Begun") -> Choose | None:
    """Return what finds the files and rows that go; None when none do."""
    if begun.operation != "overwrite" or begun.create is not None:
        return None
    if begun.where is not None:
        return Replacing(session, begun.head, begun.where, begun.intent)

    def choose(now: Head, adds: tuple[DataFile, ...]) -> Replaced:
        found = session.catalog.files(now)
        partitions, keys = begun.partitions, now.layout.keys
        inlined = by_partition(found.inlined, keys, now.schema) if partitions else None
        return plan_overwrite(now, found, adds=adds, partitions=partitions, inlined=inlined)

    return choose


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A write whose rows are written elsewhere: what it stands on, and what workers must know.

    It travels to other processes, and one of them ends it by `finish` or `give_up`. `create` is
    the table that comes into being with its first rows.
    """

    head: Head
    operation: str
    schema: Schema
    intent: str
    where: Any = None
    partitions: str | None = None
    create: CreateTable | None = None

    def task(self) -> Write:
        """Return what a kernel is asked to do with the rows, wherever it is."""
        only = as_expr(self.where, self.schema)
        return replace(carry.write_task(self.head, self.schema, intent=self.intent), only=only)


def begin(
    session: Session,
    head: Head,
    columns: Schema,
    *,
    options: WriteOptions,
    operation: str = "append",
    where: Any = None,
    partitions: str | None = None,
    create: CreateTable | None = None,
) -> Begun:
    """Announce a write of rows with these columns, before any row is looked at.

    Raises:
        SchemaMismatchError: If columns do not fit; nothing was announced.
    """
    carry.require_writable(session)
    if operation == "overwrite":
        check_partitions(head, partitions, where=as_expr(where, head.schema))
    schema = _schema(head, columns, options)
    return Begun(
        head=head,
        operation=operation,
        schema=schema,
        intent=session.catalog.announce(head.table_id),
        where=where,
        partitions=partitions,
        create=create,
    )


def finish(
    session: Session, begun: Begun, results: tuple[Result, ...], *, options: WriteOptions
) -> Report:
    """Commit what workers wrote; the same token twice commits once, whoever asks."""
    started = perf_counter()
    session.catalog.take_over(begun.intent)
    try:
        done = session.catalog.committed(options.token) if options.token else None
        if done is not None:
            session.catalog.withdraw(begun.intent)
            return _repeated(begun.head, begun.operation, done, started=started)
        return _finish(session, begun, results, options=options, started=started)
    except BaseException:
        session.catalog.withdraw(begun.intent)
        raise


def bring(
    session: Session,
    head: Head,
    columns: Schema,
    do: Callable[[Begun], tuple[Result, ...]],
    *,
    options: WriteOptions,
    create: CreateTable | None = None,
) -> Report:
    """Append what `do` writes in this call, as the write that it is given says.

    Raises:
        SchemaMismatchError: If columns do not fit; nothing was announced.
        CommitConflictError: If another load brought the same sources in; nothing changed.
    """
    started = perf_counter()
    carry.require_writable(session)
    planned = unannounced(head, columns, options=options, create=create)
    with carry.announced(session, head) as intent:
        begun = replace(planned, intent=intent)
        return _finish(session, begun, do(begun), options=options, started=started)


def unannounced(
    head: Head, columns: Schema, *, options: WriteOptions, create: CreateTable | None = None
) -> Begun:
    """Return the append of rows with these columns, for those who only look: it cannot be ended.

    Raises:
        SchemaMismatchError: If columns do not fit.
    """
    schema = _schema(head, columns, options)
    return Begun(head=head, operation="append", schema=schema, intent="", create=create)


def give_up(session: Session, begun: Begun) -> None:
    """End a write that will not be committed; its files are left to a sweep."""
    session.catalog.take_over(begun.intent)
    session.catalog.withdraw(begun.intent)


def _write(
    session: Session, head: Head, data: Any, *, options: WriteOptions, replaces: Replaces | None
) -> Report:
    """Write the rows once, then plan and commit until nobody comes between."""
    started = perf_counter()
    operation = "append" if replaces is None else "overwrite"
    replaces = replaces or Replaces()
    done = session.catalog.committed(options.token) if options.token else None
    if done is not None:
        return _repeated(head, operation, done, started=started)
    schema = _schema(head, session.runner.schema(data), options)
    with carry.announced(session, head) as intent:
        begun = Begun(
            head=head,
            operation=operation,
            schema=schema,
            intent=intent,
            where=replaces.where,
            partitions=replaces.partitions,
        )
        results = carry.write_rows(session, data, begun.task())
        return _finish(session, begun, results, options=options, started=started)


def _finish(
    session: Session,
    begun: Begun,
    results: tuple[Result, ...],
    *,
    options: WriteOptions,
    started: float,
) -> Report:
    """Plan and commit until nobody comes between, and say what came of it."""
    adds = carry.files_of(results)
    head = begun.head
    choose = _choice(session, begun)
    plans: list[Swap] = []
    looks = count()

    def plan() -> Change:
        now = _newest(session, head) if next(looks) else head
        gone = choose(now, adds) if choose else Replaced()
        swap = Swap(now=now, operation=begun.operation, adds=adds, gone=gone, schema=begun.schema)
        plans.append(swap)
        return _change(swap, options, begun)

    outcome = carry.commit(session, plan, partial(write_folds, session.store, intent=begun.intent))
    if outcome.committed.repeated:
        return _repeated(head, begun.operation, outcome.committed.snapshot, started=started)
    report = _seen(session, plans[-1], outcome.committed).report(outcome.committed)
    encoded = sum(result.encoded_bytes for result in results)
    seconds = perf_counter() - started
    return replace(report, retries=outcome.retries, seconds=seconds, encoded_bytes=encoded)


def _schema(head: Head, columns: Schema, options: WriteOptions) -> Schema:
    """Return the schema to write: the table's, grown by what the options allow."""
    fitted = fit(
        head.schema,
        columns,
        merge_schema=options.merge_schema,
        promote_to_string=options.promote_to_string,
    )
    require_same_partitions(head.layout.keys, head.schema, fitted.schema)
    return number(fitted.schema, start=head.next_column_id)


def _newest(session: Session, head: Head) -> Head:
    """Return the table as it is now, while it still is the same table."""
    now = session.catalog.head(head.full_name)
    if now.table_id != head.table_id:
        msg = f"{head.full_name} was dropped and made again while rows were written"
        raise CommitConflictError(msg, hint="nothing changed; write the rows again")
    if not set(now.checks) <= set(head.checks):
        msg = f"{head.full_name} got another check while rows were written"
        raise CommitConflictError(msg, hint="nothing changed; write the rows again")
    return now


def _change(swap: Swap, options: WriteOptions, begun: Begun) -> Change:
    edits: tuple[Edit, ...] = ()
    if begun.create is not None:
        edits = (begun.create,)
    elif swap.schema is not None:
        edits = swap.definition(new_from=begun.head.next_column_id)
    edits += swap.edits()
    if options.sources:
        load, table = begun.intent + str(uuid7()), swap.now.table_id
        edits += (Remember(table_id=table, load=load, sources=options.sources),)
    return Change(
        base=swap.now.snapshot,
        edits=edits,
        message=options.message,
        author=options.author,
        extra=swap.counted(),
        token=options.token,
        intents=(begun.intent,),
    )


def _seen(session: Session, swap: Swap, committed: Committed) -> Swap:
    """Return the swap on the head just before the commit, when others came in between."""
    if not committed.replayed:
        return swap
    with suppress(MereError):  # the commit stands: the counts before it are not worth an error
        before = At(version=committed.snapshot - 1)
        return replace(swap, now=session.catalog.head(swap.now.full_name, before))
    return swap


def _repeated(head: Head, operation: str, version: int, *, started: float) -> Report:
    """Report a commit whose token had been used: nothing was written again."""
    swap = Swap(now=head, operation=operation, gone=Replaced())
    report = swap.report(Committed(snapshot=version))
    return replace(report, seconds=perf_counter() - started)
