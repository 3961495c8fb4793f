"""Behave as a catalog, over named statements and a dialect."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from mere import catalogs
from mere.catalogs import heads, opening, remarks
from mere.catalogs.dialect import Dialect, Link, guards
from mere.catalogs.files import Reading
from mere.catalogs.identity import short_name
from mere.catalogs.intents import LASTS_S, Intents, announced
from mere.catalogs.stats import Planner
from mere.errors import CommitConflictError, InvalidInputError, MereError
from mere.model.history import NEWEST, At, Change, Committed, Head, Mark, Snapshot, View

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from mere.model.clearing import Cleared, Leftovers, Tag, Upload
    from mere.model.feed import Feed, Lineage
    from mere.model.files import DataFile, FileSet, StoredFile
    from mere.model.loading import Loaded
    from mere.model.predicate import Expr
    from mere.ports import Audit, WriteDeletes

T = TypeVar("T")


class _Undo(Exception):  # noqa: N818  a signal to roll back, not an error
    """The answer is known, and nothing shall stay."""


def opened(
    dialect: Dialect,
    *,
    data_path: str | None,
    new_data_path: str | None,
    create: bool,
    read_only: bool = False,
) -> SqlCatalog:
    """Open a lake through a dialect, or make it; see `opening.open_lake`."""
    try:
        root, own = opening.open_lake(
            dialect, data_path=data_path, new_data_path=new_data_path, create=create
        )
    except BaseException:
        dialect.close()
        raise
    return SqlCatalog(dialect, data_path=root, own=own, read_only=read_only)


class SqlCatalog:
    """The truth about tables, as rows of the open format; safe to share between threads."""

    def __init__(
        self,
        dialect: Dialect,
        *,
        data_path: str,
        own: frozenset[str],
        read_only: bool,
        intent_s: float = LASTS_S,
        planner: Planner | None = None,
    ) -> None:
        """Wrap a dialect whose lake was checked; `opened` is the way to get here."""
        self._dialect = dialect
        self._data_path = data_path
        self._own = own
        self._read_only = read_only
        self._planner = planner or Planner()
        self._intents = Intents(intent_s)

    def __repr__(self) -> str:
        """Show where the catalog is, without credentials."""
        return f"SqlCatalog({self.url})"

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled."""
        msg = "a catalog cannot be pickled"
        raise InvalidInputError(msg, hint=f"open it again on the other side, from {self.url!r}")

    @property
    def url(self) -> str:
        """The catalog's URL, without credentials."""
        return self._dialect.url

    @property
    def data_path(self) -> str:
        """The absolute root of the data, ending in a slash."""
        return self._data_path

    @property
    def shares_files(self) -> bool:
        """Whether a file may be listed twice: no client of the format deletes it meanwhile."""
        return bool(guards(self._dialect.name))

    @property
    def keeps_files(self) -> bool:
        """Say yes: files go when they are cleared away, long after."""
        return True

    def snapshot(self, at: At = NEWEST) -> Snapshot:
        """Return the snapshot that is meant, or raise SnapshotNotFoundError."""
        with self._dialect.reading() as link:
            return heads.snapshot(link, at)

    def snapshots(self) -> tuple[Snapshot, ...]:
        """Return all living snapshots, oldest first."""
        with self._dialect.reading() as link:
            return tuple(heads.as_snapshot(row) for row in link.rows("snapshots"))

    def head(self, name: str, at: At = NEWEST) -> Head:
        """Return a table as of a snapshot, or raise TableNotFoundError."""
        with self._dialect.reading() as link:
            head = heads.head(link, name, heads.snapshot(link, at), self._data_path)
            return self._completed(link, head)

    def earlier(self, head: Head, at: At) -> Head:
        """Return the same table as of another snapshot, whatever it was called then."""
        with self._dialect.reading() as link:
            at_ = heads.snapshot(link, at)
            return self._completed(link, heads.earlier(link, head, at_, self._data_path))

    def _completed(self, link: Link, head: Head) -> Head:
        return self._planner.counted(link, remarks.checked(link, head, self._own))

    def comments(self, head: Head) -> Mapping[int | None, str]:
        """Return the comments on a table's columns by id; None is the table's own."""
        with self._dialect.reading() as link:
            return remarks.comments_of(link, head.table_id, head.snapshot)

    def tables(self, at: At = NEWEST) -> tuple[tuple[str, str], ...]:
        """Return (schema, table) names, sorted."""
        with self._dialect.reading() as link:
            return heads.tables(link, heads.snapshot(link, at).id)

    def views(self, at: At = NEWEST) -> tuple[View, ...]:
        """Return the views, sorted by name."""
        with self._dialect.reading() as link:
            return heads.views(link, heads.snapshot(link, at).id)

    def namespaces(self, at: At = NEWEST) -> tuple[str, ...]:
        """Return the schema names, sorted."""
        with self._dialect.reading() as link:
            return heads.namespaces(link, heads.snapshot(link, at).id)

    def files(
        self,
        head: Head,
        where: Expr | None = None,
        *,
        bounds: bool | Collection[int] = False,
        groups: bool = False,
    ) -> FileSet:
        """Return the files of a head that can hold a matching row, and the rows without a file."""
        with self._dialect.reading() as link:
            return self._planner.files(
                self._read(link, head), where, bounds=bounds, row_groups=groups
            )

    def widest(self, head: Head, since: int) -> Head:
        """Return a head whose columns have the widest type that each had since a snapshot."""
        with self._dialect.reading() as link:
            return heads.widest(link, head, since)

    def feed(self, head: Head, since: int) -> Feed:
        """Return what touched a table from a snapshot up to the head's, both included."""
        with self._dialect.reading() as link:
            return catalogs.feeding.feed_of(self._read(link, head), since)

    def lineage(self, head: Head, files: Sequence[DataFile]) -> Lineage:
        """Return what must be known of living files to write their rows anew, unnoticed."""
        with self._dialect.reading() as link:
            return catalogs.moving.lineage(self._read(link, head), files)

    def _read(self, link: Link, head: Head) -> Reading:
        return Reading(link=link, head=head, data_path=self._data_path, own=self._own)

    def listed(self, paths: Collection[str]) -> frozenset[str]:
        """Return which of these files are in the lake already, or are about to be deleted."""
        with self._dialect.reading() as link:
            return catalogs.adopting.known(link, self._data_path, paths, self._own)

    def history(self, head: Head) -> tuple[Mapping[str, Any], ...]:
        """Return one row per snapshot that changed the table, oldest first."""
        with self._dialect.reading() as link:
            return catalogs.history.history_of(link, head, self._own)

    def commit(self, change: Change, write_deletes: WriteDeletes | None = None) -> Committed:
        """Make the change one new snapshot, or raise and change nothing.

        When the end of the transaction is not heard, the token tells whether it happened: so
        nothing is ever committed twice, whatever breaks.

        Raises:
            ReplanNeeded: When others committed what the plan did not see: ask and plan again.
            CommitConflictError: When the change can never follow what others committed.
        """
        catalogs.commit.check(change)
        if not change.edits and change.mark is None:
            self._intents.release(change.intents)
            return Committed(snapshot=change.base)
        self._require_writable()
        mine = short_name()
        attempt = catalogs.commit.Attempt(
            change=change,
            token=change.token or mine,
            mine=mine,
            data_path=self._data_path,
            write_deletes=write_deletes,
        )
        try:
            committed = self._write(lambda link: catalogs.commit.commit(link, attempt))
        except CommitConflictError:
            self._intents.retire()  # perhaps a sweep revoked it: the next write needs another
            raise
        self._intents.release(change.intents)
        self._fold(attempt.full)
        return committed

    def learn(self, head: Head, files: Sequence[DataFile]) -> None:
        """Keep the row groups of listed files that others wrote, when somebody has read them."""
        self._require_writable()
        full = self._write(partial(catalogs.recording.learn, head=head, files=files))
        if full:
            self._fold((head.table_id,))

    def _fold(self, tables: Sequence[int]) -> None:
        """Fold row groups that lie one by one: what is long is done outside of the lock.

        Nobody misses what is not folded: should it fail, the next commit does it.
        """
        for table in tables:
            with suppress(MereError):
                with self._dialect.reading() as link:
                    folded = catalogs.recording.fold(link, table)
                self._write(partial(catalogs.recording.put, folded=folded))

    def committed(self, token: str) -> int | None:
        """Return the snapshot that a token has made, None if it has made none."""
        with self._dialect.reading() as link:
            return catalogs.progress.committed(link, self._own, token)

    def marks(self) -> tuple[Mark, ...]:
        """Return how far the steps of pipelines have come, by name."""
        with self._dialect.reading() as link:
            return catalogs.progress.marks(link, self._own)

    def loaded(self, head: Head, paths: Collection[str]) -> Mapping[str, Loaded]:
        """Return what is known of files of others that were loaded into a table, by path."""
        with self._dialect.reading() as link:
            return catalogs.loads.loaded(link, head.table_id, paths, self._own)

    def announce(self, table_id: int) -> str:
        """Register a writer before its first file; the id goes into the names of its files.

        Writes of one catalog object share a registration for some minutes, whatever their tables;
        its row names the table of the first.
        """
        self._require_writable()
        return announced(self._intents, table_id, self._write)

    def take_over(self, intent: str) -> None:
        """Answer for an announcement of another process: it ends by a commit or `withdraw` here."""
        self._intents.adopt(intent)

    def withdraw(self, intent: str) -> None:
        """Count on an announcement no more; what was written below it is left to a sweep."""
        self._intents.release((intent,))

    def tag(self, name: str, at: At = NEWEST) -> Snapshot:
        """Name a version, which keeps it from expiring.

        Raises:
            AlreadyExistsError: If the name is taken by another version.
        """
        catalogs.references.check(name)
        self._require_writable()
        return self._write(
            lambda link: catalogs.references.put(link, name, heads.snapshot(link, at))
        )

    def tags(self) -> tuple[Tag, ...]:
        """Return the tags, by name."""
        with self._dialect.reading() as link:
            return catalogs.references.tags(link)

    def untag(self, name: str) -> bool:
        """Drop a tag; return whether there was one."""
        self._require_writable()
        return self._write(lambda link: link.run("drop_tag", name=name)) > 0

    def expire(self, *, older_s: float, keep_last: int, dry_run: bool) -> Cleared:
        """Drop old versions and what only they show; their files are scheduled for deletion."""
        self._require_writable()

        rules: dict[str, Any] = {"older_s": older_s, "keep_last": keep_last, "dry_run": dry_run}
        expire = partial(catalogs.expiring.expire, data_path=self._data_path, **rules)
        done = self._tried(expire) if dry_run else self._write(expire)
        self._planner.forget()
        return done

    def sweep(
        self, found: Sequence[StoredFile], *, uploads: Sequence[Upload] = (), **rules: Any
    ) -> tuple[Cleared, tuple[int, ...]]:
        """Say which of the files that were found may go, and fence the writers taken for dead."""
        self._require_writable()
        with self._dialect.reading() as link:
            before = catalogs.sweeping.listed(link, self._data_path)

        def judge(link: Link) -> tuple[Cleared, tuple[int, ...]]:
            return catalogs.sweeping.judge(link, self._data_path, before, found, uploads, **rules)

        return self._tried(judge) if rules["dry_run"] else self._write(judge)

    def swept(self, rows: Sequence[int]) -> None:
        """Drop the scheduled rows whose files are gone."""
        self._require_writable()
        if rows:
            self._write(lambda link: catalogs.sweeping.done(link, rows))

    def leftovers(self, head: Head | None, *, grace_s: float) -> Leftovers:
        """Count what lies there beside the newest version, of one table or of all."""
        with self._dialect.reading() as link:
            return catalogs.leaving.leftovers(link, self._data_path, head, grace_s=grace_s)

    def audit(self) -> Audit:
        """Return what checks the catalog, and tells which files it lists."""
        return catalogs.auditing.SqlAudit.of(self._dialect, self._data_path)

    def options(self, *, schema: str | None = None) -> Mapping[str, str]:
        """Return the options that are set for the lake itself, or for one schema."""
        with self._dialect.reading() as link:
            return catalogs.settings.found(link, schema)

    def set_option(
        self, key: str, value: str | None, *, table: str | None = None, schema: str | None = None
    ) -> None:
        """Set (None: remove) an option of the lake, a schema or a table; no snapshot is made.

        Raises:
            InvalidInputError: If the lake needs the key for itself.
        """
        catalogs.settings.check(key)
        self._require_writable()
        self._write(
            lambda link: catalogs.settings.put(
                link, self._data_path, key, value, table=table, schema=schema
            )
        )

    def close(self) -> None:
        """Let go of connections and caches, and end what was announced; it can still be used."""
        self._planner.forget()
        self._intents.retire()
        if self._intents.over():
            with suppress(MereError):  # a row that stays says no more than that a writer died
                self._write(lambda _: None)
        self._dialect.close()

    def _write(self, do: Callable[[Link], T]) -> T:
        """Write, making our own tables first in a lake that others made; drop what is over."""
        over = self._intents.over()

        def complete(link: Link) -> T:
            if not self._own >= opening.OWN:
                opening.make_own(link, self._dialect)
            for intent in over:
                link.run("end_intent", intent=intent)
            return do(link)

        result = opening.written(self._dialect, complete)
        self._own = opening.OWN
        self._intents.forget(over)
        return result

    def _tried(self, do: Callable[[Link], T]) -> T:
        """Do something for its answer alone: nothing of it stays."""
        answers: list[T] = []

        def undone(link: Link) -> NoReturn:
            if not self._own >= opening.OWN:
                opening.make_own(link, self._dialect)
            answers.append(do(link))
            raise _Undo

        with suppress(_Undo):
            opening.written(self._dialect, undone)
        return answers[-1]

    def _require_writable(self) -> None:
        if self._read_only:
            msg = f"{self.url} was opened for reading only"
            raise InvalidInputError(msg, hint="open it with read_only=False to change it")
