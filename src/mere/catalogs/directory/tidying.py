"""Bring to an end what others left in a folder, under its lock."""

from datetime import UTC, datetime

from mere.arrow.names import STAGED
from mere.catalogs.directory.journal import HIDDEN, finish, folder_of, journals, listed
from mere.catalogs.directory.keeping import KEPT
from mere.catalogs.directory.locking import LOCK
from mere.catalogs.directory.owners import read_owner
from mere.model.files import StoredFile
from mere.ports import Store

STALE_S = 86_400.0
"""How old a hidden file is that is nobody's any more, whoever wrote it."""
_UUID = 36


def tidied(store: Store) -> dict[str, StoredFile]:
    """Finish swaps that are committed, drop what is nobody's, and return what lies there then."""
    found = listed(store)
    for journal in journals(store, found):
        finish(store, journal, found)
        found = listed(store)
    stale = [path for path, file in found.items() if _is_stale(file)]
    if stale:
        store.delete(stale)
        store.prune([folder_of(path) for path in stale])
    return {path: file for path, file in found.items() if path not in stale}


def _is_stale(file: StoredFile) -> bool:
    """Tell whether a hidden file is nobody's any more: its name says whose it was."""
    if not file.path.startswith(HIDDEN) or file.path == LOCK or file.path.endswith(KEPT):
        return False
    owner = read_owner(_owner_in(file.path.rpartition("/")[2]))
    if owner is not None and owner.is_dead:
        return True
    return (datetime.now(UTC) - file.modified).total_seconds() > STALE_S


def _owner_in(name: str) -> str:
    """Return who is spelled in the name of a staged file, or of what belongs to a holding."""
    if name.endswith(STAGED):
        return name[_UUID + 1 :].removesuffix(STAGED)
    return name.partition(".")[0]
