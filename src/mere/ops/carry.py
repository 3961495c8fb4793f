"""Carry a change out: feed rows to workers, commit, and plan again when others were first."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from mere.errors import CommitConflictError, CorruptionError, InvalidInputError
from mere.model.files import DataFile
from mere.model.history import Change, Committed, Head
from mere.model.schema import Schema
from mere.model.work import Result, Write
from mere.ports import ReplanNeeded, Session, WriteDeletes
from mere.reading.footers import is_missing

MOST_PLANS = 100
"""How often a change is planned. Planning takes milliseconds, but those who replace the same rows
are not served in turn: with a few tries, one among several can lose them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The commit, the change that it took, and how often it was planned."""

    committed: Committed
    change: Change
    retries: int


def require_writable(session: Session) -> None:
    """Refuse a changing verb on a lake that was opened for reading.

    Raises:
        InvalidInputError: If it was.
    """
    if session.read_only:
        msg = "this lake was opened with read_only=True"
        raise InvalidInputError(msg, hint="connect without read_only to change it")


@contextmanager
def announced(session: Session, head: Head) -> Iterator[str]:
    """Announce a writer before its first file, and withdraw it when nothing came of it.

    A crash leaves the announcement behind: that is how a later sweep knows the files.
    """
    intent = session.catalog.announce(head.table_id)
    try:
        yield intent
    except BaseException:
        session.catalog.withdraw(intent)
        raise


def write_rows(session: Session, rows: Any, task: Write) -> tuple[Result, ...]:
    """Write incoming rows below a table's folder, once, wherever the runner does its work."""
    do = partial(session.kernel.write, task=task, store=session.store)
    return session.runner.feed(do, rows, schema=task.schema, layout=task.layout)


def write_task(head: Head, schema: Schema, *, intent: str) -> Write:
    """Return what a kernel is asked to do with rows that come to a table."""
    layout = replace(head.layout, order=()) if head.layout.sorts_later else head.layout
    return Write(
        schema=schema, layout=layout, folder=head.folder, intent=intent, checks=head.checks
    )


def files_of(results: tuple[Result, ...]) -> tuple[DataFile, ...]:
    """Collect the files that results name."""
    return tuple(file for result in results for file in result.files)


@contextmanager
def reading(session: Session) -> Iterator[None]:
    """Ask for another plan when a file is gone, where files go as soon as others replace them.

    Raises:
        ReplanNeeded: If one was gone.
    """
    try:
        yield
    except CorruptionError as error:
        if session.catalog.keeps_files or not is_missing(error):
            raise
        raise ReplanNeeded from error


def commit(
    session: Session, plan: Callable[[], Change], write_deletes: WriteDeletes | None = None
) -> Outcome:
    """Plan and commit until no other commit comes between, a bounded number of times.

    Raises:
        CommitConflictError: If others were first every time; nothing changed.
    """
    for retries in range(MOST_PLANS):
        try:
            with reading(session):
                change = plan()
            committed = (
                session.catalog.commit(change)
                if write_deletes is None
                else session.catalog.commit(change, write_deletes)
            )
        except ReplanNeeded:
            continue
        return Outcome(committed=committed, change=change, retries=retries)
    msg = f"others changed the table between planning and commit, {MOST_PLANS} times in a row"
    raise CommitConflictError(msg, hint="nothing changed; call again")
