"""Read the rows of a pinned list of files as Arrow tables, in file order, in bounded memory."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from mere import arrow, reading
from mere.errors import CorruptionError
from mere.model.files import DataFile
from mere.model.predicate import columns
from mere.model.schema import SNAPSHOT_ID, Schema
from mere.ports import Reading
from mere.readers import groups
from mere.readers.ahead import Ahead, Job, threads
from mere.reading import visible
from mere.reading.conform import conform
from mere.reading.constant import constant
from mere.reading.footers import check_rows, fetched, naming
from mere.reading.forms import Forms, Part, Source, special

BUDGET_BYTES = 256 << 20
"""How much decoded data may wait for whoever takes it."""
_UNIT_BYTES = 32 << 20
_HUGE_BYTES = 128 << 20
_SMALL_BYTES = 1 << 20
_LITTLE_BYTES = 4 << 20
"""How much decoded data of files that are near is opened at once."""
_PACK_BYTES = 256 << 10
"""How much is worth handing to another thread."""
_HUGE_BATCH = 1 << 16
_INFLATION = 4

Found: TypeAlias = tuple[Iterable[pa.Table], tuple[Job["Found"], ...]]
"""Some rows of a file, and the jobs that read the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """One open file: what to read of it, and which of its rows are gone."""

    file: DataFile
    parquet: pq.ParquetFile
    columns: Schema
    target: pa.Schema
    found: tuple[Source, ...]
    paths: tuple[str, ...]
    groups: tuple[int, ...]
    gone: pa.ChunkedArray | None
    snapshot: int | None
    filtered: bool


def tables(asked: Reading) -> Iterator[pa.Table]:
    """Yield the rows that are asked for, file after file, as tables of the asked columns."""
    left = asked.limit
    if left == 0:
        return
    forms = Forms()
    near = "://" not in asked.store.url and not any("://" in file.path for file in asked.files)
    jobs = _jobs(asked, forms, _LITTLE_BYTES if near and left is None else 0)
    with (
        threads(near=near) as pool,
        closing(Ahead(jobs, pool, budget=BUDGET_BYTES, eager=left is None)) as ahead,
    ):
        for table in chain(_taken(ahead), _inlined(asked)):
            kept = table if left is None else table.slice(0, left)
            left = None if left is None else left - kept.num_rows
            if kept.num_rows:
                yield kept
            if left == 0:
                return


def _jobs(asked: Reading, forms: Forms, least: int) -> Iterator[Job[Found]]:
    """Yield a job for each file, one for several in a row while they weigh less than `least`."""
    few: list[DataFile] = []
    weight = 0
    for file in asked.files:
        few.append(file)
        weight += min(_UNIT_BYTES, file.bytes * _INFLATION)
        if weight >= least:
            yield Job(partial(_begin, asked, forms, few), weight)
            few, weight = [], 0
    if few:
        yield Job(partial(_begin, asked, forms, few), weight)


def _begin(asked: Reading, forms: Forms, files: Sequence[DataFile]) -> Found:
    """Open a file and read its first rows, or open several, which others help to read."""
    jobs = [job for file in files for job in _units(asked, _open(asked, forms, file))]
    if len(files) > 1:
        return (), tuple(_packed(jobs))
    if not jobs:
        return (), ()
    found, _ = jobs[0].do()
    return found, tuple(jobs[1:])


def _packed(jobs: Iterable[Job[Found]]) -> Iterator[Job[Found]]:
    """Do little jobs in a row as one."""
    few: list[Job[Found]] = []
    weight = 0
    for job in jobs:
        few.append(job)
        weight += job.weight
        if weight >= _PACK_BYTES:
            yield Job(partial(_done, few), weight)
            few, weight = [], 0
    if few:
        yield Job(partial(_done, few), weight)


def _done(jobs: Sequence[Job[Found]]) -> Found:
    if len(jobs) == 1:
        return jobs[0].do()
    return tuple(table for job in jobs for table in job.do()[0]), ()


def _taken(ahead: Ahead[Found]) -> Iterator[pa.Table]:
    while (wait := ahead.take()) is not None:
        found, more = wait()
        ahead.put(more)
        yield from found


def _inlined(asked: Reading) -> Iterator[pa.Table]:
    """Yield the rows that lie in the catalog, after all others: they are the youngest."""
    if asked.inlined is None:
        return
    table = arrow.inlined.rows_of(asked.inlined, asked.table)
    if asked.where is not None and not asked.inlined.exact:
        table = reading.rows.matching(table, asked.where, asked.table)
    yield table.select(list(asked.schema.names))


def wanted(asked: Reading) -> Schema:
    """Return the columns asked for, then those that only the predicate needs."""
    if asked.where is None:
        return asked.schema
    present = {field.id for field in asked.schema}
    named = (asked.table.field(name) for name in sorted(columns(asked.where)))
    return Schema(fields=(*asked.schema.fields, *(f for f in named if f.id not in present)))


def _open(asked: Reading, forms: Forms, file: DataFile) -> Ready:
    """Open a file; a small one is fetched whole, in one request."""
    store = asked.store
    with naming(file.path):
        parquet = fetched(store, file)
        described = forms.of(parquet)
    check_rows(file, parquet)
    return _ready(asked, forms, file, parquet, described)


def _ready(
    asked: Reading,
    forms: Forms,
    file: DataFile,
    parquet: pq.ParquetFile,
    described: tuple[Part, ...],
) -> Ready:
    filtered = asked.where is not None and not (file.id and file.id in asked.certain)
    schema = wanted(asked) if filtered else asked.schema
    found = constant(file, asked.layout, forms.sources(file, described, schema))
    paths = [path for source in found for path in source.paths()]
    snapshot = asked.snapshot if visible.needs_snapshot(file, asked.snapshot) else None
    if snapshot is not None:
        paths.extend(_row_snapshots(file, described).leaves)
    where = asked.where if filtered else None
    return Ready(
        file=file,
        parquet=parquet,
        columns=schema,
        target=forms.target(schema),
        found=found,
        paths=tuple(dict.fromkeys(paths)),
        groups=groups.surviving(parquet.metadata, found, where, asked.kept.get(file.id)),
        gone=_gone(asked, file),
        snapshot=snapshot,
        filtered=filtered,
    )


def _gone(asked: Reading, file: DataFile) -> pa.ChunkedArray | None:
    if file.deletes is None and not file.gone:
        return None
    return reading.living.gone(asked.store, file, asked.snapshot)


def _row_snapshots(file: DataFile, described: tuple[Part, ...]) -> Part:
    part = special(described, SNAPSHOT_ID)
    if part is None:
        msg = f"{file.path} spans several snapshots, but does not say which row came when"
        raise CorruptionError(msg)
    return part


def _units(asked: Reading, ready: Ready) -> Iterator[Job[Found]]:
    """Cut a file into runs of row groups of a handy size."""
    footer = ready.parquet.metadata
    share = len(ready.paths) / max(1, footer.num_columns)
    counts = (footer.row_group(i).num_rows for i in range(footer.num_row_groups))
    starts = list(accumulate(counts, initial=0))
    run: list[int] = []
    weight = 0
    for ordinal in ready.groups:
        raw = int(footer.row_group(ordinal).total_byte_size * share)
        if run and (weight + raw > _UNIT_BYTES or ordinal != run[-1] + 1):
            yield Job(partial(_unit, asked, ready, run, starts[run[0]], weight), weight)
            run, weight = [], 0
        run.append(ordinal)
        weight += raw
    if run:
        yield Job(partial(_unit, asked, ready, run, starts[run[0]], weight), weight)


def _unit(asked: Reading, ready: Ready, run: list[int], start: int, weight: int) -> Found:
    if weight > _HUGE_BYTES and ready.paths:
        return _trickle(asked, ready, run, start), ()
    with naming(ready.file.path):
        if ready.paths:
            table = ready.parquet.read_row_groups(
                run, list(ready.paths), use_threads=weight > _SMALL_BYTES
            )
        else:
            footer = ready.parquet.metadata
            table = _nothing(sum(footer.row_group(i).num_rows for i in run))
        table = _conformed(ready, table, start)
    return (_filtered(asked, ready, table),), ()


def _trickle(asked: Reading, ready: Ready, run: list[int], start: int) -> Iterator[pa.Table]:
    """Decode row groups that are too large to hold while the rows are taken."""
    with naming(ready.file.path):
        batches = ready.parquet.iter_batches(_HUGE_BATCH, row_groups=run, columns=list(ready.paths))
    while True:
        with naming(ready.file.path):
            batch = next(batches, None)
            if batch is None:
                return
            table = _conformed(ready, pa.Table.from_batches([batch]), start)
        start += batch.num_rows
        yield _filtered(asked, ready, table)


def _nothing(count: int) -> pa.Table:
    """Return rows without columns, for files that hold none of the columns asked for."""
    return pa.table({"": pa.nulls(count)})


def _conformed(ready: Ready, table: pa.Table, start: int) -> pa.Table:
    if ready.gone is not None or ready.snapshot is not None:
        table = reading.living.alive(table, start, ready.gone, ready.snapshot)
    return conform(table, ready.found, ready.columns, ready.target)


def _filtered(asked: Reading, ready: Ready, table: pa.Table) -> pa.Table:
    if not ready.filtered or asked.where is None:
        return table
    table = reading.rows.matching(table, asked.where, ready.columns)
    return table.select(list(asked.schema.names))
