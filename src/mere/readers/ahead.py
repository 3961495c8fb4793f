"""Do jobs on threads ahead of whoever takes their results, and hand these over in order."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

Result = TypeVar("Result")


def workers() -> int:
    """Return how many threads read ahead: some wait for storage while others decode."""
    return min(16, 2 * (os.cpu_count() or 1))


@contextmanager
def threads(*, near: bool) -> Iterator[Executor]:
    """Hand out threads that wait for storage; when what is read is near, one for each other core.

    These are kept: starting one takes longer than reading a small file, on a busy machine much
    longer.
    """
    if near:
        yield _kept()
        return
    pool = ThreadPoolExecutor(workers(), thread_name_prefix="mere-read")
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@cache
def _kept() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1), thread_name_prefix="mere-read")


if hasattr(os, "register_at_fork"):  # a forked process has none of the threads
    os.register_at_fork(after_in_child=_kept.cache_clear)


@dataclass(slots=True)
class Job(Generic[Result]):
    """What is to be done, what the result weighs, and what a thread makes of it."""

    do: Callable[[], Result]
    weight: int
    begun: Future[Result] | None = None

    def result(self) -> Result:
        """Wait for the thread; what none has begun is done here: on a busy machine that is sooner.

        So jobs of several readers on the same threads never wait for each other.
        """
        if self.begun is None or self.begun.cancel():
            return self.do()
        return self.begun.result()


class Ahead(Generic[Result]):
    """A queue of jobs of which the first few are being done.

    Jobs run ahead while their weights sum up to no more than `budget`; the next is done by whoever
    takes it, unless a thread is at it already. When not `eager`, no more jobs run ahead than were
    taken before.
    """

    def __init__(
        self, jobs: Iterable[Job[Result]], pool: Executor, *, budget: int, eager: bool
    ) -> None:
        """Take the jobs; none is begun."""
        self._rest: Iterator[Job[Result]] = iter(jobs)
        self._queue: deque[Job[Result]] = deque()
        self._pool = pool
        self._budget = budget
        self._eager = eager
        self._most = 2 * workers()
        self._taken = 0

    def take(self) -> Callable[[], Result] | None:
        """Return what waits for the next result; None after the last."""
        self._look()
        if not self._queue:
            return None
        if self._eager or self._taken > 0:
            self._begin()
        self._taken += 1
        return self._queue.popleft().result

    def put(self, jobs: Iterable[Job[Result]]) -> None:
        """Let jobs come next, before those that are waiting."""
        self._queue.extendleft(reversed(list(jobs)))

    def close(self) -> None:
        """Begin nothing any more."""
        for job in self._queue:
            if job.begun is not None:
                job.begun.cancel()

    def _window(self) -> int:
        return self._most if self._eager else min(self._taken + 1, self._most)

    def _look(self) -> None:
        """Have so many jobs in the queue as may run ahead."""
        while len(self._queue) < self._window():
            job = next(self._rest, None)
            if job is None:
                return
            self._queue.append(job)

    def _begin(self) -> None:
        used = 0
        for place, job in enumerate(self._queue):
            used += job.weight
            if place and (used > self._budget or place >= self._window()):
                return
            if place and job.begun is None:
                job.begun = self._pool.submit(job.do)
