"""Count the CPU seconds of this process and all that it started, whoever has ended meanwhile.

Spark's work is done by a JVM and by Python workers that come and go. A process that ends takes
its count with it, and one whose parent ended belongs to nobody: so all are looked at often, each is
known by its number and the moment it started, and the last count that was seen stays.
"""

import os
import threading
import time
from contextlib import suppress
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_EVERY = 0.1
_PARENT, _USER, _SYSTEM, _STARTED = 1, 11, 12, 19  # fields behind the name in /proc/…/stat


class Tree:
    """The meter; it looks by itself until the process ends."""

    def __init__(self) -> None:
        """Begin to look."""
        self._seen: dict[tuple[int, str], float] = {}
        self._ours = {os.getpid()}
        self._lock = threading.Lock()
        threading.Thread(target=self._watch, daemon=True).start()

    def cpu(self) -> float:
        """Return the CPU seconds so far; they never go down."""
        self._look()
        with self._lock:
            return sum(self._seen.values())

    def _watch(self) -> None:
        while True:
            self._look()
            time.sleep(_EVERY)

    def _look(self) -> None:
        found = _processes()
        with self._lock:
            grown = True
            while grown:  # a process whose parent has ended stays ours once it was seen
                new = {pid for pid, row in found.items() if int(row[_PARENT]) in self._ours}
                grown = bool(new - self._ours)
                self._ours |= new
            for pid in self._ours & found.keys():
                row = found[pid]
                key = (pid, row[_STARTED])
                spent = (int(row[_USER]) + int(row[_SYSTEM])) / _TICKS
                self._seen[key] = max(spent, self._seen.get(key, 0.0))


def _processes() -> dict[int, list[str]]:
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                text = (folder / "stat").read_text(encoding="utf-8")
                found[int(folder.name)] = text[text.rindex(")") + 2 :].split()
    return found
