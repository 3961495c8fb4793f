"""Name versions that must stay, and say what was cleared away, or would be."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A name for a version, which protects it from expiry; `at` is when it was tagged."""

    name: str
    version: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """What the catalog knows of a writer; `state` is open or revoked."""

    id: str
    at: datetime
    host: str
    pid: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """A file that no version shows any more, and since when it waits for its deletion."""

    id: int
    path: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Doomed:
    """A file that goes; `reason` is expired, crashed (its writer died) or unlisted."""

    path: str
    bytes: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """An upload in parts that was begun `since` and not finished: no file yet, but paid for."""

    path: str
    id: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared:
    """What `expire` or `vacuum` did, or would do when `dry_run`.

    `versions` expired; `files` lost their last version (expire) or were deleted (vacuum);
    `fenced` are the writers that were taken for dead and cannot commit any more; `waiting` counts
    files that no version shows but the time of grace still keeps. `uploads` in parts were aborted
    that nobody will finish, and `notes` tell what could not be looked at.
    """

    operation: str
    dry_run: bool = False
    versions: tuple[int, ...] = ()
    files: tuple[Doomed, ...] = ()
    fenced: tuple[str, ...] = ()
    waiting: int = 0
    uploads: tuple[Upload, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the paths of the files."""
        return tuple(file.path for file in self.files)

    @property
    def bytes(self) -> int:
        """Sum up the bytes of the files."""
        return sum(file.bytes for file in self.files)

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as a plain dictionary."""
        return {**asdict(self), "bytes": self.bytes}

    def __str__(self) -> str:
        """Show what went, in a line."""
        would = "would clear" if self.dry_run else "cleared"
        return (
            f"{self.operation} {would} {len(self.versions)} version(s), {len(self.files)} file(s), "
            f"{self.bytes:,} bytes; {self.waiting} file(s) wait, "
            f"{len(self.fenced)} writer(s) fenced"
            f"{f', {len(self.uploads)} upload(s) aborted' if self.uploads else ''}"
            f"{''.join(f'; {note}' for note in self.notes)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """What lies there beside the newest version, as the catalog alone tells it.

    `old_files` with `old_bytes` are listed by older versions only; `scheduled` files by none, and
    of them `ripe` have waited long enough to be deleted.
    """

    old_files: int = 0
    old_bytes: int = 0
    scheduled: int = 0
    ripe: int = 0
