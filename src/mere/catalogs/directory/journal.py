"""Swap files of a folder: what a journal says happens as a whole, whoever brings it to its end.

Once the journal is written the change is committed. Its files are published first, under names
that nobody had, then the old ones go, then the journal: each step may be done twice, by anyone.
"""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from mere.errors import CorruptionError, MereError, StorageError
from mere.model.files import StoredFile
from mere.ports import Store
from mere.reading.footers import is_missing

HIDDEN = "_mere/"
"""Where all lies that is no data; names that begin so are hidden from every reader."""
ENDING = ".journal"
_AT_ONCE = 16
_TRIES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Coming:
    """A file that waits under a hidden name, and the name that it gets."""

    staged: str
    path: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """Which files come and which go; one that is `void` says that nothing ever will."""

    id: str
    comes: tuple[Coming, ...] = ()
    goes: tuple[StoredFile, ...] = ()
    void: bool = False

    @property
    def path(self) -> str:
        """Where it lies."""
        return f"{HIDDEN}{self.id}{ENDING}"

    def dump(self) -> bytes:
        """Spell it as JSON."""
        told = {
            "id": self.id,
            "void": self.void,
            "comes": [[file.staged, file.path, file.bytes] for file in self.comes],
            "goes": [[f.path, f.bytes, f.modified.isoformat(), f.etag] for f in self.goes],
        }
        return json.dumps(told).encode()


def load(data: bytes) -> Journal | None:
    """Read a journal; None when it was not written to its end."""
    try:
        told: dict[str, Any] = json.loads(data)
    except ValueError:
        return None
    comes = (Coming(staged=staged, path=path, bytes=size) for staged, path, size in told["comes"])
    goes = (
        StoredFile(path=path, bytes=size, modified=datetime.fromisoformat(at), etag=etag)
        for path, size, at, etag in told["goes"]
    )
    return Journal(id=told["id"], comes=tuple(comes), goes=tuple(goes), void=told["void"])


def listed(store: Store, below: str = "") -> dict[str, StoredFile]:
    """List everything in a folder, by its path from there; links to files are files.

    Raises:
        StorageError: If it cannot be listed, not even again when files went meanwhile.
    """
    for _ in range(_TRIES):
        try:
            return _listed(store, below)
        except StorageError as error:
            if not is_missing(error):
                raise
    return _listed(store, below)


def _listed(store: Store, below: str) -> dict[str, StoredFile]:
    found = (
        StoredFile(
            path=file.path.removeprefix(store.url),
            bytes=file.bytes,
            modified=file.modified,
            etag=file.etag,
        )
        for file in store.list(store.url + below)
    )
    return {file.path: file for file in found}


def journals(store: Store, found: Mapping[str, StoredFile]) -> list[Journal]:
    """Return the journals of changes that are committed, and not done yet."""
    names = [path for path in found if path.startswith(HIDDEN) and path.endswith(ENDING)]
    read = [load(data) for name in sorted(names) if (data := read_if_there(store, name))]
    return [journal for journal in read if journal is not None and not journal.void]


def finish(store: Store, journal: Journal, found: Mapping[str, StoredFile]) -> None:
    """Bring a swap to its end, from wherever it was left: `found` is what lies in the folder.

    Raises:
        CorruptionError: If a file is gone that was to take the place of others; these stay then.
    """
    leaving = [gone.path for gone in journal.goes if found.get(gone.path) == gone]
    lost = [c for c in journal.comes if c.staged not in found and c.path not in found]
    if lost and leaving:
        raise _lost(journal, lost[0])
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        tuple(pool.map(partial(_publish, store, journal, found), journal.comes))
    store.delete(leaving)
    store.delete([journal.path])
    with suppress(MereError, OSError):  # empty folders hurt nobody
        store.prune(map(folder_of, (*(c.staged for c in journal.comes), *leaving)))


def _lost(journal: Journal, coming: Coming) -> CorruptionError:
    msg = f"{coming.path} was to take the place of other files, and is nowhere to be found"
    hint = f"put it there, or delete {journal.path} to keep the other files"
    return CorruptionError(msg, hint=hint)


def folder_of(path: str) -> str:
    """Return the folder of a file, ending in a slash; nothing for the root."""
    return path[: path.rfind("/") + 1]


def _publish(
    store: Store, journal: Journal, found: Mapping[str, StoredFile], coming: Coming
) -> None:
    there = found.get(coming.path)
    if coming.staged not in found:
        return
    if there is not None and there.bytes == coming.bytes:
        store.delete([coming.staged])
        return
    try:
        store.move(coming.staged, coming.path)
    except (MereError, OSError) as error:  # perhaps it is done, by someone who took us for dead
        now = listed(store, folder_of(coming.path)).get(coming.path)
        if now is None or now.bytes != coming.bytes:
            if is_missing(error):
                raise _lost(journal, coming) from error
            raise


def read_if_there(store: Store, path: str) -> bytes | None:
    """Return the bytes of a small file, None when it is gone."""
    try:
        return store.read(path)
    except StorageError as error:
        if is_missing(error):
            return None
        raise
