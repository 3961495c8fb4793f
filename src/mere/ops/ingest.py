"""Load files of others, each once: what was loaded stands in the commit that holds its rows.

Files are loaded in batches, a commit each. A crash between two steps leaves a batch undone or
done, rows and memory alike. Two who load the same files meet at the commit: the second one looks
again, and brings only what the first did not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter

from mere.errors import (
    AlreadyExistsError,
    CommitConflictError,
    InvalidInputError,
    MereError,
    TableNotFoundError,
)
from mere.loading import Look, examine, folder_columns, load, look, named
from mere.model.history import CreateTable, Head
from mere.model.loading import Failed, Form, Ingested, Source
from mere.model.names import join_name, split_name
from mere.model.report import Report
from mere.model.schema import Field, Schema
from mere.model.work import Load, Result
from mere.ops import carry, define, write
from mere.ops.write import Begun, WriteOptions
from mere.plan.loading import TASK_BYTES, Triage, joined, pack, triage
from mere.ports import Session, Store

ON_ERROR = ("stop", "skip")
MOST_TRIES = 10
"""How often a batch is tried again after a conflict that took no file from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """How files become rows, and what becomes of those that changed or cannot be read."""

    form: Form = field(default_factory=Form)
    schema: Schema | None = None
    partition_by: Sequence[str] = ()
    sort_by: Sequence[str] = ()
    merge_schema: bool = False
    changed: str = "report"
    on_error: str = "stop"
    batch_bytes: int = 1 << 30
    message: str | None = None
    progress: Callable[[Ingested, int], None] | None = None

    def __post_init__(self) -> None:
        """Refuse what means nothing."""
        if self.on_error not in ON_ERROR:
            msg = f"on_error takes one of {', '.join(ON_ERROR)}, got {self.on_error!r}"
            raise InvalidInputError(msg)
        if self.batch_bytes < 1:
            msg = f"a batch holds at least one byte, got {self.batch_bytes}"
            raise InvalidInputError(msg)


def ingest(
    session: Session,
    name: str,
    found: Sequence[Source],
    store: Store,
    *,
    options: IngestOptions,
    dry_run: bool = False,
) -> Ingested:
    """Load the files that were found and are not loaded yet; see `Lake.ingest`."""
    _check(session, found, dry_run=dry_run)
    full = join_name(*split_name(name))
    work = _Ingest(session=session, name=full, store=store, options=options)
    sorted_ = work.triage(found)
    work.done = replace(
        work.done, skipped=sorted_.skipped, changed=tuple(s.path for s in sorted_.changed)
    )
    if dry_run:
        paths = tuple(source.path for source in sorted_.load)
        size = sum(source.bytes for source in sorted_.load)
        return replace(work.done, dry_run=True, sources=paths, bytes=size)
    work.run(sorted_.load)
    return work.done


def _check(session: Session, found: Sequence[Source], *, dry_run: bool) -> None:
    if session.staged:
        msg = "files are loaded in commits of their own, not inside a transaction"
        raise InvalidInputError(msg, hint="call ingest on the lake itself")
    if not dry_run:
        carry.require_writable(session)
    own = next((s.path for s in found if s.path.startswith(session.store.url)), None)
    if own is not None:
        msg = f"{own!r} lies where the lake keeps its own files"
        raise InvalidInputError(msg, hint="name a folder that does not hold the lake's data")


@dataclass(slots=True, kw_only=True)
class _Ingest:
    """One call: what it works on, and what it has done so far."""

    session: Session
    name: str
    store: Store
    options: IngestOptions
    started: float = field(default_factory=perf_counter)
    done: Ingested = field(init=False)

    def __post_init__(self) -> None:
        self.done = Ingested(table=self.name)

    def head(self) -> Head | None:
        """Return the table, None while there is none."""
        try:
            return self.session.catalog.head(self.name)
        except TableNotFoundError:
            return None

    def triage(self, found: Sequence[Source]) -> Triage:
        """Ask the catalog which files are loaded already."""
        head = self.head()
        paths = [source.path for source in found]
        known = {} if head is None else self.session.catalog.loaded(head, paths)
        return triage(found, known, changed=self.options.changed)

    def run(self, sources: Sequence[Source]) -> None:
        """Load batch after batch."""
        left = len(sources)
        for batch in pack(sources, most_bytes=self.options.batch_bytes):
            self.batch(batch)
            left -= len(batch)
            self.done = replace(self.done, seconds=perf_counter() - self.started)
            if self.options.progress is not None:
                self.options.progress(self.done, left)

    def batch(self, batch: Sequence[Source]) -> None:
        """Load one batch, without the files that others load meanwhile or that are bad."""
        tries = 0
        left = self.rest(batch)
        while left:
            try:
                report = self.once(left)
            except (CommitConflictError, AlreadyExistsError):
                rest = self.rest(left)
                tries = tries + 1 if len(rest) == len(left) else 0
                if tries >= MOST_TRIES:
                    raise
                left = rest
            except MereError as error:
                if self.options.on_error != "skip":
                    raise
                left = self.without_bad(left, error)
            else:
                self.note(left, report)
                return

    def rest(self, batch: Sequence[Source]) -> tuple[Source, ...]:
        """Return what nobody has loaded meanwhile; the others count as loaded before."""
        known = {source.path: source.known for source in batch}
        now = self.triage(batch)
        same = tuple(s for s in now.load if s.known == known[s.path])
        taken = len(batch) - len(same)
        self.done = replace(self.done, skipped=self.done.skipped + taken)
        return same

    def once(self, batch: tuple[Source, ...]) -> Report:
        """Read the files, write their rows, and commit them with their names."""
        head, create, columns = self.target(batch)
        return write.bring(
            *(self.session, head, columns, partial(self.work, batch)),
            options=self.writing(batch),
            create=create,
        )

    def writing(self, batch: tuple[Source, ...]) -> WriteOptions:
        """Return how the rows of a batch are written, and what is remembered of it."""
        grows, message = self.options.merge_schema, self.options.message
        return WriteOptions(merge_schema=grows, message=message, sources=batch)

    def work(self, batch: tuple[Source, ...], begun: Begun) -> tuple[Result, ...]:
        do = partial(load, kernel=self.session.kernel, store=self.session.store, source=self.store)
        runs = pack(batch, most_bytes=TASK_BYTES)
        return tuple(self.session.runner.run(do, self.tasks(runs, begun)))

    def tasks(self, runs: Sequence[tuple[Source, ...]], begun: Begun) -> list[Load]:
        write_, form = begun.task(), self.options.form
        return [Load(inputs=run, form=form, write=write_, number=n) for n, run in enumerate(runs)]

    def note(self, batch: tuple[Source, ...], report: Report) -> None:
        """Add a commit to what was done; files without any row make none."""
        done = self.done
        versions = (report.version,) if report.version is not None and report.files_added else ()
        self.done = replace(
            done,
            sources=(*done.sources, *(source.path for source in batch)),
            bytes=done.bytes + sum(source.bytes for source in batch),
            rows=done.rows + report.rows_inserted,
            files_added=done.files_added + report.files_added,
            versions=(*done.versions, *versions),
        )

    def target(self, batch: tuple[Source, ...]) -> tuple[Head, CreateTable | None, Schema]:
        """Return the table, what makes it when it is missing, and the columns that come.

        Raises:
            MereError: What is wrong with a file whose columns had to be looked at.
        """
        head, options = self.head(), self.options
        columns = options.schema if head is None else head.schema
        if columns is None or (head is not None and options.merge_schema):
            columns, problems = self.agreed(batch, None if head is None else head.schema)
            for problem in problems.values():
                raise problem
        if head is not None:
            return head, None, columns
        keys, order = options.partition_by, options.sort_by
        create = define.new_table(
            self.session, self.name, columns, partition_by=keys, sort_by=order
        )
        return create.head, create, columns

    def agreed(
        self, batch: tuple[Source, ...], known: Schema | None
    ) -> tuple[Schema, dict[str, MereError]]:
        """Return columns that hold the rows of all files, and what is wrong with some, by path."""
        found = known or Schema(fields=())
        problems: dict[str, MereError] = {}
        looks = look(batch, self.store, self.options.form, known)
        for seen in looks:
            try:
                found = _with(found, seen)
            except MereError as error:
                problems[seen.source.path] = error
        for folder in folder_columns(batch):
            if folder.name not in found:
                found = Schema(fields=(*found, folder))
        empty = dict.fromkeys(name for seen in looks for name in seen.empty if name not in found)
        if known is None:  # nobody can say more of a column that holds nothing
            found = Schema(fields=(*found, *(Field(name=n, type="varchar") for n in empty)))
        if not found.fields and not problems:
            msg = "the files show no columns"
            raise InvalidInputError(msg, hint="pass schema=, or create the table first")
        return found, problems

    def without_bad(self, batch: tuple[Source, ...], error: MereError) -> tuple[Source, ...]:
        """Look at each file by itself, note the bad ones, and return the others.

        Raises:
            MereError: The error itself, when it is not about any one file.
        """
        problems = self.problems(batch)
        if not problems:
            raise error
        failed = tuple(Failed(path=path, error=text) for path, text in problems.items())
        self.done = replace(self.done, failed=(*self.done.failed, *failed))
        return tuple(source for source in batch if source.path not in problems)

    def problems(self, batch: tuple[Source, ...]) -> dict[str, str]:
        """Return what is wrong with files, by path: with their columns, or else with any row."""
        head, options = self.head(), self.options
        found: dict[str, str] = {}
        if options.merge_schema or (head is None and options.schema is None):
            _, wrong = self.agreed(batch, None if head is None else head.schema)
            found = {path: str(error) for path, error in wrong.items()}
        good = tuple(source for source in batch if source.path not in found)
        if not good:
            return found
        head, create, columns = self.target(good)
        begun = write.unannounced(head, columns, options=self.writing(good), create=create)
        tasks = self.tasks([(source,) for source in good], begun)
        results = self.session.runner.run(partial(examine, source=self.store), tasks)
        bad = {good[r.number].path: r.problem for r in results if r.problem is not None}
        return {**found, **bad}


def _with(found: Schema, seen: Look) -> Schema:
    """Return columns that hold the rows of one more file.

    Raises:
        MereError: If the file cannot be read, or its columns cannot be held; its name is told.
    """
    if seen.problem is not None:
        raise seen.problem
    with named(seen.source):
        return joined(found, seen.schema, guessed=seen.source.format != "parquet")
