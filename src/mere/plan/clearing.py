"""Decide which versions may expire and which files may go; pure.

A file goes for one of three reasons: it waited long enough since no version showed it any more; it
bears the name of a writer that is dead or was revoked, so that nobody can ever commit it; or nobody
knows it and it is old. What is listed stays, and so does what a living writer has announced.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from mere.model.clearing import Announcement, Doomed, Scheduled, Upload
from mere.model.files import StoredFile
from mere.model.history import Snapshot

UNLISTED = "unlisted"
ADOPTED = "adopted"
_WRITER = re.compile(r"-([0-9a-f]{16})(?:-[a-z]+)?\.parquet$")


def expired(
    snapshots: Sequence[Snapshot], *, tagged: Collection[int], before: datetime, keep_last: int
) -> tuple[int, ...]:
    """Return the versions that are older, not among the last, not tagged, and not the newest."""
    ordered = sorted(snapshots, key=lambda snapshot: snapshot.id)
    old = ordered[: -max(keep_last, 1)]
    return tuple(s.id for s in old if s.at < before and s.id not in tagged)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the catalog knows of files: paths are below the root, spelled one way.

    `names` are the last parts of paths whose folder is not known; a file so named stays, too.
    `adopted` are files that others wrote, each with the time when its last version expired; they
    go only when `sweeps_adopted` asks for it.
    """

    listed: frozenset[str]
    names: frozenset[str]
    scheduled: Mapping[str, Scheduled]
    writers: Mapping[str, Announcement]
    adopted: Mapping[str, datetime | None] = field(default_factory=dict)
    sweeps_adopted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What goes, whose announcements are revoked, and how many files wait."""

    files: tuple[Doomed, ...]
    uploads: tuple[Upload, ...]
    revoked: tuple[str, ...]
    waiting: int


def sweep(
    found: Iterable[StoredFile],
    known: Known,
    *,
    dead: Collection[str],
    before: datetime,
    uploads: Iterable[Upload] = (),
) -> Sweep:
    """Judge every file and upload found; `dead` are writers that cannot be alive any more."""
    doomed: list[Doomed] = []
    waiting = 0
    for file in found:
        reason = _reason(file, known, dead, before)
        if reason is None:
            continue
        if reason:
            doomed.append(Doomed(path=file.path, bytes=file.bytes, reason=reason))
        else:
            waiting += 1
    revoked = tuple(w.id for w in known.writers.values() if w.id in dead and w.state == "open")
    stale = tuple(upload for upload in uploads if _stale(upload, known, dead, before))
    return Sweep(files=tuple(doomed), uploads=stale, revoked=revoked, waiting=waiting)


def _reason(file: StoredFile, known: Known, dead: Collection[str], before: datetime) -> str | None:
    """Return why a file goes, an empty text when it has to wait, None when it stays."""
    if file.path in known.listed or file.path.rpartition("/")[2] in known.names:
        return None
    if file.path in known.adopted:
        return _adopted(known.adopted[file.path], known, before)
    scheduled = known.scheduled.get(file.path)
    if scheduled is not None:
        return "expired" if scheduled.since <= before else ""
    if not file.path.endswith(".parquet"):
        return None
    writer = _writer(file.path, known)
    if writer is not None:
        return "crashed" if _is_over(writer, dead) else ""
    return UNLISTED if file.modified <= before else ""


def _adopted(since: datetime | None, known: Known, before: datetime) -> str | None:
    if not known.sweeps_adopted:
        return None
    return ADOPTED if since is not None and since <= before else ""


def _stale(upload: Upload, known: Known, dead: Collection[str], before: datetime) -> bool:
    """Tell whether nobody will finish an upload, or it is of nobody known and old."""
    if not upload.path.endswith(".parquet"):
        return False
    writer = _writer(upload.path, known)
    return upload.since <= before if writer is None else _is_over(writer, dead)


def is_ours(path: str) -> bool:
    """Tell whether a file has a name that writers here give."""
    return _WRITER.search(path) is not None


def _writer(path: str, known: Known) -> Announcement | None:
    match = _WRITER.search(path)
    return known.writers.get(match[1]) if match else None


def _is_over(writer: Announcement, dead: Collection[str]) -> bool:
    return writer.state != "open" or writer.id in dead
