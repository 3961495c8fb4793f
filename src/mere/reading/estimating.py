"""Look at some rows of files, to guess how many partitions all of them would make."""

from collections import Counter
from collections.abc import Iterable, Sequence

import pyarrow as pa

from mere.arrow import conformer
from mere.arrow.partitions import split
from mere.model.feed import Trace
from mere.model.layout import PartitionKey
from mere.model.schema import Schema
from mere.plan.repartition import Estimate
from mere.ports import Store
from mere.reading.forms import Forms
from mere.reading.versions import Every

_FILES = 64
_ROWS = 1 << 13


def estimated(
    store: Store, traces: Sequence[Trace], schema: Schema, keys: Sequence[PartitionKey]
) -> Estimate:
    """Count the partitions of a sample of rows that is spread over the files."""
    ids = {key.column for key in keys}
    columns = Schema(fields=tuple(field for field in schema if field.id in ids))
    chosen = list(traces)
    if len(chosen) > _FILES:
        chosen = [chosen[n * len(chosen) // _FILES] for n in range(_FILES)]
    forms = Forms()
    groups = max(1, _FILES // len(chosen))
    tables = (
        Every.of(trace, store, forms).sampled(columns, forms, groups=groups, rows=_ROWS)
        for trace in chosen
    )
    return counted(tables, columns, keys, of=sum(trace.file.rows for trace in traces))


def counted(
    tables: Iterable[pa.Table], columns: Schema, keys: Sequence[PartitionKey], *, of: int
) -> Estimate:
    """Count the partitions of some rows, `of` so many; tables may hold more columns than these."""
    counts: Counter[tuple[str | None, ...]] = Counter()
    wanted = {name.casefold() for name in columns.names}
    rows = 0
    for table in tables:
        rows += table.num_rows
        asked = table.select([name for name in table.column_names if name.casefold() in wanted])
        fitted = conformer(asked.schema, columns)
        for batch in asked.combine_chunks().to_batches():
            for texts, _, parts in split(fitted(batch), keys, columns):
                counts[texts] += sum(part.num_rows for part in parts)
    often = Counter(counts.values())
    once, twice = often[1], often[2]
    return Estimate(seen=len(counts), once=once, twice=twice, rows=rows, whole=rows >= of)
