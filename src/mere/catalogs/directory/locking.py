"""Let one maintainer at a time commit, and take over from those that died.

The lock is a file that is created where none may be: who creates it has it. A process that
has surely ended is followed at once. Of others nobody can tell, so they are followed when nothing
below `_mere/` has moved for as long as the follower has patience, by its own clock. A follower
first writes a journal that says that nothing will come of the lock, unless there is one that says
otherwise: so the one who was followed and lives on can commit nothing any more.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from mere.catalogs.directory.journal import HIDDEN, Journal, listed, read_if_there
from mere.catalogs.directory.owners import Owner, new_owner, read_owner
from mere.errors import AlreadyExistsError, MereError
from mere.ports import Store

LOCK = f"{HIDDEN}lock"
_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 0.5


@dataclass(slots=True)
class Watch:
    """Watches a lock of somebody else, until there is no more reason to believe that they live."""

    store: Store
    patience_s: float
    seen: object = None
    since: float = 0.0
    pause_s: float = _PAUSE_S

    def is_over(self, holder: str) -> bool:
        """Tell whether a holder is taken for dead; wait a moment if not."""
        owner = read_owner(holder)
        if owner is not None and owner.is_dead:
            return True
        now = time.monotonic()
        moved = holder, frozenset(listed(self.store, HIDDEN).values())
        if moved != self.seen:
            self.seen, self.since, self.pause_s = moved, now, _PAUSE_S
        elif now - self.since >= self.patience_s:
            return True
        time.sleep(self.pause_s)
        self.pause_s = min(self.pause_s * 2, _LONGEST_PAUSE_S)
        return False


@contextmanager
def locked(store: Store, *, patience_s: float) -> Iterator[str]:
    """Hold the lock of a folder; what is handed out names this holding of it."""
    mine = new_owner().spell()
    watch = Watch(store, patience_s)
    while not _create(store, mine):
        holder = holder_of(store)
        if holder is not None and watch.is_over(holder):
            _take_over(store, holder)
    try:
        yield mine
    finally:
        with suppress(MereError, OSError):  # what was done stands; others follow in time
            _release(store, mine)


def _release(store: Store, mine: str) -> None:
    if holder_of(store) == mine:
        store.delete([LOCK])
        store.prune([HIDDEN])


def holder_of(store: Store) -> str | None:
    """Return who holds the lock: nothing can be said of one whose lock is not whole."""
    data = read_if_there(store, LOCK)
    if data is None:
        return None
    try:
        return str(json.loads(data)["holder"])
    except (ValueError, KeyError):
        return ""


def _create(store: Store, mine: str) -> bool:
    try:
        store.put(LOCK, json.dumps({"holder": mine}).encode())
    except AlreadyExistsError:
        return False
    except MereError:  # it may be there all the same
        if holder_of(store) != mine:
            raise
    return True


def _take_over(store: Store, holder: str) -> None:
    """Free the lock of one who is taken for dead: of all who want to, one does."""
    name = _turn(store, holder)
    if name is None:
        return
    try:
        if holder_of(store) == holder:
            if holder and not _is_dead(holder):
                with suppress(AlreadyExistsError):  # then the next holder brings it to its end
                    void = Journal(id=holder, void=True)
                    store.put(void.path, void.dump())
            store.delete([LOCK])
    finally:
        store.delete([name])


def _is_dead(holder: str) -> bool:
    owner: Owner | None = read_owner(holder)
    return owner is not None and owner.is_dead


def _turn(store: Store, holder: str) -> str | None:
    """Return the file by which this process alone may free a lock; None when others may."""
    mine, number = new_owner().spell(), 0
    while True:
        name = f"{HIDDEN}{holder or 'unknown'}.taken-{number}"
        try:
            store.put(name, mine.encode())
        except AlreadyExistsError:
            told = read_if_there(store, name)
            if told is None or not _is_dead(told.decode()):
                time.sleep(_PAUSE_S)
                return None
            number += 1
        else:
            return name
