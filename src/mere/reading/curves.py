"""Number rows by where they lie on a curve through several columns, by the ranks of their values.

Ranks come from a sample: values that cut a column into parts of about as many rows each. So columns
of any type and any distribution count alike. NULL comes after all, and NaN before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds
from numpy.typing import NDArray

from mere.reading.sorting import plain

Ranks = NDArray[np.int64]
_MOST_BITS = 16
_KEY_BITS = 60
_PREFIX = 16
_BYTE = 256


@dataclass(frozen=True)
class Fences:
    """Values that cut one column into ranks; texts are compared by some bytes behind a prefix."""

    values: NDArray[np.generic]
    skip: int
    most: int

    @classmethod
    def of(cls, sample: pa.ChunkedArray, bits: int) -> "Fences":
        """Cut a column by a sample of its values."""
        there = plain(sample).drop_null()
        skip = _shared(there) if _is_text(there.type) else 0
        values = np.sort(_comparable(there, skip))
        most = (1 << bits) - 2
        places = np.linspace(0, max(len(values) - 1, 0), min(most, len(values)), dtype=np.int64)
        return cls(np.unique(values[places]) if len(values) else values, skip, most)

    def ranks(self, column: pa.ChunkedArray) -> Ranks:
        """Return the rank of each value; NULL has the highest."""
        there = plain(column)
        found = np.full(len(there), self.most + 1, dtype=np.int64)
        known = there.is_valid().to_numpy()
        if known.any():
            values = _comparable(there.drop_null(), self.skip)
            found[known] = np.searchsorted(self.values, values, side="right")
        return found


def bits_for(columns: int) -> int:
    """Return how many bits the rank of each of some columns has."""
    return max(min(_MOST_BITS, _KEY_BITS // columns), 1)


def places(curve: str, ranks: Sequence[Ranks], bits: int) -> Ranks:
    """Return where rows lie on the curve called zorder or hilbert."""
    return _interleaved(_bent(ranks, bits) if curve == "hilbert" else ranks)


def _is_text(kind: pa.DataType) -> bool:
    texts = (kinds.is_string, kinds.is_large_string, kinds.is_binary, kinds.is_large_binary)
    return kinds.is_fixed_size_binary(kind) or any(is_(kind) for is_ in texts)


def _shared(texts: pa.ChunkedArray) -> int:
    """Return how many bytes all texts begin with."""
    if not len(texts):
        return 0
    ends = pc.min_max(texts.cast(pa.binary()))
    low, high = ends["min"].as_py(), ends["max"].as_py()
    pairs = zip(low, high, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(low), len(high)))


def _comparable(values: pa.ChunkedArray, skip: int) -> NDArray[np.generic]:
    """Return values without NULL as an array that numpy orders as the table does."""
    kind = values.type
    if _is_text(kind):
        cut = pc.binary_slice(values.cast(pa.binary()), skip, skip + _PREFIX)
        return np.array(cut.to_pylist(), dtype=f"S{_PREFIX}")
    if kinds.is_floating(kind) or kinds.is_decimal(kind) or kind == pa.uint64():
        floats: NDArray[np.generic] = values.cast(pa.float64(), safe=False).to_numpy()
        return floats
    if kinds.is_boolean(kind) or kinds.is_date32(kind) or kinds.is_time32(kind):
        values = values.cast(pa.int32())
    longs: NDArray[np.generic] = values.cast(pa.int64()).to_numpy()
    return longs


def _interleaved(ranks: Sequence[Ranks]) -> Ranks:
    """Mix the bits of the ranks: the highest of each first."""
    count = len(ranks)
    spread = np.zeros(_BYTE, dtype=np.int64)
    for bit in range(8):
        spread |= ((np.arange(_BYTE) >> bit) & 1) << (bit * count)
    key = np.zeros(len(ranks[0]), dtype=np.int64)
    for place, rank in enumerate(ranks):
        wide = spread[rank & 0xFF] | (spread[rank >> 8] << (8 * count))
        key |= wide << (count - 1 - place)
    return key


def _bent(ranks: Sequence[Ranks], bits: int) -> list[Ranks]:
    """Turn coordinates so that the mixed bits follow Hilbert's curve (after J. Skilling, 2004)."""
    found = [rank.copy() for rank in ranks]
    for bit in range(bits - 1, 0, -1):
        mask = 1 << bit
        low = mask - 1
        for place, rank in enumerate(found):
            set_ = (rank & mask) != 0
            change = (found[0] ^ rank) & low
            flipped = np.where(set_, low, change)
            found[0] = found[0] ^ flipped
            if place:
                found[place] = rank ^ np.where(set_, 0, change)
    for place in range(1, len(found)):
        found[place] ^= found[place - 1]
    turn = np.zeros_like(found[0])
    for bit in range(bits - 1, 0, -1):
        set_ = (found[-1] & (1 << bit)) != 0
        turn ^= np.where(set_, (1 << bit) - 1, 0)
    return [rank ^ turn for rank in found]
