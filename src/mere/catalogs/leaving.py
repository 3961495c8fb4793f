"""Count what lies there beside the newest version: of older ones, and of none."""

from datetime import timedelta

from mere.catalogs.dialect import Link
from mere.catalogs.folders import Folders
from mere.catalogs.sweeping import scheduled_files
from mere.catalogs.times import as_time
from mere.model.clearing import Leftovers
from mere.model.history import Head


def leftovers(link: Link, root: str, head: Head | None, *, grace_s: float) -> Leftovers:
    """Count the files that only older versions list, and those that wait for their deletion."""
    if head is None:
        rows = link.rows("ended_files")
    else:
        rows = link.rows("ended_files_of", table=head.table_id, at=head.snapshot)
    edge = as_time(link.rows("now")[0][0]) - timedelta(seconds=grace_s)
    folder = "" if head is None else head.folder
    found = scheduled_files(link, Folders.read(link, root)).values()
    waiting = [file for file in found if file.path.startswith(folder)]
    return Leftovers(
        old_files=sum(count for count, _ in rows),
        old_bytes=sum(size or 0 for _, size in rows),
        scheduled=len(waiting),
        ripe=sum(file.since <= edge for file in waiting),
    )
