"""Write the rows of files anew: as every version that is kept sees them, in their order or another.

How rows are written and sorted is up to whoever calls; so that kernels differ in nothing else.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mere.arrow import conformer, file_schema, to_arrow
from mere.errors import MereError, TaskError
from mere.model.feed import Trace
from mere.model.files import DataFile, DeleteFile
from mere.model.schema import ROW_ID, SINCE_ID, SNAPSHOT_ID, Schema, with_since
from mere.model.work import Result, Rewrite, Write
from mere.ports import Store
from mere.reading.coding import Coding
from mere.reading.curves import Fences, bits_for
from mere.reading.cutting import Cutter, Ordering, Part
from mere.reading.deleting import Going, write_deletes
from mere.reading.footers import fetched, naming
from mere.reading.forms import Forms, parts, special
from mere.reading.ranges import unpacked
from mere.reading.surveying import Survey
from mere.reading.versions import NEVER, Every, Numbers, Versions

Sort: TypeAlias = Callable[..., Iterator[pa.RecordBatch]]
"""Sorts batches of a schema by some columns, NULLs last and stable, in so many `memory_bytes`."""


def rewrite(
    task: Rewrite,
    store: Store,
    *,
    write: Callable[..., Result],
    sort: Sort,
    pour: Callable[..., Result] | None = None,
) -> Result:
    """Write the rows of the inputs anew; on an error nothing stays.

    Rows that keep their order are written by `pour`, where there is one: it takes them as they lie
    in files, texts as dictionaries.

    Raises:
        TaskError: If not every row was written that had to be.
        CorruptionError: If a file is missing or damaged.
    """
    still = pour is not None and task.sorting is None and not task.spread
    job = _Job(task, store, sort, still=still)
    write = pour if pour is not None and job.pours else write
    files: list[DataFile] = []
    try:
        for part in job.parts():
            found = write(part.reader, task=part.write, store=store).files
            files += (job.placed(file, part) for file in found)
        made = [job.described(file) for file in files if file.rows]
        job.check(made)
    except BaseException:
        with suppress(MereError, OSError):
            gone = [file.path for file in files]
            store.delete([*gone, *job.delete_files])
        raise
    size = sum(file.bytes + (file.deletes.bytes if file.deletes else 0) for file in made)
    return Result(
        files=tuple(made),
        rows_in=job.rows_in,
        rows_out=sum(file.rows for file in made),
        bytes_read=sum(trace.bytes for trace in task.inputs),
        encoded_bytes=size,
        dropped=job.dropped,
        codec=job.write.layout.compression,
        number=task.number,
    )


class _Job:
    """One rewrite from its first row to its last file."""

    def __init__(self, task: Rewrite, store: Store, sort: Sort, *, still: bool) -> None:
        self.task = task
        self.sort = sort
        self.store = store
        self.forms = Forms()
        self.plain = task.write.layout.plain
        columns = task.write.schema.fields
        self.payload = Schema(fields=columns if self.plain else columns[:-2])
        self.copied = any(map(self._holds_copies, task.inputs))
        first = Every.of(task.inputs[0], store, self.forms)
        self.write = self._with_codec(first.codec)
        self.columns = to_arrow(self.write.schema, ids=False)
        self.pours = still and file_schema(self.write.schema).types == self.columns.types
        self.coding = Coding(self.payload)
        if self.pours:
            self.coding = first.coding(self.payload, self.forms)
            self.columns = self.coding.schema(self.write.schema)
        self.rows_in = 0
        self.dropped = 0
        self.dead: list[tuple[Numbers, Numbers, Numbers]] = []
        self.delete_files: list[str] = []

    def _holds_copies(self, trace: Trace) -> bool:
        """Tell whether a file says of its rows that they were copied: only with ids of its own."""
        if trace.file.row_id_start is not None:
            return False
        return Every.of(trace, self.store, self.forms).origin is not None

    def _with_codec(self, codec: str) -> Write:
        """Return what is asked of the kernel, with the codec and all columns of the inputs."""
        task = self.task
        schema = with_since(task.write.schema) if self.copied else task.write.schema
        if not (task.keep_codec and codec):
            return replace(task.write, schema=schema)
        layout = replace(task.write.layout, compression=codec, compression_level=None)
        return replace(task.write, layout=layout, schema=schema)

    def parts(self) -> Iterator[Part]:
        """Yield the rows, cut into what becomes one file each."""
        task = self.task
        if task.sorting is None and not task.spread:
            pieces = (((), (), batch) for batch in self._batches())
            return Cutter(pieces).parts(self.columns, self.write)
        order = Ordering(task, self.write.schema, self._fences())
        fitted = conformer(self.columns, self.write.schema)
        keyed = (order.with_keys(fitted(batch)) for batch in self._batches())
        memory = task.memory_bytes // 2
        rows: Iterator[pa.RecordBatch] = keyed
        if order.names:
            rows = self.sort(keyed, order.schema, order.names, memory_bytes=memory)
        cutter = Cutter(order.pieces(rows), task.rows_per_file)
        return cutter.parts(order.stored, self.write, order.folder)

    def placed(self, file: DataFile, part: Part) -> DataFile:
        """Say which partition a file belongs to."""
        if self.task.cuts is not None:
            return replace(file, partition=part.values)
        if self.task.spread:
            id_ = self.task.write.layout.id
            return replace(file, partition_id=id_, partition=part.values)
        first = self.task.inputs[0].file
        return replace(file, partition_id=first.partition_id, partition=first.partition)

    def _fences(self) -> Sequence[Fences]:
        """Cut the columns of a curve into ranks, by a sample over all inputs."""
        sorting = self.task.sorting
        if sorting is None or sorting.curve == "linear":
            return ()
        ids = sorting.columns
        if sorting.sample:
            bits = bits_for(len(ids))
            return [Fences.of(column, bits) for column in unpacked(sorting.sample).columns]
        columns = Schema(fields=tuple(f for id_ in ids for f in self.payload if f.id == id_))
        return Survey.of(self.task.inputs, columns, self.store, self.forms).fences(ids)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for trace in self.task.inputs:
            file = Every.of(trace, self.store, self.forms, self.coding)
            for table, versions in file.batches(self.payload, self.forms, self.coding):
                yield from self._kept(table, versions)

    def _kept(self, table: pa.Table, versions: Versions) -> Iterator[pa.RecordBatch]:
        """Leave out the rows that no version shows, and note those that some old one does."""
        self.rows_in += table.num_rows
        began, ended, row_ids = versions.began, versions.ended, versions.row_ids
        since = pa.array(versions.origins, mask=~versions.copied) if self.copied else None
        went = ended != NEVER
        if went.any():
            needed = ~went | ((ended > self.task.oldest) & (ended > began))
            self.dropped += int(np.count_nonzero(~needed))
            dead = went & needed
            if dead.any():
                self.dead.append((row_ids[dead], began[dead], ended[dead]))
            if not needed.all():
                table = table.filter(pa.array(needed))
                began, row_ids = began[needed], row_ids[needed]
                since = None if since is None else since.filter(pa.array(needed))
        if table.num_rows:
            hidden = [pa.array(row_ids), pa.array(began), *([] if since is None else [since])]
            columns = [*table.columns, *map(_chunked, () if self.plain else hidden)]
            yield from pa.Table.from_arrays(columns, schema=self.columns).to_batches()

    def described(self, file: DataFile) -> DataFile:
        """Say since when a new file counts, and which of its rows are gone."""
        if self.plain:
            return file
        came = file.bounds[SNAPSHOT_ID]
        first, last = int(came.minimum or 0), int(came.maximum or 0)
        since = max(first, self.task.oldest)
        return replace(
            file,
            since=since,
            last=max(last, since),
            bounds={id_: b for id_, b in file.bounds.items() if id_ not in _HIDDEN},
            deletes=self._deletes(file) if self.dead else None,
        )

    def _deletes(self, file: DataFile) -> DeleteFile | None:
        """Write the delete file of the rows that came along though they are gone."""
        with naming(file.path):
            parquet = fetched(self.store, file)
            found = parts(parquet)
            hidden = [special(found, id_) for id_ in (ROW_ID, SNAPSHOT_ID)]
            paths = [leaf for part in hidden if part is not None for leaf in part.leaves]
            table = parquet.read(columns=paths)
        row_ids, began = (table.column(place).to_numpy() for place in range(2))
        places, ended = _matched(row_ids, began, self.dead)
        if not len(places):
            return None
        folder = file.path[: file.path.rindex("/") + 1]
        going = Going(path=file.path, places=places, snapshots=ended)
        intent = self.write.intent
        (written,) = write_deletes(self.store, [going], folder=folder, intent=intent)
        self.delete_files.append(written.path)
        return written

    def check(self, made: Sequence[DataFile]) -> None:
        """Demand that every row was written, and every one that is gone is told to be.

        Raises:
            TaskError: If not.
        """
        out = sum(file.rows for file in made)
        if self.rows_in != out + self.dropped:
            msg = f"{self.rows_in} rows were read, {self.dropped} of no use, {out} were written"
            raise TaskError(msg, hint="nothing was committed")
        dead = sum(len(rows) for rows, _, _ in self.dead)
        told = sum(file.deletes.rows for file in made if file.deletes)
        if dead != told:
            msg = f"{dead} deleted rows were read, {told} were written"
            raise TaskError(msg, hint="nothing was committed")


_HIDDEN = frozenset({ROW_ID, SNAPSHOT_ID, SINCE_ID})


def _chunked(array: pa.Array) -> pa.ChunkedArray:
    return pa.chunked_array([array])


def _matched(
    row_ids: Numbers, began: Numbers, dead: Sequence[tuple[Numbers, Numbers, Numbers]]
) -> tuple[Numbers, Numbers]:
    """Return the positions of dead row versions, and when each went."""
    ids, came, ended = (np.concatenate(side) for side in zip(*dead, strict=True))
    known = np.unique(ids), np.unique(came)
    gone, _ = _numbered(known, ids, came)
    order = np.argsort(gone)
    gone, ended = gone[order], ended[order]
    asked, likely = _numbered(known, row_ids, began)
    places = np.searchsorted(gone, asked)
    places[places == len(gone)] = 0
    hit = likely & (gone[places] == asked)
    return np.flatnonzero(hit), ended[places[hit]]


def _numbered(
    known: tuple[Numbers, Numbers], row_ids: Numbers, began: Numbers
) -> tuple[Numbers, NDArray[np.bool_]]:
    """Give each row version one number for its id and snapshot; tell for which both are known."""
    numbers = np.zeros(len(row_ids), dtype=np.int64)
    both = np.ones(len(row_ids), dtype=bool)
    for values, column in zip(known, (row_ids, began), strict=True):
        places = np.searchsorted(values, column)
        places[places == len(values)] = 0
        both &= values[places] == column
        numbers = numbers * len(values) + places
    return numbers, both
