"""Match rows by their keys, exactly and on whole columns.

A key is a tuple of values. NULL equals nothing, not even NULL; NaN equals NaN, and -0.0 equals 0.0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
_NONE = -1


@dataclass(frozen=True)
class Keys:
    """The keys of some rows, ready to be looked up; built once, asked often.

    `values` are the distinct values of each column, `codes` the distinct combinations of the
    first two columns, then of these and the third, and so on. `first` is the row of each key.
    """

    values: tuple[pa.Array, ...]
    codes: tuple[pa.Array, ...]
    first: Numbers
    repeated: Numbers

    @classmethod
    def of(cls, columns: Sequence[pa.ChunkedArray]) -> "Keys":
        """Learn the keys of rows, given column by column."""
        plain = [comparable(column) for column in columns]
        values = tuple(column.unique().drop_null() for column in plain)
        found = [_looked_up(column, known) for column, known in zip(plain, values, strict=True)]
        combined, codes = found[0], []
        for place, known in zip(found[1:], values[1:], strict=True):
            pair = _paired(combined, place, len(known))
            distinct = pa.array(np.unique(pair[pair >= 0]))
            codes.append(distinct)
            combined = _looked_up(pa.array(pair), distinct)
        rows = np.arange(len(combined), dtype=np.int64)
        keyed = rows[combined >= 0]
        distinct_codes, at, counts = np.unique(
            combined[keyed], return_index=True, return_counts=True
        )
        size = int(distinct_codes[-1]) + 1 if len(distinct_codes) else 0
        first = np.full(size, _NONE, dtype=np.int64)
        first[distinct_codes] = keyed[at]
        return cls(values, tuple(codes), first, keyed[at[counts > 1]])

    def at(self, rows: Numbers) -> "Keys":
        """Return the same keys as those of other rows, given in their order."""
        numbered = np.append(rows, _NONE)
        return Keys(self.values, self.codes, numbered[self.first], numbered[self.repeated])

    def match(self, columns: Sequence[pa.ChunkedArray]) -> Numbers:
        """Return for each row the first row with the same key, -1 where there is none."""
        rows = len(columns[0])
        if not len(self.first):
            return np.full(rows, _NONE, dtype=np.int64)
        if len(columns) == 1 and pa.types.is_integer(columns[0].type):
            found = [self._numbers(chunk) for chunk in columns[0].chunks]
            return np.concatenate(found) if found else np.empty(0, dtype=np.int64)
        combined = _looked_up(comparable(columns[0]), self.values[0])
        for column, known, codes in zip(columns[1:], self.values[1:], self.codes, strict=True):
            place = _looked_up(comparable(column), known)
            combined = _looked_up(pa.array(_paired(combined, place, len(known))), codes)
        return np.append(self.first, _NONE)[combined]

    def _numbers(self, values: pa.Array) -> Numbers:
        """Look up whole numbers: where these ascend, as ids do, the few keys among them."""
        known = self.values[0]
        ascending = _ascending(values) if len(known) < len(values) else None
        if ascending is None:
            return np.append(self.first, _NONE)[_looked_up(values, known)]
        found = np.full(len(values), _NONE, dtype=np.int64)
        wanted = known.to_numpy()
        places = np.searchsorted(ascending, wanted)
        places[places == len(ascending)] = 0
        hit = ascending[places] == wanted
        found[places[hit]] = self.first[hit]
        return found


def _ascending(values: pa.Array) -> Numbers | None:
    """Return numbers of which each is greater than the one before, None for others."""
    if values.null_count:
        return None
    numbers: Numbers = values.to_numpy()
    return numbers if bool((numbers[1:] > numbers[:-1]).all()) else None


def _paired(one: Numbers, other: Numbers, size: int) -> Numbers:
    return np.where((one >= 0) & (other >= 0), one * size + other, _NONE)


def _looked_up(values: pa.Array | pa.ChunkedArray, known: pa.Array) -> Numbers:
    """Return the place of each value among the known ones, -1 where it is not."""
    if not len(known):
        return np.full(len(values), _NONE, dtype=np.int64)
    places = pc.index_in(values, value_set=known, skip_nulls=True)
    if isinstance(places, pa.ChunkedArray):
        places = places.combine_chunks()
    found: Numbers = places.fill_null(_NONE).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Give equal values the same bits."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        chunks = [chunk.storage for chunk in column.chunks]
        return pa.chunked_array(chunks, kind.storage_type)
    if pa.types.is_floating(kind):
        unsigned = pc.add(column, pa.scalar(0.0, kind))
        return pc.if_else(pc.is_nan(unsigned), pa.scalar(float("nan"), kind), unsigned)
    return column
