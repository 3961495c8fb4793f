"""Find what is new in a table: the rows of one version that came after another one.

Files that came are read by Spark's own scan, whole wherever they hold nothing else. Maintenance
and copies make files of old rows; those are not new. A row that was updated is new in its latest
form, and one that went again is not.
"""

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from mere.arrow.inlined import came_after, gone_at
from mere.errors import InvalidInputError, UnsupportedError
from mere.model.feed import Feed
from mere.model.files import DataFile
from mere.model.history import FROM_THE_BEGINNING, Head
from mere.plan.changes import FileChanges, plan_changes
from mere.ports import Session
from mere.scan import Scan, changes, scan
from mere.spark.scan import read

CHANGES = ("append", "insert")


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """The rows of a pinned scan that came after a version; nothing is read yet."""

    scan: Scan
    after: int
    versions: tuple[int, ...] = ()

    @property
    def files(self) -> tuple[DataFile, ...]:
        """Return the files to open."""
        return self.scan.found.files

    @property
    def rows(self) -> int:
        """Count the rows; those of files that hold older rows beside new ones all count."""
        inlined = self.scan.found.inlined
        return sum(f.rows - f.deleted for f in self.files) + len(inlined.row_ids if inlined else ())

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return them as a DataFrame."""
        after = None if self.after == FROM_THE_BEGINNING else self.after
        return read(self.scan.reading(), spark=spark, after=after)


def require_known(kind: str) -> None:
    """Refuse a word that says nothing of which changes are read.

    Raises:
        InvalidInputError: If it does not.
    """
    if kind not in CHANGES:
        msg = f"'changes' takes {' or '.join(CHANGES)}, got {kind!r}"
        raise InvalidInputError(msg)


def news(session: Session, head: Head, after: int, *, kind: str = "append") -> News:
    """Find the rows of a head that came after a version; all of them after the beginning.

    With `append`, a range in which rows went or were updated is refused; with `insert`, the new
    forms of updated rows count as new, and nothing is said of rows that went.

    Raises:
        SnapshotNotFoundError: If versions in between have expired.
        UnsupportedError: If the range holds what cannot be told as new rows.
    """
    pinned = scan(session, head)
    if after == FROM_THE_BEGINNING:
        since = {file.since for file in pinned.found.files}
        return News(scan=pinned, after=after, versions=tuple(sorted(since)))
    if after >= head.snapshot:
        return News(scan=_only(pinned, {}, after), after=after)
    feed = changes(session, head, after + 1).feed
    if kind == "append":
        require_appends(head, feed)
    came = {file.trace.file.id: file for file in plan_changes(feed) if file.came}
    _require_not_restored(head, came)
    versions = {snapshot for file in came.values() for snapshot in file.came or ()}
    return News(scan=_only(pinned, came, after), after=after, versions=tuple(sorted(versions)))


def _only(pinned: Scan, came: dict[int, FileChanges], after: int) -> Scan:
    found = pinned.found
    files = tuple(file for file in found.files if file.id in came)
    return replace(
        pinned, found=replace(found, files=files, inlined=came_after(found.inlined, after))
    )


def _require_not_restored(head: Head, came: dict[int, FileChanges]) -> None:
    """Refuse files that ended and were listed again at once: some rows are new, some are not."""
    back = sorted(f.trace.file.since for f in came.values() if f.before is not None)
    if back:
        msg = f"{head.full_name} was restored at version {back[0]}: what is new there is not told"
        raise UnsupportedError(msg, hint="read it from the beginning again: backfill")


def require_appends(head: Head, feed: Feed) -> None:
    """Refuse a range in which rows went or were changed: a stream of appends cannot say so.

    Raises:
        UnsupportedError: If some did.
    """
    went = {span[0] for file in plan_changes(feed) for span in file.went}
    went |= gone_at(feed.inlined, range(feed.since, feed.until + 1))
    if went:
        msg = f"rows of {head.full_name} were deleted or updated at version {min(went)}"
        raise UnsupportedError(
            msg, hint="changes 'insert' reads new rows and new forms of updated ones"
        )
