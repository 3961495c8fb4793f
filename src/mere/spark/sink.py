"""Write what Spark brings: executors write files, and one commit names those of tasks that ended.

A task that is tried again, or twice at once, leaves files that no commit names. What Spark calls
`abort` deletes nothing: tasks may still be writing, and a commit may have happened although
nobody heard of it. A sweep knows the files by the writer that was announced for them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from mere.arrow import to_arrow
from mere.errors import TableNotFoundError
from mere.model.schema import Schema
from mere.model.work import Result
from mere.ops import define, write
from mere.ops.write import Begun
from mere.ports import Kernel, Session, Store
from mere.spark.options import Asked
from mere.spark.spelled import spelled

QUERY = "sql.streaming.queryId"


@dataclass(frozen=True, slots=True)
class Written(WriterCommitMessage):
    """What one task wrote, under which announcement, and for which streaming query."""

    begun: Begun
    results: tuple[Result, ...]
    query: str | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """What an executor must know to write: no catalog, and no secret."""

    begun: Begun
    columns: Schema
    kernel: Kernel
    store: Store

    def write(self, batches: Iterator[pa.RecordBatch]) -> tuple[Result, ...]:
        """Write the rows of one Spark partition; without rows do nothing."""
        rows = (batch for batch in batches if batch.num_rows)
        first = next(rows, None)
        if first is None:
            return ()
        target = to_arrow(self.columns, ids=False)
        fitted = (batch.cast(target) for batch in chain([first], rows))
        reader = pa.RecordBatchReader.from_batches(target, fitted)
        return (self.kernel.write(reader, task=self.begun.task(), store=self.store),)


def begun(asked: Asked, columns: Schema, *, replaces: bool) -> Work:
    """Announce a write; a table that is missing comes into being with the commit."""
    with asked.opened(create=True) as session:
        make = partial(_begin, session, asked, columns, replaces=replaces)
        return Work(make(), columns, session.kernel, session.store)


def _begin(session: Session, asked: Asked, columns: Schema, *, replaces: bool) -> Begun:
    create = None
    try:
        head = session.catalog.head(asked.name())
    except TableNotFoundError:
        create = define.new_table(
            session,
            asked.name(),
            columns,
            partition_by=asked.several("partition_by"),
            sort_by=asked.several("sort_by"),
        )
        head = create.head
    return write.begin(
        session,
        head,
        columns,
        options=asked.writing(),
        operation="overwrite" if replaces else "append",
        where=asked.where() if replaces else None,
        partitions=asked.given.get("partitions") if replaces else None,
        create=create,
    )


@dataclass(slots=True)
class BatchWriter(DataSourceArrowWriter):
    """Writes one DataFrame."""

    asked: Asked
    work: Work

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one Spark partition, on an executor."""
        with spelled():
            return Written(self.work.begun, self.work.write(iterator))

    def commit(self, messages: Sequence[Any]) -> None:
        """Make all that was written one version."""
        with spelled(), self.asked.opened() as session:
            results = tuple(result for message in messages for result in message.results)
            write.finish(session, self.work.begun, results, options=self.asked.writing())

    def abort(self, messages: Sequence[Any]) -> None:
        """End the announcement; what lies there is nobody's."""
        del messages
        with spelled(), self.asked.opened() as session:
            write.give_up(session, self.work.begun)


@dataclass(slots=True)
class StreamWriter(DataSourceStreamArrowWriter):
    """Writes the batches of a stream, each exactly once.

    Spark makes one of these to send to the executors, for each batch, and another one to commit:
    only the first is pickled, and that is when its write is announced.
    """

    asked: Asked
    columns: Schema
    replaces: bool = False
    work: Work | None = field(default=None)

    def __getstate__(self) -> tuple[Any, ...]:
        """Announce the write before anything goes to the executors."""
        if self.work is None:
            with spelled():
                self.work = begun(self.asked, self.columns, replaces=self.replaces)
        return self.asked, self.columns, self.replaces, self.work

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        """Arrive on an executor."""
        self.asked, self.columns, self.replaces, self.work = state

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one Spark partition, on an executor."""
        assert self.work is not None  # noqa: S101  only what was pickled comes here
        with spelled():
            context = TaskContext.get()
            query = context.getLocalProperty(QUERY) if context is not None else None
            return Written(self.work.begun, self.work.write(iterator), query)

    def commit(self, messages: Sequence[Any], batchId: int) -> None:  # noqa: N803  Spark's name
        """Make the batch one version; one that was committed before a crash is not again."""
        first = next((message for message in messages if message is not None), None)
        if first is None:
            return
        with spelled(), self.asked.opened() as session:
            results = tuple(result for message in messages for result in message.results)
            token = f"spark/{first.query}/{batchId}/{self.asked.name()}"
            write.finish(session, first.begun, results, options=self.asked.writing(token=token))

    def abort(self, messages: Sequence[Any], batchId: int) -> None:  # noqa: N803  Spark's name
        """End the announcement; what lies there is nobody's, or was committed after all."""
        del batchId
        first = next((message for message in messages if message is not None), None)
        if first is not None:
            with spelled(), self.asked.opened() as session:
                write.give_up(session, first.begun)
