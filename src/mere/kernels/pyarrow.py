"""Write rows as Parquet files with pyarrow: split by partition, encoded on all cores."""

from collections import OrderedDict, deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from mere.arrow import file_schema, stream
from mere.arrow.batches import pooled
from mere.arrow.partitions import Group, split
from mere.checking import checked
from mere.errors import InvalidInputError, MereError
from mere.model.layout import folder, key_names
from mere.model.work import Probe, Result, Rewrite, Write
from mere.parquet.encoding import codec, leaves
from mere.parquet.lanes import Gate, InPlace, Lane, Sparing
from mere.parquet.outlet import Outlet, Place
from mere.parquet.pouring import pour
from mere.ports import Store
from mere.reading.probing import Judge, probe
from mere.reading.rewriting import rewrite
from mere.reading.sorting import sorted_batches
from mere.reading.values import computed, truths

_LITTLE = 4 << 20
_AT_ONCE = 8
_WAITING = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class PyarrowKernel:
    """Settings of the pyarrow kernel; what it writes does not depend on `threads`.

    `threads` None takes as many as there are cores. Rows that wait for their row group to fill,
    and those being encoded, take up to `memory_bytes`.
    """

    threads: int | None = None
    memory_bytes: int = 512 << 20
    name: str = field(default="pyarrow", init=False)

    def __post_init__(self) -> None:
        """Refuse settings that nothing could run with."""
        if self.threads is not None and self.threads < 1:
            msg = f"threads must be at least 1, got {self.threads}"
            raise InvalidInputError(msg)
        if self.memory_bytes < 1:
            msg = f"memory_bytes must be positive, got {self.memory_bytes}"
            raise InvalidInputError(msg)

    def write(self, rows: Any, *, task: Write, store: Store) -> Result:
        """Write an Arrow stream as files of the table, split by partition.

        Row groups are filled to the layout's size while memory lasts, and rows are ordered within
        each; a partition's rows keep their order otherwise. On an error nothing stays.

        Raises:
            SchemaMismatchError: If a value does not fit its column.
            UnsupportedError: If a column has a type that pyarrow cannot write.
        """
        columns = leaves(task.stored)
        codec(task.layout)
        place = Place(task=task, store=store, columns=columns, arrow=file_schema(task.stored))
        pools = checked(pooled(stream(rows), task.schema), task)
        first = list(islice(pools, 2))
        threads = self.threads or pa.cpu_count()  # one on an executor, which counts its own tasks
        little = len(first) <= 1 and sum(batch.nbytes for batch in first) < _LITTLE
        with _workers(threads, little=little) as workers:
            memory = min(self.memory_bytes, task.memory_bytes or self.memory_bytes)
            job = _Job(place, workers, threads=threads, memory=memory)
            return job.run(chain(first, pools))

    def probe(self, task: Probe, *, store: Store) -> Result:
        """Find the rows that clauses are about, and write new versions of those that are updated.

        Raises:
            SchemaMismatchError: If a new value does not fit its column; nothing stays.
            UnsupportedError: If a condition calls a function that is not known here.
        """
        judge = Judge(truths=truths, computed=computed)
        return probe(task, store, judge=judge, write=self.write)

    def rewrite(self, task: Rewrite, *, store: Store) -> Result:
        """Write the rows of files anew, as every version that is kept sees them.

        Raises:
            TaskError: If not every row was written that had to be; nothing stays.
            CorruptionError: If a file is missing or damaged.
        """
        kernel = replace(self, memory_bytes=min(self.memory_bytes, task.memory_bytes))
        threads = self.threads or pa.cpu_count()
        poured = partial(pour, memory=kernel.memory_bytes, threads=threads)
        return rewrite(task, store, write=kernel.write, sort=sorted_batches, pour=poured)


def _workers(threads: int, *, little: bool) -> Executor:
    """Return what encodes files: with little to encode, the time goes into waiting for the disk."""
    if threads == 1:
        return InPlace()
    return Sparing(_AT_ONCE, _WAITING) if little else ThreadPoolExecutor(threads)


class _Part:
    """The rows of one partition that wait for their row group, and the files they go to."""

    def __init__(self, outlet: Outlet, lane: Lane) -> None:
        self.outlet = outlet
        self.lane = lane
        self.pieces: list[pa.RecordBatch] = []
        self.rows = 0
        self.bytes = 0

    def add(self, pieces: list[pa.RecordBatch]) -> int:
        size: int = sum(piece.nbytes for piece in pieces)
        self.pieces.extend(pieces)
        self.rows += sum(piece.num_rows for piece in pieces)
        self.bytes += size
        return size

    def compact(self) -> None:
        """Copy the rows that wait out of the batches that they came in."""
        self.pieces = [pa.concat_batches(self.pieces)] if self.pieces else []

    def cut(self, rows: int, schema: pa.Schema) -> tuple[pa.Table, int]:
        """Take rows out for one row group; returns them and their bytes."""
        table = pa.Table.from_batches(self.pieces, schema=schema)
        group = table.slice(0, rows)
        size = self.bytes if rows >= self.rows else self.bytes * rows // self.rows
        self.pieces = table.slice(rows).to_batches()
        self.rows -= group.num_rows
        self.bytes -= size
        return group, size


class _Job:
    """One write from its first row to its last file."""

    def __init__(self, place: Place, workers: Executor, *, threads: int, memory: int) -> None:
        self.place = place
        self.workers = workers
        self.ahead = threads + 1
        self.limit = memory // 2
        self.gate = Gate(memory // 4)
        self.parts: dict[tuple[str | None, ...], _Part] = {}
        self.opened: OrderedDict[tuple[str | None, ...], None] = OrderedDict()
        self.waiting = 0
        self.held = 0
        self.rows = 0

    def run(self, batches: Iterator[pa.RecordBatch]) -> Result:
        try:
            for groups in self._split(batches):
                for texts, values, pieces in groups:
                    self._add(texts, values, pieces)
                if self.held > self.limit:
                    self._relieve()
            for texts in list(dict.fromkeys([*self.opened, *self.parts])):
                self._finish(texts)
            for part in self.parts.values():
                part.lane.wait()
            self.gate.check()
        except BaseException:
            self._abort()
            raise
        files = tuple(file for part in self.parts.values() for file in part.outlet.files)
        size = sum(file.bytes for file in files)
        out = sum(file.rows for file in files)
        return Result(files=files, rows_in=self.rows, rows_out=out, encoded_bytes=size)

    def _split(self, batches: Iterator[pa.RecordBatch]) -> Iterator[list[Group]]:
        """Split batches on the workers, a few ahead, and yield them in their order."""
        ahead: deque[Future[list[Group]]] = deque()
        for batch in batches:
            self.rows += batch.num_rows
            ahead.append(self.workers.submit(self._groups, batch))
            if len(ahead) >= self.ahead:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()

    def _groups(self, batch: pa.RecordBatch) -> list[Group]:
        task = self.place.task
        found: list[Group] = [((), (), [batch])]
        if task.layout.keys:
            found = list(split(batch, task.layout.keys, task.schema))
        if not task.layout.told:
            return found
        names = self.place.arrow.names
        return [(texts, v, [piece.select(names) for piece in pieces]) for texts, v, pieces in found]

    def _add(
        self, texts: tuple[str | None, ...], values: tuple[Any, ...], pieces: list[Any]
    ) -> None:
        part = self.parts.get(texts)
        if part is None:
            part = self.parts[texts] = self._part(texts, values)
        size = part.add(pieces)
        self.waiting += size
        self.held += size
        while part.rows >= (limit := self._group_rows(part)):
            self._emit(texts, part, limit)

    def _relieve(self) -> None:
        """Make room: write what waits for open files and in large partitions, gather the rest.

        Rows that wait are cut out of batches, and keep all of such a batch in memory: so what is
        held counts whole batches, until the rows that are left are copied out of them.
        """
        for texts in sorted(
            self.parts, key=lambda key: (key not in self.opened, -self.parts[key].bytes)
        ):
            if self.waiting <= self.limit // 2:
                break
            self._empty(texts, self.parts[texts])
        for part in self.parts.values():
            part.compact()
        self.held = self.waiting

    def _part(self, texts: tuple[str | None, ...], values: tuple[Any, ...]) -> _Part:
        task = self.place.task
        names = key_names(task.layout, task.schema)
        below = folder(names, texts) if task.layout.hive_folders else ""
        place = Place(
            task=task,
            store=self.place.store,
            columns=self.place.columns,
            arrow=self.place.arrow,
            folder=below,
            partition=values,
        )
        return _Part(Outlet(place), Lane(self.workers, self.gate))

    def _group_rows(self, part: _Part) -> int:
        """Return how many of the part's rows make a full row group."""
        layout = self.place.task.layout
        per_row = max(part.bytes // max(part.rows, 1), 1)
        return max(min(layout.row_group_rows, layout.row_group_bytes // per_row), 1)

    def _empty(self, texts: tuple[str | None, ...], part: _Part) -> None:
        while part.rows:
            self._emit(texts, part, self._group_rows(part))

    def _emit(self, texts: tuple[str | None, ...], part: _Part, rows: int) -> None:
        """Hand one row group to the part's lane; with too many files open, close the oldest."""
        self.opened[texts] = None
        self.opened.move_to_end(texts)
        if len(self.opened) > self.place.task.max_open_files:
            oldest = self.parts[self.opened.popitem(last=False)[0]]
            oldest.lane.put(oldest.outlet.close)
            oldest.lane.wait()
        group, size = part.cut(rows, self.place.arrow)
        self.waiting -= size
        part.lane.put(partial(part.outlet.write, group), size)

    def _finish(self, texts: tuple[str | None, ...]) -> None:
        """Write what waits, and close: open files come first, so that none is begun anew."""
        part = self.parts[texts]
        self._empty(texts, part)
        part.lane.put(part.outlet.close)
        self.opened.pop(texts, None)

    def _abort(self) -> None:
        """Leave nothing behind: open files are dropped, finished ones deleted."""
        self.gate.leave(0, InterruptedError("the write was given up"))
        for part in self.parts.values():
            part.lane.wait()
            part.outlet.abort()
        finished = [file.path for part in self.parts.values() for file in part.outlet.files]
        with suppress(MereError, OSError):
            self.place.store.delete(finished)
