"""Cut a pinned read into Spark partitions, and read one of them on an executor as Arrow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from mere import registry
from mere.model.feed import Feed
from mere.model.files import DataFile
from mere.plan.changes import plan_changes
from mere.ports import Reading
from mere.spark.shown import as_shown

_FEW = 8
_LARGE_BYTES = 64 << 20
_COLUMNS = 3  # when, which row, how: what a change has before the table's own columns
NEW = frozenset({"insert", "update_postimage"})


@dataclass(frozen=True, slots=True)
class Rows(InputPartition):
    """Some files of a pinned read; rows that lie in the catalog come with the last ones."""

    reading: Reading


@dataclass(frozen=True, slots=True)
class News(InputPartition):
    """Some files in which rows came within a range of versions."""

    reading: Reading
    feed: Feed


NOTHING = InputPartition(None)
"""No rows: Spark asks for at least one partition."""


def cut_rows(reading: Reading) -> list[InputPartition]:
    """Return a read as partitions of neighbouring files, of a good size each."""
    slim = [replace(file, bounds={}, row_groups=()) for file in reading.files]
    runs = list(_runs(slim))
    parts = [replace(reading, files=tuple(run), inlined=None) for run in runs]
    if reading.inlined is not None:
        parts.append(replace(reading, files=()))
    return [Rows(part) for part in parts] or [NOTHING]


def cut_news(reading: Reading, feed: Feed) -> list[InputPartition]:
    """Return what came in a range of versions as partitions."""
    came = [file.trace for file in plan_changes(feed) if file.came]
    parts = [replace(feed, traces=(trace,), inlined=None) for trace in came]
    if feed.inlined is not None:
        parts.append(replace(feed, traces=()))
    return [News(reading, part) for part in parts] or [NOTHING]


def read(part: InputPartition) -> Iterator[pa.RecordBatch]:
    """Read the rows of one partition, in the types that Spark expects."""
    if isinstance(part, Rows):
        for batch in registry.reader("arrow").batches(part.reading):
            table = pa.Table.from_batches([batch])
            yield from as_shown(table, part.reading.schema).to_batches()
    elif isinstance(part, News):
        for batch in registry.reader("changes").reader(part.reading, part.feed):
            yield from _new(batch, part.reading)


def _new(batch: pa.RecordBatch, reading: Reading) -> Iterator[pa.RecordBatch]:
    """Keep the rows that came, without what is said of the change."""
    said = batch.column(_COLUMNS - 1)
    table = pa.Table.from_batches(
        [batch.filter(pa.array([word in NEW for word in said.to_pylist()]))]
    )
    own = table.select(list(range(_COLUMNS, table.num_columns)))
    yield from as_shown(own, reading.schema).to_batches()


def _runs(files: Sequence[DataFile]) -> Iterator[list[DataFile]]:
    """Cut files into runs: few for a small table, of some size for a large one."""
    total = sum(file.bytes for file in files)
    enough = min(_LARGE_BYTES, max(total // _FEW, 1))
    run: list[DataFile] = []
    size = 0
    for file in files:
        run.append(file)
        size += file.bytes
        if size >= enough:
            yield run
            run, size = [], 0
    if run:
        yield run
