"""What is true? The role of catalogs, and what a commit may call for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from mere.model.files import DataFile, DeleteFile, FileSet, Fold, StoredFile
from mere.model.history import NEWEST, At, Change, Committed, Head, Mark, Snapshot, View

if TYPE_CHECKING:
    from mere.model.clearing import Cleared, Leftovers, Tag, Upload
    from mere.model.diagnosis import Finding, ListedFile
    from mere.model.feed import Feed, Lineage
    from mere.model.loading import Loaded
    from mere.model.predicate import Expr

WriteDeletes: TypeAlias = Callable[[Sequence[Fold]], Sequence[DeleteFile]]
"""Writes delete files that name their snapshots, each where its data file's table keeps files."""


class ReplanNeeded(Exception):  # noqa: N818  a signal between catalog and verbs, not an error
    """Others committed since the base: the verb must ask and plan again."""


class Catalog(Protocol):
    """The truth about tables, as SQL rows; the one place where commits happen."""

    @property
    def url(self) -> str:
        """The catalog's URL, without credentials."""
        ...

    @property
    def data_path(self) -> str:
        """The absolute root of the data, ending in a slash."""
        ...

    def snapshot(self, at: At = NEWEST) -> Snapshot:
        """Return the snapshot that is meant, or raise SnapshotNotFoundError."""
        ...

    def snapshots(self) -> tuple[Snapshot, ...]:
        """Return all living snapshots, oldest first."""
        ...

    def head(self, name: str, at: At = NEWEST) -> Head:
        """Return a table (`"t"` or `"schema.t"`) as of a snapshot, or raise TableNotFoundError."""
        ...

    @property
    def shares_files(self) -> bool:
        """Whether a file may be listed twice: no client of the format deletes it meanwhile."""
        ...

    @property
    def keeps_files(self) -> bool:
        """Whether a file can be read by all who planned on it, also when it is listed no more."""
        ...

    def earlier(self, head: Head, at: At) -> Head:
        """Return the same table as of another snapshot, whatever it was called then."""
        ...

    def tables(self, at: At = NEWEST) -> tuple[tuple[str, str], ...]:
        """Return (schema, table) names, sorted."""
        ...

    def views(self, at: At = NEWEST) -> tuple[View, ...]:
        """Return the views, sorted by name."""
        ...

    def namespaces(self, at: At = NEWEST) -> tuple[str, ...]:
        """Return the schema names, sorted."""
        ...

    def files(
        self,
        head: Head,
        where: Expr | None = None,
        *,
        bounds: bool | Collection[int] = False,
        groups: bool = False,
    ) -> FileSet:
        """Return the files of a head that can hold a matching row, and the rows without a file.

        `bounds` also loads the bounds of every column, or of the leaves with these ids; `groups`
        the row groups of every file that stays, with their bounds when both are asked for.
        """
        ...

    def learn(self, head: Head, files: Sequence[DataFile]) -> None:
        """Keep the row groups of listed files that others wrote, when somebody has read them."""
        ...

    def comments(self, head: Head) -> Mapping[int | None, str]:
        """Return the comments on a table's columns by id; None is the table's own."""
        ...

    def widest(self, head: Head, since: int) -> Head:
        """Return a head whose columns have the widest type that each had since a snapshot."""
        ...

    def feed(self, head: Head, since: int) -> Feed:
        """Return what touched a table from a snapshot up to the head's, both included."""
        ...

    def listed(self, paths: Collection[str]) -> frozenset[str]:
        """Return which of these files are in the lake already, or are about to be deleted."""
        ...

    def lineage(self, head: Head, files: Sequence[DataFile]) -> Lineage:
        """Return what must be known of living files to write their rows anew, unnoticed."""
        ...

    def history(self, head: Head) -> tuple[Mapping[str, Any], ...]:
        """Return one row per snapshot that changed the table: version, at, operation and more."""
        ...

    def commit(self, change: Change, write_deletes: WriteDeletes | None = None) -> Committed:
        """Make the change one new snapshot, or raise and change nothing.

        `write_deletes` is called under the write lock, when the number of the snapshot is known,
        for the deletes that have to name it.

        Raises:
            ReplanNeeded: When others committed what the plan did not see: ask and plan again.
            CommitConflictError: When the change can never follow what others committed.
        """
        ...

    def committed(self, token: str) -> int | None:
        """Return the snapshot that a token has made, None if it has made none."""
        ...

    def marks(self) -> tuple[Mark, ...]:
        """Return how far the steps of pipelines have come, by name."""
        ...

    def loaded(self, head: Head, paths: Collection[str]) -> Mapping[str, Loaded]:
        """Return what is known of files of others that were loaded into a table, by path."""
        ...

    def announce(self, table_id: int) -> str:
        """Register a writer before its first file; the id goes into the names of its files.

        Writes may share an id. Each ends by a commit that names it, or by `withdraw`.
        """
        ...

    def take_over(self, intent: str) -> None:
        """Answer for an announcement of another process: it ends by this one's commit."""
        ...

    def withdraw(self, intent: str) -> None:
        """Say that a write which was announced will not be committed."""
        ...

    def options(self, *, schema: str | None = None) -> Mapping[str, str]:
        """Return the options that are set for the lake itself, or for one schema."""
        ...

    def set_option(
        self, key: str, value: str | None, *, table: str | None = None, schema: str | None = None
    ) -> None:
        """Set (None: remove) an option of the lake, of one schema or of one table."""
        ...

    def tag(self, name: str, at: At = NEWEST) -> Snapshot:
        """Name a version, which keeps it from expiring."""
        ...

    def tags(self) -> tuple[Tag, ...]:
        """Return the tags, by name."""
        ...

    def untag(self, name: str) -> bool:
        """Drop a tag; return whether there was one."""
        ...

    def expire(self, *, older_s: float, keep_last: int, dry_run: bool) -> Cleared:
        """Drop old versions and what only they show; their files are scheduled for deletion."""
        ...

    def sweep(
        self,
        found: Sequence[StoredFile],
        *,
        uploads: Sequence[Upload] = (),
        grace_s: float,
        dry_run: bool,
        adopted: bool = False,
    ) -> tuple[Cleared, tuple[int, ...]]:
        """Say which files and uploads that were found may go; fence the writers taken for dead.

        Files that others wrote go only with `adopted`, when no version shows them any more.

        Also return the rows that `swept` drops once the files are gone.
        """
        ...

    def swept(self, rows: Sequence[int]) -> None:
        """Drop the scheduled rows whose files are gone."""
        ...

    def leftovers(self, head: Head | None, *, grace_s: float) -> Leftovers:
        """Count what lies there beside the newest version, of one table or (None) of all."""
        ...

    def audit(self) -> Audit:
        """Return what checks the catalog, and tells which files it lists."""
        ...

    def close(self) -> None:
        """Let go of connections and caches."""
        ...


class Audit(Protocol):
    """One check of a catalog; it changes nothing and keeps nobody waiting."""

    def findings(self) -> tuple[Finding, ...]:
        """Check the rows of the catalog against each other."""
        ...

    def files(self, after: int) -> tuple[ListedFile, ...]:
        """Return the next files that any version lists, by id; none when there are no more."""
        ...

    def suspects(self) -> frozenset[int]:
        """Return the files whose rows may have the ids of others."""
        ...

    def still_listed(self, ids: Sequence[int]) -> frozenset[int]:
        """Return which of these files are listed yet."""
        ...

    def unlisted(self, found: Iterable[StoredFile]) -> Iterator[Finding]:
        """Yield the files that nobody lists, schedules or is about to commit."""
        ...
