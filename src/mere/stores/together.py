"""Write many small files side by side, a bounded number of them at a time."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import chain, islice
from threading import BoundedSemaphore

from mere.errors import MereError

WRITERS = 16
"""What takes the time is waiting: disks flush files together that are flushed at the same time."""
_WAITING = 4 * WRITERS


def put_each(
    put: Callable[[str, bytes], None],
    delete: Callable[[Iterable[str]], None],
    files: Iterable[tuple[str, bytes]],
    *,
    writers: int = WRITERS,
) -> list[str]:
    """Put files while others are still being made; return their paths.

    After the first failure, those that were put are deleted again.
    """
    rest = iter(files)
    first = list(islice(rest, 2))
    if len(first) <= 1:
        for path, data in first:
            put(path, data)
        return [path for path, _ in first]
    done: list[str] = []
    begun: list[Future[None]] = []
    room = BoundedSemaphore(_WAITING)

    def one(path: str, data: bytes) -> None:
        try:
            put(path, data)
            done.append(path)
        finally:
            room.release()

    try:
        with ThreadPoolExecutor(writers, thread_name_prefix="mere-put") as pool:
            for path, data in chain(first, rest):
                room.acquire()
                begun.append(pool.submit(one, path, data))
        for future in begun:
            future.result()
    except BaseException:
        with suppress(MereError, OSError):
            delete(done)
        raise
    return done
