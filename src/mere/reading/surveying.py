"""Look at some rows of many files, to know how all of them are spread, and where to cut them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mere.arrow import conformer
from mere.model.feed import Trace
from mere.model.schema import Schema
from mere.model.work import Cuts, Rewrite
from mere.ports import Store
from mere.reading.curves import Fences, bits_for
from mere.reading.cutting import Ordering
from mere.reading.forms import Forms
from mere.reading.ranges import packed
from mere.reading.ranks import codes
from mere.reading.sorting import order_of
from mere.reading.versions import Every

Numbers = NDArray[np.int64]
Weights = NDArray[np.float64]
_SPOTS = 64
_ROWS = 4096
_NEARLY = 1e-9


@dataclass(frozen=True)
class Survey:
    """Some rows of files, of the columns asked for.

    `inputs` are the numbers of the files that they come from; each row stands for `weights` others.
    The `codec` is that of the first file.
    """

    rows: pa.Table
    columns: Schema
    inputs: Numbers
    weights: Weights
    codec: str

    @classmethod
    def of(cls, inputs: Sequence[Trace], columns: Schema, store: Store, forms: Forms) -> "Survey":
        """Look at rows of all files, or of some where there are very many."""
        chosen = _spots(inputs)
        tables: list[pa.Table] = []
        weights: list[Weights] = []
        for number, (groups, rows) in chosen.items():
            file = Every.of(inputs[number], store, forms)
            table = file.sampled(columns, forms, groups=groups, rows=_ROWS)
            tables.append(table)
            weights.append(np.full(table.num_rows, rows / max(table.num_rows, 1)))
        counts = [table.num_rows for table in tables]
        return cls(
            rows=pa.concat_tables(tables),
            columns=columns,
            inputs=np.repeat(np.array(list(chosen), np.int64), counts),
            weights=np.concatenate(weights),
            codec=Every.of(inputs[0], store, forms).codec,
        )

    def fences(self, ids: Sequence[int]) -> list[Fences]:
        """Cut columns into ranks."""
        bits = bits_for(len(ids))
        return [Fences.of(self._column(id_), bits) for id_ in ids]

    def sample(self, ids: Sequence[int]) -> bytes:
        """Return the rows for tasks to carry, that must agree on the ranks of columns."""
        return packed(pa.table([self._column(id_) for id_ in ids], names=list(map(str, ids))))

    def _column(self, id_: int) -> pa.ChunkedArray:
        return self.rows.column(next(n for n, f in enumerate(self.columns) if f.id == id_))

    def cuts(
        self, task: Rewrite, quantiles: Sequence[float], shares: Sequence[int]
    ) -> tuple[Cuts, ...]:
        """Return where each share cuts its rows; `shares` are the counts of their inputs.

        Rows that are equal stay in one range, unless there are more of them than a range holds:
        then those of some shares come before a cut, and those of others behind it.
        """
        keys = self._keys(task)
        code = codes(keys.columns, keys.num_rows)
        order = order_of(keys, keys.column_names).to_numpy().astype(np.int64)
        covered = np.cumsum(self.weights[order])
        total = covered[-1] if len(covered) else 0.0
        many = np.bincount(code, self.weights)[code] > total / (len(quantiles) + 1)
        share = np.repeat(np.arange(len(shares)), shares)[self.inputs]
        places = np.searchsorted(covered, [q * total - _NEARLY * total for q in quantiles]) + 1
        chosen: dict[tuple[int, int], int] = {}
        for row in order[places[places < len(order)]].tolist():
            chosen.setdefault((int(code[row]), int(share[row]) if many[row] else 0), row)
        rows = packed(keys.take(pa.array(list(chosen.values()), pa.int64())))
        first = [at for _, at in chosen]
        return tuple(
            Cuts(rows=rows, behind=tuple(number < at for at in first))
            for number in range(len(shares))
        )

    def _keys(self, task: Rewrite) -> pa.Table:
        """Return what the rows are ordered by."""
        sorting = task.sorting
        curved = sorting is not None and sorting.curve != "linear"
        fences = self.fences(sorting.columns) if sorting and curved else []
        ordering = Ordering(task, self.columns, fences)
        fitted = conformer(self.rows.schema, self.columns)
        batches = [fitted(batch) for batch in self.rows.combine_chunks().to_batches()]
        keyed = [ordering.with_keys(batch) for batch in batches]
        return pa.Table.from_batches(keyed, ordering.schema).select(ordering.names)


def ordering_columns(task: Rewrite) -> Schema:
    """Return the columns that a rewrite orders rows by, those of its order first."""
    keys = task.write.layout.keys if task.spread else ()
    ids = [*(task.sorting.columns if task.sorting else ()), *(key.column for key in keys)]
    by_id = {field.id: field for field in task.write.schema}
    return Schema(fields=tuple(by_id[id_] for id_ in dict.fromkeys(ids)))


def _spots(inputs: Sequence[Trace]) -> dict[int, tuple[int, int]]:
    """Choose files by number: how many row groups to look at, and for how many rows they stand."""
    counts = np.array([trace.file.rows for trace in inputs], np.int64)
    if len(inputs) <= _SPOTS:
        groups = -(-_SPOTS // len(inputs))
        return {number: (groups, rows) for number, rows in enumerate(counts.tolist())}
    total = int(counts.sum())
    spots = (np.arange(_SPOTS) * 2 + 1) * total // (2 * _SPOTS)
    found, often = np.unique(np.searchsorted(np.cumsum(counts), spots, "right"), return_counts=True)
    each = -(-total // _SPOTS)
    pairs = zip(found.tolist(), often.tolist(), strict=True)
    return {number: (count, count * each) for number, count in pairs}
