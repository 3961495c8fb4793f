"""Stage the rows of a source: read once, in the table's types, few in memory and many in files."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mere.arrow import file_schema, names_of, stream, to_arrow
from mere.arrow.batches import pooled
from mere.errors import (
    DuplicateKeyError,
    InvalidInputError,
    MereError,
    SchemaMismatchError,
)
from mere.model.feed import Trace
from mere.model.files import DataFile
from mere.model.history import Head
from mere.model.layout import Layout, PartitionKey
from mere.model.schema import Schema, fit, number, with_versions
from mere.model.values import FLOATS
from mere.model.work import Result, Rewrite, Sorting, Staged, Write
from mere.ops import carry
from mere.ops.stepping import rewritten
from mere.plan.chunks import chunked
from mere.plan.rewrite import WHOLE
from mere.ports import Session
from mere.reading.inserting import BETWEEN, vetted
from mere.reading.source import Source, in_memory

FEW_BYTES = 64 << 20
"""Up to so many bytes of a source stay in memory."""
FEW_ON_SPARK = 8 << 20
CHUNK_BYTES = 16 << 20
_MEMORY_BYTES = 128 << 20
_SHOWN = 5
_UNORDERED = frozenset({"interval", "variant", "geometry"})


def columns_of(
    session: Session, head: Head, rows: Any, on: Sequence[str], *, extra: bool
) -> Schema:
    """Return the columns of a source in the table's types; `extra` allows what the table lacks.

    Raises:
        SchemaMismatchError: If a column does not fit the table's, or is none of its.
        InvalidInputError: If a key column is missing in the source.
    """
    incoming = session.runner.schema(rows)
    there = {name.casefold() for name in names_of(rows)}  # also where nothing but NULL is known
    wanted = [field for field in head.schema if field.name.casefold() in there]
    missing = [name for name in on if head.schema.field(name).name.casefold() not in there]
    if missing:
        msg = f"the source has no column {', '.join(map(repr, missing))} to match rows by"
        raise InvalidInputError(msg, hint=f"it has: {', '.join(incoming.names)}")
    known = Schema(fields=tuple(replace(field, nullable=True) for field in wanted))
    names = {field.name.casefold() for field in known}
    more = [field for field in incoming if field.name.casefold() not in names]
    if more and not extra:
        spelled = ", ".join(f"{field.name}: {field.spell()}" for field in more)
        msg = f"the source has columns that {head.full_name} does not have: {spelled}"
        hint = f"it has: {head.schema.spell()}; evolve().add_column() adds one"
        raise SchemaMismatchError(msg, hint=hint)
    fitted = fit(known, Schema(fields=tuple(f for f in incoming if f not in more)))
    fields = (*fitted.schema.fields, *(replace(field, id=0) for field in more))
    return number(Schema(fields=fields), start=head.next_column_id)


@dataclass(slots=True)
class Stage:
    """Where a source is staged, and what is to be cleared away afterwards."""

    session: Session
    head: Head
    schema: Schema
    on: tuple[str, ...]
    files: tuple[DataFile, ...] = ()
    intent: str | None = None

    def take(self, rows: Any) -> Staged:
        """Read the source, once.

        Raises:
            DuplicateKeyError: If it holds a key more than once; nothing was written.
        """
        spark = type(rows).__module__.partition(".")[0] == "pyspark"
        staged = self._fed(rows) if spark else self._streamed(rows)
        require_unique(self.session, staged)
        return staged

    def _streamed(self, rows: Any) -> Staged:
        batches = pooled(stream(rows), self.schema)
        held: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            held.append(batch)
            size += batch.nbytes
            if size > FEW_BYTES:
                self._write(chain(held, batches))
                return self._chunked()
        return self._in_memory(held)

    def _in_memory(self, batches: Sequence[pa.RecordBatch]) -> Staged:
        stored = pa.schema([field.remove_metadata() for field in file_schema(self.schema)])
        bare = [batch.cast(stored) for batch in batches]
        table = pa.Table.from_batches(bare, stored).cast(to_arrow(self.schema, ids=False))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        data = sink.getvalue().to_pybytes() if table.num_rows else b""
        return Staged(schema=self.schema, on=self.on, data=data)

    def _fed(self, rows: Any) -> Staged:
        """Let Spark write its rows; few of them are taken into memory after all."""
        task = self._task()
        do = partial(self.session.kernel.write, task=task, store=self.session.store)
        results = self.session.runner.feed(do, rows, schema=self.schema, layout=task.layout)
        self.files = carry.files_of(results)
        if sum(file.bytes for file in self.files) > FEW_ON_SPARK:
            return self._chunked()
        whole = Staged(schema=self.schema, on=self.on, chunks=(self.files,), starts=(0, 0))
        source = Source(whole, self.session.store)
        tables = [chunk.rows for _, chunk in source.chunks()] if self.files else []
        few = self._in_memory([batch for table in tables for batch in table.to_batches()])
        self.clear()
        return few

    def _write(self, batches: Iterable[pa.RecordBatch]) -> None:
        reader = pa.RecordBatchReader.from_batches(file_schema(self.schema), batches)
        task = self._task()
        result: Result = self.session.kernel.write(reader, task=task, store=self.session.store)
        self.files = result.files

    def _task(self) -> Write:
        self.intent = self.session.catalog.announce(self.head.table_id)
        head = self.head
        layout = Layout(
            target_file_bytes=CHUNK_BYTES,
            hive_folders=False,
            compression="lz4",
            plain=head.layout.plain,
        )
        return Write(schema=self.schema, layout=layout, folder=head.folder, intent=self.intent)

    def _chunked(self) -> Staged:
        """Order many rows by their keys, as rows of a table are: so each chunk has few of them."""
        ids = [self.head.schema.field(name).id for name in self.on]
        parted = tuple(key for key in self.head.layout.keys if key.column in ids)
        task = self._ordering(ids, parted)
        (result,) = rewritten(self.session, [task])
        before, self.files = self.files, result.files
        self._delete(before)
        chunks = chunked(self.files, ids, chunk_rows=task.rows_per_file or 1)
        counts = (sum(file.rows for file in chunk) for chunk in chunks)
        return Staged(
            schema=self.schema,
            on=self.on,
            chunks=chunks,
            starts=tuple(accumulate(counts, initial=0)),
            parted=parted,
        )

    def _ordering(self, ids: Sequence[int], parted: tuple[PartitionKey, ...]) -> Rewrite:
        """Order staged rows by the table's partitions, as far as keys tell these, and by keys."""
        kinds = {field.id: field.type for field in self.schema}
        columns = [id_ for id_ in ids if kinds[id_] not in _UNORDERED]
        columns.sort(key=lambda id_: (PartitionKey(column=id_) in parted, kinds[id_] in FLOATS))
        starts = accumulate((file.rows for file in self.files), initial=0)
        numbered = (
            replace(file, row_id_start=start)
            for file, start in zip(self.files, starts, strict=False)
        )
        size, rows = (sum(getattr(f, name) for f in self.files) for name in ("bytes", "rows"))
        plain = self.head.layout.plain
        layout = Layout(keys=parted, hive_folders=False, target_file_bytes=WHOLE, plain=plain)
        schema = self.schema if plain else with_versions(self.schema)
        return Rewrite(
            inputs=tuple(Trace(file=file) for file in numbered),
            write=Write(
                schema=schema, layout=layout, folder=self.head.folder, intent=self.intent or ""
            ),
            oldest=0,
            sorting=Sorting(columns=tuple(columns)),
            spread=bool(parted),
            rows_per_file=max(1, rows * CHUNK_BYTES // max(size, 1)),
            memory_bytes=_MEMORY_BYTES,
        )

    def clear(self) -> None:
        """Forget what was staged, and delete the files of it; those a crash leaves are swept."""
        in_memory.cache_clear()
        self._delete(self.files)
        self.files = ()
        if self.intent is not None:
            self.session.catalog.withdraw(self.intent)
            self.intent = None

    def _delete(self, files: Sequence[DataFile]) -> None:
        if files:
            with suppress(MereError, OSError):
                self.session.store.delete([file.path for file in files])


def require_unique(session: Session, staged: Staged) -> None:
    """Refuse a source that holds a key more than once; NULL is no key.

    Raises:
        DuplicateKeyError: Naming some of the keys.
    """
    tasks = [staged.only([n]) for n in range(len(staged.chunks))]
    do = partial(vetted, store=session.store)
    results = session.runner.run(do, tasks) if staged.chunks else iter([do(staged)])
    found = sorted((result.rows_in - result.rows_out, result.problem or "") for result in results)
    if count := sum(repeated for repeated, _ in found):
        shown = [text for _, problem in found if problem for text in problem.split(BETWEEN)]
        some = "; ".join(shown[:_SHOWN]) + ("; …" if count > _SHOWN else "")
        msg = f"the source holds {count} key(s) more than once: {some}"
        raise DuplicateKeyError(msg, hint="nothing was written; make the keys unique first")


def count_rows(staged: Staged, session: Session) -> int:
    """Count the staged rows."""
    if staged.chunks:
        return staged.starts[-1]
    return sum(chunk.rows.num_rows for _, chunk in Source(staged, session.store).chunks())


def extremes(table: pa.Table, name: str) -> tuple[pa.Scalar, pa.Scalar] | None:
    """Return the least and the greatest value of a column, None where there is no order to use."""
    column = table.column(name)
    if isinstance(column.type, pa.BaseExtensionType):
        return None
    with suppress(pa.ArrowNotImplementedError):
        found = pc.min_max(column)
        return found["min"], found["max"]
    return None
