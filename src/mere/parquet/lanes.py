"""Work on many files at once: in order within a lane, lanes side by side, in bounded memory."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class InPlace(Executor):
    """Do work at once, in the calling thread: quickest for little of it."""

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> "Future[_T]":
        """Return what came of the work, which is done already."""
        future: Future[_T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001  the future carries it to whoever asks
            future.set_exception(error)
        return future


class Sparing(InPlace):
    """Do the first pieces of work at once, and further ones on threads.

    Many small files take their time to be flushed, few are done before threads have started.
    """

    def __init__(self, first: int, threads: int) -> None:
        """Start none of the threads."""
        self._left = first
        self._threads = threads
        self._pool: ThreadPoolExecutor | None = None

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> "Future[_T]":
        """Return what comes of the work."""
        if self._left:
            self._left -= 1
            return super().submit(fn, *args, **kwargs)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads)
        return self._pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002  as executors have it
        """End the threads, if there are any."""
        if self._pool is not None:
            self._pool.shutdown(wait, cancel_futures=cancel_futures)


class Gate:
    """Let work in while what is under way stays below a limit; remember the first failure."""

    def __init__(self, limit: int) -> None:
        """Start empty."""
        self._limit = limit
        self._under_way = 0
        self._changed = threading.Condition()
        self._failure: BaseException | None = None

    def enter(self, size: int) -> None:
        """Wait until there is room; a piece larger than the limit goes alone.

        Raises:
            BaseException: What made earlier work fail.
        """
        with self._changed:
            while self._failure is None and self._under_way and self._full(size):
                self._changed.wait()
            self._raise()
            self._under_way += size

    def leave(self, size: int, failure: BaseException | None = None) -> None:
        """Make room again."""
        with self._changed:
            self._under_way -= size
            self._failure = self._failure or failure
            self._changed.notify_all()

    @property
    def failed(self) -> bool:
        """Tell whether some work failed."""
        return self._failure is not None

    def check(self) -> None:
        """Raise what made earlier work fail, if anything did."""
        with self._changed:
            self._raise()

    def _full(self, size: int) -> bool:
        return self._under_way + size > self._limit

    def _raise(self) -> None:
        if self._failure is not None:
            raise self._failure


class Lane:
    """Work that must be done in order, one piece at a time, on threads shared with others."""

    def __init__(self, threads: Executor, gate: Gate) -> None:
        """Start idle."""
        self._threads = threads
        self._gate = gate
        self._waiting: deque[tuple[Callable[[], None], int]] = deque()
        self._lock = threading.Lock()
        self._idle = threading.Event()
        self._idle.set()

    def put(self, work: Callable[[], None], size: int = 0) -> None:
        """Add work; waits while too much is under way in all lanes together."""
        self._gate.enter(size)
        with self._lock:
            self._waiting.append((work, size))
            start = self._idle.is_set()
            self._idle.clear()
        if start:
            self._threads.submit(self._drain)

    def wait(self) -> None:
        """Wait until all work of this lane is done."""
        self._idle.wait()

    def _drain(self) -> None:
        """Do what waits, to the end: files that are begun are closed before others are begun."""
        more = True
        while more:
            work, size = self._waiting[0]
            self._gate.leave(size, self._attempt(work))
            del work
            with self._lock:
                self._waiting.popleft()
                more = bool(self._waiting)
                if not more:
                    self._idle.set()

    def _attempt(self, work: Callable[[], None]) -> BaseException | None:
        """Do one piece, unless some other failed; return what went wrong."""
        try:
            if not self._gate.failed:
                work()
        except BaseException as error:  # noqa: BLE001  raised again where results are asked for
            return error
        return None
