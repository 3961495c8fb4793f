"""Look at a folder, and learn from footers what lies in it; each footer is read once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

from mere.arrow.paths import is_data, is_table_of_others
from mere.catalogs.directory.journal import HIDDEN, Journal, journals, listed
from mere.catalogs.directory.locking import Watch, holder_of, locked
from mere.catalogs.directory.tidying import tidied
from mere.errors import InvalidInputError
from mere.model.adoption import Stranger
from mere.model.files import StoredFile
from mere.ports import Store
from mere.reading.strangers import look_at

_MOST_LOOKS = 12


def settled(store: Store, *, patience_s: float, read_only: bool) -> tuple[StoredFile, ...]:
    """Return the data files of a folder, as they lie before or after every commit.

    A commit of somebody else that is on its way is waited for, one that died is brought to its
    end. A listing takes its time, so it counts when the next one says the same.
    """
    watch = Watch(store, patience_s)
    before: tuple[StoredFile, ...] | None = None
    looks = 0
    while looks < _MOST_LOOKS:  # others may bring files all the time, and each of them is whole
        found = listed(store)
        pending = journals(store, found)
        if pending and read_only:
            return _data(store, _as_if_done(found, pending))
        if pending:
            _help(store, watch)
            before = None
            continue
        looks += 1
        data = _data(store, found)
        if data == before:
            return data
        before = data
    return before or ()


def _help(store: Store, watch: Watch) -> None:
    """Bring swaps to their end when nobody does; wait a moment if somebody may."""
    holder = holder_of(store)
    if holder is not None and not watch.is_over(holder):
        return
    with locked(store, patience_s=watch.patience_s):
        tidied(store)


def _as_if_done(
    found: Mapping[str, StoredFile], pending: Iterable[Journal]
) -> dict[str, StoredFile]:
    """Return what a folder holds once its swaps are done, by the names that files have now."""
    left = dict(found)
    for journal in pending:
        for gone in journal.goes:
            if left.get(gone.path) == gone:
                del left[gone.path]
        for coming in journal.comes:
            waits = found.get(coming.staged)
            if coming.path not in left and waits is not None:
                left[coming.path] = waits
    return left


def _data(store: Store, found: Mapping[str, StoredFile]) -> tuple[StoredFile, ...]:
    for path in found:
        what = is_table_of_others(path)
        if what:
            msg = f"{store.url} is a {what} table: its own log says which files count"
            raise InvalidInputError(msg, hint="read it with a reader of that format")
    return tuple(found[path] for path in sorted(found) if is_data(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A file whose footer was read: `id` and `first_row` stay as long as it stays as it is."""

    id: int
    first_row: int
    stored: StoredFile
    stranger: Stranger


@dataclass(slots=True)
class Shelf:
    """What was learned of files, as long as they lie there unchanged; shared by threads."""

    store: Store
    known: dict[StoredFile, Known] = field(default_factory=dict)
    files: int = 0
    rows: int = 0
    lock: Lock = field(default_factory=Lock)

    def learn(self, found: Sequence[StoredFile]) -> tuple[Known, ...]:
        """Read the footers that are new, side by side, and forget the files that went."""
        with self.lock:
            new = [file for file in found if file not in self.known]
            pairs = [(file, _shown(file.path)) for file in new]
            for stored, stranger in zip(new, look_at(pairs, store=self.store), strict=True):
                self.files += 1
                self.known[stored] = Known(
                    id=self.files, first_row=self.rows, stored=stored, stranger=stranger
                )
                self.rows += stranger.file.rows
            self.known = {file: self.known[file] for file in found}
            return tuple(sorted(self.known.values(), key=lambda known: known.id))


def _shown(path: str) -> str:
    """Return the path that counts for folders: a file that waits lies below those it goes to."""
    return path.removeprefix(HIDDEN)
