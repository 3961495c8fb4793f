"""Number the values of whole columns: equal ones alike, and greater ones higher."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mere.reading.keys import comparable

Numbers = NDArray[np.int64]
_LARGE = 1 << 31


def codes(columns: Sequence[pa.ChunkedArray], rows: int) -> Numbers:
    """Give rows the same number when all of their columns are equal; NULL equals NULL here.

    NaN equals NaN, and -0.0 equals 0.0. The numbers are below the count of rows.
    """
    found = np.zeros(rows, dtype=np.int64)
    for column in columns:
        values, own = _coded(column)
        found = found * (len(values) + 1) + own
        if len(found) and found.max() >= _LARGE:
            found = _dense(found)
    return _dense(found)


def _dense(numbers: Numbers) -> Numbers:
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64).reshape(-1)


def ranks(column: pa.ChunkedArray, *, descending: bool, nulls_first: bool) -> Numbers:
    """Rank values from 1 on, NaN above all numbers, and NULL before or after all of them."""
    values, own = _coded(column)
    places = np.empty(len(values) + 1, dtype=np.int64)
    order = pc.sort_indices(values).to_numpy()
    places[order] = np.arange(1, len(values) + 1)
    if descending:
        places[order] = places[order][::-1]
    places[-1] = 0 if nulls_first else len(values) + 1
    ranked: Numbers = places[own]
    return ranked


def _coded(column: pa.ChunkedArray) -> tuple[pa.Array, Numbers]:
    """Return the different values, and for each row which of them it has; the last is NULL."""
    coded = comparable(column).combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = pa.concat_arrays(coded.chunks) if coded.num_chunks else coded.chunk(0)
    values = coded.dictionary
    places = coded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
    return values, places.astype(np.int64)
