"""Write rows as Parquet files with DuckDB's own writer, and take its word for what is in them."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from io import SEEK_END
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mere.arrow import file_name, file_schema, stream
from mere.arrow.batches import pooled
from mere.arrow.footer import UNORDERED, data_file, digest_of
from mere.arrow.partitions import split
from mere.checking import checked
from mere.errors import InvalidInputError, MereError, StorageError, TaskError
from mere.kernels.duckdb_sorting import connect, quoted, sorted_batches, unused
from mere.kernels.duckdb_values import computed, truths
from mere.model.files import Bounds, DataFile, Value
from mere.model.layout import folder, key_names
from mere.model.schema import Field, Schema
from mere.model.values import bounds_from_text
from mere.model.work import Probe, Result, Rewrite, Write
from mere.ports import Store
from mere.reading.probing import Judge, probe
from mere.reading.rewriting import rewrite

_BLOCK = 8 << 20
_RAW_PER_STORED = 2
_NONE = {"none": "uncompressed", "lz4": "lz4_raw"}
_CODECS = frozenset({"uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4_raw"})
_LEAST_GROUP = 2048
_AFTER_FOOTER = 8
_NUMBERS = ("null_count", "num_values", "column_size_bytes")
_UNCOUNTED = frozenset({"interval", "timetz"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DuckdbKernel:
    """Settings of the DuckDB kernel; `threads` None takes as many as there are cores.

    Files are written to a temporary folder of this machine first and handed to the store from
    there: DuckDB never sees credentials. Rows of a partitioned or ordered table are sorted, which
    may use that folder too when they exceed `memory_bytes`.
    """

    threads: int | None = None
    memory_bytes: int = 1 << 30
    name: str = field(default="duckdb", init=False)

    def __post_init__(self) -> None:
        """Refuse settings that nothing could run with."""
        if self.threads is not None and self.threads < 1:
            msg = f"threads must be at least 1, got {self.threads}"
            raise InvalidInputError(msg)
        if self.memory_bytes < 1:
            msg = f"memory_bytes must be positive, got {self.memory_bytes}"
            raise InvalidInputError(msg)

    def write(self, rows: Any, *, task: Write, store: Store) -> Result:
        """Write an Arrow stream as files of the table, split by partition, each file in order.

        Raises:
            SchemaMismatchError: If a value does not fit its column.
            StorageError: If the temporary folder cannot be written.
        """
        codec = _codec(task)
        memory = min(self.memory_bytes, task.memory_bytes or self.memory_bytes)
        with TemporaryDirectory(prefix="mere-") as scratch:
            job = _Job(task, store, scratch, codec)
            try:
                with connect(scratch, memory, self.threads) as con:
                    batches = checked(pooled(stream(rows), task.schema), task)
                    return job.run(con, batches)
            except BaseException as error:
                job.abort()
                raise job.cause(error) from error

    def probe(self, task: Probe, *, store: Store) -> Result:
        """Find the rows that clauses are about, and write new versions of those that are updated.

        Raises:
            SchemaMismatchError: If a new value does not fit its column; nothing stays.
            InvalidInputError: If DuckDB cannot compute a condition or a value.
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
        return rewrite(
            task, store, write=kernel.write, sort=partial(sorted_batches, threads=self.threads)
        )


def _codec(task: Write) -> str:
    name = task.layout.compression.lower()
    name = _NONE.get(name, name)
    if name not in _CODECS:
        msg = f"unknown compression {task.layout.compression!r}; known: {sorted(_CODECS)}"
        raise InvalidInputError(msg)
    return name


@dataclass(slots=True)
class _Target:
    """Where the rows of one number go: a partition, or the next file of one."""

    number: int
    folder: str
    values: tuple[Value | None, ...]
    bytes: int = 0


class _Job:
    """One write from its first row to its last file."""

    def __init__(self, task: Write, store: Store, scratch: str, codec: str) -> None:
        self.task = task
        self.store = store
        self.scratch = Path(scratch)
        self.codec = codec
        self.files: list[DataFile] = []
        self.targets: list[_Target] = []
        self.rows = 0
        self.failure: BaseException | None = None
        self.limit = task.layout.target_file_bytes * _RAW_PER_STORED
        names = {name.casefold() for name in task.schema.names}
        self.part = unused("mere_part", names)
        self.place = unused("mere_row", names)

    def run(self, con: duckdb.DuckDBPyConnection, batches: Iterator[pa.RecordBatch]) -> Result:
        if self.task.layout.keys or self.task.layout.order:
            self._write_sorted(con, self._sliced(batches))
        else:
            self._write_stream(con, self._sliced(batches))
        out = sum(file.rows for file in self.files)
        size = sum(file.bytes for file in self.files)
        return Result(files=tuple(self.files), rows_in=self.rows, rows_out=out, encoded_bytes=size)

    def _sliced(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows in batches that each fit into one file."""
        for batch in batches:
            per_row = max(batch.nbytes // batch.num_rows, 1)
            step = max(self.limit // per_row, 1)
            yield from (batch.slice(start, step) for start in range(0, batch.num_rows, step))

    def abort(self) -> None:
        """Leave nothing behind."""
        with suppress(MereError, OSError):
            self.store.delete([file.path for file in self.files])

    def cause(self, error: BaseException) -> BaseException:
        """Return what really went wrong: the stream's own error, or DuckDB's in our words."""
        if self.failure is not None:
            return self.failure
        if isinstance(error, duckdb.IOException):
            hint = "the temporary folder needs room for the files of one write; see TMPDIR"
            return StorageError(f"DuckDB could not write: {error}", hint=hint)
        if isinstance(error, duckdb.Error):
            return TaskError(f"Write with the duckdb kernel: {error}", hint="nothing was committed")
        return error

    def _write_stream(
        self, con: duckdb.DuckDBPyConnection, batches: Iterator[pa.RecordBatch]
    ) -> None:
        """Write rows as they come, one file after the other."""
        for first in batches:
            target = _Target(number=len(self.targets), folder="", values=())
            self.targets.append(target)
            con.register("rows", self._reader(self._until_full(first, batches, target)))
            self._copy(con, "FROM rows", target, first)
            con.unregister("rows")

    def _until_full(
        self, first: pa.RecordBatch, batches: Iterator[pa.RecordBatch], target: _Target
    ) -> Iterator[pa.RecordBatch]:
        batch: pa.RecordBatch | None = first
        while batch is not None:
            self.rows += batch.num_rows
            target.bytes += batch.nbytes
            yield batch
            batch = next(batches, None) if target.bytes < self.limit else None

    def _write_sorted(
        self, con: duckdb.DuckDBPyConnection, batches: Iterator[pa.RecordBatch]
    ) -> None:
        """Bring rows of one file together and in order, then write file by file."""
        first = next(batches, None)
        if first is None:
            return
        extra = [pa.field(self.part, pa.int64()), pa.field(self.place, pa.int64())]
        numbered = self._numbered(chain((first,), batches))
        con.register("rows", self._reader(numbered, extra))
        order = ", ".join([quoted(self.part), *self._order(), quoted(self.place)])
        con.execute(f"CREATE TEMP TABLE sorted AS FROM rows ORDER BY {order}")
        con.unregister("rows")
        for target in self.targets:
            rows = f"FROM sorted WHERE {quoted(self.part)} = {target.number}"
            self._copy(con, rows, target, first)

    def _numbered(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Number each row's file and place."""
        task = self.task
        names = key_names(task.layout, task.schema)
        known: dict[tuple[str | None, ...], _Target] = {}
        for batch in batches:
            for texts, values, pieces in split(batch, task.layout.keys, task.schema):
                for piece in pieces:
                    target = self._target(known, texts, values, names)
                    target.bytes += piece.nbytes
                    yield self._with_numbers(piece, target)

    def _target(
        self,
        known: dict[tuple[str | None, ...], _Target],
        texts: tuple[str | None, ...],
        values: tuple[Value | None, ...],
        names: Sequence[str],
    ) -> _Target:
        found = known.get(texts)
        if found is None or found.bytes >= self.limit:
            below = folder(names, texts) if self.task.layout.hive_folders else ""
            found = _Target(number=len(self.targets), folder=below, values=values)
            self.targets.append(found)
            known[texts] = found
        return found

    def _with_numbers(self, piece: pa.RecordBatch, target: _Target) -> pa.RecordBatch:
        start = self.rows
        self.rows += piece.num_rows
        part = pa.repeat(pa.scalar(target.number, pa.int64()), piece.num_rows)
        place = pa.array(np.arange(start, self.rows, dtype=np.int64))
        names = [*piece.schema.names, self.part, self.place]
        return pa.RecordBatch.from_arrays([*piece.columns, part, place], names=names)

    def _order(self) -> list[str]:
        names = {field.id: field.name for field in self.task.schema.fields}
        return [
            f"{quoted(names[key.column])} {'DESC' if key.descending else 'ASC'} "
            f"NULLS {'FIRST' if key.nulls_first else 'LAST'}"
            for key in self.task.layout.order
        ]

    def _reader(
        self, batches: Iterator[pa.RecordBatch], extra: Sequence[pa.Field] = ()
    ) -> pa.RecordBatchReader:
        """Return a stream for DuckDB that remembers what went wrong in it."""

        def remembered() -> Iterator[pa.RecordBatch]:
            try:
                yield from batches
            except BaseException as error:
                self.failure = error
                raise

        columns = pa.schema([*file_schema(self.task.schema), *extra])
        return pa.RecordBatchReader.from_batches(columns, remembered())

    def _copy(
        self, con: duckdb.DuckDBPyConnection, rows: str, target: _Target, sample: pa.RecordBatch
    ) -> None:
        """Write one file in the temporary folder, and hand it to the store."""
        columns = ", ".join(_selected(column) for column in self.task.stored.fields)
        local = self.scratch / f"{target.number}.parquet"
        options = ", ".join(self._options(sample))
        query = f"SELECT {columns} {rows}"
        answer = con.execute(f"COPY ({query}) TO {_text(str(local))} ({options})")
        names = [column[0] for column in answer.description or ()]
        for row in answer.fetchall():
            written = dict(zip(names, row, strict=True))
            self.files.append(self._stored(local, target, written))
        local.unlink(missing_ok=True)

    def _options(self, sample: pa.RecordBatch) -> Iterator[str]:
        layout = self.task.layout
        per_row = max(sample.nbytes // max(sample.num_rows, 1), 1)
        rows = min(layout.row_group_rows, layout.row_group_bytes // per_row)
        yield "FORMAT parquet"
        yield "RETURN_STATS"
        yield f"COMPRESSION {self.codec}"
        yield f"PARQUET_VERSION V{layout.page_version}"
        if layout.compression_level is not None and self.codec == "zstd":
            yield f"COMPRESSION_LEVEL {layout.compression_level}"
        yield f"ROW_GROUP_SIZE {max(rows, _LEAST_GROUP)}"
        ids = ", ".join(_field_id(column) for column in self.task.stored.fields)
        yield f"FIELD_IDS {{{ids}}}"

    def _stored(self, local: Path, target: _Target, written: dict[str, Any]) -> DataFile:
        task = self.task
        name = file_name(task.intent, named=not task.layout.plain)
        path = f"{task.folder}{target.folder}{name}"
        with local.open("rb") as source, self.store.writer(path) as sink:
            shutil.copyfileobj(source, sink, _BLOCK)
        bounds = _bounds(task.stored, written["column_statistics"])
        found = data_file(
            pq.read_metadata(local),
            schema=task.stored,
            without_nan=frozenset(leaf for leaf, known in bounds.items() if known.nan is False),
            path=path,
            size=int(written["file_size_bytes"]),
            footer_bytes=int(written["footer_size_bytes"]),
            digest=_digest(local, int(written["footer_size_bytes"])),
            partition_id=task.layout.id,
            partition=target.values,
        )
        return replace(found, rows=int(written["count"]), bounds=bounds)


def _digest(local: Path, footer_bytes: int) -> str:
    with local.open("rb") as file:
        file.seek(-footer_bytes - _AFTER_FOOTER, SEEK_END)
        return digest_of(file.read(footer_bytes))


def _bounds(schema: Schema, statistics: dict[str, dict[str, str]]) -> dict[int, Bounds]:
    """Read the statistics that COPY returned, one text each."""
    return {
        leaf.id: _leaf_bounds(leaf.type, statistics.get(".".join(map(quoted, path)), {}))
        for path, leaf in schema.leaves()
    }


def _leaf_bounds(kind: str, stats: dict[str, str]) -> Bounds:
    """Read one column's statistics; its number of values counts the NULLs too."""
    numbers = {key: int(stats[key]) for key in _NUMBERS if key in stats}
    if kind in _UNCOUNTED or len(numbers) < len(_NUMBERS):
        return Bounds(bytes=numbers.get("column_size_bytes"))
    nan = stats.get("has_nan")
    ordered = kind not in UNORDERED
    return bounds_from_text(
        kind,
        stats.get("min") if ordered else None,
        stats.get("max") if ordered else None,
        nulls=numbers["null_count"],
        values=numbers["num_values"] - numbers["null_count"],
        nan=None if nan is None else nan == "true",
        bytes=numbers["column_size_bytes"],
    )


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _field_id(column: Field) -> str:
    if not column.children:
        return f"{_text(column.name)}: {column.id}"
    parts = ", ".join(_field_id(child) for child in column.children)
    return f"{_text(column.name)}: {{__duckdb_field_id: {column.id}, {parts}}}"


def _selected(column: Field) -> str:
    """Select a column; a time with zone comes from Arrow without one."""
    name = quoted(column.name)
    return f"CAST({name} AS TIMETZ) AS {name}" if column.type == "timetz" else name
