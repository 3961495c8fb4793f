"""Tell to which range of an order rows belong, as a sort would."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mere.model.work import Cuts
from mere.reading.sorting import order_of, plain

Numbers = NDArray[np.int64]


def packed(rows: pa.Table) -> bytes:
    """Return rows as an Arrow stream of plain values, for a task to carry."""
    bare = pa.table([plain(column) for column in rows.columns], names=rows.column_names)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, bare.schema) as writer:
        writer.write_table(bare)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def unpacked(data: bytes) -> pa.Table:
    """Return the rows of a stream that a task carries."""
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_all()


@dataclass(frozen=True)
class Ranges:
    """The cuts before which equal rows do not come, and those before which they do."""

    ahead: pa.Table
    behind: pa.Table

    @classmethod
    def of(cls, cuts: Cuts) -> "Ranges":
        """Take the cuts apart."""
        rows = unpacked(cuts.rows)
        behind = pa.array(cuts.behind, pa.bool_()).to_numpy(zero_copy_only=False)
        return cls(rows.filter(pa.array(~behind)), rows.filter(pa.array(behind)))

    def numbers(self, keys: Sequence[pa.Array]) -> Numbers:
        """Return the number of the range of each row: how many cuts come before it."""
        names, rows = self.ahead.column_names, len(keys[0])
        own = pa.table([plain(pa.chunked_array([key])) for key in keys], names=names)
        order = order_of(pa.concat_tables([self.ahead, own, self.behind]), names).to_numpy()
        place = order.astype(np.int64) - self.ahead.num_rows
        is_row = (place >= 0) & (place < rows)
        found = np.empty(rows, dtype=np.int64)
        found[place[is_row]] = np.cumsum(~is_row)[is_row]
        return found
