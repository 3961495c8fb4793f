"""Say which of the files that were found may be deleted, and fence the writers of the rest."""

import os
import secrets
import socket
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from mere.catalogs.adopting import spellings
from mere.catalogs.dialect import Link
from mere.catalogs.files import chunks
from mere.catalogs.folders import Folders
from mere.catalogs.times import as_time, time_text
from mere.model.clearing import Announcement, Cleared, Doomed, Scheduled, Upload
from mere.model.files import StoredFile
from mere.plan.clearing import ADOPTED, UNLISTED, Known, sweep

_ID_BITS = 62
LEASE_S = 86_400.0
"""How long a writer that cannot be seen is believed to live. A wrong guess costs it one attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """The files that the catalog listed at a moment; later ones have ids from `end` on."""

    paths: frozenset[str]
    names: frozenset[str]
    end: int


def listed(link: Link, root: str) -> Listed:
    """Read every file that any version lists: much, so it is done without the lock."""
    end = link.rows("newest")[0][4]
    paths, names = Folders.read(link, root).keys(link.rows("listed", first=-1))
    return Listed(paths=paths, names=names, end=end)


def judge(
    link: Link,
    root: str,
    before: Listed,
    found: Sequence[StoredFile],
    uploads: Sequence[Upload],
    *,
    grace_s: float,
    dry_run: bool,
    adopted: bool = False,
) -> tuple[Cleared, tuple[int, ...]]:
    """Decide under the lock, and revoke the writers that are taken for dead.

    Return what goes, and the ids of scheduled rows that are done with once it is gone.
    """
    now = as_time(link.rows("now")[0][0])
    folders = Folders.read(link, root)
    paths, names = folders.keys(link.rows("listed", first=before.end))
    here = before.paths | paths
    known = Known(
        listed=here,
        names=before.names | names,
        scheduled=scheduled_files(link, folders),
        writers={writer.id: writer for writer in announced_writers(link)},
        adopted=_adopted(link, now, here if adopted else None),
        sweeps_adopted=adopted,
    )
    dead = dead_writers(known.writers.values(), now, max(grace_s, LEASE_S))
    edge = now - timedelta(seconds=grace_s)
    swept = sweep(found, known, dead=dead, before=edge, uploads=uploads)
    for writer in swept.revoked:
        link.run("revoke_intent", intent=writer)
    _forget_writers(link, known, found, now)
    marks = _mark(link, root, swept.files, now)
    cleared = Cleared(
        operation="vacuum",
        dry_run=dry_run,
        files=swept.files,
        fenced=swept.revoked,
        waiting=swept.waiting,
        uploads=swept.uploads,
    )
    return cleared, (*_settled(known, edge), *marks)


def _adopted(
    link: Link, now: datetime, listed: Collection[str] | None
) -> dict[str, datetime | None]:
    """Return the adopted files; those that lost their last version unseen, lose it now."""
    found = {
        path: None if since is None else as_time(since) for path, since in link.rows("adopted")
    }
    for path, since in found.items():
        if listed is not None and since is None and path not in listed:
            link.run("left_adopted", path=path, since=time_text(now))
            found[path] = now
    return found


def _mark(link: Link, root: str, files: Iterable[Doomed], now: datetime) -> tuple[int, ...]:
    """Schedule files that nobody had: whoever wants to adopt one sees that it goes.

    The rows have ids that no file has, and go when the files are gone.
    """
    doomed = [file for file in files if file.reason in (UNLISTED, ADOPTED)]
    for file in doomed:
        if file.reason == ADOPTED:
            for path in spellings(root, file.path):
                link.run("forget_adopted", path=path)
    ids = [-1 - secrets.randbits(_ID_BITS) for _ in doomed]
    rows = [(id_, file.path, True, time_text(now)) for id_, file in zip(ids, doomed, strict=True)]
    link.insert("ducklake_files_scheduled_for_deletion", rows)
    return tuple(ids)


def scheduled_files(link: Link, folders: Folders) -> dict[str, Scheduled]:
    """Return the scheduled files below the root; those elsewhere are nobody's to delete here."""
    found: dict[str, Scheduled] = {}
    for number, path, relative, since in link.rows("scheduled"):
        key = folders.key(folders.root + path if relative else path)
        if key is not None:
            found[key] = Scheduled(id=number, path=key, since=as_time(since))
    return found


def _settled(known: Known, edge: datetime) -> tuple[int, ...]:
    """Return the rows to drop: of files that go, and of files that are listed, which must stay."""
    rows = known.scheduled.values()
    return tuple(row.id for row in rows if row.since <= edge or row.path in known.listed)


def announced_writers(link: Link) -> Iterable[Announcement]:
    """Yield what the catalog knows of writers."""
    for number, at, host, pid, state in link.rows("intents"):
        yield Announcement(id=number, at=as_time(at), host=host, pid=pid, state=state)


def dead_writers(writers: Iterable[Announcement], now: datetime, lease_s: float) -> frozenset[str]:
    """Return the writers that ran here and run no more, and those not seen for too long."""
    here = socket.gethostname()
    edge = now - timedelta(seconds=lease_s)
    return frozenset(
        writer.id
        for writer in writers
        if writer.at < edge or (writer.host == here and not _runs(writer.pid))
    )


def _runs(pid: int) -> bool:
    """Tell whether a process of this machine runs; when in doubt it does."""
    if os.name == "nt":  # asking would end it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _forget_writers(link: Link, known: Known, found: Iterable[StoredFile], now: datetime) -> None:
    """Drop writers that were revoked long ago and left nothing; without a row none can commit."""
    edge = now - timedelta(seconds=7 * LEASE_S)
    old = {w.id for w in known.writers.values() if w.state != "open" and w.at < edge}
    left = {writer for writer in old for file in found if writer in file.path} if old else set()
    for writer in sorted(old - left):
        link.run("end_intent", intent=writer)


def done(link: Link, ids: Sequence[int]) -> None:
    """Drop the scheduled rows of files that are gone."""
    for part in chunks(ids):
        link.run("drop_scheduled", ids=part)
