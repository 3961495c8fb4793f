"""Read far-away files in few, large requests."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from mere.errors import InvalidInputError, StorageError

TAIL = 64 * 1024  # most Parquet footers fit, and pyarrow asks for as much
GAP = 512 * 1024  # reading over a gap of this size costs less than another request
WIDEST = 16 * 1024 * 1024  # wider requests are cut, so that their parts come side by side
WORKERS = 8

Fetch = Callable[[int, int], Any]


class RangeFile:
    """Show an object as a file for random reads; its last bytes came with its size."""

    def __init__(self, size: int, tail: Any, fetch: Fetch) -> None:
        """Take the size, the last bytes and the way to fetch (offset, length)."""
        self._size = size
        self._fetch = fetch
        self._at = 0
        self._blocks = [(size - len(tail), memoryview(tail))]
        self.closed = False
        self.mode = "rb"

    def read(self, size: int | None = -1) -> Any:
        """Return up to `size` bytes from here on; None or less than 0 means all the rest."""
        rest = max(0, self._size - self._at)
        wanted = rest if size is None or size < 0 else min(size, rest)
        start, self._at = self._at, self._at + wanted
        if not wanted:
            return b""
        for first, block in self._blocks:
            if first <= start and start + wanted <= first + len(block):
                return block[start - first : start - first + wanted]
        data = self._fetch(start, min(max(wanted, TAIL), self._size - start))
        if len(data) < wanted:
            msg = f"an object ended at byte {start + len(data)} instead of {self._size}"
            raise StorageError(msg, hint="the object was replaced while it was read")
        if wanted < TAIL:
            self._blocks[1:] = [(start, memoryview(data))]
            return memoryview(data)[:wanted]
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to an offset from the start (0), from here (1) or from the end (2)."""
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        """Return where the next read starts."""
        return self._at

    def readable(self) -> bool:
        """Say yes."""
        return True

    def seekable(self) -> bool:
        """Say yes."""
        return True

    def writable(self) -> bool:
        """Say no."""
        return False

    def flush(self) -> None:
        """Do nothing: there is nothing to write."""

    def close(self) -> None:
        """Let go of the bytes that are held."""
        self._blocks = []
        self.closed = True


def checked_range(start: int, length: int | None) -> None:
    """Refuse a range that starts before the file or has a negative length."""
    if start < 0 or (length is not None and length < 0):
        msg = f"a range starts at 0 or later and has a length of 0 or more, got {(start, length)}"
        raise InvalidInputError(msg)


def fetch_ranges(
    name: str, ranges: Sequence[tuple[int, int]], fetch: Fetch, *, workers: int = WORKERS
) -> list[bytes]:
    """Return the bytes of each (offset, length), asking for near ones together.

    Raises:
        StorageError: If a range does not lie wholly in the object.
    """
    for start, length in ranges:
        checked_range(start, length)
    spans = spanned(ranges)
    if min(workers, len(spans)) > 1:
        with ThreadPoolExecutor(min(workers, len(spans))) as pool:
            blocks = list(pool.map(lambda span: fetch(*span), spans))
    else:
        blocks = [fetch(*span) for span in spans]
    held = list(zip(spans, blocks, strict=True))
    return [_cut(name, start, length, held) for start, length in ranges]


def spanned(ranges: Sequence[tuple[int, int]], gap: int = GAP) -> list[tuple[int, int]]:
    """Return the (offset, length) of the requests that together cover all ranges."""
    spans: list[tuple[int, int]] = []
    for start, length in sorted(ranges):
        if not length:
            continue
        first, width = spans[-1] if spans else (0, 0)
        end = max(first + width, start + length)
        if spans and start <= first + width + gap and end - first <= max(WIDEST, width):
            spans[-1] = (first, end - first)
        else:
            spans.append((start, length))
    return spans


def _cut(name: str, start: int, length: int, held: Sequence[tuple[tuple[int, int], Any]]) -> bytes:
    for (first, width), block in held:
        if first <= start and start + length <= first + width:
            data = bytes(memoryview(block)[start - first : start - first + length])
            if len(data) == length:
                return data
    if not length:
        return b""
    msg = f"{name} ends before the range ({start}, {length})"
    raise StorageError(msg, hint="the object is not the one that was written")
