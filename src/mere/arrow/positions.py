"""Pack positions of rows into few bytes: as a bitmap, or as numbers where they lie far apart."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Positions: TypeAlias = NDArray[np.int64]
_BITMAP, _NUMBERS = b"b", b"n"
_BITS = 8


def pack(positions: Positions | Sequence[int]) -> bytes:
    """Pack positions; order and repetition are forgotten, no positions are no bytes."""
    found = np.asarray(positions, dtype=np.int64)
    if not (found[1:] > found[:-1]).all():
        found = np.unique(found)
    if not len(found):
        return b""
    if int(found[-1]) >= len(found) * _BITS * found.itemsize:
        return _NUMBERS + found.astype("<i8").tobytes()
    bits = np.zeros(int(found[-1]) + 1, dtype=bool)
    bits[found] = True
    return _BITMAP + np.packbits(bits, bitorder="little").tobytes()


def unpack(data: bytes) -> Positions:
    """Return packed positions, sorted, each once."""
    if not data:
        return np.empty(0, np.int64)
    kind, body = data[:1], data[1:]
    if kind == _NUMBERS:
        return np.frombuffer(body, "<i8").astype(np.int64)
    bits = np.unpackbits(np.frombuffer(body, np.uint8), bitorder="little")
    return np.flatnonzero(bits).astype(np.int64)


def joined(*packed: bytes) -> bytes:
    """Pack what several packed positions hold together."""
    kept = [data for data in packed if data]
    if len(kept) <= 1:
        return kept[0] if kept else b""
    return pack(np.concatenate([unpack(data) for data in kept]))
