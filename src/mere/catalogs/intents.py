"""Share one announcement among the writes of a catalog object, so that a burst announces once.

Knows which announcements this process has made, who still counts on them, and which are over; when
rows are written is the catalog's business.
"""

import os
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from threading import Lock

from mere.catalogs.dialect import Link, Row
from mere.catalogs.identity import short_name
from mere.catalogs.times import time_text

LASTS_S = 600.0
"""How long new writes join an announcement: long enough that announcing costs a busy writer
nothing, short against the grace of any sweep, which cannot judge a writer before its row is old."""


def announcement(table_id: int) -> Row:
    """Return the row by which this process announces itself anew."""
    now = time_text(datetime.now(UTC))
    return (short_name(), table_id, now, socket.gethostname(), os.getpid(), "open")


def register(link: Link, row: Row) -> None:
    """Write an announcement, once."""
    if not link.rows("intent", intent=row[0]):
        link.insert("mere_intent", [row])


@dataclass(slots=True)
class _Process:
    """The announcements of one process: how many writes count on each, and which one is joined."""

    lock: Lock = field(default_factory=Lock)
    users: dict[str, int] = field(default_factory=dict)
    current: str | None = None
    since: float = 0.0


class Intents:
    """The announcements of one catalog object; safe to share between threads.

    A fork starts with none: what the parent announced, the parent alone may join and end.
    """

    def __init__(self, lasts_s: float = LASTS_S) -> None:
        """Start with none."""
        self._lasts_s = lasts_s
        self._processes: dict[int, _Process] = {}

    def join(self) -> str | None:
        """Count one more write on the current announcement; None when a new one is needed."""
        here = self._here()
        with here.lock:
            if here.current is None or time.monotonic() - here.since >= self._lasts_s:
                return None
            here.users[here.current] += 1
            return here.current

    def begin(self, intent: str) -> None:
        """Let an announcement that was just made be joined from now on; one write counts on it."""
        here = self._here()
        with here.lock:
            here.users[intent] = 1
            here.current, here.since = intent, time.monotonic()

    def adopt(self, intent: str) -> None:
        """Let one write count on an announcement of another process, which nobody joins here."""
        here = self._here()
        with here.lock:
            here.users[intent] = here.users.get(intent, 0) + 1

    def release(self, intents: Iterable[str]) -> None:
        """Count one write less on each; those of other processes are left alone."""
        here = self._here()
        with here.lock:
            for intent in intents:
                if intent in here.users:
                    here.users[intent] = max(here.users[intent] - 1, 0)

    def retire(self) -> None:
        """Let nobody join the current announcement any more."""
        here = self._here()
        with here.lock:
            here.current = None

    def over(self) -> tuple[str, ...]:
        """Return the announcements that nobody joins or counts on: their rows can go."""
        here = self._here()
        with here.lock:
            return tuple(i for i, users in here.users.items() if not users and i != here.current)

    def forget(self, intents: Iterable[str]) -> None:
        """Forget announcements whose rows are gone."""
        here = self._here()
        with here.lock:
            for intent in intents:
                here.users.pop(intent, None)

    def _here(self) -> _Process:
        """Return what belongs to this process; a fork may have copied a lock that is held."""
        return self._processes.setdefault(os.getpid(), _Process())


def announced(
    intents: Intents, table_id: int, write: Callable[[Callable[[Link], None]], None]
) -> str:
    """Return the registration that a write shares, made now if there is none to share."""
    shared = intents.join()
    if shared is not None:
        return shared
    row = announcement(table_id)
    intents.retire()
    write(partial(register, row=row))
    intents.begin(row[0])
    return str(row[0])
