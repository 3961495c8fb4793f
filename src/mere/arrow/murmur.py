"""Hash whole columns with Murmur3 (32 bits, seed 0), as the bucket transform counts buckets."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_FIRST = np.uint32(0xCC9E2D51)
_SECOND = np.uint32(0x1B873593)
_ADDED = np.uint32(0xE6546B64)
_WORD = 4

Hashes = NDArray[np.uint32]


def _rotated(values: Hashes, bits: int) -> Hashes:
    return (values << np.uint32(bits)) | (values >> np.uint32(32 - bits))


def _mixed(words: Hashes) -> Hashes:
    return _rotated(words * _FIRST, 15) * _SECOND


def _taken(hashes: Hashes, words: Hashes) -> Hashes:
    return _rotated(hashes ^ _mixed(words), 13) * np.uint32(5) + _ADDED


def _finished(hashes: Hashes, lengths: Hashes) -> Hashes:
    hashes = hashes ^ lengths
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return hashes ^ (hashes >> np.uint32(16))


def hash_longs(values: NDArray[np.int64]) -> Hashes:
    """Hash each value as its eight bytes, little endian."""
    words = np.ascontiguousarray(values, dtype="<i8").view("<u4").reshape(-1, 2)
    hashes = np.zeros(len(words), dtype=np.uint32)
    for column in (0, 1):
        hashes = _taken(hashes, words[:, column])
    return _finished(hashes, np.uint32(8) + np.zeros_like(hashes))


def hash_bytes(array: pa.Array) -> Hashes:
    """Hash each text or binary value as its bytes; NULL hashes as the empty value."""
    array = pa.concat_arrays([array.cast(pa.large_binary())])
    offsets = np.frombuffer(array.buffers()[1], dtype=np.int64, count=len(array) + 1)
    buffer = array.buffers()[2]
    raw = np.frombuffer(buffer or b"", dtype=np.uint8)
    data = np.concatenate((raw, np.zeros(_WORD, dtype=np.uint8)))
    starts, lengths = offsets[:-1], np.diff(offsets)
    hashes = np.zeros(len(array), dtype=np.uint32)
    whole = lengths // _WORD
    for turn in range(int(whole.max(initial=0))):
        rows = np.flatnonzero(whole > turn)
        hashes[rows] = _taken(hashes[rows], _words(data, starts[rows] + _WORD * turn, _WORD))
    for left in range(1, _WORD):
        rows = np.flatnonzero(lengths % _WORD == left)
        hashes[rows] ^= _mixed(_words(data, starts[rows] + _WORD * whole[rows], left))
    return _finished(hashes, lengths.astype(np.uint32))


def _words(data: NDArray[np.uint8], at: NDArray[np.int64], count: int) -> Hashes:
    """Return up to four bytes from each place as one number, little endian."""
    words = data[at].astype(np.uint32)
    for place in range(1, count):
        words |= data[at + place].astype(np.uint32) << np.uint32(8 * place)
    return words
