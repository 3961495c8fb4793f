"""Remember what was read of files that never change, the latest of it, in bounded memory."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Recent(Generic[_T]):
    """What was asked for last, by name, up to a number of bytes; threads may share it."""

    def __init__(self, most_bytes: int, size: Callable[[_T], int]) -> None:
        """Start with nothing."""
        self._most = most_bytes
        self._size = size
        self._held: OrderedDict[Hashable, _T] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, name: Hashable) -> _T | None:
        """Return what is remembered under a name, None when nothing is."""
        with self._lock:
            found = self._held.get(name)
            if found is not None:
                self._held.move_to_end(name)
            return found

    def put(self, name: Hashable, value: _T) -> _T:
        """Remember a value, forget those that were not asked for longest; returns the value."""
        size = self._size(value)
        if size > self._most:
            return value
        with self._lock:
            before = self._held.pop(name, None)
            self._bytes += size - (0 if before is None else self._size(before))
            self._held[name] = value
            while self._bytes > self._most:
                _, oldest = self._held.popitem(last=False)
                self._bytes -= self._size(oldest)
        return value
