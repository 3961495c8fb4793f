"""Carry a change of rows out: probe files, write what is new, commit, and look again when asked.

What was found in a file stays true as long as nobody touches it: after others committed, only
files that came or changed are looked at again.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import TypeAlias

from mere.arrow.inlined import only
from mere.arrow.positions import joined
from mere.errors import CommitConflictError, MereError
from mere.model.expr import Expr
from mere.model.files import DataFile, Deletion, FileSet
from mere.model.history import Change, Committed, EditFiles, Head
from mere.model.report import Report
from mere.model.work import Input, Probe, Result
from mere.ops import carry
from mere.plan.mutate import Looking, Mutation, State, plan_mutation, probes, states
from mere.ports import Session
from mere.reading.deleting import write_folds


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOptions:
    """Whether anything is done at all, and what the commit says of itself."""

    dry_run: bool = False
    message: str | None = None
    author: str | None = None
    token: str | None = None


NewRows: TypeAlias = Callable[[Head, bytes, str | None], Result]
"""Writes the rows that are new, given which staged rows have a match; no intent: only counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a verb wants, on whatever head it will be done."""

    operation: str
    bind: Callable[[Head], Mutation]
    narrow: Callable[[Head, Sequence[DataFile]], Sequence[DataFile]] | None = None
    new_rows: NewRows | None = None
    told: Callable[[], str] = str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    """A task and what came of it."""

    probe: Probe
    version: int
    result: Result

    def stands(self, version: int, now: frozenset[State]) -> bool:
        """Tell whether nothing that it looked at has changed.

        Rows without a file have nothing to tell that by: they are always looked at again.
        """
        if self.probe.inlined is not None:
            return False
        return self.version == version and states(self.probe.inputs, self.probe.snapshot) <= now


@dataclass(slots=True)
class Work:
    """One verb from its first look to its last."""

    session: Session
    head: Head
    asked: Asked
    options: ChangeOptions
    intent: str | None
    done: list[_Done] = field(default_factory=list)
    inserted: tuple[bytes, int, Result] | None = None
    whole: tuple[DataFile, ...] = ()
    sought: Expr | None = None
    looked: int = 0
    again: int = 0
    plans: int = 0

    def plan(self) -> Change:
        """Look at what must be looked at, and say what to commit."""
        self.look(self._newest() if self.plans else self.head)
        self._insert()
        return self._change()

    def look(self, head: Head) -> None:
        """Find the rows that go, and write new versions."""
        self.plans += 1
        mutation, found = self._found(head)
        while mutation.picked is not None and not mutation.picked.lies_in(found):
            mutation, found = self._found(self._newest())  # the rows were moved since
        now, looking = self.head, plan_mutation(found, mutation)
        self.whole, self.sought = looking.whole, mutation.where
        alive = states(looking.inputs, now.snapshot)
        kept = [done for done in self.done if done.stands(now.schema_version, alive)]
        numbers = {done.probe.number for done in kept}
        self._discard([done.result for done in self.done if done.probe.number not in numbers])
        self.done = kept
        self._probe(mutation, self._left(looking))

    def _found(self, head: Head) -> tuple[Mutation, FileSet]:
        """Say what is asked of a head, and which files it may be about."""
        self.head, mutation = head, self.asked.bind(head)
        catalog, where = self.session.catalog, mutation.where
        keys = mutation.staged.on if mutation.staged and where is not None else ()
        bounds = [self.head.schema.field(name).id for name in keys]
        found = catalog.files(self.head, where, bounds=bounds)
        if self.asked.narrow is not None:
            found = replace(found, files=tuple(self.asked.narrow(self.head, found.files)))
        if mutation.picked is not None:
            found = replace(found, inlined=only(found.inlined, mutation.picked.row_ids))
        return mutation, found

    def _left(self, looking: Looking) -> Looking:
        """Leave out what was looked at and still stands."""
        seen = {given.file.id for done in self.done for given in done.probe.inputs}
        left: tuple[Input, ...] = tuple(i for i in looking.inputs if i.file.id not in seen)
        return replace(looking, inputs=left)

    def _probe(self, mutation: Mutation, looking: Looking) -> None:
        session, now = self.session, self.head
        write = None
        if self.intent is not None:
            write = carry.write_task(now, now.schema, intent=self.intent)
        tasks = probes(
            now,
            mutation,
            looking,
            write=write,
            ahead=not session.staged,
            first=1 + max((done.probe.number for done in self.done), default=-1),
        )
        self.looked += len(looking.inputs)
        self.again += len(looking.inputs) if self.plans > 1 else 0
        by_number = {task.number: task for task in tasks}
        do = partial(session.kernel.probe, store=session.store)
        for result in session.runner.run(do, tasks):
            task = by_number[result.number]
            self.done.append(_Done(probe=task, version=now.schema_version, result=result))

    def _insert(self) -> None:
        """Write the rows that are new, unless the same ones were written before."""
        if self.asked.new_rows is None:
            return
        matched = joined(*(done.result.matched for done in self.done))
        version = self.head.schema_version
        if self.inserted is not None:
            if self.inserted[:2] == (matched, version):
                return
            self._discard([self.inserted[2]])
        result = self.asked.new_rows(self.head, matched, self.intent)
        self.inserted = (matched, version, result)

    def _discard(self, results: Sequence[Result]) -> None:
        """Delete files that will not be committed; one that stays is swept later."""
        paths = [file.path for result in results for file in result.files]
        self._delete(
            paths + [d.file.path for result in results for d in result.deletions if d.file]
        )

    def tidy(self, done: Committed) -> None:
        """Delete delete files that name another snapshot than the commit made."""
        ready = [deletion.file for deletion in self.deletions if deletion.file is not None]
        self._delete([file.path for file in ready if file.last not in (None, done.snapshot)])

    def _delete(self, paths: Sequence[str]) -> None:
        if paths:
            with suppress(MereError, OSError):
                self.session.store.delete(paths)

    def _newest(self) -> Head:
        now = self.session.catalog.head(self.head.full_name)
        if now.table_id != self.head.table_id:
            msg = f"{now.full_name} was dropped and made again while its rows were changed"
            raise CommitConflictError(msg, hint="nothing changed; call again")
        return now

    @property
    def results(self) -> list[Result]:
        """What came of the tasks, in their order."""
        return [done.result for done in sorted(self.done, key=lambda done: done.probe.number)]

    @property
    def new(self) -> Result:
        """The rows that were inserted."""
        return self.inserted[2] if self.inserted else Result()

    @property
    def adds(self) -> tuple[DataFile, ...]:
        """The new files."""
        return (*carry.files_of(tuple(self.results)), *self.new.files)

    @property
    def row_ids(self) -> tuple[int, ...]:
        """The ids of the rows without a file that go."""
        return tuple(row for result in self.results for row in result.row_ids)

    @property
    def removes(self) -> tuple[int, ...]:
        """The ids of the files of which every row goes."""
        ended = (number for result in self.results for number in result.ended)
        return (*(file.id for file in self.whole), *ended)

    @property
    def deletions(self) -> tuple[Deletion, ...]:
        """The rows that go of files that stay."""
        return tuple(deletion for result in self.results for deletion in result.deletions)

    def _change(self) -> Change:
        edit = EditFiles(
            table_id=self.head.table_id,
            operation="mutate",
            adds=self.adds,
            removes=self.removes,
            schema=self.head.schema,
            ends=self.row_ids,
            deletes=self.deletions,
            sought=self.sought,
        )
        changes = edit.adds or edit.removes or edit.ends or edit.deletes
        return Change(
            base=self.head.snapshot,
            edits=(edit,) if changes else (),
            message=self.options.message,
            author=self.options.author,
            extra=json.dumps({"mere": self._counted()}) if changes else None,
            token=self.options.token,
            intents=() if self.intent is None else (self.intent,),
        )

    def _counted(self) -> dict[str, str | int]:
        """Count rows for the history, where folded deletes would not tell."""
        return {
            "table": self.head.table_id,
            "operation": self.asked.operation,
            "rows_inserted": self.new.rows_in,
            "rows_updated": sum(result.updated for result in self.results),
            "rows_deleted": self._deleted(),
        }

    def _deleted(self) -> int:
        whole = sum(file.rows - file.deleted for file in self.whole)
        return whole + sum(result.deleted for result in self.results)

    def report(self, committed: Committed | None, started: float) -> Report:
        """Sum up what was done, or would be."""
        now, results, new = self.head, self.results, self.new
        deleted, gone = self._deleted(), self.ended()
        staged = committed is None or committed.staged
        return Report(
            operation=self.asked.operation,
            table=now.full_name,
            version=None if staged or committed is None else committed.snapshot,
            dry_run=self.options.dry_run,
            before_file_count=now.file_count,
            after_file_count=now.file_count + len(self.adds) - len(gone),
            before_total_bytes=now.bytes,
            after_total_bytes=now.bytes
            + sum(file.bytes for file in self.adds)
            - sum(file.bytes for file in gone),
            compression_codec=now.layout.compression,
            rows_before=now.rows,
            rows_after=now.rows + new.rows_in - deleted,
            rows_inserted=new.rows_in,
            rows_updated=sum(result.updated for result in results),
            rows_deleted=deleted,
            files_added=len(self.adds),
            files_removed=len(gone),
            files_read=self.looked,
            encoded_bytes=sum(result.encoded_bytes for result in (*results, new)),
            seconds=perf_counter() - started,
            retries=max(self.plans - 1, 0),
            files=self.adds,
            gone=tuple(file.path for file in gone),
            plan=self.told(),
        )

    def ended(self) -> list[DataFile]:
        """Return the files that end."""
        removes = set(self.removes)
        probed = [given.file for done in self.done for given in done.probe.inputs]
        return [file for file in (*self.whole, *probed) if file.id in removes]

    def told(self) -> str:
        """Say which way was chosen."""
        way = "copy-on-write" if self.head.layout.copy_on_write else "merge-on-read"
        told = f"{way}: looked into {self.looked} of {self.head.file_count} files"
        if more := self.asked.told():
            told += f", {more}"
        chunks = [len(i.chunks) for d in self.done for i in d.probe.inputs if i.chunks is not None]
        if chunks:
            told += f", each file in {sum(chunks) / len(chunks):.1f} of them"
        if self.whole:
            told += f", {len(self.whole)} went unopened"
        if self.plans > 1:
            told += f"; planned {self.plans} times, {self.again} files looked at again"
        return told


def change_rows(session: Session, head: Head, asked: Asked, options: ChangeOptions) -> Report:
    """Do what is asked, as one commit; a dry run looks at the same rows and writes nothing.

    Raises:
        CommitConflictError: If others were first every time; nothing changed.
    """
    started = perf_counter()
    if options.token and session.catalog.committed(options.token) is not None:
        return _repeated(session, head, asked, options)
    with _announced(session, head, options) as intent:
        work = Work(session, head, asked, options, intent)
        if options.dry_run:
            work.plan()
            return work.report(None, started)
        folds = partial(write_folds, session.store, intent=intent or "")
        outcome = carry.commit(session, work.plan, folds)
    if outcome.committed.repeated:
        return _repeated(session, head, asked, options)
    work.tidy(outcome.committed)
    return work.report(outcome.committed, started)


@contextmanager
def _announced(session: Session, head: Head, options: ChangeOptions) -> Iterator[str | None]:
    if options.dry_run:
        yield None
        return
    carry.require_writable(session)
    with carry.announced(session, head) as intent:
        yield intent


def _repeated(session: Session, head: Head, asked: Asked, options: ChangeOptions) -> Report:
    """Report a commit whose token had been used: nothing was done again."""
    return Report(
        operation=asked.operation,
        table=head.full_name,
        version=session.catalog.committed(options.token or ""),
        before_file_count=head.file_count,
        after_file_count=head.file_count,
        before_total_bytes=head.bytes,
        after_total_bytes=head.bytes,
        compression_codec=head.layout.compression,
        rows_before=head.rows,
        rows_after=head.rows,
    )
